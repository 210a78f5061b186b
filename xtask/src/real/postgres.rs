//! PostgreSQL's own programs. Debian puts them beside the search path, one folder a version.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Installed, debian};

/// Where Debian keeps the programs of each version.
const VERSIONS: &str = "/usr/lib/postgresql";

/// Makes a server available that tests can start for themselves.
pub(crate) fn installed() -> Installed {
    if programs().is_some() {
        return Installed::Ready;
    }
    match debian::programs(&[("pg_ctlcluster", "postgresql"), ("psql", "postgresql-client")]) {
        Installed::Ready if programs().is_some() => Installed::Ready,
        Installed::Ready => Installed::Unavailable("without PostgreSQL's server".to_owned()),
        Installed::Unavailable(why) => Installed::Unavailable(why),
    }
}

/// The folder with all of them: of the search path, or of the newest version that Debian brought.
pub(crate) fn programs() -> Option<PathBuf> {
    let search = std::env::var_os("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&search).find(|folder| is_whole(folder));
    on_path.or_else(|| newest(Path::new(VERSIONS)))
}

fn newest(versions: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(versions).ok()?.flatten().map(|entry| entry.path());
    let numbered = entries.filter_map(|path| Some((path.file_name()?.to_str()?.parse::<u32>().ok()?, path)));
    let folders = numbered.map(|(number, path)| (number, path.join("bin"))).filter(|(_, folder)| is_whole(folder));
    folders.max().map(|(_, folder)| folder)
}

fn is_whole(folder: &Path) -> bool {
    ["postgres", "initdb", "pg_ctl", "psql"].iter().all(|program| folder.join(program).is_file())
}
