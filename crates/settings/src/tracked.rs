//! Whether git tracks a file. A person's own settings for a project are kept out of it; what came with the repository was
//! written by whoever wrote the repository.
//!
//! The index of a repository is read, and git is not run. Its entries are sorted and what is looked for begins with a dot, so
//! the beginning of the index mostly tells. What cannot be told counts as tracked.

use std::borrow::Cow;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};

use mayi_core::path::Case;

use crate::document::{open_at_once, read_text};

/// So much of an index is read at first: some hundred files.
const BEGINNING: u64 = 8 * 1024;
/// No index is longer: some millions of files.
const LONGEST: u64 = 1024 * 1024 * 1024;
/// The lengths of digests that git knows: SHA-1 and SHA-256.
const DIGESTS: [usize; 2] = [20, 32];
/// What lies before an entry's digest: times, device, owner, mode and size.
const FACTS: usize = 40;

/// Whether git tracks `file`, which lies at or below `folder`; `repository` is the nearest one around it, where that is known.
pub(crate) fn is_tracked(file: &Path, folder: &Path, repository: Option<&Path>) -> bool {
    let Some(below) = file.strip_prefix(folder).ok().and_then(Path::to_str) else { return true };
    let real = match is_real(folder) {
        true => Cow::Borrowed(folder),
        // git knows a folder by where it is, not by the links that lead to it.
        false => match folder.canonicalize() {
            Ok(real) => Cow::Owned(real),
            Err(_) => return true,
        },
    };
    let known = repository.filter(|repository| real.starts_with(repository) && !has_one_between(&real, repository));
    let Some(root) = known.or_else(|| real.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok()))
    else {
        return false;
    };
    let Some(above) = real.strip_prefix(root).ok().and_then(Path::to_str) else { return true };
    let name = if above.is_empty() { below.to_owned() } else { [above, "/", below].concat() };
    let name = if cfg!(windows) { name.replace('\\', "/") } else { name };
    is_listed(root, name.as_bytes()).unwrap_or(true)
}

/// Whether a folder is named without links for sure: the directory that this process is in, or one above it, as the system
/// names them.
fn is_real(folder: &Path) -> bool {
    std::env::current_dir().is_ok_and(|here| here.starts_with(folder))
}

/// Whether a folder below a repository is in another one.
fn has_one_between(folder: &Path, repository: &Path) -> bool {
    folder
        .ancestors()
        .take_while(|above| *above != repository)
        .any(|above| above.join(".git").symlink_metadata().is_ok())
}

/// Opens the index of a repository's work tree, and says where it lies. In a further work tree, and in a submodule, `.git` is a file
/// that points to the folder with it.
fn open_index(root: &Path) -> io::Result<(File, PathBuf)> {
    let git = root.join(".git");
    match open_at_once(&git.join("index")) {
        Ok(file) => Ok((file, git)),
        Err(error) if error.kind() == ErrorKind::NotADirectory => {
            let text = read_text(&git).ok().flatten().unwrap_or_default();
            let folder = root.join(text.trim().strip_prefix("gitdir:").ok_or(ErrorKind::InvalidData)?.trim());
            // Whoever points to an index has one.
            let file = open_at_once(&folder.join("index")).map_err(|_| ErrorKind::InvalidData)?;
            Ok((file, folder))
        }
        Err(error) => Err(error),
    }
}

/// Whether a repository lists a name; `None` where that cannot be told. One without an index tracks nothing yet.
fn is_listed(root: &Path, name: &[u8]) -> Option<bool> {
    let (mut file, folder) = match open_index(root) {
        Ok(opened) => opened,
        Err(error) => return (error.kind() == ErrorKind::NotFound).then_some(false),
    };
    let room = usize::try_from(BEGINNING).ok()?;
    let mut bytes = Vec::with_capacity(room);
    let mut read = |bytes: &mut Vec<u8>, limit| file.by_ref().take(limit).read_to_end(bytes).ok();
    read(&mut bytes, BEGINNING)?;
    let case = Case::of_this_system();
    let part = if bytes.len() < room { Part::Whole } else { Part::Beginning };
    let mut told = found((&bytes, part), name, case);
    if told == Found::Cut {
        read(&mut bytes, LONGEST)?;
        told = found((&bytes, Part::Whole), name, case);
    }
    match told {
        Found::Listed => Some(true),
        Found::Absent => Some(false),
        Found::Passed => (!is_split(&folder)?).then_some(false),
        Found::Cut | Found::Strange => None,
    }
}

/// Whether most entries may be in another file, beside the index.
fn is_split(folder: &Path) -> Option<bool> {
    let mut names = folder.read_dir().ok()?.map(|entry| entry.map(|entry| entry.file_name()));
    Some(names.any(|name| !name.is_ok_and(|name| !name.as_encoded_bytes().starts_with(b"sharedindex."))))
}

/// What was found in an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Found {
    Listed,
    /// All of it was seen.
    Absent,
    /// Names are past it already; what stands behind them was not seen.
    Passed,
    /// It ends before that can be told.
    Cut,
    /// It is none that is understood here.
    Strange,
}

/// How much of an index is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Beginning,
    Whole,
}

/// Looks for a name. How long the digests of a repository are stands elsewhere. With the wrong length the entries make no sense,
/// unless somebody sees to it that they do: so a name is listed where either reading says so, and both are read to where they
/// can tell.
fn found((bytes, part): (&[u8], Part), name: &[u8], case: Case) -> Found {
    let read = |digest| Entries::of(bytes, digest).map_or(Found::Strange, |entries| entries.find(name, case));
    let both = DIGESTS.map(read);
    // A whole index that breaks off was read with the wrong length, or is broken.
    let order: &[Found] = match part {
        Part::Beginning => &[Found::Listed, Found::Cut, Found::Passed, Found::Absent],
        Part::Whole => &[Found::Listed, Found::Passed, Found::Absent],
    };
    order.iter().copied().find(|found| both.contains(found)).unwrap_or(Found::Strange)
}

/// The entries of an index, one after the other.
struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
    left: u32,
    version: u32,
    digest: usize,
    /// The name of the last one. In the fourth version a name is told by what differs.
    name: Vec<u8>,
}

impl<'a> Entries<'a> {
    fn of(bytes: &'a [u8], digest: usize) -> Option<Self> {
        let (header, _) = bytes.split_first_chunk::<12>()?;
        let [b'D', b'I', b'R', b'C', version @ .., a, b, c, d] = header else { return None };
        let version = u32::from_be_bytes(*version);
        let left = u32::from_be_bytes([*a, *b, *c, *d]);
        (2..=4).contains(&version).then_some(Self { bytes, at: 12, left, version, digest, name: Vec::new() })
    }

    fn find(mut self, wanted: &[u8], case: Case) -> Found {
        while self.left > 0 {
            match self.next() {
                Ok(()) => {}
                Err(found) => return found,
            }
            let is_it = match case {
                Case::Sensitive => self.name == wanted,
                Case::Insensitive => self.name.eq_ignore_ascii_case(wanted),
            };
            // A folder that is not checked out stands for everything in it.
            if is_it || (self.name.ends_with(b"/") && wanted.starts_with(&self.name)) {
                return Found::Listed;
            }
            if case == Case::Sensitive && self.name.as_slice() > wanted && self.left > 0 {
                return Found::Passed;
            }
        }
        // Behind the entries may stand that most of them are in another file.
        match self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<4>()) {
            Some(b"link") => Found::Strange,
            Some(_) => Found::Absent,
            None => Found::Cut,
        }
    }

    /// Goes to the next entry. Names come in their order, or this is no index.
    fn next(&mut self) -> Result<(), Found> {
        let start = self.at;
        let flags_at = start + FACTS + self.digest;
        let flags = self.bytes.get(flags_at..).and_then(|rest| rest.first_chunk::<2>()).ok_or(Found::Cut)?;
        let flags = u16::from_be_bytes(*flags);
        let is_extended = self.version >= 3 && flags & 0x4000 != 0;
        let mut at = flags_at + if is_extended { 4 } else { 2 };
        let mut name = Vec::new();
        if self.version == 4 {
            let dropped = self.number(&mut at)?;
            let kept = self.name.len().checked_sub(dropped).and_then(|length| self.name.get(..length));
            name.extend_from_slice(kept.ok_or(Found::Strange)?);
        }
        let rest = self.bytes.get(at..).ok_or(Found::Cut)?;
        let length = rest.iter().position(|byte| *byte == 0).ok_or(Found::Cut)?;
        name.extend_from_slice(rest.get(..length).unwrap_or_default());
        let said = usize::from(flags & 0x0fff);
        if name.is_empty() || (said < 0x0fff && said != name.len()) || name < self.name {
            return Err(Found::Strange);
        }
        let end = at + length + 1;
        // Before the fourth version an entry is a multiple of eight bytes.
        self.at = if self.version == 4 { end } else { start + (end - start).next_multiple_of(8) };
        (self.name, self.left) = (name, self.left - 1);
        Ok(())
    }

    /// A number as git writes one in few bytes.
    fn number(&self, at: &mut usize) -> Result<usize, Found> {
        let mut number = 0_usize;
        loop {
            let byte = *self.bytes.get(*at).ok_or(Found::Cut)?;
            *at += 1;
            number = (number << 7) | usize::from(byte & 0x7f);
            if byte & 0x80 == 0 {
                return Ok(number);
            }
            number = number.checked_add(1).filter(|number| *number < 1 << 24).ok_or(Found::Strange)?;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::process::Command;

    use super::*;

    const LOCAL: &str = ".claude/settings.local.json";

    /// A repository that git itself made. Without git there is none to be read either.
    struct Repository(tempfile::TempDir);

    impl Repository {
        fn new(options: &[&str]) -> Self {
            let repository = Self(tempfile::tempdir().unwrap());
            repository.git(&[&["init", "-q"], options].concat());
            repository
        }

        fn git(&self, words: &[&str]) {
            let mut git = Command::new("git");
            git.current_dir(self.0.path()).args(["-c", "user.name=a", "-c", "user.email=a@example.org"]).args(words);
            for name in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
                git.env(name, "/dev/null");
            }
            let output = git.output().unwrap();
            assert!(output.status.success(), "{words:?}: {output:?}");
        }

        fn write(&self, name: &str) -> PathBuf {
            let file = self.0.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(&file, name).unwrap();
            file
        }

        fn tracks(&self, name: &str) -> bool {
            let root = self.0.path();
            let folder = root.join(name.strip_suffix(LOCAL).unwrap_or_default());
            let told = is_tracked(&root.join(name), &folder, Some(root));
            assert_eq!(told, is_tracked(&root.join(name), &folder, None));
            told
        }
    }

    #[test]
    fn what_git_tracks_is_told_in_every_kind_of_index() {
        for (options, version) in [
            (&[][..], "2"),
            (&[], "3"),
            (&[], "4"),
            (&["--object-format=sha256"], "2"),
            (&["--object-format=sha256"], "4"),
        ] {
            let repository = Repository::new(options);
            assert!(!repository.tracks(LOCAL), "there is no index yet");
            for name in [LOCAL, "sub/.claude/settings.local.json", ".claude/settings.json", "-odd", "#odd", "z"] {
                repository.write(name);
            }
            repository.git(&["update-index", "--index-version", version]);
            repository.git(&["add", "--", "-odd", "#odd", "z", ".claude/settings.json"]);
            assert!(!repository.tracks(LOCAL), "{version} {options:?}");
            repository.git(&["add", "-f", LOCAL]);
            assert!(repository.tracks(LOCAL) && !repository.tracks(&format!("sub/{LOCAL}")), "{version} {options:?}");
            repository.git(&["add", "-f", "sub", "--intent-to-add"]);
            assert!(repository.tracks(&format!("sub/{LOCAL}")), "{version} {options:?}");
        }
    }

    #[test]
    fn an_index_of_many_files_is_read_as_far_as_it_must_be() {
        let repository = Repository::new(&[]);
        // All of them before the one that is looked for, and more than are read at first.
        for number in 0..1500 {
            repository.write(&format!("#before/{number}"));
        }
        repository.git(&["add", "-A"]);
        assert!(fs::metadata(repository.0.path().join(".git/index")).unwrap().len() > BEGINNING);
        assert!(!repository.tracks(LOCAL));
        repository.write(LOCAL);
        repository.git(&["add", "-f", LOCAL]);
        assert!(repository.tracks(LOCAL));
    }

    #[test]
    fn further_work_trees_and_repositories_within_have_their_own_index() {
        let repository = Repository::new(&[]);
        repository.write(LOCAL);
        repository.git(&["add", "-f", LOCAL]);
        repository.git(&["commit", "-qm", "x"]);
        repository.git(&["worktree", "add", "-q", "tree"]);
        let tree = repository.0.path().join("tree");
        assert!(is_tracked(&tree.join(LOCAL), &tree, Some(&tree)));
        assert!(is_tracked(&tree.join(LOCAL), &tree, Some(repository.0.path())));
        repository.git(&["init", "-q", "within"]);
        let within = repository.write(&format!("within/{LOCAL}"));
        assert!(!is_tracked(&within, &repository.0.path().join("within"), Some(repository.0.path())));
    }

    #[test]
    fn what_cannot_be_told_counts_as_tracked() {
        let repository = Repository::new(&[]);
        repository.write("a");
        repository.git(&["add", "a"]);
        let index = repository.0.path().join(".git/index");
        let whole = fs::read(&index).unwrap();
        for bytes in [&b"garbage"[..], &whole[..40], &[], b"DIRC\0\0\0\x09\0\0\0\x01"] {
            fs::write(&index, bytes).unwrap();
            assert!(repository.tracks(LOCAL), "{bytes:?}");
        }
        fs::write(&index, &whole).unwrap();
        assert!(!repository.tracks(LOCAL));
    }

    #[test]
    fn what_is_in_another_file_cannot_be_told() {
        let repository = Repository::new(&[]);
        repository.write(LOCAL);
        repository.git(&["add", "-f", LOCAL]);
        repository.git(&["update-index", "--split-index"]);
        assert!(repository.tracks(LOCAL), "all entries are elsewhere");
        for name in ["q1", "q2", "q3"] {
            repository.write(name);
        }
        repository.git(&["-c", "splitIndex.maxPercentChange=100", "add", "q1", "q2", "q3"]);
        assert!(repository.tracks(LOCAL), "some are here, all of them behind what is looked for");
    }

    /// Whoever wrote a repository chooses what its files hold, and so their digests.
    #[test]
    fn digests_that_read_like_a_name_hide_nothing() {
        for more in [0, 400] {
            let repository = Repository::new(&["--object-format=sha256"]);
            for number in 0..more {
                repository.write(&format!(".b/{number}"));
            }
            repository.write(LOCAL);
            repository.write("z");
            repository.git(&["add", "-fA"]);
            let index = repository.0.path().join(".git/index");
            let mut bytes = fs::read(&index).unwrap();
            // The digest of the first entry, as the other reading takes it: flags, then a name past everything.
            bytes[12 + FACTS + 20..12 + FACTS + 32].copy_from_slice(b"\x0f\xff~~~~~~~~~~");
            assert_eq!(Entries::of(&bytes, 20).unwrap().find(LOCAL.as_bytes(), Case::Sensitive), Found::Passed);
            fs::write(&index, &bytes).unwrap();
            assert!(repository.tracks(LOCAL), "{more}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_folder_hides_nothing_in_it() {
        let repository = Repository::new(&[]);
        repository.write(&format!("sub/{LOCAL}"));
        let inside = repository.0.path().join("work");
        std::os::unix::fs::symlink("sub", &inside).unwrap();
        repository.git(&["add", "-fA"]);
        let elsewhere = tempfile::tempdir().unwrap();
        let outside = elsewhere.path().join("work");
        std::os::unix::fs::symlink(&inside, &outside).unwrap();
        for folder in [inside, outside] {
            for known in [None, Some(repository.0.path())] {
                assert!(is_tracked(&folder.join(LOCAL), &folder, known), "{folder:?}");
            }
        }
    }

    #[test]
    fn where_case_tells_no_files_apart_it_tells_no_entries_apart() {
        let repository = Repository::new(&[]);
        repository.write(".Claude/Settings.local.json");
        repository.git(&["add", "-fA"]);
        let bytes = fs::read(repository.0.path().join(".git/index")).unwrap();
        assert_eq!(found((&bytes, Part::Whole), LOCAL.as_bytes(), Case::Insensitive), Found::Listed);
        assert_eq!(found((&bytes, Part::Whole), LOCAL.as_bytes(), Case::Sensitive), Found::Absent);
    }
}
