//! Deciding again: a call under some policy, with what was said and seen given as data. The engine decides as ever;
//! nobody is asked, and nothing is run or written.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Waker};

use mayi_core::call::Call;
use mayi_core::evaluation::Evaluation;
use mayi_core::mode::Mode;
use mayi_core::pipeline::Said;
use mayi_core::policy::{Layer, Policy, Source, Written};
use mayi_core::referral::{Classified, HookAnswer, PersonAnswer};
use mayi_core::risk::Assessment;
use mayi_core::session::{Availability, Session};
use mayi_core::verdict::Decision;
use mayi_engine::audit::Heard;
use mayi_engine::family::Member;
use mayi_engine::observe::Observer;
use mayi_engine::{Engine, Respond, observe_all};

/// What became of a call that was decided again.
#[derive(Clone, Debug)]
pub struct Again {
    /// The decision.
    pub decision: Decision,
    /// Somebody would have to be asked of whom nothing is known: the verdict is what it is without them.
    pub unheard: bool,
}

/// What those said who were asked at the time.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// Hooks and the classifier.
    pub heard: Heard,
    /// A person.
    pub person: Option<PersonAnswer>,
}

/// Answers as they were given at the time.
struct Witness<'a> {
    given: &'a Given,
    unheard: AtomicBool,
}

impl Respond for &Witness<'_> {
    async fn before(&self, _: &Call) -> (Option<Said>, Option<Call>) {
        (self.given.heard.before.clone(), None)
    }

    async fn classify(&self, _: &Call) -> Classified {
        self.given.heard.classified.clone().unwrap_or_else(|| {
            self.unheard.store(true, Ordering::Relaxed);
            // Nobody judged it then, so it is for people.
            Classified::Superseded
        })
    }

    async fn hooks(&self, _: &Call) -> Option<HookAnswer> {
        self.given.heard.hooks.clone()
    }

    async fn person(&self, _: &Call, _: &Decision) -> Option<PersonAnswer> {
        self.given.person.clone()
    }
}

/// Decides a call of the first of a line of agents. `None` when a session of the line has ended.
pub fn decide(call: Call, line: &[Member], given: &Given, observer: impl Observer) -> Option<Again> {
    let witness = Witness { given, unheard: AtomicBool::new(false) };
    let engine = Engine::new(observer, &witness);
    let deciding = pin!(engine.decide_in_line(call, line));
    // Nothing in it waits: every answer is there already.
    let Poll::Ready(outcome) = deciding.poll(&mut Context::from_waker(Waker::noop())) else { return None };
    let decision = outcome.ok()?.decision;
    Some(Again { decision, unheard: witness.unheard.load(Ordering::Relaxed) })
}

/// Decides a call of an agent that nobody leads, with nobody having said anything.
pub fn alone(call: Call, policy: &Arc<Policy>, session: &Session, observer: impl Observer) -> Option<Again> {
    let line = [Member::alone("", policy.clone(), session.clone())];
    decide(call, &line, &Given::default(), observer)
}

/// What the static risk analysis says of a call, as auto mode would hear it.
pub fn risk(call: &Call, policy: &Arc<Policy>, observer: &impl Observer) -> Assessment {
    let availability = Availability { auto: true, ..Availability::default() };
    let session = Session { availability, ..Session::in_mode(Mode::Auto) };
    let Ok(mut evaluation) = Evaluation::begin(call.clone(), policy.clone(), session) else {
        return Assessment::default();
    };
    observe_all(&mut evaluation, observer);
    evaluation.inspection().risk.clone()
}

/// The same policy with one more rule.
pub fn with_rule(policy: &Policy, layer: Layer, rule: Written) -> Policy {
    let mut sources = policy.sources().to_vec();
    sources.push(Source::of(layer, &policy.workspace.directory, vec![rule]));
    Policy::build(policy.workspace.clone(), sources, policy.options.clone())
}
