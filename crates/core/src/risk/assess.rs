//! Holding a shell command's words and effects against the categories and exceptions.

use mayi_shell::command::Command;
use mayi_shell::effect::{Act, Effect, Executes, Place};
use mayi_shell::word::HoleKind;

use crate::inspect::shell::{Reading, program};
use crate::listed::Listed;
use crate::locations;
use crate::path;
use crate::risk::fetched::{self, Fetched, feeders, substituted};
use crate::risk::words::{self, Forms};
use crate::risk::{Assessment, Category, data, declared, links, named, place, push};

/// Folders that everybody on the machine writes to.
const SCRATCH: [&str; 3] = ["/tmp", "/var/tmp", "/dev/shm"];

/// Addresses from which a machine learns its own credentials.
const METADATA: [&str; 4] = ["169.254.169.254", "metadata.google.internal", "100.100.100.200", "169.254.170.2"];

/// Shells, which do what somebody types into them.
const SHELLS: [&str; 7] = ["sh", "bash", "dash", "zsh", "ksh", "fish", "exec"];

/// Names of this machine.
const LOOPBACK: [&str; 4] = ["localhost", "127.0.0.1", "[::1]", "::1"];

/// What one effect means.
pub(super) enum Weight {
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
    let forms: Vec<Forms> = commands.iter().map(|command| Forms::of(reading, command)).collect();
    let with_forms = || commands.iter().zip(&forms);
    if let Some(blocked) = with_forms().find_map(|(command, forms)| blocked_command(reading, command, forms)) {
        return blocked;
    }
    let mut exception = "read-only";
    let mut open = with_forms().find_map(|(command, forms)| doubtful_command(command, forms));
    let mut fetched = Fetched::default();
    for command in commands {
        for effect in &command.effects {
            match weigh(&Weighing { reading, command, fetched: &fetched }, effect) {
                Weight::Fine("read-only") => {}
                Weight::Fine(other) => exception = other,
                Weight::Bad(category, detail) => return Assessment::Blocked { category: category.to_owned(), detail },
                Weight::Open(what) => {
                    open.get_or_insert(format!("`{}`: {what}", reading.source(command)));
                }
            }
        }
        fetched.note(command);
    }
    for weight in reading.touched.iter().filter_map(|touched| links::weigh(reading, touched)) {
        match weight {
            Weight::Fine(_) => {}
            Weight::Bad(category, detail) => return Assessment::Blocked { category: category.to_owned(), detail },
            Weight::Open(what) => {
                open.get_or_insert(what);
            }
        }
    }
    match open {
        Some(what) => Assessment::Unknown { what },
        None => Assessment::Safe { exception: exception.to_owned(), detail: "every effect is known".to_owned() },
    }
}

/// A command that may be of a category, though not for certain.
fn doubtful_command(command: &Command, forms: &Forms) -> Option<String> {
    if words::excused(command).is_some() {
        return None;
    }
    let (category, form) = forms.doubtful().or_else(|| forms.certain().next().filter(|_| forms.rehearses()))?;
    Some(format!("`{form}` may be {}", category.title))
}

/// A command that is of a category by its own words, or by what feeds it.
fn blocked_command(reading: &Reading<'_>, command: &Command, forms: &Forms) -> Option<Assessment> {
    let blocked = |category: &str, detail| Assessment::Blocked { category: category.to_owned(), detail };
    if fetched::is_run_at_once(reading, command) {
        return Some(blocked(
            "download-and-execute",
            format!("`{}` runs what was just fetched", reading.source(command)),
        ));
    }
    if forms.rehearses() {
        return None;
    }
    if let Some((category, detail)) = push::category_of(command) {
        return Some(blocked(category, detail));
    }
    let is_spared = |category: &Category| match category.id {
        "untrusted-code" => declared::is_declared(&reading.view, command),
        // A certificate that this machine made for itself is not checked by anybody.
        "security-weakening" => is_on_loopback(command),
        _ => false,
    };
    let (category, form) = forms.certain().find(|(category, _)| !is_spared(category))?;
    Some(blocked(category.id, format!("`{form}`")))
}

/// It reaches this machine alone.
fn is_on_loopback(command: &Command) -> bool {
    let mut hosts = command.effects.iter().filter_map(|effect| match &effect.act {
        Act::Connects { host, .. } => Some(host.as_deref()),
        Act::Lists(_)
        | Act::Reads(_)
        | Act::Writes(_)
        | Act::Removes { .. }
        | Act::Executes(_)
        | Act::ChangesSystem(_)
        | Act::Unknown(_) => None,
    });
    let is_local = |host: Option<&str>| host.is_some_and(|host| LOOPBACK.contains(&host));
    hosts.next().is_some_and(is_local) && hosts.all(is_local)
}

/// What an effect is weighed with.
struct Weighing<'a> {
    reading: &'a Reading<'a>,
    command: &'a Command,
    fetched: &'a Fetched,
}

fn weigh(weighing: &Weighing<'_>, effect: &Effect) -> Weight {
    let Weighing { reading, command, fetched } = *weighing;
    match &effect.act {
        Act::Lists(_) => Weight::Fine("read-only"),
        Act::Reads(place) => weigh_read(reading, place),
        Act::Writes(place) => weigh_write(reading, place),
        Act::Removes { place, recursive: true } => weigh_removal(reading, place, Depth::WithAllBelow),
        Act::Removes { place, recursive: false } => weigh_removal(reading, place, Depth::Alone),
        Act::Executes(executed) => named::weigh(reading, command).unwrap_or_else(|| match executed {
            Executes::Code(interpreter) => weigh_code(reading.source(command), interpreter),
            Executes::File(_) | Executes::Project(_) | Executes::Named(_) | Executes::Unknown(_) => {
                weigh_execution(reading, fetched, executed)
            }
        }),
        Act::Connects { host, sends: true } => weigh_sending(reading, command, host.as_deref()),
        Act::Connects { host, sends: false } => weigh_fetching(reading, command, host.as_deref()),
        Act::ChangesSystem(what) => match words::excused(command) {
            Some(exception) => Weight::Fine(exception.id),
            None => Weight::Open(what.clone()),
        },
        Act::Unknown(why) => Weight::Open(why.clone()),
    }
}

fn weigh_sending(reading: &Reading<'_>, command: &Command, host: Option<&str>) -> Weight {
    if let Some(exception) = words::excused(command) {
        return Weight::Fine(exception.id);
    }
    if let Some(host) = host.filter(|host| METADATA.contains(host)) {
        return to_metadata(host);
    }
    if program(command).is_some_and(|program| SHELLS.contains(&program)) && place::is_on_socket(command) {
        return Weight::Bad("exposure", "a shell whose input or output is a connection".to_owned());
    }
    let to = host.unwrap_or("an unknown host");
    let mut sources = feeders(reading, command).chain(substituted(reading, command)).chain([command]);
    if sources.any(|source| reads_sensitive(reading, source)) {
        return Weight::Bad("exfiltration", format!("sends what is sensitive to {to}"));
    }
    let carries = program(command).is_some_and(|program| data::MOVERS.contains(&program)) && reads_files(command);
    match host {
        Some(host) if carries && !LOOPBACK.contains(&host) => {
            Weight::Bad("exfiltration", format!("sends local files to {host}"))
        }
        Some(_) | None => Weight::Open(format!("sends data to {to}")),
    }
}

fn weigh_fetching(reading: &Reading<'_>, command: &Command, host: Option<&str>) -> Weight {
    let is_filled = command.words.iter().flat_map(|word| word.holes()).any(|hole| match hole.kind {
        HoleKind::Variable { .. } | HoleKind::Output(_) | HoleKind::Prompt | HoleKind::Indirect => true,
        HoleKind::Process
        | HoleKind::Brace(_)
        | HoleKind::Arithmetic
        | HoleKind::Glob(_)
        | HoleKind::Tilde(_)
        | HoleKind::Inserted => false,
    });
    match host {
        Some(host) if METADATA.contains(&host) => to_metadata(host),
        // What fills a request goes out with it.
        _ if is_filled && substituted(reading, command).any(|inner| reads_sensitive(reading, inner)) => {
            Weight::Bad("exfiltration", "sends what is sensitive in a request".to_owned())
        }
        _ if is_filled => Weight::Open("sends along what a variable or a command's output holds".to_owned()),
        Some(_) => Weight::Fine("read-only"),
        // A build tool that fetches what the project's manifests declare.
        None if runs_project(command) => Weight::Fine("declared-dependencies"),
        None if words::asks_own_service(command) => Weight::Fine("own-service-credentials"),
        None => Weight::Open("reaches a host that is not known".to_owned()),
    }
}

fn to_metadata(host: &str) -> Weight {
    Weight::Bad("credential-exploration", format!("`{host}` hands out the machine's credentials"))
}

fn known(place: &Place) -> Option<&str> {
    match place {
        Place::Path(path) => Some(path),
        Place::Pattern { below, pattern } => (!pattern.split('/').any(|segment| segment == "..")).then_some(below),
        Place::Unknown(_) => None,
    }
}

fn reads_files(command: &Command) -> bool {
    command.effects.iter().any(|effect| matches!(effect.act, Act::Reads(_)))
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
    let workspace = &reading.view.policy.workspace;
    match place::category_of(path, workspace) {
        Some(category) => Weight::Bad(category, format!("writes `{path}`")),
        None if workspace.holds(path) || is_in_scratch(path) => Weight::Fine("local-files"),
        None => Weight::Open(format!("writes `{path}`, outside the working directories")),
    }
}

/// How much a removal takes along.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Depth {
    Alone,
    WithAllBelow,
}

fn weigh_removal(reading: &Reading<'_>, place: &Place, depth: Depth) -> Weight {
    let workspace = &reading.view.policy.workspace;
    let inside = |path: &str| workspace.holds(path);
    match place {
        Place::Unknown(word) => Weight::Bad("unknown-deletion", format!("what `{word}` names cannot be known")),
        Place::Path(path) if inside(path) || is_in_scratch(path) => Weight::Fine("local-files"),
        Place::Pattern { below, .. } if inside(below) => Weight::Fine("local-files"),
        Place::Pattern { below, pattern } if SCRATCH.iter().any(|scratch| path::is_within(below, scratch)) => {
            Weight::Bad("shared-scratch-sweep", format!("removes `{below}/{pattern}`"))
        }
        Place::Path(path) if SCRATCH.contains(&path.as_str()) => {
            Weight::Bad("shared-scratch-sweep", format!("removes what lies in `{path}`"))
        }
        Place::Path(path) | Place::Pattern { below: path, .. } => match place::category_of(path, workspace) {
            Some(category) => Weight::Bad(category, format!("removes `{path}`")),
            None if depth == Depth::WithAllBelow => Weight::Bad(
                "irreversible-destruction",
                format!("removes `{path}` and all below, outside the working directories"),
            ),
            None => Weight::Open(format!("removes `{path}`, outside the working directories")),
        },
    }
}

/// A file of its own in a scratch folder, not the folder itself.
pub(super) fn is_in_scratch(path: &str) -> bool {
    SCRATCH.iter().any(|scratch| path != *scratch && path::is_within(path, scratch))
}

pub(super) fn runs_project(command: &Command) -> bool {
    command.effects.iter().any(|effect| matches!(effect.act, Act::Executes(Executes::Project(_))))
}

/// Code in the text is no more than a script of the project that was written a moment ago, unless it names something
/// that reaches beyond computing and printing.
fn weigh_code(code: &str, interpreter: &str) -> Weight {
    if !data::INTERPRETERS.iter().any(|known| interpreter.starts_with(known)) {
        return Weight::Open(format!("code in {interpreter}"));
    }
    match data::CODE_WORDS.iter().find(|word| code.contains(**word)) {
        Some(word) => Weight::Open(format!("code in {interpreter} that names `{word}`")),
        None => Weight::Fine("declared-dependencies"),
    }
}

fn weigh_execution(reading: &Reading<'_>, fetched: &Fetched, executed: &Executes) -> Weight {
    match executed {
        Executes::Project(_) if fetched.is_any() => Weight::Open("runs code after something was fetched".to_owned()),
        Executes::Project(_) => Weight::Fine("declared-dependencies"),
        Executes::File(place) => match known(place) {
            Some(path) if fetched.holds(path) => {
                Weight::Bad("download-and-execute", format!("runs `{path}`, which was just fetched"))
            }
            Some(_) if fetched.is_any() => Weight::Open("runs a file after something was fetched".to_owned()),
            Some(path) if links::runs_inside(&reading.view, path) => Weight::Fine("declared-dependencies"),
            Some(path) => Weight::Open(format!("runs `{path}`, outside the working directories")),
            None => Weight::Open("runs a file that is not known".to_owned()),
        },
        Executes::Code(interpreter) => weigh_code("", interpreter),
        Executes::Named(program) | Executes::Unknown(program) => Weight::Open(format!("runs {program}")),
    }
}
