//! Changes that may turn a verdict, and trying them.

use std::fmt;
use std::sync::Arc;

use mayi_core::mode::Mode;
use mayi_core::policy::{Entry, Layer, Origin, Policy, Source, Written};
use mayi_core::reason::Reason;
use mayi_core::session::Attendance;
use mayi_core::step::Step;
use mayi_core::trace::Finding;
use mayi_core::verdict::{Decision, Verdict};
use mayi_engine::audit::Recorded;
use mayi_settings::Loaded;
use serde::Serialize;

use super::{Surroundings, Turn, is_turned, rules_of};
use crate::again::Again;
use crate::replay::{Ruling, retried};
use crate::suggest::offers_seeing;

/// So many rules are taken out one after the other: behind a deny there may be another.
const ROUNDS: usize = 8;

/// Modes that a person may choose instead, mildest first.
const MODES: [Mode; 4] = [Mode::Default, Mode::AcceptEdits, Mode::Auto, Mode::BypassPermissions];

/// A change of the policy or of what a session is like.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "change", rename_all = "kebab-case")]
pub enum Change {
    /// Take a rule out, or narrow it as far as that it no longer matches.
    Remove {
        /// The rule.
        rule: String,
        /// Its list.
        list: Verdict,
        /// Where it stands.
        origin: Origin,
        /// What it must no longer match, where that is known.
        #[serde(skip_serializing_if = "Option::is_none")]
        matched: Option<String>,
    },
    /// Leave a rule over paths as it is, but for one path.
    Except {
        /// The rule.
        rule: String,
        /// Its list.
        list: Verdict,
        /// Where it stands.
        origin: Origin,
        /// What to write after it.
        except: String,
    },
    /// Add a rule.
    Add {
        /// The rule.
        rule: String,
        /// Its list.
        list: Verdict,
        /// The settings it goes to.
        layer: Layer,
    },
    /// Trust the folder, so that its own rules count.
    Trust,
    /// Another mode.
    Mode {
        /// The mode.
        mode: Mode,
    },
    /// A person at the prompt.
    Attend,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Change::Remove { rule, list, origin, matched } => {
                write!(f, "take `{rule}` out of the {list} list of {origin}")?;
                match matched {
                    Some(text) => write!(f, ", or narrow it so that it does not match `{text}`"),
                    None => Ok(()),
                }
            }
            Change::Except { rule, list, origin, except } => {
                write!(f, "write `{except}` after `{rule}` in the {list} list of {origin}")
            }
            Change::Add { rule, list, layer } => write!(f, "add `{rule}` to the {list} list of {layer} settings"),
            Change::Trust => f.write_str("trust the folder (mayi trust)"),
            Change::Mode { mode } => write!(f, "work in mode {mode}"),
            Change::Attend => f.write_str("have a person at the prompt"),
        }
    }
}

/// The changes that turn a verdict, smallest first.
pub(super) fn turns(recorded: &Recorded, around: &Surroundings<'_>, again: &Again) -> Vec<Turn> {
    let trial = Trial { recorded, around, old: again.decision.verdict };
    let mut turns: Vec<Turn> = Vec::new();
    turns.extend(trial.with_exception(again));
    turns.extend(trial.without_rules(again));
    match trial.old {
        Verdict::Allow => turns.extend(trial.with_deny()),
        Verdict::Ask | Verdict::Deny => turns.extend(trial.with_allow()),
    }
    turns.extend(trial.with_trust());
    turns.extend(trial.with_mode());
    turns.extend(trial.attended());
    turns.sort_by_key(|turn| turn.changes.len());
    turns
}

/// The step that settled a call without a rule, where no allow rule would have been heard: neither one for the whole
/// tool nor one for the very call turns it.
pub(super) fn built_in(recorded: &Recorded, around: &Surroundings<'_>, again: &Again) -> Option<Step> {
    let trial = Trial { recorded, around, old: again.decision.verdict };
    if trial.old == Verdict::Allow || !rules_of(&again.decision.reason).is_empty() {
        return None;
    }
    let call = recorded.call();
    let spelled = crate::suggest::spelled(&call, &around.loaded.policy);
    let mut rules = spelled.into_iter().chain([call.tool]);
    let is_heard = rules.any(|rule| trial.with_rule(Verdict::Allow, rule).is_some());
    (!is_heard).then_some(settled_at(&again.decision))
}

/// One call, and who looks.
struct Trial<'a> {
    recorded: &'a Recorded,
    around: &'a Surroundings<'a>,
    old: Verdict,
}

impl Trial<'_> {
    /// Decides again; the ruling if it turned.
    fn turned(&self, recorded: &Recorded, loaded: &Loaded, mode: Option<Mode>) -> Option<Ruling> {
        let again = retried(recorded, loaded, mode, self.around.observer).ok()?;
        let new = Ruling { verdict: again.decision.verdict, step: again.decision.step };
        is_turned(self.old, new.verdict).then_some(new)
    }

    /// With a `!path` after the rule over paths that settled it.
    fn with_exception(&self, again: &Again) -> Option<Turn> {
        let Reason::Rule { rule, matched: Some(path) } = again.decision.reason.root() else { return None };
        let plain = path.starts_with('/') && !path.contains(['*', '?', '[', '!', '\\', '(', ')']);
        let tool = Some(rule.rule.tool.as_str()).filter(|tool| plain && matches!(*tool, "Read" | "Edit"))?;
        rule.rule.content.as_ref()?;
        let except = format!("{tool}(!/{path})");
        let mut loaded = self.around.loaded.clone();
        let mut sources = loaded.policy.sources().to_vec();
        let source = sources.iter_mut().find(|source| is_of(source, rule))?;
        let place = source.rules.iter().position(|written| is_it(written, rule))?;
        source.rules.insert(place + 1, Written::new(rule.verdict, &except));
        loaded.policy = Arc::new(rebuilt(&loaded.policy, sources));
        let ruling = self.turned(self.recorded, &loaded, None)?;
        let Entry { text, verdict, origin, .. } = &**rule;
        let change = Change::Except { rule: text.clone(), list: *verdict, origin: origin.clone(), except };
        Some(Turn { changes: vec![change], ruling })
    }

    /// Without the rules that settled it; and where it asks then, with one that allows it.
    fn without_rules(&self, again: &Again) -> Option<Turn> {
        let mut recorded = self.recorded.clone();
        let mut loaded = self.around.loaded.clone();
        let mut changes = Vec::new();
        let mut rules = rules_of(&again.decision.reason);
        let mut matched = matched_by(&again.decision.reason);
        for _ in 0..ROUNDS {
            if rules.is_empty() {
                return None;
            }
            for rule in &rules {
                (recorded, loaded) = without(recorded, loaded, rule);
                let Entry { text, verdict, origin, .. } = &**rule;
                let matched = matched.clone().filter(|_| *verdict != Verdict::Allow);
                changes.push(Change::Remove { rule: text.clone(), list: *verdict, origin: origin.clone(), matched });
            }
            let next = retried(&recorded, &loaded, None, self.around.observer).ok()?;
            let ruling = Ruling { verdict: next.decision.verdict, step: next.decision.step };
            if is_turned(self.old, ruling.verdict) {
                return Some(Turn { changes, ruling });
            }
            rules = rules_of(&next.decision.reason);
            matched = matched_by(&next.decision.reason);
        }
        None
    }

    /// With the narrowest rule that may be suggested.
    fn with_allow(&self) -> Option<Turn> {
        let call = self.recorded.call();
        let offered = offers_seeing(&call, &self.around.loaded.policy, &self.around.observer);
        let rule = offered.last().map(|offer| offer.rule.clone())?;
        self.with_rule(Verdict::Allow, rule)
    }

    /// With a rule against the very call.
    fn with_deny(&self) -> Option<Turn> {
        let rule = crate::suggest::spelled(&self.recorded.call(), &self.around.loaded.policy)?;
        self.with_rule(Verdict::Deny, rule)
    }

    fn with_rule(&self, list: Verdict, rule: String) -> Option<Turn> {
        let layer = Layer::Local;
        let written = Written::new(list, &rule);
        let mut loaded = self.around.loaded.clone();
        loaded.policy = Arc::new(crate::again::with_rule(&loaded.policy, layer, written));
        let ruling = self.turned(self.recorded, &loaded, None)?;
        Some(Turn { changes: vec![Change::Add { rule, list, layer }], ruling })
    }

    fn with_trust(&self) -> Option<Turn> {
        let ruling = self.turned(self.recorded, self.around.trusted?, None)?;
        Some(Turn { changes: vec![Change::Trust], ruling })
    }

    /// The mildest mode that turns it.
    fn with_mode(&self) -> Option<Turn> {
        let other = MODES.into_iter().filter(|mode| *mode != self.recorded.mode);
        let tried = other.filter_map(|mode| {
            let ruling = self.turned(self.recorded, self.around.loaded, Some(mode))?;
            Some(Turn { changes: vec![Change::Mode { mode }], ruling })
        });
        tried.into_iter().next()
    }

    fn attended(&self) -> Option<Turn> {
        let mut recorded = self.recorded.clone();
        let ground = recorded.ground.as_mut().filter(|ground| ground.attendance == Attendance::Unattended)?;
        ground.attendance = Attendance::Attended;
        let ruling = self.turned(&recorded, self.around.loaded, None)?;
        Some(Turn { changes: vec![Change::Attend], ruling })
    }
}

/// The same without a rule, whether it stands in settings or came with an answer.
fn without(mut recorded: Recorded, mut loaded: Loaded, rule: &Entry) -> (Recorded, Loaded) {
    if let Some(ground) = &mut recorded.ground {
        ground.added.rules.retain(|own| own.behavior != rule.verdict || own.rule != rule.text);
    }
    let mut sources = loaded.policy.sources().to_vec();
    for source in sources.iter_mut().filter(|source| is_of(source, rule)) {
        source.rules.retain(|written| !is_it(written, rule));
    }
    loaded.policy = Arc::new(rebuilt(&loaded.policy, sources));
    (recorded, loaded)
}

fn rebuilt(policy: &Policy, sources: Vec<Source>) -> Policy {
    Policy::build(policy.workspace.clone(), sources, policy.options.clone())
}

fn is_of(source: &Source, rule: &Entry) -> bool {
    source.layer == rule.origin.layer && source.file == rule.origin.file
}

fn is_it(written: &Written, rule: &Entry) -> bool {
    let Origin { line, column, .. } = rule.origin;
    written.verdict == rule.verdict && written.text == rule.text && (written.line, written.column) == (line, column)
}

/// What a rule matched that could be written narrower, where the reason says it.
fn matched_by(reason: &Reason) -> Option<String> {
    let Reason::Rule { rule, matched: Some(text) } = reason.root() else { return None };
    let is_wider = rule.rule.content.as_ref().is_some_and(|content| content != text);
    is_wider.then(|| text.clone())
}

/// The step that said first what the decision says: a question that nobody answers was asked earlier.
fn settled_at(decision: &Decision) -> Step {
    let first = decision.trace.lines().iter().find(|(_, finding)| matches!(finding, Finding::Settle(..)));
    first.map_or(decision.step, |(step, _)| *step)
}
