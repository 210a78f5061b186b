//! A session as a value: its mode, who is there, its counters. Transitions are pure: they return what changes.
//!
//! Everything in it can be saved and loaded, because a hook call is a new process each time.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::grant::SetAside;
use crate::mode::Mode;
use crate::policy::{Entry, Grants, Policy};
use crate::reason::Reason;
use crate::verdict::{Decision, Verdict};

/// When auto mode steps back.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Denials in a row.
    pub in_a_row: u32,
    /// Denials in a session.
    pub total: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Self { in_a_row: 3, total: 20 }
    }
}

/// Whether a person can be asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Attendance {
    /// A person is there.
    #[default]
    Attended,
    /// Nobody is there.
    Unattended,
}

/// Which modes this session could enter, as it was started.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Availability {
    /// It was started with bypass available.
    pub bypass: bool,
    /// Automatic mode: a model is configured, or the static analysis answers alone.
    pub auto: bool,
    /// A model is configured.
    pub model: bool,
    /// The host can confine commands.
    pub sandbox: bool,
}

/// Denials by the classifier and the static risk analysis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Denials {
    /// Since the last call that was allowed.
    pub in_a_row: u32,
    /// In the whole session.
    pub total: u32,
}

/// Why a session decides nothing any more.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Aborted {
    /// Too many denials while nobody was there.
    #[error("the run was aborted: denial limit reached")]
    DenialLimit,
    /// A hook ended the run.
    #[error("the run was ended by a hook: {0}")]
    Interrupted(String),
    /// The transcript no longer fits the classifier while nobody was there.
    #[error("the run was aborted: the transcript is too long for the classifier")]
    TranscriptTooLong,
    /// A person or program ended it.
    #[error("the session was aborted")]
    Stopped,
}

/// A session.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Session {
    /// Its mode.
    pub mode: Mode,
    /// The mode before plan.
    pub before_plan: Option<Mode>,
    /// Whether a person can be asked.
    pub attendance: Attendance,
    /// Which modes it could enter.
    pub availability: Availability,
    /// Its denial counters.
    pub denials: Denials,
    /// Protected paths that a person cleared for this session.
    pub cleared: Vec<String>,
    /// Ended: nothing is decided any more.
    pub aborted: Option<Aborted>,
    /// Grows with every mode change, so that an answer asked for before can be told from one asked for after.
    pub generation: u64,
}

/// What a mode change did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The mode before.
    pub from: Mode,
    /// The mode now.
    pub to: Mode,
    /// Allow rules that no longer count.
    pub set_aside: Vec<Arc<Entry>>,
    /// Allow rules that count again.
    pub restored: Vec<Arc<Entry>>,
}

/// Why a mode cannot be entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// The session was not started with it.
    #[error(
        "bypassPermissions is not available in this session\nhelp: start it with --allow-dangerously-skip-permissions"
    )]
    BypassUnavailable,
    /// Switched off in settings.
    #[error("bypassPermissions is disabled by settings")]
    BypassDisabled,
    /// No classifier.
    #[error("auto needs a classifier, and none is configured")]
    AutoUnavailable,
    /// Switched off in settings.
    #[error("auto is disabled by settings")]
    AutoDisabled,
}

impl Session {
    /// A session in a mode, with a person there.
    pub fn in_mode(mode: Mode) -> Self {
        Self { mode, ..Self::default() }
    }

    /// Whether a mode can be entered, and if not, why.
    pub fn may_enter(&self, mode: Mode, policy: &Policy) -> Result<(), Refused> {
        match mode {
            Mode::BypassPermissions if policy.options.bypass_disabled => Err(Refused::BypassDisabled),
            Mode::BypassPermissions if !self.availability.bypass => Err(Refused::BypassUnavailable),
            Mode::Auto if policy.options.auto_disabled => Err(Refused::AutoDisabled),
            Mode::Auto if !self.availability.auto => Err(Refused::AutoUnavailable),
            Mode::Auto | Mode::BypassPermissions | Mode::Default | Mode::Plan | Mode::AcceptEdits | Mode::DontAsk => {
                Ok(())
            }
        }
    }

    /// Changes the mode. The only way to do so.
    pub fn transition(&mut self, to: Mode, policy: &Policy) -> Result<Change, Refused> {
        self.may_enter(to, policy)?;
        let from = self.mode;
        let before = self.classifies(policy);
        self.before_plan = match (from, to) {
            (_, Mode::Plan) if from != Mode::Plan => Some(from),
            (Mode::Plan, Mode::Plan) => self.before_plan,
            _ => None,
        };
        self.mode = to;
        self.generation += 1;
        let after = self.classifies(policy);
        let (mut set_aside, mut restored) = (Vec::new(), Vec::new());
        match (before, after) {
            (false, true) => set_aside = slipping(policy),
            (true, false) => restored = slipping(policy),
            (true, true) | (false, false) => {}
        }
        Ok(Change { from, to, set_aside, restored })
    }

    /// Leaves plan mode for the mode before it (an approved ExitPlanMode). A mode that can no longer be entered
    /// gives way to default.
    pub fn leave_plan(&mut self, policy: &Policy) -> Result<Change, Refused> {
        let back = self.before_plan.filter(|mode| self.may_enter(*mode, policy).is_ok());
        self.transition(back.unwrap_or_default(), policy)
    }

    /// As it is taken up again later: never in bypass or plan. A run that had ended is over, and another one begins.
    pub fn resumed(mut self) -> Self {
        self.aborted = None;
        self.denials.in_a_row = 0;
        if matches!(self.mode, Mode::BypassPermissions | Mode::Plan) {
            self.mode = Mode::Default;
            self.before_plan = None;
        }
        self
    }

    /// The next mode for a person who cycles through them. `dontAsk` is never in the cycle.
    pub fn next_mode(&self, policy: &Policy) -> Mode {
        const CYCLE: [Mode; 5] = [Mode::Default, Mode::AcceptEdits, Mode::Plan, Mode::BypassPermissions, Mode::Auto];
        let at = CYCLE.iter().position(|mode| *mode == self.mode).unwrap_or(CYCLE.len() - 1);
        let following = CYCLE.into_iter().cycle().skip(at + 1).take(CYCLE.len());
        following.into_iter().find(|mode| self.may_enter(*mode, policy).is_ok()).unwrap_or_default()
    }

    /// A classifier answers what would ask: auto mode, or plan where auto is available.
    pub fn classifies(&self, policy: &Policy) -> bool {
        match self.mode {
            // Like bypass, it ends when a setting disables it, also for a session that was in it before.
            Mode::Auto => !policy.options.auto_disabled,
            Mode::Plan => self.availability.auto && !policy.options.auto_disabled && !policy.options.plan_without_auto,
            Mode::Default | Mode::AcceptEdits | Mode::BypassPermissions | Mode::DontAsk => false,
        }
    }

    /// Questions are skipped: bypass mode, or plan where bypass is available.
    pub fn bypasses(&self, policy: &Policy) -> bool {
        match self.mode {
            Mode::BypassPermissions => !policy.options.bypass_disabled,
            Mode::Plan => self.availability.bypass && !policy.options.bypass_disabled,
            Mode::Default | Mode::AcceptEdits | Mode::DontAsk | Mode::Auto => false,
        }
    }

    /// Which allow rules count now.
    pub fn grants(&self, policy: &Policy) -> Grants {
        if self.classifies(policy) { Grants::NotSetAside } else { Grants::All }
    }

    /// A classifier or static-risk denial. True when a limit is reached: auto mode steps back.
    pub fn note_denial(&mut self, limits: Limits) -> bool {
        self.denials.in_a_row = self.denials.in_a_row.saturating_add(1);
        self.denials.total = self.denials.total.saturating_add(1);
        self.is_over(limits)
    }

    /// What a decision does to the counters: a denial of automatic mode counts, also the one that was left to a
    /// person because of the limit; a rule's deny does not; an allowed call ends the run.
    pub fn note(&mut self, decision: &Decision, limits: Limits) {
        let counts = match decision.verdict {
            Verdict::Deny => matches!(decision.reason, Reason::Risk { .. } | Reason::Classified { .. }),
            Verdict::Ask => matches!(decision.reason.root(), Reason::DenialLimit { .. }),
            Verdict::Allow => false,
        };
        if counts {
            self.note_denial(limits);
        } else if decision.verdict == Verdict::Allow {
            self.note_allow();
        }
    }

    /// An allowed call, or a person's approval: the run of denials is over, the total stays.
    pub fn note_allow(&mut self) {
        self.denials.in_a_row = 0;
    }

    /// Whether auto mode has stepped back.
    pub fn is_over(&self, limits: Limits) -> bool {
        self.denials.in_a_row >= limits.in_a_row || self.denials.total >= limits.total
    }
}

/// The allow rules that would let a call slip past the classifier.
fn slipping(policy: &Policy) -> Vec<Arc<Entry>> {
    let counts = |entry: &&Arc<Entry>| match entry.set_aside() {
        SetAside::Always => true,
        SetAside::WhenStrict => policy.options.strict_grants,
        SetAside::Never => false,
    };
    policy.entries().iter().filter(counts).cloned().collect()
}
