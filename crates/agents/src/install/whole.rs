//! Files that are mayi's alone: scripts, a plugin, a manifest. Each carries a mark, and a file without it is never
//! touched, whatever its name.

use std::path::Path;

use mayi_settings::own_hook;

use super::InstallError;
use super::facts::{Fill, Whole};

/// What every such file says near its beginning.
pub const MARK: &str = "Written by mayi install";

/// How many bytes from the beginning the mark is looked for.
const BEGINNING: usize = 512;

/// The text of the file for a command.
pub(super) fn text(whole: &Whole, command: &[String]) -> String {
    let filled = match whole.fill {
        Fill::Script => command.iter().map(|word| own_hook::quoted(word)).collect::<Vec<_>>().join(" "),
        Fill::List => serde_json::Value::from(command).to_string(),
        Fill::Nothing => String::new(),
    };
    whole.text.replace("@COMMAND@", &filled)
}

/// Whether a file's text is ours.
pub(super) fn is_ours(text: &str) -> bool {
    text.find(MARK).is_some_and(|at| at < BEGINNING)
}

/// Refuses a file of this name that is somebody else's.
pub(super) fn check(path: &Path, text: Option<&str>) -> Result<(), InstallError> {
    match text {
        Some(text) if !is_ours(text) => Err(InstallError::Foreign { path: path.to_owned() }),
        Some(_) | None => Ok(()),
    }
}

/// The command in a file of ours, as the words that are run.
pub(super) fn command(whole: &Whole, text: &str) -> Option<Vec<String>> {
    let template = whole.text.lines().find(|line| line.contains("@COMMAND@"))?;
    let (before, after) = template.split_once("@COMMAND@")?;
    let filled = text.lines().find_map(|line| line.strip_prefix(before)?.strip_suffix(after))?;
    match whole.fill {
        Fill::Script => Some(own_hook::words(filled)),
        Fill::List => serde_json::from_str(filled).ok(),
        Fill::Nothing => None,
    }
}
