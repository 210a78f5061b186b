//! Holding a shell command's effects against the categories and exceptions.

use mayi_shell::command::Command;
use mayi_shell::effect::{Act, Effect, Executes, Place};

use crate::inspect::shell::{Reading, program};
use crate::listed::Listed;
use crate::locations;
use crate::path;
use crate::risk::{Assessment, category_of, code_words, doubt_of};

/// Folders that everybody on the machine writes to.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Addresses from which a machine learns its own credentials.
const METADATA: [&str; 4] = ["169.254.169.254", "metadata.google.internal", "100.100.100.200", "169.254.170.2"];

/// Programs that run what they are given on standard input.
const INTERPRETERS: [&str; 14] =
    ["sh", "bash", "dash", "zsh", "ksh", "fish", "python", "python3", "node", "perl", "ruby", "php", "source", "eval"];

/// What one effect means.
enum Weight {
    /// An exception covers it.
    Fine(&'static str),
    /// A category forbids it.
    Bad(&'static str, String),
    /// It cannot tell.
    Open(String),
}

/// Assesses a command text.
pub(crate) fn assess(reading: &Reading<'_>) -> Assessment {
    if let Some(opaque) = &reading.analysis.opaque {
        return Assessment::Unknown { what: format!("the command cannot be read ({})", opaque.why) };
    }
    let commands = &reading.analysis.commands;
    if let Some(blocked) = commands.iter().find_map(|command| blocked_command(reading, command)) {
        return blocked;
    }
    let mut exception = "read-only";
    let mut open = commands.iter().find_map(|command| doubtful_command(reading, command));
    for command in commands {
        for effect in &command.effects {
            match weigh(reading, command, effect) {
                Weight::Fine("read-only") => {}
                Weight::Fine(other) => exception = other,
                Weight::Bad(category, detail) => return Assessment::Blocked { category: category.to_owned(), detail },
                Weight::Open(what) => {
                    open.get_or_insert(format!("`{}`: {what}", reading.source(command)));
                }
            }
        }
    }
    match open {
        Some(what) => Assessment::Unknown { what },
        None => Assessment::Safe { exception: exception.to_owned(), detail: "every effect is known".to_owned() },
    }
}

/// A command that may be of a category, though not for certain.
fn doubtful_command(reading: &Reading<'_>, command: &Command) -> Option<String> {
    let forms = reading.analysis.denotations(command);
    forms.into_iter().find_map(|form| doubt_of(&form).map(|category| format!("`{form}` may be {}", category.title)))
}

/// A command that is of a category by its own words, or by what feeds it.
fn blocked_command(reading: &Reading<'_>, command: &Command) -> Option<Assessment> {
    let by_words = reading.analysis.denotations(command).into_iter().find_map(|form| {
        let category = category_of(&form)?;
        Some(Assessment::Blocked { category: category.id.to_owned(), detail: format!("`{form}`") })
    });
    by_words.or_else(|| {
        let interprets = program(command).is_some_and(|program| INTERPRETERS.contains(&program));
        let downloaded = interprets && feeders(reading, command).any(connects);
        downloaded.then(|| Assessment::Blocked {
            category: "download-and-execute".to_owned(),
            detail: format!("`{}` runs what was just fetched", reading.source(command)),
        })
    })
}

/// The commands whose output reaches this one through pipes, nearest first.
fn feeders<'a>(reading: &'a Reading<'_>, command: &'a Command) -> impl Iterator<Item = &'a Command> {
    let commands = &reading.analysis.commands;
    let before = |command: &Command| command.standing.fed_by.and_then(|index| commands.get(index));
    // A pipe never feeds backwards, so the chain is no longer than the list.
    std::iter::successors(before(command), move |feeder| before(feeder)).take(commands.len())
}

fn connects(command: &Command) -> bool {
    command.effects.iter().any(|effect| matches!(effect.act, Act::Connects { .. }))
}

fn weigh(reading: &Reading<'_>, command: &Command, effect: &Effect) -> Weight {
    match &effect.act {
        Act::Lists(_) => Weight::Fine("read-only"),
        Act::Reads(place) => weigh_read(reading, place),
        Act::Writes(place) => weigh_write(reading, place),
        Act::Removes { place, .. } => weigh_removal(reading, place),
        Act::Executes(Executes::Code(interpreter)) => {
            let script = reading.analysis.scripts.get(command.script.0).map_or(reading.text, |script| &script.text);
            weigh_code(script.get(effect.span.start..effect.span.end).unwrap_or(script), interpreter)
        }
        Act::Executes(executed) => weigh_execution(reading, executed),
        Act::Connects { host: Some(host), .. } if METADATA.contains(&host.as_str()) => {
            Weight::Bad("credential-exploration", format!("`{host}` hands out the machine's credentials"))
        }
        Act::Connects { host, sends: true } => {
            let reads_secret =
                feeders(reading, command).chain([command]).any(|source| reads_sensitive(reading, source));
            let to = host.as_deref().unwrap_or("an unknown host");
            if reads_secret {
                Weight::Bad("exfiltration", format!("sends what is sensitive to {to}"))
            } else {
                Weight::Open(format!("sends data to {to}"))
            }
        }
        Act::Connects { host: Some(_), sends: false } => Weight::Fine("read-only"),
        // A build tool that fetches what the project's manifests declare.
        Act::Connects { host: None, sends: false } if runs_project(command) => Weight::Fine("declared-dependencies"),
        Act::Connects { host: None, sends: false } => Weight::Open("reaches a host that is not known".to_owned()),
        Act::ChangesSystem(what) => Weight::Open(what.clone()),
        Act::Unknown(why) => Weight::Open(why.clone()),
    }
}

fn known(place: &Place) -> Option<&str> {
    match place {
        Place::Path(path) => Some(path),
        Place::Pattern { below, pattern } => (!pattern.split('/').any(|segment| segment == "..")).then_some(below),
        Place::Unknown(_) => None,
    }
}

fn reads_sensitive(reading: &Reading<'_>, command: &Command) -> bool {
    command.effects.iter().any(|effect| match &effect.act {
        Act::Reads(place) => sensitive(reading, place).is_some(),
        Act::Lists(_)
        | Act::Writes(_)
        | Act::Removes { .. }
        | Act::Executes(_)
        | Act::Connects { .. }
        | Act::ChangesSystem(_)
        | Act::Unknown(_) => false,
    })
}

/// The sensitive place that reading here takes in: the path itself, one below it, or one a pattern may match.
fn sensitive(reading: &Reading<'_>, place: &Place) -> Option<&'static Listed> {
    let workspace = &reading.view.policy.workspace;
    match place {
        Place::Path(path) => {
            locations::sensitive(path, workspace).or_else(|| locations::sensitive_below(path, None, workspace))
        }
        Place::Pattern { below, pattern } => locations::sensitive(below, workspace)
            .or_else(|| locations::sensitive_below(below, Some(pattern), workspace)),
        Place::Unknown(_) => None,
    }
}

fn weigh_read(reading: &Reading<'_>, place: &Place) -> Weight {
    let Some(path) = known(place) else { return Weight::Open("reads a place that is not known".to_owned()) };
    match sensitive(reading, place) {
        Some(listed) => Weight::Bad("credential-exploration", format!("reads `{path}`: {}", listed.why)),
        None => Weight::Fine("read-only"),
    }
}

fn weigh_write(reading: &Reading<'_>, place: &Place) -> Weight {
    let Some(path) = known(place) else { return Weight::Open("writes a place that is not known".to_owned()) };
    if reading.view.policy.workspace.holds(path) || is_in_scratch(path) {
        Weight::Fine("local-files")
    } else {
        Weight::Open(format!("writes `{path}`, outside the working directories"))
    }
}

fn weigh_removal(reading: &Reading<'_>, place: &Place) -> Weight {
    let inside = |path: &str| reading.view.policy.workspace.holds(path);
    match place {
        Place::Unknown(word) => Weight::Bad("unknown-deletion", format!("what `{word}` names cannot be known")),
        Place::Path(path) if inside(path) || is_in_scratch(path) => Weight::Fine("local-files"),
        Place::Pattern { below, .. } if inside(below) => Weight::Fine("local-files"),
        Place::Pattern { below, pattern } if SCRATCH.iter().any(|scratch| path::is_within(below, scratch)) => {
            Weight::Bad("shared-scratch-sweep", format!("removes `{below}/{pattern}`"))
        }
        Place::Path(path) | Place::Pattern { below: path, .. } => {
            Weight::Open(format!("removes `{path}`, outside the working directories"))
        }
    }
}

/// A file of its own in a scratch folder, not the folder itself.
fn is_in_scratch(path: &str) -> bool {
    SCRATCH.iter().any(|scratch| path != *scratch && path::is_within(path, scratch))
}

fn runs_project(command: &Command) -> bool {
    command.effects.iter().any(|effect| matches!(effect.act, Act::Executes(Executes::Project(_))))
}

/// Code in the text is no more than a script of the project that was written a moment ago, unless it names something
/// that reaches beyond computing and printing.
fn weigh_code(code: &str, interpreter: &str) -> Weight {
    match code_words().iter().find(|word| code.contains(**word)) {
        Some(word) => Weight::Open(format!("code in {interpreter} that names `{word}`")),
        None => Weight::Fine("declared-dependencies"),
    }
}

fn weigh_execution(reading: &Reading<'_>, executed: &Executes) -> Weight {
    match executed {
        Executes::Project(_) => Weight::Fine("declared-dependencies"),
        Executes::File(place) => match known(place) {
            Some(path) if reading.view.policy.workspace.holds(path) => Weight::Fine("declared-dependencies"),
            Some(path) => Weight::Open(format!("runs `{path}`, outside the working directories")),
            None => Weight::Open("runs a file that is not known".to_owned()),
        },
        Executes::Code(interpreter) => weigh_code("", interpreter),
        Executes::Named(program) | Executes::Unknown(program) => Weight::Open(format!("runs {program}")),
    }
}
