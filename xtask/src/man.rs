//! `cargo xtask man`: a manual page for every command and completions for every shell, and whether `man` can read them.
//!
//! The pages come from the arguments themselves, which only the program's own tests can see; they write them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::real::{LIVE_TESTS, report};
use crate::run::{root, run, succeeds};

/// What reads pages, each with the options that make it say what it thinks of them and nothing else.
const READERS: [(&str, &[&str]); 2] =
    [("groff", &["-man", "-Tutf8", "-ww", "-z"]), ("mandoc", &["-T", "lint", "-W", "warning"])];

/// Writes everything into a folder, and has every page read.
pub(crate) fn man(folder: &Path) -> Result<()> {
    let folder = root().join(folder);
    let words = [LIVE_TESTS.as_slice(), &["--bin", "mayi", "man::"]].concat();
    run("cargo", &words, &[("MAYI_MAN", &folder.display().to_string())])?;
    let pages = pages(&folder.join("man1"))?;
    let mut heard = false;
    for (reader, options) in READERS.into_iter().filter(|(reader, _)| succeeds("which", &[reader])) {
        heard = true;
        for page in &pages {
            read(reader, options, page)?;
        }
    }
    eprintln!("man: {} pages in {}", pages.len(), folder.display());
    if heard { Ok(()) } else { report("MAN", &["whether man reads the pages (without groff, mandoc)".to_owned()]) }
}

fn pages(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("no page was written into {}", folder.display()))?;
    let mut pages = entries.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
    pages.sort();
    Ok(pages)
}

fn read(reader: &str, options: &[&str], page: &Path) -> Result<()> {
    let output = Command::new(reader).args(options).arg(page).output()?;
    let said = [output.stdout, output.stderr].concat();
    if !output.status.success() || !said.is_empty() {
        bail!("{reader} says of {}:\n{}", page.display(), String::from_utf8_lossy(&said).trim());
    }
    Ok(())
}
