//! What a change of a policy means: where it lets more pass and where less, each with a witness, a call that was really
//! decided under both. What could not be found out is said and never called equal.

mod near;
mod options;
mod regions;
mod side;
mod witness;

use std::collections::BTreeSet;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::session::Attendance;
use mayi_core::trace::Trace;
use mayi_core::verdict::Verdict;
use mayi_engine::audit::Recorded;
use mayi_engine::observe::Observer;
use mayi_settings::Loaded;
use serde::Serialize;

use crate::automata::Budget;
use crate::replay::{Ruling, retried};

pub use side::rebased;

/// What a change of a policy means.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Diff {
    /// Where more passes.
    pub widened: Vec<Region>,
    /// Where less passes.
    pub narrowed: Vec<Region>,
    /// What could not be found out.
    pub undecided: Vec<Undecided>,
    /// Recorded calls whose verdict changes.
    pub audit: Vec<Changed>,
    /// How many recorded calls were decided under both.
    pub replayed: usize,
    /// Nothing changes, and that is certain.
    pub equal: bool,
}

/// A part of all calls that is decided otherwise, shown by one of them.
#[derive(Clone, Debug, Serialize)]
pub struct Region {
    /// The tool of the witness.
    pub tool: String,
    /// What of a call is compared: its tool, text, path, host or parameter; or the setting that changed.
    pub region: String,
    /// The call.
    pub witness: Call,
    /// The mode in which the verdicts differ.
    pub mode: Mode,
    /// Whether a person was there.
    pub attendance: Attendance,
    /// The verdict before.
    pub old: Verdict,
    /// The verdict after.
    pub new: Verdict,
    /// The rules and settings that make the difference.
    pub because: Vec<Because>,
    /// The steps before.
    pub old_trace: Trace,
    /// The steps after.
    pub new_trace: Trace,
}

/// A rule or a setting that was added or taken away.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Because {
    /// Whether it came or went.
    pub change: Came,
    /// The rule, or the setting with its value.
    pub what: String,
    /// The list it stands in, for a rule.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub list: Option<Verdict>,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<mayi_core::policy::Origin>,
}

/// Whether something came or went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Came {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
}

/// Something that could not be found out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Undecided {
    /// What of a call, or which setting.
    pub region: String,
    /// Why.
    pub why: String,
    /// What changed there.
    pub because: Vec<Because>,
}

/// A recorded call whose verdict changes.
#[derive(Clone, Debug, Serialize)]
pub struct Changed {
    /// The call.
    #[serde(flatten)]
    pub call: Call,
    /// Where it was made.
    pub cwd: String,
    /// What the old policy says.
    pub old: Ruling,
    /// What the new one says.
    pub new: Ruling,
    /// How often it was recorded.
    pub times: usize,
}

/// Which way a difference goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Nothing changes.
    Equal,
    /// Less passes, nowhere more.
    Narrowed,
    /// More passes somewhere.
    Widened,
    /// Something could not be found out, and nothing that was found lets more pass.
    Undecided,
}

impl Diff {
    /// Which way it goes.
    pub fn direction(&self) -> Direction {
        let widens = |changed: &Changed| changed.new.verdict < changed.old.verdict;
        if !self.widened.is_empty() || self.audit.iter().any(widens) {
            Direction::Widened
        } else if !self.undecided.is_empty() {
            Direction::Undecided
        } else if !self.narrowed.is_empty() || !self.audit.is_empty() {
            Direction::Narrowed
        } else {
            Direction::Equal
        }
    }

    fn note(&mut self, region: Region) {
        let same = |other: &Region| {
            (&other.witness, other.mode, other.old, other.new) == (&region.witness, region.mode, region.old, region.new)
        };
        let list = if region.new < region.old { &mut self.widened } else { &mut self.narrowed };
        match list.iter_mut().find(|other| same(other)) {
            Some(other) => {
                let further = region.because.into_iter().filter(|because| !other.because.contains(because));
                other.because.extend(further.collect::<Vec<_>>());
            }
            None => list.push(region),
        }
    }
}

/// What becomes of the policy of some settings when others take their place. Both must be about the same directory.
pub fn diff(old: &Loaded, new: &Loaded, observer: &dyn Observer) -> Diff {
    let mut diff = Diff::default();
    let pair = witness::Pair { old, new, observer };
    regions::compare(&pair, &mut diff, Budget::of(regions::WORK));
    options::compare(&pair, &mut diff);
    diff.equal = diff.direction() == Direction::Equal;
    diff
}

/// Adds what becomes of recorded calls.
pub fn add_recorded(diff: &mut Diff, (old, new): (&Loaded, &Loaded), recorded: &Recorded, observer: &dyn Observer) {
    let decided = |loaded: &Loaded| retried(recorded, loaded, None, observer).ok();
    let (Some(before), Some(after)) = (decided(old), decided(new)) else { return };
    diff.replayed += 1;
    let ruling = |again: &crate::again::Again| Ruling { verdict: again.decision.verdict, step: again.decision.step };
    let (old, new) = (ruling(&before), ruling(&after));
    if old.verdict == new.verdict {
        return;
    }
    diff.equal = false;
    let same = |other: &&mut Changed| {
        (other.cwd == recorded.cwd, other.old, other.new) == (true, old, new) && other.call == recorded.call()
    };
    match diff.audit.iter_mut().find(same) {
        Some(other) => other.times += 1,
        None => diff.audit.push(Changed { call: recorded.call(), cwd: recorded.cwd.clone(), old, new, times: 1 }),
    }
}

/// The names of tools that either policy or the catalogue knows.
fn tools(pair: &witness::Pair<'_>) -> BTreeSet<String> {
    let known = mayi_core::catalogue::all().iter().map(|tool| tool.name.to_owned());
    let policies = [&pair.old.policy, &pair.new.policy];
    let named = policies.iter().flat_map(|policy| policy.entries().iter().map(|entry| entry.rule.tool.clone()));
    let declared = policies.iter().flat_map(|policy| policy.options.tools.iter().map(|tool| tool.name.clone()));
    known.chain(named).chain(declared).filter(|name| !name.contains('*')).collect()
}
