//! Stage two: what becomes of an ask. [`refer`] says who must answer, [`conclude`] what an answer means. Both are
//! pure; whoever drives the evaluation carries the question out.

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::pipeline::{self, Case};
use crate::reason::Reason;
use crate::risk::Assessment;
use crate::session::{Aborted, Attendance, Denials, Session};
use crate::step::Step;
use crate::trace::{Finding, Note};
use crate::verdict::{Decision, Verdict};

/// A decision on its way, and who must speak next.
#[derive(Clone, Debug)]
pub struct Referred {
    /// What is decided so far; final when nobody must speak.
    pub decision: Decision,
    /// Who must speak.
    pub to: Referral,
}

/// Who must answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Referral {
    /// Nobody: the decision stands.
    Nobody,
    /// The classifier.
    Classifier,
    /// The permission hooks of an unattended run.
    Hooks,
    /// A person.
    Person,
    /// Nobody ever again: the run ends.
    Abort(Aborted),
}

/// An answer to a referral.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The classifier's.
    Classifier(Classified),
    /// The hooks'; `None` when none of them answered.
    Hooks(Option<HookAnswer>),
    /// A person's.
    Person(PersonAnswer),
}

/// What the classifier said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Classified {
    /// It judged the call.
    Judged {
        /// Allow or deny; it never asks.
        verdict: Verdict,
        /// The category, when it blocked.
        category: Option<String>,
        /// Its reason.
        message: String,
    },
    /// It gave no answer.
    Failed {
        /// What went wrong.
        problem: String,
        /// Whether the organisation lets a person decide instead.
        then: OnFailure,
    },
    /// The transcript no longer fits.
    TooLong,
    /// The mode changed while it was thinking: whatever it says no longer counts.
    Superseded,
}

/// What a failed classifier leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnFailure {
    /// No.
    #[default]
    Closed,
    /// A person is asked.
    Person,
}

/// What a permission hook said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HookAnswer {
    /// Allow or deny.
    pub verdict: Verdict,
    /// Its words.
    pub message: String,
    /// Ends the agent's run.
    pub interrupt: bool,
    /// The call it wants to run instead. It is decided again, from the top.
    pub changed: Option<Call>,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PersonAnswer {
    /// Allow or deny.
    pub verdict: Verdict,
    /// What they said with it.
    pub comment: Option<String>,
}

impl PersonAnswer {
    /// They said yes.
    pub fn allowed() -> Self {
        Self { verdict: Verdict::Allow, comment: None }
    }

    /// They said no, and why.
    pub fn denied(comment: &str) -> Self {
        Self { verdict: Verdict::Deny, comment: Some(comment.to_owned()) }
    }
}

/// Says who must answer a decision that asks. Allow and deny pass through.
pub fn refer(case: &Case<'_>, decision: Decision) -> Referred {
    if decision.verdict != Verdict::Ask {
        return Referred { decision, to: Referral::Nobody };
    }
    if case.session.mode == crate::mode::Mode::DontAsk {
        let because = Box::new(decision.reason.clone());
        return settle(decision, Step::DontAsk, Verdict::Deny, Reason::NeverAsks { mode: case.session.mode, because });
    }
    if case.session.classifies(case.policy) { auto(case, decision) } else { people(case, decision) }
}

/// 4b: what automatic mode does with an ask, cheapest first.
fn auto(case: &Case<'_>, mut decision: Decision) -> Referred {
    if is_for_people(&decision) || pipeline::held_by_plan(case) {
        let note = if is_for_people(&decision) { Note::NotApplicable } else { Note::PlanHoldsEdits };
        decision.trace.push(Step::NotForClassifier, Finding::Pass(note));
        return people(case, decision);
    }
    if let Some(reason) = case.inspection.accept_edits.clone().filter(|_| !case.inspection.never_simulated) {
        return settle(decision, Step::AcceptEdits, Verdict::Allow, reason);
    }
    decision.trace.push(Step::AcceptEdits, Finding::Pass(Note::NotAllowed));
    if case.inspection.safe_tool {
        return settle(decision, Step::SafeTools, Verdict::Allow, Reason::SafeTool);
    }
    decision.trace.push(Step::SafeTools, Finding::Pass(Note::NotApplicable));
    match &case.inspection.risk {
        Assessment::Safe { exception, detail } => {
            let reason = Reason::Risk { category: exception.clone(), detail: detail.clone() };
            return settle(decision, Step::StaticRisk, Verdict::Allow, reason);
        }
        Assessment::Blocked { category, detail } => {
            let reason = Reason::Risk { category: category.clone(), detail: detail.clone() };
            return deny_and_count(case, decision, Step::StaticRisk, reason);
        }
        Assessment::Unknown { what } => {
            decision.trace.push(Step::StaticRisk, Finding::Pass(Note::Uncertain(what.clone())));
        }
    }
    if case.session.availability.model {
        return Referred { decision, to: Referral::Classifier };
    }
    decision.trace.push(Step::Classifier, Finding::Pass(Note::NoClassifier));
    people(case, decision)
}

/// Questions that only a person may answer: tool-wide and content ask rules, tools that need a person, protected
/// paths, and a hook that asked.
fn is_for_people(decision: &Decision) -> bool {
    decision.step.is_above_the_line() || matches!(decision.reason, Reason::Hook { .. })
}

/// 4c to 4e: hooks where nobody is there, a person where somebody is.
fn people(case: &Case<'_>, decision: Decision) -> Referred {
    to_people(case.session.attendance, decision)
}

fn to_people(attendance: Attendance, mut decision: Decision) -> Referred {
    match attendance {
        Attendance::Unattended => Referred { decision, to: Referral::Hooks },
        Attendance::Attended => {
            let reason = decision.reason.clone();
            decision.trace.push(Step::Human, Finding::Settle(Verdict::Ask, reason));
            Referred { decision, to: Referral::Person }
        }
    }
}

/// A denial of automatic mode. The one that reaches the limit is not given: a person is asked instead, and where
/// nobody is there the run ends.
fn deny_and_count(case: &Case<'_>, decision: Decision, step: Step, reason: Reason) -> Referred {
    let mut session = case.session.clone();
    let denied = settle(decision, step, Verdict::Deny, reason);
    if session.note_denial(case.policy.options.limits) { at_limit(denied.decision, &session) } else { denied }
}

/// What becomes of a denial in a session that reached its limit with it.
pub fn at_limit(denied: Decision, session: &Session) -> Referred {
    match session.attendance {
        Attendance::Unattended => Referred { decision: denied, to: Referral::Abort(Aborted::DenialLimit) },
        Attendance::Attended => {
            let Denials { in_a_row, total } = session.denials;
            let reason = Reason::DenialLimit { in_a_row, total, because: Box::new(denied.reason) };
            let asked = Decision { verdict: Verdict::Ask, reason, ..denied };
            to_people(session.attendance, asked)
        }
    }
}

/// What an answer means. An answer from somebody who was not asked changes nothing.
pub fn conclude(case: &Case<'_>, referred: Referred, answer: Answer) -> Referred {
    let Referred { decision, to } = referred;
    match (to, answer) {
        (Referral::Classifier, Answer::Classifier(classified)) => conclude_classifier(case, decision, classified),
        (Referral::Hooks, Answer::Hooks(answer)) => conclude_hooks(case, decision, answer),
        (Referral::Person, Answer::Person(answer)) => conclude_person(decision, answer),
        (to, _) => Referred { decision, to },
    }
}

fn conclude_classifier(case: &Case<'_>, mut decision: Decision, classified: Classified) -> Referred {
    let step = Step::Classifier;
    match classified {
        Classified::Judged { verdict: Verdict::Allow, message, .. } => {
            settle(decision, step, Verdict::Allow, Reason::Classified { category: None, message })
        }
        Classified::Judged { verdict: Verdict::Ask | Verdict::Deny, category, message } => {
            deny_and_count(case, decision, step, Reason::Classified { category, message })
        }
        Classified::Failed { problem, then: OnFailure::Closed } => {
            settle(decision, step, Verdict::Deny, Reason::ClassifierFailed { problem })
        }
        Classified::Failed { problem, then: OnFailure::Person } => unjudged(case, decision, problem),
        Classified::TooLong => too_long(case, decision),
        Classified::Superseded => {
            decision.trace.push(step, Finding::Pass(Note::Superseded));
            people(case, decision)
        }
    }
}

/// The classifier leaves the question to people, and is named as the step that asks them.
fn unjudged(case: &Case<'_>, mut decision: Decision, problem: String) -> Referred {
    let (step, reason) = (Step::Classifier, Reason::ClassifierFailed { problem });
    decision.trace.push(step, Finding::Settle(Verdict::Ask, reason.clone()));
    people(case, Decision { step, reason, ..decision })
}

/// The transcript no longer fits: a person is asked, and where nobody is there the call is denied and the run ends.
fn too_long(case: &Case<'_>, decision: Decision) -> Referred {
    let problem = "the transcript is too long for it".to_owned();
    match case.session.attendance {
        Attendance::Attended => unjudged(case, decision, problem),
        Attendance::Unattended => {
            let denied = settle(decision, Step::Classifier, Verdict::Deny, Reason::ClassifierFailed { problem });
            Referred { to: Referral::Abort(Aborted::TranscriptTooLong), ..denied }
        }
    }
}

fn conclude_hooks(case: &Case<'_>, mut decision: Decision, answer: Option<HookAnswer>) -> Referred {
    let Some(HookAnswer { verdict, message, interrupt, .. }) = answer else {
        decision.trace.push(Step::RequestHooks, Finding::Pass(Note::NoHookAnswered));
        let because = Box::new(decision.reason.clone());
        return settle(decision, Step::Nobody, Verdict::Deny, Reason::Unattended { because });
    };
    let reason = Reason::Hook { message: message.clone() };
    match (verdict, interrupt) {
        (Verdict::Allow, _) if pipeline::held_by_plan(case) => conclude_hooks(case, decision, None),
        (Verdict::Allow, _) => settle(decision, Step::RequestHooks, Verdict::Allow, reason),
        (Verdict::Ask | Verdict::Deny, false) => settle(decision, Step::RequestHooks, Verdict::Deny, reason),
        (Verdict::Ask | Verdict::Deny, true) => {
            let denied = settle(decision, Step::RequestHooks, Verdict::Deny, reason);
            Referred { to: Referral::Abort(Aborted::Interrupted(message)), ..denied }
        }
    }
}

fn conclude_person(decision: Decision, answer: PersonAnswer) -> Referred {
    Referred { decision: answered(decision, answer), to: Referral::Nobody }
}

/// What a person's answer makes of a decision that asks. Anything else stands.
pub fn answered(decision: Decision, answer: PersonAnswer) -> Decision {
    if decision.verdict != Verdict::Ask {
        return decision;
    }
    let verdict = match answer.verdict {
        Verdict::Allow => Verdict::Allow,
        Verdict::Ask | Verdict::Deny => Verdict::Deny,
    };
    settle(decision, Step::Human, verdict, Reason::Person { comment: answer.comment }).decision
}

/// What becomes of a question that was put elsewhere because nobody is at the agent's own prompt, and that nobody
/// answered there. Anything else stands.
pub fn unanswered(decision: Decision, problem: String) -> Decision {
    if decision.verdict != Verdict::Ask {
        return decision;
    }
    settle(decision, Step::Nobody, Verdict::Deny, Reason::Trouble { problem }).decision
}

/// The step speaks, and that is the decision.
pub(crate) fn settle(mut decision: Decision, step: Step, verdict: Verdict, reason: Reason) -> Referred {
    decision.trace.push(step, Finding::Settle(verdict, reason.clone()));
    let decision = Decision { verdict, step, reason, terms: decision.terms, trace: decision.trace };
    Referred { decision, to: Referral::Nobody }
}
