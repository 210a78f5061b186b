//! Removals that would be a disaster: the root, home, the working directory, or whatever an empty variable leaves.

use mayi_shell::command::{Command, Directory};
use mayi_shell::effect::{Act, Place};
use mayi_shell::word::{HoleKind, Part, Value, Word};

use crate::inspect::shell::{Reading, innermost, program};
use crate::locations;
use crate::path;
use crate::reason::Reason;

/// The first removal in the text that no mode and no rule may wave through.
pub(super) fn critical(reading: &Reading<'_>) -> Option<Reason> {
    reading
        .analysis
        .commands
        .iter()
        .find_map(|command| by_effect(reading, command).or_else(|| by_word(reading, command)))
}

fn by_effect(reading: &Reading<'_>, command: &Command) -> Option<Reason> {
    command.effects.iter().find_map(|effect| {
        let Act::Removes { place, .. } = &effect.act else { return None };
        let (path, why) = match place {
            Place::Path(path) => (path.clone(), locations::critical(path, &reading.view.policy.workspace)?.to_owned()),
            Place::Pattern { below, pattern } => {
                (format!("{}/{pattern}", below.trim_end_matches('/')), below_critical(reading, below, pattern)?)
            }
            Place::Unknown(_) => return None,
        };
        Some(Reason::Critical { path, why })
    })
}

/// A pattern that sweeps a critical directory, or an added one.
fn below_critical(reading: &Reading<'_>, below: &str, pattern: &str) -> Option<String> {
    let workspace = &reading.view.policy.workspace;
    let sweeps = pattern.trim_matches('/').chars().all(|letter| "*.?".contains(letter));
    let added = workspace.added.iter().any(|added| path::is_within(added, below));
    let why = locations::critical(below, workspace).or(added.then_some("an added directory"))?;
    (sweeps || below == "/").then(|| format!("everything in {why}"))
}

/// What an unknown part of an operand could turn `rm` into.
fn by_word(reading: &Reading<'_>, command: &Command) -> Option<Reason> {
    if !matches!(program(command), Some("rm" | "rmdir")) {
        return None;
    }
    let words = innermost(command).get(1..).unwrap_or_default();
    let recursive = words.iter().filter_map(Word::text).any(is_recursive_flag);
    let found = words.iter().find_map(|word| {
        let why = match &word.value {
            Value::Literal(text) => only_backslashes(text).or_else(|| literal(reading, command, text)),
            Value::Template(parts) => in_template(reading, parts, Recursion::of(recursive)),
        }?;
        Some((word, why))
    });
    let (word, why) = found?;
    let script = reading.analysis.scripts.get(command.script.0).map_or(reading.text, |script| script.text.as_str());
    let path = script.get(word.span.start..word.span.end).unwrap_or_default().to_owned();
    Some(Reason::Critical { path, why: why.to_owned() })
}

fn is_recursive_flag(text: &str) -> bool {
    let short = text.strip_prefix('-').filter(|flags| !flags.starts_with('-'));
    text == "--recursive" || short.is_some_and(|flags| flags.contains(['r', 'R']))
}

/// A path spelled out, also where the effects do not name it (a wrapper nobody knows, an odd flag).
fn literal(reading: &Reading<'_>, command: &Command, text: &str) -> Option<&'static str> {
    let workspace = &reading.view.policy.workspace;
    let directory = match &command.standing.directory {
        Directory::Start => workspace.here(),
        Directory::At(directory) => directory,
        Directory::Unknown => "/",
    };
    if text.is_empty() || text.starts_with('-') {
        return None;
    }
    locations::critical(&path::join(directory, text), workspace)
}

fn only_backslashes(text: &str) -> Option<&'static str> {
    (!text.is_empty() && text.chars().all(|letter| letter == '\\')).then_some("nothing but backslashes")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Recursion {
    Whole,
    None,
}

impl Recursion {
    #[expect(clippy::fn_params_excessive_bools, reason = "this is where the flag becomes a word")]
    fn of(recursive: bool) -> Self {
        if recursive { Recursion::Whole } else { Recursion::None }
    }
}

fn in_template(reading: &Reading<'_>, parts: &[Part], recursion: Recursion) -> Option<&'static str> {
    match parts {
        [Part::Hole(hole)] if matches!(hole.kind, HoleKind::Output(_)) => {
            (recursion == Recursion::Whole).then_some("its only target is the output of a command")
        }
        [Part::Hole(hole)] if matches!(hole.kind, HoleKind::Tilde(_)) => Some("a home directory"),
        [Part::Hole(hole)] => prints_directory(&hole.kind),
        [Part::Hole(hole), Part::Text(text), rest @ ..] => {
            prints_directory(&hole.kind).or_else(|| under_variable(&hole.kind, text, rest))
        }
        [Part::Hole(hole), ..] => prints_directory(&hole.kind),
        [Part::Text(text), Part::Hole(hole), ..] => {
            let directory = text.strip_suffix('/')?;
            let directory = if directory.is_empty() { "/" } else { directory };
            let place = path::place(directory, &reading.view.policy.workspace).ok()?;
            let fills = matches!(hole.kind, HoleKind::Output(_) | HoleKind::Variable { guarded: false, .. });
            (fills && recursion == Recursion::Whole)
                .then(|| locations::critical(&place, &reading.view.policy.workspace))?
        }
        _ => None,
    }
}

/// `"$DIR"/*`, `$X/`, `"$TMP/usr"`: what is left when the variable is empty.
fn under_variable(kind: &HoleKind, text: &str, rest: &[Part]) -> Option<&'static str> {
    let HoleKind::Variable { guarded: false, .. } = kind else { return None };
    let below = text.strip_prefix('/')?;
    let globbed = matches!(rest.first(), Some(Part::Hole(hole)) if matches!(hole.kind, HoleKind::Glob(_)));
    let first = below.split('/').next().unwrap_or_default();
    if below.trim_matches('/').is_empty() && (rest.is_empty() || globbed) {
        return Some("an empty variable would leave the root of the file system");
    }
    locations::is_top_level_name(first).then_some("an empty variable would leave a system directory")
}

/// A variable that holds where the text stands: removing it removes the place itself.
fn prints_directory(kind: &HoleKind) -> Option<&'static str> {
    let HoleKind::Variable { assigned_from: Some(source), .. } = kind else { return None };
    let first = source.split_whitespace().next().unwrap_or_default();
    let prints = matches!(first, "pwd" | "dirname" | "realpath" | "readlink") || source.contains("--show-toplevel");
    prints.then_some("it holds a directory that a command printed")
}
