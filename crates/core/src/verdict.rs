//! The verdict, and what it carries: the decision with its trace, and the permit that an allowing decision gives.
//!
//! [`Verdict`] is the only allow/ask/deny enumeration of the project: rule lists, hook answers, classifier
//! answers and decisions all speak it, so "the strictest of several" is always `max`.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::reason::Reason;
use crate::step::Step;
use crate::trace::Trace;

/// May it? Ordered from permissive to strict, so that the stricter of two is the greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// Go ahead.
    Allow,
    /// Somebody must answer.
    Ask,
    /// No.
    Deny,
}

impl Verdict {
    /// All of them, from permissive to strict.
    pub const ALL: [Verdict; 3] = [Verdict::Allow, Verdict::Ask, Verdict::Deny];

    /// The word used in settings, JSON and terminals.
    pub fn word(self) -> &'static str {
        match self {
            Verdict::Allow => "allow",
            Verdict::Ask => "ask",
            Verdict::Deny => "deny",
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.word())
    }
}

/// What was decided about one call, by which step, why, and on what terms.
#[must_use = "a decision that nobody looks at protects nobody"]
#[derive(Clone, Debug)]
pub struct Decision {
    /// The answer.
    pub verdict: Verdict,
    /// The step that settled it. For an ask that a person must answer: the step that asked.
    pub step: Step,
    /// Why.
    pub reason: Reason,
    /// Under which conditions an allow holds.
    pub terms: Terms,
    /// Every step in order.
    pub trace: Trace,
}

/// Conditions of an allow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Terms {
    /// The call was allowed because it will run confined; it may not run any other way.
    pub confined: bool,
    /// Where it runs, if commands are confined at all.
    pub bounds: Bounds,
}

/// Where a command runs when commands are confined.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Bounds {
    /// Inside.
    #[default]
    Inside,
    /// Outside: settings name every command of it (`sandbox.excludedCommands`).
    Excluded,
    /// Outside: the call asks for it (`dangerouslyDisableSandbox`), and settings let it.
    Waived,
}

/// Proof that a call was allowed, and the only thing the sandbox and the engine will run.
///
/// INVARIANT: made by [`Decision::permit`] alone, and only for an allow, so holding one means that the very call
/// inside it passed the pipeline; the terms travel with it.
#[derive(Clone, Debug)]
pub struct Permit {
    call: Call,
    terms: Terms,
    step: Step,
}

impl Decision {
    /// The permit for `call`, if this decision allows.
    pub fn permit(&self, call: Call) -> Option<Permit> {
        match self.verdict {
            Verdict::Allow => Some(Permit { call, terms: self.terms, step: self.step }),
            Verdict::Ask | Verdict::Deny => None,
        }
    }
}

impl Permit {
    /// The call that may run.
    pub fn call(&self) -> &Call {
        &self.call
    }

    /// The conditions it may run under.
    pub fn terms(&self) -> Terms {
        self.terms
    }

    /// The step that allowed it.
    pub fn step(&self) -> Step {
        self.step
    }
}
