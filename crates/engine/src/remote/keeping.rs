//! Files that are kept about a server: for the owner alone, replaced whole or not at all, and never longer than they
//! can be.

use std::fs::{self, OpenOptions};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use super::wire::Moment;
use crate::digits::{digest, hexadecimal};

/// Longer files are not ours.
const LONGEST: u64 = 16 * 1024 * 1024;

/// The name that stands for an address in file names.
pub(super) fn short(url: &str) -> String {
    hexadecimal(digest(&[url.trim_end_matches('/').as_bytes()]).get(..6).unwrap_or_default())
}

/// Now, as the wire counts it.
pub(super) fn now() -> Moment {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// This machine's name; empty where it cannot be found out.
pub(super) fn host() -> String {
    let named = fs::read_to_string("/proc/sys/kernel/hostname").ok();
    let named = named.or_else(|| std::env::var(if cfg!(windows) { "COMPUTERNAME" } else { "HOSTNAME" }).ok());
    named.unwrap_or_default().trim().to_owned()
}

/// The text of a file; `None` when it is not there.
pub(super) fn read(path: &Path) -> io::Result<Option<String>> {
    let file = match fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text)?;
    Ok(Some(text))
}

/// Replaces a file.
pub(super) fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) {
        mayi_settings::trust::make_private(folder)?;
    }
    let draft: PathBuf = path.with_extension(format!("new-{}", std::process::id()));
    let whole = || {
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut file = options.open(&draft)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&draft, path)
    };
    whole().inspect_err(|_| {
        // Whatever was written of it is of no use to anybody.
        let _ = fs::remove_file(&draft);
    })
}
