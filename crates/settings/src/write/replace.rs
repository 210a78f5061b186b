//! Replacing a file whole: a draft beside it, written and synced, then renamed over it, if the file is still the one
//! that was read. Whatever goes wrong, the file is the old one or the new one.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use super::SaveError;
use crate::document;

/// Who may read a new file. A file that is there keeps its mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Privacy {
    /// The owner alone.
    Own,
    /// Whoever the system's default lets.
    Shared,
    /// The same, and it can be run.
    Program,
}

/// The real path of a file, without making anything. A link on the way is followed only when it stays inside `within`.
pub fn located(path: &Path, within: &Path) -> Result<PathBuf, SaveError> {
    let io = |source| SaveError::Io { path: path.to_owned(), source };
    let link = || SaveError::Link { path: path.to_owned(), within: within.to_owned() };
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Err(io(io::Error::from(io::ErrorKind::InvalidInput)));
    };
    // Where `within` itself is not there yet, nothing below it can be a link.
    let there = |folder: &Path| folder.symlink_metadata().is_ok();
    let root = within.ancestors().find(|folder| there(folder)).unwrap_or(within).canonicalize().map_err(io)?;
    let nearest = folder.ancestors().find(|folder| there(folder)).unwrap_or(folder);
    let unresolved = |at: &Path| if would_stay(at, &root) { SaveError::Dangling(path.to_owned()) } else { link() };
    let real = nearest.canonicalize().map_err(|_| unresolved(nearest))?;
    if !real.starts_with(&root) {
        return Err(link());
    }
    let file = real.join(folder.strip_prefix(nearest).unwrap_or(Path::new(""))).join(name);
    let file = match file.symlink_metadata() {
        Ok(metadata) if metadata.is_symlink() => file.canonicalize().map_err(|_| unresolved(&file))?,
        Ok(_) | Err(_) => file,
    };
    if file.starts_with(&root) { Ok(file) } else { Err(link()) }
}

/// Whether what a link leads to would lie inside a folder, if it were there.
fn would_stay(link: &Path, root: &Path) -> bool {
    let target = fs::read_link(link).ok().and_then(|target| Some(link.parent()?.join(target)));
    let there = target.and_then(|target| target.ancestors().find_map(|part| part.canonicalize().ok()));
    there.is_some_and(|there| there.starts_with(root))
}

/// The real path of a file in its folder, which is made when it is missing. A link on the way is followed only when
/// it stays inside `within`.
pub fn prepared(path: &Path, within: &Path) -> Result<PathBuf, SaveError> {
    let io = |source| SaveError::Io { path: path.to_owned(), source };
    fs::create_dir_all(within).map_err(io)?;
    // Look at what is there before making anything: a link must not make us build folders elsewhere.
    let file = located(path, within)?;
    fs::create_dir_all(file.parent().unwrap_or(&file)).map_err(io)?;
    located(path, within)
}

/// Replaces the file if it still holds `before` (`None`: is not there). False when somebody changed it meanwhile.
pub fn replace(path: &Path, before: Option<&str>, after: &str, privacy: Privacy) -> Result<bool, SaveError> {
    let failed = |source| SaveError::Io { path: path.to_owned(), source };
    let folder = path.parent().unwrap_or(path);
    // Another mayi waits here; an editor is noticed by what it wrote.
    let _turn = turn(folder);
    let mut draft = Draft::beside(path, privacy).map_err(failed)?;
    draft.fill(after, path).map_err(failed)?;
    let now = document::read_text(path).map_err(|error| SaveError::Unreadable { path: path.to_owned(), error })?;
    if now.as_deref() != before {
        return Ok(false);
    }
    draft.publish(path).map_err(failed)?;
    Ok(true)
}

/// A lock on the folder until it is dropped, where the system has such.
fn turn(folder: &Path) -> Option<File> {
    let folder = File::open(folder).ok()?;
    folder.lock().ok()?;
    Some(folder)
}

/// A file that is not there yet. It is gone again unless it is published.
struct Draft {
    path: PathBuf,
    file: File,
}

impl Draft {
    fn beside(path: &Path, privacy: Privacy) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let draft = path.with_file_name(format!(".{name}.{}.{number}.tmp", std::process::id()));
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt;
            options.mode(match privacy {
                Privacy::Own => 0o600,
                Privacy::Shared => 0o666,
                Privacy::Program => 0o777,
            });
        }
        #[cfg(not(unix))]
        let _ = privacy;
        // A draft of this name is left over from a process that died with our number; nobody else uses the name.
        match options.open(&draft) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                fs::remove_file(&draft)?;
                Ok(Self { file: options.open(&draft)?, path: draft })
            }
            opened => Ok(Self { file: opened?, path: draft }),
        }
    }

    /// Writes the text, with the mode and owner of the file it will stand for.
    fn fill(&mut self, text: &str, model: &Path) -> io::Result<()> {
        self.file.write_all(text.as_bytes())?;
        if let Ok(metadata) = fs::metadata(model) {
            self.file.set_permissions(metadata.permissions())?;
            #[cfg(unix)]
            {
                use std::os::unix::fs::{MetadataExt, fchown};
                // Only the superuser can give a file away; for everybody else it is their own already.
                let _ = fchown(&self.file, Some(metadata.uid()), Some(metadata.gid()));
            }
        }
        self.file.sync_all()
    }

    fn publish(self, path: &Path) -> io::Result<()> {
        fs::rename(&self.path, path)?;
        if let Ok(folder) = File::open(path.parent().unwrap_or(path)) {
            // The rename has happened; a folder that cannot be synced makes it no less whole.
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        // After publishing there is nothing left under this name.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_somebody_changed_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::write(&path, "theirs").unwrap();
        assert!(!replace(&path, Some("what we read"), "ours", Privacy::Own).unwrap());
        assert!(!replace(&path, None, "ours", Privacy::Own).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "theirs");
        assert!(replace(&path, Some("theirs"), "ours", Privacy::Own).unwrap());
        assert_eq!(fs::read_to_string(&path).unwrap(), "ours");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left over");
    }

    #[test]
    fn a_failed_replacement_leaves_nothing_behind() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("settings.json");
        fs::create_dir(&path).unwrap();
        assert!(replace(&path, None, "ours", Privacy::Own).is_err());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }
}
