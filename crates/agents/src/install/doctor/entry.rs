//! Whether an agent calls a hook as it is written in its file, and heeds what it says. A hook that answers well when the
//! doctor runs it is worth nothing where the agent passes over it.

use mayi_settings::own_hook;
use serde_json::Value;

use super::{Finding, State};
use crate::hook::options;
use crate::install::entries::Written;
use crate::install::facts::{Agent, Entries, Failure, Fixed, Hooked};

/// Matchers that leave out no tool.
const ALL: [&str; 3] = ["", "*", ".*"];

/// How long every agent is told to wait, each in its own unit.
const SECONDS: f64 = 60.0;

/// What is wrong with the hooks of ours in a file, and what to do about it.
pub(super) fn examined(agent: &Agent, entries: &Entries, (written, again): (&[Written], &str)) -> Vec<Finding> {
    let mut findings = Vec::new();
    for hooked in entries.events {
        let ours: Vec<&Written> = written.iter().filter(|written| written.event == hooked.event).collect();
        let troubles: Vec<Vec<String>> = ours.iter().map(|written| troubles(entries, hooked, written)).collect();
        if ours.len() > 1 {
            let what =
                format!("the hook for {} is there {} times, and each decides every call", hooked.event, ours.len());
            findings.push(Finding::warning(what, again));
        }
        if troubles.iter().any(Vec::is_empty) {
            continue;
        }
        // Only at one event does the agent run a call that nobody decided.
        let state = if hooked.event == agent.canary.event { State::Wrong } else { State::Warning };
        let found = |trouble: String| Finding {
            state,
            what: format!("{}: {trouble}", hooked.event),
            help: Some(again.to_owned()),
        };
        findings.extend(troubles.into_iter().next().unwrap_or_default().into_iter().map(found));
    }
    findings
}

/// Why the agent would not call one hook, or would not heed it.
fn troubles(entries: &Entries, hooked: &Hooked, written: &Written) -> Vec<String> {
    let member = |name: &str| written.handler.get(name).filter(|value| !value.is_null());
    let mut troubles = Vec::new();
    if let Some(matcher) = written.matcher.as_ref().filter(|matcher| !is_for_all(matcher)) {
        troubles.push(format!("it is called for some tools alone, those that match {matcher}"));
    }
    if let Some(condition) = member("if") {
        troubles.push(format!("it is called on a condition alone, `if` {condition}"));
    }
    if member("async").is_some_and(|flag| *flag != Value::Bool(false)) {
        troubles.push("nobody waits for its answer, because `async` is set".to_owned());
    }
    for (_, wanted) in
        entries.handler.iter().filter(|(name, wanted)| *name == "type" && member(name) != Some(&wanted.value()))
    {
        troubles.push(format!("its `type` is not {}", wanted.value()));
    }
    troubles.extend(too_short(entries, written));
    for (name, wanted) in hooked.extra.iter().filter(|(name, wanted)| member(name) != Some(&wanted.value())) {
        troubles.push(format!("a call runs when the hook fails, because `{name}` is not {}", wanted.value()));
    }
    let is_guarded = own_hook::unguarded(&written.command) != written.command;
    if entries.failure == Failure::EndsWithTwo && cfg!(unix) && !is_guarded {
        troubles
            .push("a call runs when the hook fails, because its command line does not end with the guard".to_owned());
    }
    troubles
}

fn is_for_all(matcher: &Value) -> bool {
    matcher.is_null() || matcher.as_str().is_some_and(|matcher| ALL.contains(&matcher))
}

/// Whether the agent stops waiting before the hook must have answered.
fn too_short(entries: &Entries, written: &Written) -> Option<String> {
    let (name, wanted) = &entries.limit;
    let given = written.handler.get(*name).filter(|given| !given.is_null())?;
    let Fixed::Number(wanted) = wanted else { return None };
    let seconds = given.as_f64().map(|given| given * SECONDS / f64::from(*wanted));
    let words = own_hook::words(own_hook::unguarded(&written.command));
    let deadline = options::deadline(words.get(2..).unwrap_or_default())?.as_secs_f64();
    match seconds {
        Some(seconds) if seconds > deadline => None,
        Some(seconds) => {
            Some(format!("`{name}` is {given}: the agent waits {seconds} s, and mayi may take {deadline} s"))
        }
        None => Some(format!("`{name}` is {given}, which is no time")),
    }
}
