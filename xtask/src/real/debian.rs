//! Programs from Debian packages, where this machine has apt-get and lets us use it.

use crate::run::succeeds;

use super::{Installed, is_superuser};

/// Makes programs available, each with the package it comes from. Nothing is installed where all are there already.
pub(crate) fn programs(wanted: &[(&str, &str)]) -> Installed {
    let missing = || wanted.iter().filter(|(program, _)| !is_there(program));
    let packages: Vec<&str> = missing().map(|(_, package)| *package).collect();
    if packages.is_empty() {
        return Installed::Ready;
    }
    if is_superuser() && succeeds("apt-get", &["--version"]) {
        eprintln!("+ apt-get install {}", packages.join(" "));
        let install = [&["install", "--yes", "--no-install-recommends"], packages.as_slice()].concat();
        // A list of packages that is too old names files that are gone.
        if !succeeds("apt-get", &install) && succeeds("apt-get", &["update"]) {
            succeeds("apt-get", &install);
        }
    }
    let names: Vec<&str> = missing().map(|(program, _)| *program).collect();
    if names.is_empty() { Installed::Ready } else { Installed::Unavailable(format!("without {}", names.join(", "))) }
}

/// Whether a program is on the search path. It is not run: some have no option that only answers.
fn is_there(program: &str) -> bool {
    let search = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&search).any(|folder| folder.join(program).is_file())
}
