//! The sandbox: what this machine can enforce, tried, held against what settings want.

use mayi_engine::confine::health::{Tried, tried};
use mayi_engine::confine::is_required;
use mayi_settings::{Given, Loaded, Trust, load};

use super::{Examination, Finding, Presence, Section, State, machine};

pub(super) fn examined(examination: &Examination<'_>) -> Section {
    let trust = if machine::is_trusted(examination) { Trust::Trusted } else { Trust::Untrusted };
    let loaded = load(examination.places, &Given { trust, ..Given::default() });
    let tried = tried(&loaded);
    let first = wanted(&loaded, &tried);
    let rest: Vec<Finding> = tried.iter().map(|tried| found(tried, &first)).collect();
    let findings = std::iter::once(first).chain(rest).collect();
    Section { name: super::SANDBOX, title: "sandbox", presence: Presence::Installed, findings }
}

/// What settings want, and whether it can be had.
fn wanted(loaded: &Loaded, tried: &[Tried]) -> Finding {
    let sandbox = &loaded.settings.sandbox;
    let best = tried.iter().find_map(|tried| Some((tried.mechanism, tried.outcome.as_ref().ok()?)));
    match (best, sandbox.enabled) {
        (Some((mechanism, enforcement)), true) => {
            Finding::fine(format!("commands of agents run confined, by {mechanism}: {enforcement}"))
        }
        (Some((mechanism, enforcement)), false) => Finding::fine(format!(
            "mayi run confines by {mechanism}: {enforcement}; agents' commands are not confined (`sandbox.enabled`)"
        )),
        (None, true) if is_required(sandbox) => Finding::wrong(
            "settings require the sandbox, and nothing here can confine: shell commands are denied",
            HELP,
        ),
        (None, true) => {
            Finding::wrong("settings enable the sandbox, and nothing here can confine: commands run unconfined", HELP)
        }
        (None, false) => Finding::warning("nothing here can confine a command", HELP),
    }
}

const HELP: &str = "what is missing stands below; mayi run --plan shows what would be enforced";

fn found(tried: &Tried, first: &Finding) -> Finding {
    match &tried.outcome {
        Ok(enforcement) => Finding::fine(format!("{}: {enforcement}", tried.mechanism)),
        Err(why) => {
            let (what, help) =
                why.split_once("\nhelp: ").unwrap_or((why, "docs/sandbox.md says what each means needs"));
            // One that works is enough.
            let is_needed = first.state != State::Fine;
            let what = format!("{}: {what}", tried.mechanism);
            if is_needed { Finding::warning(what, help) } else { Finding::fine(format!("{what} (not needed)")) }
        }
    }
}
