//! The last resort: a file for the owner alone, in a folder for the owner alone. It is replaced whole, never written or
//! read through a link, and not believed when somebody else could have read or changed it.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use secrecy::{ExposeSecret, SecretString};
use zeroize::Zeroizing;

use super::{Done, Store, StoreName, StoreProblem};

/// The longest secret that is written or read.
const LIMIT: usize = 256 * 1024;

/// Files in one folder.
#[derive(Clone, Debug)]
pub struct FileStore {
    folder: PathBuf,
}

impl FileStore {
    /// The store in a folder, which is made when something is first kept.
    pub fn in_folder(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The file of a name.
    pub fn path(&self, slot: &str) -> PathBuf {
        self.folder.join(file_name(slot))
    }

    fn io(path: &Path) -> impl Fn(io::Error) -> StoreProblem {
        move |error| StoreProblem::Io { path: path.to_owned(), what: error.to_string() }
    }

    /// The folder, if it is there and the owner's alone.
    fn open_folder(&self) -> Result<Option<OwnedFd>, StoreProblem> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let folder = match rustix::fs::open(&self.folder, flags, Mode::empty()) {
            Ok(folder) => folder,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::LOOP | rustix::io::Errno::NOTDIR) => {
                return Err(StoreProblem::Unsafe { path: self.folder.clone(), what: "is no folder, or a link to one" });
            }
            Err(error) => return Err(Self::io(&self.folder)(error.into())),
        };
        let stat = rustix::fs::fstat(&folder).map_err(|error| Self::io(&self.folder)(error.into()))?;
        check_private(&self.folder, &stat)?;
        Ok(Some(folder))
    }

    fn read(&self, slot: &str) -> Result<Option<SecretString>, StoreProblem> {
        let path = self.path(slot);
        let Some(folder) = self.open_folder()? else { return Ok(None) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let file = match rustix::fs::openat(&folder, file_name(slot), flags, Mode::empty()) {
            Ok(file) => file,
            Err(rustix::io::Errno::NOENT) => return Ok(None),
            Err(rustix::io::Errno::LOOP) => return Err(StoreProblem::Unsafe { path, what: "is a link" }),
            Err(error) => return Err(Self::io(&path)(error.into())),
        };
        let stat = rustix::fs::fstat(&file).map_err(|error| Self::io(&path)(error.into()))?;
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            return Err(StoreProblem::Unsafe { path, what: "is no ordinary file" });
        }
        check_private(&path, &stat)?;
        let mut bytes = Zeroizing::new(Vec::with_capacity(LIMIT + 1));
        File::from(file).take(LIMIT as u64 + 1).read_to_end(&mut bytes).map_err(Self::io(&path))?;
        let text = std::str::from_utf8(&bytes).ok().filter(|text| text.len() <= LIMIT);
        text.map(|text| Some(text.into())).ok_or(StoreProblem::Unsafe { path, what: "does not hold what was written" })
    }

    fn write(&self, slot: &str, secret: &SecretString) -> Result<(), StoreProblem> {
        mayi_settings::trust::make_private(&self.folder).map_err(Self::io(&self.folder))?;
        let path = self.path(slot);
        let gone = || StoreProblem::Io { path: self.folder.clone(), what: "it is gone again".to_owned() };
        let folder = self.open_folder()?.ok_or_else(gone)?;
        let draft = draft_name(slot);
        let written = write_draft(&folder, &draft, secret)
            .and_then(|()| Ok(rustix::fs::renameat(&folder, &draft, &folder, file_name(slot))?));
        if written.is_err() {
            // What is half written is of no use to anybody.
            let _ = rustix::fs::unlinkat(&folder, &draft, AtFlags::empty());
        }
        written.map_err(Self::io(&path))?;
        // The rename has happened; a folder that cannot be synced makes it no less whole.
        let _ = rustix::fs::fsync(&folder);
        Ok(())
    }

    fn unlink(&self, slot: &str) -> Result<bool, StoreProblem> {
        let Some(folder) = self.open_folder()? else { return Ok(false) };
        match rustix::fs::unlinkat(&folder, file_name(slot), AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(rustix::io::Errno::NOENT) => Ok(false),
            Err(error) => Err(Self::io(&self.path(slot))(error.into())),
        }
    }
}

impl Store for FileStore {
    fn name(&self) -> StoreName {
        StoreName::File
    }

    fn limit(&self) -> usize {
        LIMIT
    }

    fn load<'a>(&'a self, slot: &'a str) -> Done<'a, Option<SecretString>> {
        Box::pin(async move { self.read(slot) })
    }

    fn save<'a>(&'a self, slot: &'a str, secret: &'a SecretString) -> Done<'a, ()> {
        Box::pin(async move { self.write(slot, secret) })
    }

    fn remove<'a>(&'a self, slot: &'a str) -> Done<'a, bool> {
        Box::pin(async move { self.unlink(slot) })
    }
}

fn write_draft(folder: &OwnedFd, name: &str, secret: &SecretString) -> io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(folder, name, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(secret.expose_secret().as_bytes())?;
    file.sync_all()
}

/// Nobody else may own it, read it or write it.
fn check_private(path: &Path, stat: &Stat) -> Result<(), StoreProblem> {
    let found = |what| Err(StoreProblem::Unsafe { path: path.to_owned(), what });
    if stat.st_uid != rustix::process::geteuid().as_raw() {
        return found("belongs to somebody else");
    }
    if stat.st_mode & 0o077 != 0 {
        return found("can be read or changed by others (its mode is not private)");
    }
    Ok(())
}

/// A name that is one file in the folder, whatever it holds: letters, digits and hyphens stay, the rest is written as
/// numbers.
fn file_name(slot: &str) -> String {
    let mut name = String::new();
    for byte in slot.bytes() {
        match byte {
            b'a'..=b'z' | b'0'..=b'9' | b'-' => name.push(char::from(byte)),
            other => name.push_str(&format!("_{other:02x}")),
        }
    }
    // File systems take 255 bytes; a longer name keeps its beginning and gets a number made of the whole.
    if name.len() > 200 {
        let sum = slot
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
        name.truncate(180);
        name.push_str(&format!("_{sum:016x}"));
    }
    name
}

fn draft_name(slot: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let chance = std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), slot);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    format!(".draft-{}-{number}-{chance:016x}", std::process::id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    fn store() -> (tempfile::TempDir, FileStore) {
        let folder = tempfile::tempdir().unwrap();
        let store = FileStore::in_folder(folder.path().join("credentials"));
        (folder, store)
    }

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn what_is_written_is_read_replaced_and_removed() {
        let (_folder, store) = store();
        assert!(store.read("key:a").unwrap().is_none());
        for text in ["one", "two"] {
            store.write("key:a", &text.into()).unwrap();
            assert_eq!(store.read("key:a").unwrap().unwrap().expose_secret(), text);
        }
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode(&store.path("key:a")), 0o600);
        assert_eq!(mode(&store.folder), 0o700);
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 1, "no draft is left over");
        assert!(store.unlink("key:a").unwrap());
        assert!(!store.unlink("key:a").unwrap());
    }

    #[test]
    fn a_file_that_others_can_read_is_not_believed() {
        let (_folder, store) = store();
        for mode in [0o640, 0o604, 0o660, 0o602] {
            store.write("k", &"secret".into()).unwrap();
            set_mode(&store.path("k"), mode);
            let problem = store.read("k").unwrap_err();
            assert!(matches!(problem, StoreProblem::Unsafe { .. }), "{mode:o}");
        }
        store.write("k", &"secret".into()).unwrap();
        for mode in [0o750, 0o701, 0o777] {
            set_mode(&store.folder, mode);
            assert!(matches!(store.read("k"), Err(StoreProblem::Unsafe { .. })), "{mode:o}");
            assert!(matches!(store.write("k", &"new".into()), Err(StoreProblem::Unsafe { .. })), "{mode:o}");
        }
    }

    #[test]
    fn a_link_in_its_place_is_neither_read_nor_written_through() {
        let (folder, store) = store();
        let target = folder.path().join("target");
        fs::write(&target, "planted").unwrap();
        set_mode(&target, 0o600);
        store.write("other", &"x".into()).unwrap();
        symlink(&target, store.path("k")).unwrap();
        assert_eq!(store.read("k").unwrap_err(), StoreProblem::Unsafe { path: store.path("k"), what: "is a link" });
        store.write("k", &"secret".into()).unwrap();
        assert_eq!(fs::read_to_string(&target).unwrap(), "planted", "the link is replaced, what it led to is not");
        assert_eq!(store.read("k").unwrap().unwrap().expose_secret(), "secret");
    }

    #[test]
    fn a_folder_that_is_a_link_is_refused() {
        let (folder, store) = store();
        let elsewhere = folder.path().join("elsewhere");
        mayi_settings::trust::make_private(&elsewhere).unwrap();
        symlink(&elsewhere, &store.folder).unwrap();
        assert!(matches!(store.read("k"), Err(StoreProblem::Unsafe { .. })));
        assert!(store.write("k", &"secret".into()).is_err());
        assert_eq!(fs::read_dir(&elsewhere).unwrap().count(), 0);
    }

    #[test]
    fn folders_and_odd_bytes_are_no_secrets() {
        let (_folder, store) = store();
        store.write("k", &"x".into()).unwrap();
        fs::create_dir(store.path("folder")).unwrap();
        set_mode(&store.path("folder"), 0o700);
        fs::write(store.path("bytes"), [0xff, 0xfe]).unwrap();
        set_mode(&store.path("bytes"), 0o600);
        fs::write(store.path("huge"), vec![b'x'; LIMIT + 1]).unwrap();
        set_mode(&store.path("huge"), 0o600);
        for slot in ["folder", "bytes", "huge"] {
            assert!(matches!(store.read(slot), Err(StoreProblem::Unsafe { .. })), "{slot}");
        }
    }

    #[test]
    fn what_belongs_to_somebody_else_is_not_believed() {
        let (_folder, store) = store();
        store.write("k", &"secret".into()).unwrap();
        let other = rustix::process::geteuid().as_raw() + 1;
        // Giving a file away takes the superuser; for everybody else the check below is of files they cannot make.
        if std::os::unix::fs::chown(store.path("k"), Some(other), None).is_err() {
            return assert!(!rustix::process::geteuid().is_root());
        }
        let problem = store.read("k").unwrap_err();
        assert_eq!(problem, StoreProblem::Unsafe { path: store.path("k"), what: "belongs to somebody else" });
        store.write("k", &"own".into()).unwrap();
        assert_eq!(store.read("k").unwrap().unwrap().expose_secret(), "own");
        std::os::unix::fs::chown(&store.folder, Some(other), None).unwrap();
        assert!(matches!(store.read("k"), Err(StoreProblem::Unsafe { .. })));
        assert!(matches!(store.write("k", &"new".into()), Err(StoreProblem::Unsafe { .. })));
    }

    #[test]
    fn another_user_cannot_read_it() {
        use std::os::unix::process::CommandExt;
        let (folder, store) = store();
        set_mode(folder.path(), 0o755);
        store.write("k", &"secret".into()).unwrap();
        if rustix::process::geteuid().is_root() {
            let seen = std::process::Command::new("/bin/cat").arg(store.path("k")).uid(65534).output().unwrap();
            assert!(!seen.status.success() && seen.stdout.is_empty());
        }
        let seen = std::process::Command::new("/bin/cat").arg(store.path("k")).output().unwrap();
        assert_eq!(seen.stdout, b"secret", "while the owner can");
    }

    #[test]
    fn where_no_folder_can_be_made_nothing_is_kept() {
        let (folder, _) = store();
        fs::write(folder.path().join("file"), "").unwrap();
        let store = FileStore::in_folder(folder.path().join("file/secrets"));
        assert!(matches!(store.write("k", &"secret".into()), Err(StoreProblem::Io { .. })));
    }

    #[test]
    fn a_write_that_fails_leaves_the_old_secret_and_no_draft() {
        let (_folder, store) = store();
        store.write("other", &"x".into()).unwrap();
        fs::create_dir(store.path("k")).unwrap();
        assert!(store.write("k", &"secret".into()).is_err(), "a folder is in its place");
        assert_eq!(fs::read_dir(&store.folder).unwrap().count(), 2);
    }

    #[test]
    fn names_stay_in_the_folder_and_apart() {
        let long = |end: &str| format!("https://{}{end}", "a".repeat(300));
        let slots = ["..", ".", "/etc/passwd", "a/b", "a_2fb", "A", "a", "", &long("1"), &long("2")];
        let names: std::collections::BTreeSet<String> = slots.iter().map(|slot| file_name(slot)).collect();
        assert_eq!(names.len(), slots.len());
        assert!(names.iter().all(|name| !name.contains(['/', '.']) && name.len() <= 200), "{names:?}");
    }
}
