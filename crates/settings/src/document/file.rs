//! The file of a document: opened without waiting, and read within limits.

use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use super::Unreadable;

/// The largest file that is read. Ten thousand rules are less than one megabyte.
pub const SIZE_LIMIT: u64 = 16 * 1024 * 1024;

/// Reads a file's text within the limits; `None` when there is no file.
pub fn read_text(path: &Path) -> Result<Option<String>, Unreadable> {
    let refused = |error: io::Error| Unreadable::Refused(error.to_string());
    let missing = |error: &io::Error| matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory);
    let file = match open_itself(path) {
        Ok(file) => file,
        Err(error) if missing(&error) => return Ok(None),
        // A link. Where it leads is looked at before that is opened: opening a device may do something.
        Err(_) => match fs::metadata(path).map(|metadata| metadata.is_file()) {
            Ok(false) => return Err(Unreadable::NotFile),
            // Whoever put a link there meant settings to be there, so what they deny is not known.
            Err(error) if missing(&error) && path.symlink_metadata().is_ok() => {
                return Err(Unreadable::Refused("it is a link that leads nowhere".to_owned()));
            }
            Err(error) if missing(&error) => return Ok(None),
            Ok(true) | Err(_) => open_at_once(path).map_err(refused)?,
        },
    };
    let metadata = file.metadata().map_err(refused)?;
    if !metadata.is_file() {
        return Err(Unreadable::NotFile);
    }
    let bytes = read_to(SIZE_LIMIT + 1, file, &metadata).map_err(refused)?;
    if bytes.len() as u64 > SIZE_LIMIT {
        return Err(Unreadable::TooLarge);
    }
    let text = String::from_utf8(bytes);
    text.map(Some).map_err(|error| Unreadable::NotText { at: error.utf8_error().valid_up_to() })
}

/// Reads a file, up to so many bytes, in one go: it is as long as it says. Only one that says it is empty may be one that
/// the system makes up while it is read.
pub fn read_to(limit: u64, file: File, metadata: &Metadata) -> io::Result<Vec<u8>> {
    let length = Some(metadata.len()).filter(|length| *length > 0);
    let mut bytes = Vec::with_capacity(usize::try_from(length.unwrap_or_default().min(limit)).unwrap_or_default());
    file.take(length.unwrap_or(limit).min(limit)).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Opens a file and never waits. A pipe that takes a file's place after we looked would keep us waiting for a writer,
/// and an agent that gets no answer in time may go ahead.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
pub fn open_at_once(path: &Path) -> io::Result<File> {
    flags::open(path, flags::NONBLOCK)
}

/// The same where the path is no link; one that is cannot be opened so.
#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
fn open_itself(path: &Path) -> io::Result<File> {
    flags::open(path, flags::NONBLOCK | flags::NOFOLLOW)
}

#[cfg(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64")))]
mod flags {
    use std::fs::{File, OpenOptions};
    use std::os::unix::fs::OpenOptionsExt;

    pub(super) const NONBLOCK: i32 = 0o4000;
    pub(super) const NOFOLLOW: i32 = if cfg!(target_arch = "aarch64") { 0o100_000 } else { 0o400_000 };

    pub(super) fn open(path: &std::path::Path, flags: i32) -> std::io::Result<File> {
        OpenOptions::new().read(true).custom_flags(flags).open(path)
    }
}

/// Opens a file.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
pub fn open_at_once(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Elsewhere every path is looked at before it is opened.
#[cfg(not(all(target_os = "linux", any(target_arch = "x86_64", target_arch = "aarch64"))))]
fn open_itself(_: &Path) -> io::Result<File> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    #[test]
    fn a_folder_bad_bytes_and_giants_are_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Document::open(folder.path()), Err(Unreadable::NotFile));
        let file = folder.path().join("bytes.json");
        fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
        assert_eq!(Document::open(&file), Err(Unreadable::NotText { at: 7 }));
        assert_eq!(Document::open(&file.join("below")), Ok(None));
        let giant = File::create(folder.path().join("giant.json")).unwrap();
        giant.set_len(SIZE_LIMIT + 1).unwrap();
        assert_eq!(Document::open(&folder.path().join("giant.json")), Err(Unreadable::TooLarge));
    }

    #[cfg(unix)]
    #[test]
    fn a_link_is_followed_and_one_that_leads_nowhere_is_not_taken_for_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for (link, target) in [("link", "there"), ("dangling", "nowhere"), ("below", "there/x"), ("round", "round")] {
            std::os::unix::fs::symlink(at(target), at(link)).unwrap();
        }
        fs::write(at("there"), "{}").unwrap();
        assert_eq!(read_text(&at("link")), Ok(Some("{}".to_owned())));
        assert_eq!(read_text(&at("absent")), Ok(None));
        for link in ["dangling", "below", "round"] {
            assert!(matches!(read_text(&at(link)), Err(Unreadable::Refused(_))), "{link}");
        }
    }
}
