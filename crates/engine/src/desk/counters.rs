//! What an answer does to its session: denial counters, the end of a run, calls that a person was left to answer.

use mayi_core::mode::Mode;
use mayi_core::policy::Layer;
use mayi_core::reason::Reason;
use mayi_core::referral::{self, Referral, Referred};
use mayi_core::session::{Aborted, Session};
use mayi_core::verdict::Verdict;
use mayi_settings::update::PermissionUpdate;

use super::members::Standing;
use super::{Answered, Asked, Desk, Turn, hold_back};
use crate::store::{Record, StoreError};

/// How many open calls are remembered. An agent asks about few at a time.
const AWAITING: usize = 50;

impl Desk {
    /// Counts the answer. Other processes may have counted meanwhile, so the limit is looked at again with the
    /// counters as they are now.
    pub(super) fn count(&self, asked: &Asked, answered: &mut Answered, standing: &Standing) {
        let (Turn::First, Some(sessions)) = (asked.turn, self.sessions_for(asked)) else { return };
        let (Some(first), Some(policy)) = (standing.line.first(), standing.policy()) else { return };
        let limits = policy.options.limits;
        let mut after = first.session.clone();
        after.note(&answered.decision, limits);
        if after.denials == first.session.denials && answered.aborted.is_none() {
            return;
        }
        let change = |record: &mut Record| {
            record.session.note(&answered.decision, limits);
            record.session.aborted = answered.aborted.clone().or(record.session.aborted.take());
            if let (Reason::DenialLimit { .. }, Some(id)) = (answered.decision.reason.root(), &asked.call_id) {
                record.awaiting.push(id.clone());
                let surplus = record.awaiting.len().saturating_sub(AWAITING);
                record.awaiting.drain(..surplus);
            }
        };
        match sessions.update(&asked.session, change) {
            Ok(record) => {
                let now = Session { denials: record.session.denials, ..first.session.clone() };
                let late = answered.decision.verdict == Verdict::Deny && now.is_over(limits);
                if late && answered.aborted.is_none() {
                    self.step_back(asked, answered, &now);
                }
            }
            Err(error) => hold_back(answered, error.to_string(), self.manner.attendance),
        }
    }

    /// The limit was reached by this denial and others that were decided at the same time.
    fn step_back(&self, asked: &Asked, answered: &mut Answered, now: &Session) {
        let Referred { decision, to } = referral::at_limit(answered.decision.clone(), now);
        if let Referral::Abort(aborted) = to {
            if let Err(error) = self.end(&asked.session, aborted.clone()) {
                return hold_back(answered, error.to_string(), self.manner.attendance);
            }
            answered.aborted = Some(aborted);
        }
        answered.decision = decision;
    }

    /// Keeps the rules, directories and modes that a hook gave with its allow: with the session, or in the settings
    /// it names. What cannot be kept holds the answer back, because the hook meant both.
    pub(super) fn keep(&self, asked: &Asked, answered: &mut Answered) {
        if answered.updates.is_empty() || answered.decision.verdict != Verdict::Allow {
            return answered.updates.clear();
        }
        let (lasting, passing): (Vec<_>, Vec<_>) =
            answered.updates.iter().cloned().partition(|update| update.destination().layer().is_some_and(is_file));
        let saved = mayi_settings::write::save(&self.places, &lasting).map_err(|error| error.to_string());
        let kept = saved.and_then(|_| match self.sessions_for(asked) {
            Some(sessions) if !passing.is_empty() => {
                let change = |record: &mut Record| passing.iter().for_each(|update| apply(record, update));
                sessions.update(&asked.session, change).map(drop).map_err(|error| error.to_string())
            }
            Some(_) | None => Ok(()),
        });
        if let Err(problem) = kept {
            hold_back(answered, problem, self.manner.attendance);
        }
    }

    /// Told that a call was run. If it was one that auto mode had left to a person, the person said yes, and the run
    /// of denials is over.
    pub fn ran(&self, session: &str, call_id: &str) -> Result<(), StoreError> {
        let Some(sessions) = self.sessions.as_ref() else { return Ok(()) };
        let awaits = |record: &Record| record.awaiting.iter().any(|id| id == call_id);
        if !sessions.record(session)?.as_ref().is_some_and(awaits) {
            return Ok(());
        }
        sessions
            .update(session, |record| {
                record.awaiting.retain(|id| id != call_id);
                record.session.note_allow();
            })
            .map(drop)
    }

    /// Told that a session begins or is taken up again: whatever ended its last run, this is another one.
    pub fn begun(&self, session: &str) -> Result<(), StoreError> {
        let Some(sessions) = self.sessions.as_ref().filter(|sessions| sessions.has_record(session)) else {
            return Ok(());
        };
        let resume = |record: &mut Record| {
            record.session = std::mem::take(&mut record.session).resumed();
            record.mode = record.mode.filter(|mode| !matches!(mode, Mode::BypassPermissions | Mode::Plan));
            record.awaiting.clear();
        };
        sessions.update(session, resume).map(drop)
    }

    /// Ends a run: nothing of it is decided any more.
    pub fn end(&self, session: &str, why: Aborted) -> Result<(), StoreError> {
        let Some(sessions) = self.sessions.as_ref() else { return Ok(()) };
        sessions.update(session, |record| record.session.aborted = Some(why)).map(drop)
    }
}

fn is_file(layer: Layer) -> bool {
    matches!(layer, Layer::Local | Layer::Project | Layer::User)
}

fn apply(record: &mut Record, update: &PermissionUpdate) {
    record.permissions.apply(update);
    // Bypass is never entered by a hook's word: a session has it from its start or not at all.
    if let PermissionUpdate::SetMode { mode, .. } = update
        && *mode != Mode::BypassPermissions
    {
        record.mode = Some(*mode);
    }
}
