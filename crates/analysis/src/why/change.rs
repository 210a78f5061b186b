//! Changes that may turn a verdict, and trying them.

use std::fmt;
use std::sync::Arc;

use mayi_core::mode::Mode;
use mayi_core::policy::{Entry, Layer, Origin, Policy, Source, Written};
use mayi_core::session::Attendance;
use mayi_core::verdict::Verdict;
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
    /// Take a rule out, or narrow it.
    Remove {
        /// The rule.
        rule: String,
        /// Its list.
        list: Verdict,
        /// Where it stands.
        origin: Origin,
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
            Change::Remove { rule, list, origin } => write!(f, "take `{rule}` out of the {list} list of {origin}"),
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

    /// Without the rules that settled it; and where it asks then, with one that allows it.
    fn without_rules(&self, again: &Again) -> Option<Turn> {
        let mut recorded = self.recorded.clone();
        let mut loaded = self.around.loaded.clone();
        let mut changes = Vec::new();
        let mut rules = rules_of(&again.decision.reason);
        for _ in 0..ROUNDS {
            if rules.is_empty() {
                return None;
            }
            for rule in &rules {
                (recorded, loaded) = without(recorded, loaded, rule);
                let Entry { text, verdict, origin, .. } = &**rule;
                changes.push(Change::Remove { rule: text.clone(), list: *verdict, origin: origin.clone() });
            }
            let next = retried(&recorded, &loaded, None, self.around.observer).ok()?;
            let ruling = Ruling { verdict: next.decision.verdict, step: next.decision.step };
            if is_turned(self.old, ruling.verdict) {
                return Some(Turn { changes, ruling });
            }
            rules = rules_of(&next.decision.reason);
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
    let mut sources = loaded.policy.sources();
    for Source { layer, file, rules, .. } in &mut sources {
        let Origin { layer: own_layer, file: own_file, line, column } = &rule.origin;
        if layer == own_layer && file == own_file {
            let is_it = |written: &Written| {
                written.verdict == rule.verdict
                    && written.text == rule.text
                    && (written.line, written.column) == (*line, *column)
            };
            rules.retain(|written| !is_it(written));
        }
    }
    let Policy { workspace, options, .. } = &*loaded.policy;
    loaded.policy = Arc::new(Policy::build(workspace.clone(), sources, options.clone()));
    (recorded, loaded)
}
