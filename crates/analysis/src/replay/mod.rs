//! Replay: recorded calls decided again under another policy or mode, and what changes. Under the policy of the time
//! nothing does. What cannot be decided again is counted and said, never guessed.

mod retry;

use std::collections::BTreeMap;
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use mayi_engine::audit::Recorded;
use mayi_engine::observe::Observer;
use mayi_settings::Loaded;
use serde::Serialize;

pub use retry::{Lost, retried, session_of};

/// So many different changes are kept; of the rest only the number.
const KEPT: usize = 10_000;

/// What a recorded call is decided under.
pub struct Bench<'a> {
    /// The settings that apply to a recorded call.
    pub settings: &'a mut dyn FnMut(&Recorded) -> Arc<Loaded>,
    /// The mode, where it is not the recorded one.
    pub mode: Option<Mode>,
    /// Who looks at what was not looked at then.
    pub observer: &'a dyn Observer,
}

/// What replaying found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// How many recorded decisions there were.
    pub recorded: usize,
    /// How many were decided again.
    pub replayed: usize,
    /// How many of them got the same verdict.
    pub unchanged: usize,
    /// What changed, most frequent first; the same change of the same call once.
    pub changes: Vec<Change>,
    /// How many changes there are beyond those that are kept.
    pub more: usize,
    /// What could not be decided again, by reason.
    pub lost: BTreeMap<Lost, usize>,
    /// How many records do not say what they rested on: they were decided as if on this machine, with a person there.
    pub bare: usize,
}

/// A verdict and the step that settled it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Ruling {
    /// The verdict.
    pub verdict: Verdict,
    /// The step.
    pub step: Step,
}

/// A call that would now be decided otherwise.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The call.
    #[serde(flatten)]
    pub call: Call,
    /// Where it was made.
    pub cwd: String,
    /// What it was told.
    pub old: Ruling,
    /// What it would be told.
    pub new: Ruling,
    /// Why it would be.
    pub because: String,
    /// The classifier would be asked, and nobody knows what it would say.
    pub unheard: bool,
    /// How often it was recorded.
    pub times: usize,
    /// The newest record of it.
    pub record: String,
}

/// The same change of the same call, however often it was recorded.
type Key = (String, String, String, Ruling, Ruling);

/// Replays records one by one.
pub struct Replay<'a> {
    bench: Bench<'a>,
    report: Report,
    changes: BTreeMap<Key, Change>,
}

impl<'a> Replay<'a> {
    /// A replay on a bench.
    pub fn on(bench: Bench<'a>) -> Self {
        Self { bench, report: Report::default(), changes: BTreeMap::new() }
    }

    /// Decides a recorded call again.
    pub fn add(&mut self, recorded: &Recorded) {
        self.report.recorded += 1;
        self.report.bare += usize::from(recorded.ground.is_none());
        let loaded = (self.bench.settings)(recorded);
        let again = match retried(recorded, &loaded, self.bench.mode, self.bench.observer) {
            Ok(again) => again,
            Err(lost) => {
                *self.report.lost.entry(lost).or_default() += 1;
                return;
            }
        };
        self.report.replayed += 1;
        let old = Ruling { verdict: recorded.verdict, step: recorded.step };
        let new = Ruling { verdict: again.decision.verdict, step: again.decision.step };
        if old.verdict == new.verdict {
            self.report.unchanged += 1;
            return;
        }
        let key = (recorded.tool.clone(), recorded.input.to_string(), recorded.cwd.clone(), old, new);
        if self.changes.len() >= KEPT && !self.changes.contains_key(&key) {
            self.report.more += 1;
            return;
        }
        let change = self.changes.entry(key).or_insert_with(|| Change {
            call: recorded.call(),
            cwd: recorded.cwd.clone(),
            old,
            new,
            because: again.decision.reason.to_string(),
            unheard: again.unheard,
            times: 0,
            record: String::new(),
        });
        change.times += 1;
        change.record = recorded.name();
    }

    /// What was found.
    pub fn report(self) -> Report {
        let mut changes: Vec<Change> = self.changes.into_values().collect();
        changes.sort_by_key(|change| std::cmp::Reverse(change.times));
        Report { changes, ..self.report }
    }
}

impl Report {
    /// How many records of each change of verdict there are.
    pub fn counts(&self) -> BTreeMap<(Verdict, Verdict), usize> {
        let mut counts = BTreeMap::new();
        for change in &self.changes {
            *counts.entry((change.old.verdict, change.new.verdict)).or_default() += change.times;
        }
        counts
    }
}
