//! Why a recorded call got its verdict, and the smallest change that would have turned it. Every change that is named
//! was made on a copy of the policy and the call decided again: none is a guess.

mod change;

use std::sync::Arc;

use mayi_core::policy::Entry;
use mayi_core::reason::Reason;
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Verdict};
use mayi_engine::audit::Recorded;
use mayi_engine::observe::Observer;
use mayi_settings::Loaded;
use serde::Serialize;

use crate::again::Again;
use crate::replay::{Lost, Ruling, retried};

pub use change::Change;

/// Why a call got its verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Why {
    /// What it would be told today; `None` when it cannot be decided again.
    pub today: Option<Today>,
    /// Why it cannot be decided again.
    pub lost: Option<Lost>,
    /// What would have turned the verdict, the smallest change first.
    pub turns: Vec<Turn>,
    /// The built-in step that settled it, where no rule turns it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub built_in: Option<Step>,
}

/// A call decided under the settings of today.
#[derive(Clone, Debug, Serialize)]
pub struct Today {
    /// The verdict and its step.
    #[serde(flatten)]
    pub ruling: Ruling,
    /// Why.
    pub because: String,
    /// The rules that settled it, each with its file and line.
    pub rules: Vec<Arc<Entry>>,
    /// The path through the steps.
    pub trace: Trace,
}

/// Changes that together turn a verdict.
#[derive(Clone, Debug, Serialize)]
pub struct Turn {
    /// The changes.
    pub changes: Vec<Change>,
    /// The verdict with them.
    #[serde(flatten)]
    pub ruling: Ruling,
}

/// What a call is explained with.
pub struct Surroundings<'a> {
    /// The settings that apply.
    pub loaded: &'a Loaded,
    /// The same, were the folder trusted; `None` when it is.
    pub trusted: Option<&'a Loaded>,
    /// Who looks at what was not looked at then.
    pub observer: &'a dyn Observer,
}

/// Explains a recorded call.
pub fn why(recorded: &Recorded, around: &Surroundings<'_>) -> Why {
    match retried(recorded, around.loaded, None, around.observer) {
        Err(lost) => Why { today: None, lost: Some(lost), turns: Vec::new(), built_in: None },
        Ok(again) => {
            let turns = change::turns(recorded, around, &again);
            let built_in = change::built_in(recorded, around, &again);
            Why { today: Some(today(again)), lost: None, turns, built_in }
        }
    }
}

fn today(Again { decision, .. }: Again) -> Today {
    let Decision { verdict, step, reason, trace, .. } = decision;
    Today { ruling: Ruling { verdict, step }, because: reason.to_string(), rules: rules_of(&reason), trace }
}

/// The rules that a reason names.
pub fn rules_of(reason: &Reason) -> Vec<Arc<Entry>> {
    match reason.root() {
        Reason::Rule { rule, .. } | Reason::MightMatch { rule, .. } | Reason::Malformed { rule } => vec![rule.clone()],
        Reason::Covered { rules } => rules.clone(),
        Reason::BrokenSettings { .. }
        | Reason::BadInput { .. }
        | Reason::LinkLoop { .. }
        | Reason::IsLink { .. }
        | Reason::ReadsBlocked { .. }
        | Reason::NeedsPerson
        | Reason::Protected { .. }
        | Reason::Critical { .. }
        | Reason::Bypass
        | Reason::ReadOnly
        | Reason::Harmless
        | Reason::PublicDocumentation { .. }
        | Reason::AcceptedEdit
        | Reason::Confined
        | Reason::Silence { .. }
        | Reason::Hook { .. }
        | Reason::NeverAsks { .. }
        | Reason::SafeTool
        | Reason::Risk { .. }
        | Reason::Classified { .. }
        | Reason::ClassifierFailed { .. }
        | Reason::DenialLimit { .. }
        | Reason::Unattended { .. }
        | Reason::Person { .. }
        | Reason::Lead { .. }
        | Reason::Vouched { .. }
        | Reason::Bubbled { .. }
        | Reason::Trouble { .. } => Vec::new(),
    }
}

/// Whether one verdict is what somebody who got the other would call turned: a no or a question into a yes, a yes into
/// anything else, and a no at least into a question.
fn is_turned(old: Verdict, new: Verdict) -> bool {
    match old {
        Verdict::Allow => new != Verdict::Allow,
        Verdict::Ask => new == Verdict::Allow,
        Verdict::Deny => new != Verdict::Deny,
    }
}
