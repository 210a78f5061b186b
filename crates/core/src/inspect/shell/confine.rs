//! Whether a command will really run confined: settings want it, the host can do it, and the call does not step out.

use mayi_shell::command::{Direction, RedirectTarget};

use crate::inspect::shell::{Reading, program};

pub(super) fn will_be_confined(reading: &Reading<'_>) -> bool {
    let sandbox = &reading.view.policy.options.sandbox;
    let steps_out = sandbox.allow_unsandboxed && reading.view.call.is_set("dangerouslyDisableSandbox");
    sandbox.enabled && reading.view.session.availability.sandbox && !steps_out && !is_excluded(reading)
}

/// Every command must be on the list, and nothing may write, change directory or hide a command in a word.
fn is_excluded(reading: &Reading<'_>) -> bool {
    let analysis = &reading.analysis;
    if analysis.opaque.is_some() || analysis.commands.is_empty() || analysis.scripts.len() > 1 {
        return false;
    }
    analysis.commands.iter().all(|command| {
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
