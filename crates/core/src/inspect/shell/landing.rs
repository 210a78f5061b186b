//! Where copies land: `cp a/.bashrc .` writes `./.bashrc`, though the text names only the folder.

use mayi_shell::command::{Analysis, Command};
use mayi_shell::effect::{Act, Effect, Place};

use crate::path;

/// Programs that put their sources into the folder they name last.
const CARRIERS: [&str; 5] = ["cp", "mv", "ln", "install", "rsync"];

/// The paths that a command writes inside a folder it names as its target.
pub(super) fn landings(analysis: &Analysis, command: &Command) -> Vec<String> {
    if !super::program(command).is_some_and(|program| CARRIERS.contains(&program)) {
        return Vec::new();
    }
    let sources: Vec<&str> = command.effects.iter().filter_map(source).collect();
    let targets = command.effects.iter().filter_map(|effect| Some((target(effect)?, effect)));
    let folders = targets.filter(|(_, effect)| sources.len() > 1 || names_folder(analysis, command, effect));
    let inside =
        |folder: &str| -> Vec<String> { sources.iter().map(|source| path::join(folder, path::name(source))).collect() };
    folders.flat_map(|(folder, _)| inside(folder)).collect()
}

fn source(effect: &Effect) -> Option<&str> {
    match &effect.act {
        Act::Reads(Place::Path(path)) | Act::Lists(Place::Path(path)) => Some(path),
        Act::Removes { place: Place::Path(path), .. } => Some(path),
        Act::Reads(_)
        | Act::Lists(_)
        | Act::Removes { .. }
        | Act::Writes(_)
        | Act::Executes(_)
        | Act::Connects { .. }
        | Act::ChangesSystem(_)
        | Act::Unknown(_) => None,
    }
}

fn target(effect: &Effect) -> Option<&str> {
    if let Act::Writes(Place::Path(path)) = &effect.act { Some(path) } else { None }
}

/// Written in a way that only a folder is: `.`, `..`, `x/`, `x/.`.
fn names_folder(analysis: &Analysis, command: &Command, effect: &Effect) -> bool {
    let script = analysis.scripts.get(command.script.0);
    let written = script.and_then(|script| script.text.get(effect.span.start..effect.span.end)).unwrap_or_default();
    let written = written.trim_matches(['"', '\'']);
    matches!(written, "." | ".." | "~") || ["/", "/.", "/.."].into_iter().any(|end| written.ends_with(end))
}
