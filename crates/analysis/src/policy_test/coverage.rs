//! Coverage: which rules no test and no past call has hit.

use std::collections::HashMap;
use std::sync::Arc;

use mayi_core::policy::{Entry, Policy, Status};
use mayi_core::reason::Reason;
use mayi_core::verdict::Verdict;
use mayi_engine::audit::Recorded;
use serde::Serialize;
use serde_json::Value;

use crate::why::rules_of;

/// Which rules were hit.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    rules: Vec<Covered>,
    places: HashMap<(Verdict, String), Vec<usize>>,
}

/// A rule, and how often it was hit.
#[derive(Clone, Debug, Serialize)]
pub struct Covered {
    /// The rule.
    #[serde(flatten)]
    pub rule: Arc<Entry>,
    /// How many tests it settled.
    pub tests: usize,
    /// How many past calls it settled.
    pub past: usize,
}

impl Covered {
    /// Nothing ever hit it.
    pub fn is_missed(&self) -> bool {
        self.tests == 0 && self.past == 0
    }
}

impl Coverage {
    /// Nothing was hit yet.
    pub(super) fn of(policy: &Policy) -> Self {
        let mut coverage = Self::default();
        for entry in policy.entries().iter().filter(|entry| entry.status == Status::Live) {
            let key = (entry.verdict, entry.text.clone());
            coverage.places.entry(key).or_default().push(coverage.rules.len());
            coverage.rules.push(Covered { rule: entry.clone(), tests: 0, past: 0 });
        }
        coverage
    }

    /// A test was settled.
    pub(super) fn note_test(&mut self, reason: &Reason) {
        for entry in rules_of(reason) {
            let hit = self.rules.iter_mut().find(|covered| *covered.rule == *entry);
            hit.into_iter().for_each(|covered| covered.tests += 1);
        }
    }

    /// A call of the past was settled. Records name rules by their text; where it stands may have changed.
    pub fn note_past(&mut self, recorded: &Recorded) {
        let mut named = Vec::new();
        name(&recorded.reason, &mut named);
        for key in named {
            for place in self.places.get(&key).into_iter().flatten() {
                self.rules.get_mut(*place).into_iter().for_each(|covered| covered.past += 1);
            }
        }
    }

    /// Every rule.
    pub fn rules(&self) -> &[Covered] {
        &self.rules
    }

    /// Those that nothing hit.
    pub fn missed(&self) -> impl Iterator<Item = &Covered> {
        self.rules.iter().filter(|covered| covered.is_missed())
    }
}

/// The rules that a recorded reason names, with their lists.
fn name(reason: &Value, named: &mut Vec<(Verdict, String)>) {
    let rules = reason.get("rules").and_then(Value::as_array).into_iter().flatten();
    for entry in reason.get("rule").into_iter().chain(rules) {
        let list = entry.get("list").and_then(Value::as_str);
        let list = Verdict::ALL.into_iter().find(|verdict| Some(verdict.word()) == list);
        let text = entry.get("rule").and_then(Value::as_str).map(str::to_owned);
        named.extend(list.zip(text));
    }
    if let Some(because) = reason.get("because") {
        name(because, named);
    }
}
