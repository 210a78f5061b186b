//! Whether a rule may be suggested: it is not one that auto mode sets aside, holds no secret, and lets no call pass that
//! the static risk analysis blocks. What it leaves open is tried with what an agent could put there (`data/probes.txt`).

use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::catalogue::Kind;
use mayi_core::grant::{self, SetAside};
use mayi_core::policy::{Layer, Policy, Written};
use mayi_core::risk::{self, Assessment};
use mayi_core::rule::text::TextPattern;
use mayi_core::session::Session;
use mayi_core::verdict::Verdict;
use mayi_engine::observe::Observer;
use serde_json::json;

use super::shape::{Opens, Shape};
use crate::again;

const PROBES: &str = include_str!("../../data/probes.txt");

/// What could stand where a rule leaves operands open.
pub(super) fn probes() -> impl Iterator<Item = &'static str> {
    PROBES.lines().filter(|line| !line.is_empty() && !line.starts_with("# "))
}

/// Why a rule is not suggested.
pub(super) enum Refused {
    /// It would let this call pass as well, which the static risk analysis blocks.
    LetsPass(Call),
    /// It is nothing to suggest, or says nothing.
    Otherwise,
}

/// Whether the rule may be suggested for a call.
pub(super) fn tried(shape: &Shape, call: &Call, policy: &Arc<Policy>, observer: &impl Observer) -> Result<(), Refused> {
    let kind = policy.tool(&shape.rule.tool).kind;
    if is_set_aside(shape, policy) || holds_secret(&shape.rule.to_string()) {
        return Err(Refused::Otherwise);
    }
    // What opens operands needs a call that is certainly harmless as it is; a spelled one may be anything but blocked.
    match (again::risk(call, policy, observer), shape.opens) {
        (Assessment::Blocked { .. }, _) => return Err(Refused::Otherwise),
        (Assessment::Unknown { .. }, Opens::Operands) => return Err(Refused::Otherwise),
        (Assessment::Unknown { .. } | Assessment::Safe { .. }, _) => {}
    }
    let written = Written::new(Verdict::Allow, &shape.rule.to_string());
    let with = Arc::new(again::with_rule(policy, Layer::Session, written));
    let allows = |call: &Call| {
        let again = again::alone(call.clone(), &with, &Session::default(), observer);
        again.is_some_and(|again| again.decision.verdict == Verdict::Allow)
    };
    let blocked = |call: &Call| matches!(again::risk(call, policy, observer), Assessment::Blocked { .. });
    if !allows(call) {
        return Err(Refused::Otherwise);
    }
    match opened(shape, kind).into_iter().find(|probe| blocked(probe) && allows(probe)) {
        Some(probe) => Err(Refused::LetsPass(probe)),
        None => Ok(()),
    }
}

/// Whether auto mode, as this policy has it, would set the rule aside.
fn is_set_aside(shape: &Shape, policy: &Policy) -> bool {
    let kind = policy.tool(&shape.rule.tool).kind;
    match grant::set_aside(&shape.rule, kind) {
        SetAside::Always => true,
        SetAside::WhenStrict => policy.options.strict_grants,
        SetAside::Never => policy.options.classify_all_shell && kind.runs_commands(),
    }
}

fn holds_secret(text: &str) -> bool {
    let mut shown = text.to_owned();
    mayi_settings::secret::redact(&mut shown);
    shown != text
}

/// Calls that a rule which leaves operands open would match.
fn opened(shape: &Shape, kind: Kind) -> Vec<Call> {
    let content = shape.rule.content.as_deref();
    let (Opens::Operands, Some(content), Kind::Shell) = (shape.opens, content, kind) else { return Vec::new() };
    let kept = content.strip_suffix(":*").unwrap_or(content);
    let of_probes = probes().map(|probe| format!("{kept} {probe}"));
    // Patterns of categories are such commands themselves, as far as they begin alike.
    let patterns = risk::categories().iter().flat_map(|category| category.commands);
    let of_risk = patterns.filter_map(|pattern| instance(pattern, kept));
    of_probes.chain(of_risk).map(|command| Call::new(&shape.rule.tool, json!({ "command": command }))).collect()
}

/// A command that a pattern of a category matches, if it begins with what a rule keeps.
fn instance(pattern: &str, kept: &str) -> Option<String> {
    let text = match TextPattern::command(pattern) {
        TextPattern::Exact(text) | TextPattern::Prefix(text) => text,
        TextPattern::Glob(_) => pattern.replace('*', "x"),
    };
    let longer = text.strip_prefix(kept).is_some_and(|rest| rest.starts_with(' '));
    longer.then_some(text)
}
