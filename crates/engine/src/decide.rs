//! Driving an evaluation: observations from an [`Observer`], answers from a [`Respond`].

use std::future::Future;
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::pipeline::Said;
use mayi_core::policy::Policy;
use mayi_core::referral::{Answer, Classified, HookAnswer, PersonAnswer, Referral};
use mayi_core::session::{Aborted, Session};
use mayi_core::verdict::{Decision, Permit};

use crate::observe::Observer;

/// Somebody who answers what the core refers: a classifier, hooks, a person.
pub trait Respond {
    /// Hooks before the call: their answer, and the call they want instead.
    fn before(&self, call: &Call) -> impl Future<Output = Option<(Said, Option<Call>)>> + Send;
    /// The classifier.
    fn classify(&self, call: &Call) -> impl Future<Output = Classified> + Send;
    /// Permission hooks; `None` when none answers.
    fn hooks(&self, call: &Call) -> impl Future<Output = Option<HookAnswer>> + Send;
    /// A person; `None` when the question cannot be put here, so that the caller must put it: the decision stays ask.
    fn person(&self, call: &Call, asked: &Decision) -> impl Future<Output = Option<PersonAnswer>> + Send;
}

/// What became of a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The call as it was decided: the changed one, if a hook changed it.
    pub call: Call,
    /// The decision. Still an ask when nobody answered here.
    pub decision: Decision,
    /// Proof of an allow; the only thing that can be run.
    pub permit: Option<Permit>,
}

/// Decides calls for one kind of surroundings.
#[derive(Clone, Debug)]
pub struct Engine<O, R> {
    observer: O,
    respond: R,
}

impl<O: Observer, R: Respond> Engine<O, R> {
    /// An engine that looks with `observer` and asks `respond`.
    pub fn new(observer: O, respond: R) -> Self {
        Self { observer, respond }
    }

    /// Decides a call: from the hooks before it to the last answer.
    pub async fn decide(&self, call: Call, policy: Arc<Policy>, session: Session) -> Result<Outcome, Aborted> {
        // Step 0 comes before the hooks as well: they may do things.
        if let Some(aborted) = session.aborted {
            return Err(aborted);
        }
        let (said, changed) = match self.respond.before(&call).await {
            Some((said, changed)) => (Some(said), changed),
            None => (None, None),
        };
        let mut evaluation = Evaluation::begin(changed.unwrap_or(call), policy, session)?;
        if let Some(said) = said {
            evaluation = evaluation.with_hook(said);
        }
        loop {
            match observe_all(&mut evaluation, &self.observer) {
                Progress::Done(decision) => return Ok(outcome(&evaluation, decision)),
                Progress::Abort(aborted) => return Err(aborted),
                Progress::Refer(referral) => match self.ask(&referral, &evaluation).await {
                    Some(answer) => evaluation.answer(answer),
                    None => return Ok(unanswered(&evaluation)),
                },
                Progress::Observe(_) => {}
            }
        }
    }

    async fn ask(&self, referral: &Referral, evaluation: &Evaluation) -> Option<Answer> {
        let call = evaluation.call();
        match referral {
            Referral::Classifier => Some(Answer::Classifier(self.respond.classify(call).await)),
            Referral::Hooks => Some(Answer::Hooks(self.respond.hooks(call).await)),
            Referral::Person => {
                let asked = evaluation.standing()?;
                self.respond.person(call, asked).await.map(Answer::Person)
            }
            Referral::Nobody | Referral::Abort(_) => None,
        }
    }
}

/// Answers every observation, and returns what is needed next.
pub fn observe_all(evaluation: &mut Evaluation, observer: &impl Observer) -> Progress {
    loop {
        let progress = evaluation.progress();
        let Progress::Observe(questions) = progress else { return progress };
        let answers: Vec<_> = questions
            .into_iter()
            .map(|question| {
                let answer = observer.look(&question);
                (question, answer)
            })
            .collect();
        evaluation.observe(answers);
    }
}

fn outcome(evaluation: &Evaluation, decision: Decision) -> Outcome {
    let call = evaluation.call().clone();
    let permit = decision.permit(call.clone());
    Outcome { call, decision, permit }
}

/// Nobody here can answer: the decision goes out as the ask it is.
fn unanswered(evaluation: &Evaluation) -> Outcome {
    let decision = evaluation.standing().cloned().unwrap_or_else(|| {
        use mayi_core::{reason::Reason, step::Step, trace::Trace, verdict::*};
        let (terms, trace) = (Terms::default(), Trace::default());
        Decision { verdict: Verdict::Ask, step: Step::Fallback, reason: Reason::silence(), terms, trace }
    });
    outcome(evaluation, decision)
}
