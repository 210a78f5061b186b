//! The files of an audit: the one that is written, and those that were put aside, which hold its beginning.

use std::fs;
use std::path::{Path, PathBuf};

/// Where the file goes that is put aside at a moment.
pub(super) fn aside(file: &Path, moment: u64) -> Option<PathBuf> {
    let stem = file.file_stem()?.to_str()?;
    Some(file.with_file_name(format!("{stem}-{moment}.jsonl")))
}

/// The files that were put aside, oldest first, with the moment.
pub(super) fn put_aside(file: &Path) -> Vec<(u64, PathBuf)> {
    let Some((folder, stem)) = file.parent().zip(file.file_stem().and_then(|stem| stem.to_str())) else {
        return Vec::new();
    };
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let moment = |name: &str| {
        let rest = name.strip_prefix(stem)?.strip_prefix('-')?;
        rest.strip_suffix(".jsonl")?.parse::<u64>().ok()
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter_map(|entry| Some((moment(entry.file_name().to_str()?)?, entry.path())));
    let mut found: Vec<(u64, PathBuf)> = named.collect();
    found.sort();
    found
}

/// Every file of an audit, oldest first. Files that are not there are not among them.
pub fn files(file: &Path) -> Vec<PathBuf> {
    let older = put_aside(file).into_iter().map(|(_, path)| path);
    older.chain(file.exists().then(|| file.to_owned())).collect()
}
