//! One side of a difference: a settings file, a folder with settings, or one of them at a revision of git. Both sides are
//! read as if they lay in the same directory.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use mayi_analysis::diff::rebased;
use mayi_settings::{Flag, Given, Loaded, Places, Trust, load};

/// The settings that a word names.
pub(super) fn loaded(word: &str, directory: &Path) -> Result<Loaded> {
    let mut loaded = read(word, directory)?;
    // Settings files are protected wherever they lie; that one lies elsewhere than the other is no difference.
    Arc::make_mut(&mut loaded.policy).options.protected_files.clear();
    Ok(loaded)
}

fn read(word: &str, directory: &Path) -> Result<Loaded> {
    let path = Path::new(word);
    if path.is_dir() {
        return Ok(of_folder(&path.canonicalize()?, directory));
    }
    if path.exists() {
        return Ok(of_flag(Flag::File(std::path::absolute(path)?), path.parent(), directory));
    }
    if word.trim_start().starts_with('{') {
        return Ok(of_flag(Flag::Inline(word.to_owned()), None, directory));
    }
    match word.split_once(':') {
        Some((revision, file)) if !revision.is_empty() && !file.is_empty() => of_revision(word, revision, directory),
        Some(_) | None => {
            bail!("there is no `{word}`\nhelp: a settings file, a folder, settings themselves, or REVISION:PATH of git")
        }
    }
}

/// Nothing of this machine counts but what the side itself says.
fn places(directory: &Path) -> Places {
    let Places { home, .. } = Places::of_this_machine(directory);
    Places { directory: directory.to_owned(), home, ..Places::default() }
}

fn text(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// The settings of a folder, which whoever compares them trusts.
fn of_folder(folder: &Path, directory: &Path) -> Loaded {
    let given = Given { trust: Trust::Trusted, ..Given::default() };
    // A folder may also hold its settings itself.
    let bare = ["settings.json", "settings.local.json", "managed-settings.json"].map(|name| folder.join(name));
    let user: Vec<PathBuf> = bare.into_iter().filter(|file| file.is_file()).collect();
    let loaded = load(&Places { user, ..places(folder) }, &given);
    rebased(loaded, &text(folder), &text(directory))
}

/// One file. What `/p` in its rules starts from is the folder that it lies in, or the project around that.
fn of_flag(flag: Flag, folder: Option<&Path>, directory: &Path) -> Loaded {
    let loaded = load(&places(directory), &Given { flags: vec![flag], ..Given::default() });
    let folder = folder.map(|folder| if folder.as_os_str().is_empty() { Path::new(".") } else { folder });
    match folder.and_then(|folder| std::path::absolute(folder).ok()) {
        Some(folder) if folder != directory => rebased(loaded, &text(&folder), &text(directory)),
        Some(_) | None => loaded,
    }
}

/// A file as git has it at a revision.
fn of_revision(word: &str, revision: &str, directory: &Path) -> Result<Loaded> {
    if revision.starts_with('-') {
        bail!("`{revision}` is no revision");
    }
    let mut git = Command::new("git");
    git.arg("-C").arg(directory).args(["cat-file", "blob", word]);
    let output = git.output().with_context(|| format!("git cannot be asked for `{word}`"))?;
    if !output.status.success() {
        let problem = String::from_utf8_lossy(&output.stderr);
        bail!("git has no `{word}`: {}", problem.trim());
    }
    let text = String::from_utf8(output.stdout).with_context(|| format!("`{word}` is no text"))?;
    Ok(of_flag(Flag::Inline(text), None, directory))
}
