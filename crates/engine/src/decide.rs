//! Driving an evaluation: observations from an [`Observer`], answers from a [`Respond`].

use std::future::{Future, ready};
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::lineage::{self, Inheritance};
use mayi_core::pipeline::Said;
use mayi_core::policy::Policy;
use mayi_core::reason::Reason;
use mayi_core::referral::{self, Answer, Classified, HookAnswer, OnFailure, PersonAnswer, Referral};
use mayi_core::session::{Aborted, Session};
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Permit, Terms, Verdict};

use crate::family::Member;
use crate::observe::Observer;

/// Somebody who answers what the core refers: a classifier, hooks, a person. Whoever is not there has no answer.
pub trait Respond {
    /// Hooks before the call: their answer, if they have one, and the call they want instead.
    fn before(&self, _call: &Call) -> impl Future<Output = (Option<Said>, Option<Call>)> + Send {
        ready((None, None))
    }
    /// The classifier.
    fn classify(&self, _call: &Call) -> impl Future<Output = Classified> + Send {
        ready(Classified::Failed { problem: "no classifier is asked".to_owned(), then: OnFailure::Closed })
    }
    /// Permission hooks; `None` when none answers.
    fn hooks(&self, _call: &Call) -> impl Future<Output = Option<HookAnswer>> + Send {
        ready(None)
    }
    /// A person; `None` when the question cannot be put here, so that the caller must put it: the decision stays ask.
    fn person(&self, _call: &Call, _asked: &Decision) -> impl Future<Output = Option<PersonAnswer>> + Send {
        ready(None)
    }
    /// Whether a person can be asked elsewhere where nobody is at the agent's own prompt. Then a question that hooks
    /// did not answer stays one, and is put to them.
    fn reaches_people(&self) -> bool {
        false
    }
}

/// Nobody is asked: what asks, stays an ask.
#[derive(Clone, Copy, Debug, Default)]
pub struct Nobody;

impl Respond for Nobody {}

/// What became of a call.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The call as it was decided: the changed one, if a hook changed it.
    pub call: Call,
    /// The decision. Still an ask when nobody answered here.
    pub decision: Decision,
    /// Proof of an allow; the only thing that can be run.
    pub permit: Option<Permit>,
    /// The run ends with this decision, and why.
    pub aborted: Option<Aborted>,
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

    /// Whoever is asked.
    pub fn respond(&self) -> &R {
        &self.respond
    }

    /// Decides a call: from the hooks before it to the last answer.
    pub async fn decide(&self, call: Call, policy: Arc<Policy>, session: Session) -> Result<Outcome, Aborted> {
        self.decide_in_line(call, &[Member::alone("", policy, session)]).await
    }

    /// Decides a call of the first of a line of agents, each bound by the next (see [`crate::family::line`]).
    pub async fn decide_in_line(&self, call: Call, line: &[Member]) -> Result<Outcome, Aborted> {
        // Step 0 comes before the hooks as well: they may do things. A run that ended takes its children with it.
        if let Some(aborted) = line.iter().find_map(|member| member.session.aborted.clone()) {
            return Err(aborted);
        }
        let Some((first, leads)) = line.split_first() else { return Ok(outcome(call, nothing(), None)) };
        let (said, changed) = self.respond.before(&call).await;
        let mut own = self.judge(changed.unwrap_or(call), first, &Heard { said, ..Heard::default() }).await?;
        let mut decisions = Vec::new();
        for lead in leads {
            let judged = self.judge_lead(lead, first, &own).await?;
            decisions.push(judged.decision);
            own.aborted = own.aborted.or(judged.aborted);
        }
        let decision = bound(own.decision, line, decisions);
        let decision = if own.aborted.is_none() { self.put(&own.call, decision, line).await } else { decision };
        Ok(outcome(own.call, decision, own.aborted))
    }

    /// What a lead may do of what its child wants to: the strictest, where the call can be read in several ways.
    async fn judge_lead(&self, lead: &Member, child: &Member, own: &Judged) -> Result<Judged, Aborted> {
        let mut strictest: Option<Judged> = None;
        for (lead, call) in lead.in_place_of(child, &own.call) {
            let heard = strictest.as_ref().map_or(&own.heard, |judged| &judged.heard);
            let mut judged = self.judge(call.as_ref().clone(), &lead, heard).await?;
            if judged.call != *call {
                judged.decision = changed_again(judged.decision);
            }
            strictest = Some(match strictest {
                Some(before) if before.decision.verdict >= judged.decision.verdict => {
                    Judged { heard: judged.heard, aborted: before.aborted.or(judged.aborted), ..before }
                }
                Some(Judged { aborted, .. }) => Judged { aborted: aborted.or(judged.aborted), ..judged },
                None => judged,
            });
        }
        Ok(strictest.unwrap_or_else(|| Judged { decision: nothing(), ..own.clone() }))
    }

    /// What one agent may do by itself, up to where a person would have to be asked. What was heard about the call
    /// already is not asked again.
    async fn judge(&self, call: Call, member: &Member, known: &Heard) -> Result<Judged, Aborted> {
        let mut evaluation = Evaluation::begin(call, member.policy.clone(), member.session.clone())?;
        if let Some(said) = &known.said {
            evaluation = evaluation.with_hook(said.clone());
        }
        let mut heard = known.clone();
        loop {
            match observe_all(&mut evaluation, &self.observer) {
                Progress::Done(_) => return Ok(judged(&evaluation, heard, None)),
                Progress::Abort(aborted) => return Ok(judged(&evaluation, heard, Some(aborted))),
                Progress::Refer(Referral::Classifier) => {
                    let classified = match &known.classified {
                        Some(classified) => classified.clone(),
                        None => self.respond.classify(evaluation.call()).await,
                    };
                    heard.classified = Some(classified.clone());
                    evaluation.answer(Answer::Classifier(classified));
                }
                Progress::Refer(Referral::Hooks) => {
                    let answer = match &known.hooks {
                        Some(answer) => answer.clone(),
                        None => self.respond.hooks(evaluation.call()).await,
                    };
                    // What a hook changed is in the call already when a lead is asked about it.
                    heard.hooks = Some(answer.clone().map(|answer| HookAnswer { changed: None, ..answer }));
                    if answer.is_none() && self.respond.reaches_people() {
                        return Ok(judged(&evaluation, heard, None));
                    }
                    evaluation.answer(Answer::Hooks(answer));
                }
                Progress::Refer(Referral::Person | Referral::Nobody | Referral::Abort(_)) => {
                    return Ok(judged(&evaluation, heard, None));
                }
                Progress::Observe(_) => {}
            }
        }
    }

    /// Puts what is still an ask to a person: at the agent's own prompt, or where it bubbles up to.
    async fn put(&self, call: &Call, decision: Decision, line: &[Member]) -> Decision {
        if decision.verdict != Verdict::Ask {
            return decision;
        }
        let bubbles = |member: &&Member| member.inheritance == Inheritance::Bubble && member.lead.is_some();
        let decision = match line.first().filter(bubbles) {
            Some(child) => {
                let reason = Reason::Bubbled { child: child.name.clone(), because: Box::new(decision.reason) };
                Decision { reason, ..decision }
            }
            None => decision,
        };
        match self.respond.person(call, &decision).await {
            Some(answer) => referral::answered(decision, answer),
            None => decision,
        }
    }
}

/// What was said about a call already, so that nobody is asked again for each lead.
#[derive(Clone, Default)]
struct Heard {
    said: Option<Said>,
    classified: Option<Classified>,
    hooks: Option<Option<HookAnswer>>,
}

/// What one agent may do by itself.
#[derive(Clone)]
struct Judged {
    call: Call,
    decision: Decision,
    aborted: Option<Aborted>,
    heard: Heard,
}

fn judged(evaluation: &Evaluation, heard: Heard, aborted: Option<Aborted>) -> Judged {
    let decision = evaluation.standing().cloned().unwrap_or_else(nothing);
    Judged { call: evaluation.call().clone(), decision, aborted, heard }
}

/// A hook changed the input once more when it was asked for a lead: what the lead may do is not what will run.
fn changed_again(decision: Decision) -> Decision {
    let problem = "a hook changed the input a second time".to_owned();
    Decision { verdict: Verdict::Deny, reason: Reason::BadInput { problem }, ..decision }
}

/// The decision of the first, bound by each lead in turn: the root binds its child, which binds its own.
fn bound(own: Decision, line: &[Member], leads: Vec<Decision>) -> Decision {
    let names = line.iter().skip(1).map(|member| member.name.as_str());
    let mut above: Option<(&str, Decision)> = None;
    for ((name, decision), member) in names.zip(leads).zip(line.iter().skip(1)).rev() {
        let decision = match &above {
            Some((lead, binding)) => lineage::bind(decision, (lead, binding), member.inheritance),
            None => decision,
        };
        above = Some((name, decision));
    }
    match (&above, line.first()) {
        (Some((lead, binding)), Some(first)) => lineage::bind(own, (lead, binding), first.inheritance),
        _ => own,
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

fn outcome(call: Call, decision: Decision, aborted: Option<Aborted>) -> Outcome {
    // INVARIANT: a run that ends lets nothing through any more.
    let permit = decision.permit(call.clone()).filter(|_| aborted.is_none());
    Outcome { call, decision, permit, aborted }
}

/// Nobody spoke, so it asks.
fn nothing() -> Decision {
    let (terms, trace) = (Terms::default(), Trace::default());
    Decision { verdict: Verdict::Ask, step: Step::Fallback, reason: Reason::silence(), terms, trace }
}
