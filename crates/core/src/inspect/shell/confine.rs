//! Whether a command will really run confined: settings want it, the host can do it, and the call does not step out.

use mayi_shell::command::{Command, Direction, Parent, RedirectTarget, Script, Via};

use crate::inspect::View;
use crate::inspect::shell::{Reading, program};
use crate::verdict::Bounds;

pub(super) fn will_be_confined(view: &View<'_>, bounds: Bounds) -> bool {
    view.policy.options.sandbox.enabled && view.session.availability.sandbox && bounds == Bounds::Inside
}

/// Whether the call steps out of confinement, and by whose word.
pub(super) fn bounds(reading: &Reading<'_>) -> Bounds {
    let sandbox = &reading.view.policy.options.sandbox;
    if sandbox.allow_unsandboxed && reading.view.call.is_set("dangerouslyDisableSandbox") {
        Bounds::Waived
    } else if !sandbox.excluded.is_empty() && is_excluded(reading) {
        Bounds::Excluded
    } else {
        Bounds::Inside
    }
}

/// Every command must be on the list, and nothing may write, change directory or hide a command in a word. The list is
/// about the text of the call: what a task runs in turn is not looked at.
fn is_excluded(reading: &Reading<'_>) -> bool {
    let analysis = &reading.analysis;
    let inside = analysis.scripts.iter().skip(1);
    if analysis.opaque.is_some() || !inside.into_iter().all(|script| is_of_task(reading, script)) {
        return false;
    }
    let of_task =
        |command: &&Command| analysis.scripts.get(command.script.0).is_some_and(|script| is_of_task(reading, script));
    let mut written = analysis.commands.iter().filter(|command| !of_task(command)).peekable();
    written.peek().is_some()
        && written.all(|command| {
            let writes = command.redirects.iter().any(|redirect| {
                let out = redirect.direction != Direction::In;
                out && matches!(redirect.target, RedirectTarget::File(_))
            });
            let plain = !writes && command.standing.depth == 0 && program(command) != Some("cd");
            let literal = analysis.literal_form(command);
            let unwrapped = literal.iter().map(|form| form.text.clone());
            let spoken = unwrapped.chain(literal.is_none().then(|| reading.source(command).to_owned()));
            let listed = |text: String| reading.view.policy.is_excluded_from_sandbox(strip_assignments(&text));
            plain && spoken.into_iter().any(listed)
        })
}

/// Whether a script is a task's text, or stands in one.
fn is_of_task(reading: &Reading<'_>, script: &Script) -> bool {
    let mut next = Some(script);
    while let Some(Parent { script, via, .. }) = next.and_then(|script| script.parent.as_ref()) {
        match via {
            // An alias may stand in the words of the call itself.
            Via::Task(kind) if kind == "git alias" => return false,
            Via::Task(_) => return true,
            Via::Shell(_) | Via::Runner(_) | Via::Elsewhere(_) => {}
        }
        next = reading.analysis.scripts.get(script.0);
    }
    false
}

/// Variable prefixes do not keep a command inside: `FOO=1 docker ps` is `docker ps`.
fn strip_assignments(text: &str) -> &str {
    let mut rest = text;
    while let Some((first, after)) = rest.split_once(' ') {
        let is_assignment = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_')
        });
        if !is_assignment {
            break;
        }
        rest = after;
    }
    rest
}
