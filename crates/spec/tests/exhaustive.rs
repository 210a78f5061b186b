//! The decision core against the oracle, over the whole abstract space.
//!
//! Every combination of what stage one looks at is built as a real policy, session and inspection. Where the core
//! asks, everything it may consult in stage two is enumerated too, following the core's own referrals, so that
//! each leaf is one state with one answer from each side.

#![expect(clippy::indexing_slicing, reason = "a test may stop where it is wrong about itself")]

use std::fmt::Write as _;

use mayi_core::call::{Call, Workspace};
use mayi_core::inspect::Inspection;
use mayi_core::mode::Mode;
use mayi_core::pipeline::{self, Case, Said};
use mayi_core::policy::{Layer, Options, Policy, Sandbox, Source, Written};
use mayi_core::reason::Reason;
use mayi_core::referral::{self, Answer, HookAnswer, OnFailure, PersonAnswer, Referral, Referred};
use mayi_core::risk::Assessment;
use mayi_core::session::{Attendance, Availability, Denials, Session};
use mayi_core::step::Step;
use mayi_core::verdict::{Decision, Verdict};
use mayi_spec::oracle::{self, Answers, CallFacts, Classified, Outcome, Reply, RequestHook, Risk, SessionFacts, State};

/// A tool of which nothing is known but its name, so that only the rules and the inspection given here speak.
const TOOL: &str = "mcp__depot__ship";

/// How many states there are. It stands here so that a part of the space cannot get lost unnoticed.
const STATES: u64 = 1_174_465;

const HOOKS: [Option<Verdict>; 4] = [None, Some(Verdict::Allow), Some(Verdict::Ask), Some(Verdict::Deny)];
const CLASSIFIED: [Classified; 6] = [
    Classified::Allow,
    Classified::Block,
    Classified::FailedClosed,
    Classified::FailedOpen,
    Classified::TooLong,
    Classified::Superseded,
];
const REQUEST_HOOKS: [RequestHook; 4] =
    [RequestHook::Silent, RequestHook::Agrees, RequestHook::Refuses, RequestHook::Interrupts];
const REPLIES: [Option<Reply>; 3] = [None, Some(Reply::Yes), Some(Reply::No)];
const BOTH: [bool; 2] = [false, true];

/// Answers that nobody should have asked for are all yes: a side that listens to one of them gives itself away.
const UNASKED: Answers =
    Answers { classifier: Classified::Allow, request_hook: RequestHook::Agrees, person: Some(Reply::Yes) };

/// How a command would run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confinement {
    /// Not confined, although a confined command would need no question.
    None,
    /// Confined, but that answers no question.
    Silent,
    /// Confined, and that answers the question.
    Answers,
}

/// Which limit the next denial reaches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Neither,
    InARow,
    Total,
}

/// What stage two looks at beyond stage one.
#[derive(Clone, Copy, Debug)]
struct Beyond {
    attended: bool,
    model: bool,
    limit: Limit,
    never_simulated: bool,
    safe_tool: bool,
    risk: Risk,
}

#[test]
fn the_core_agrees_with_the_oracle_everywhere() {
    let policies = Policies::build();
    let mut comparison = Comparison::default();
    for confinement in [Confinement::None, Confinement::Silent, Confinement::Answers] {
        for bits in 0..1_u32 << 10 {
            let call = call_facts(bits, confinement);
            for session in sessions() {
                for pre_hook in HOOKS {
                    let state = State { call, session, pre_hook, answers: UNASKED };
                    compare_stage_one(&policies, confinement, state, &mut comparison);
                }
            }
        }
    }
    eprintln!("{} states compared", comparison.states);
    assert!(comparison.disagreements.is_empty(), "{}", comparison.report());
    assert_eq!(comparison.states, STATES, "the space has changed: is the number in the book still right?");
}

fn call_facts(bits: u32, confinement: Confinement) -> CallFacts {
    let bit = |place: u32| bits >> place & 1 == 1;
    CallFacts {
        tool_denied: bit(0),
        tool_asked: bit(1),
        tool_allowed: bit(2),
        refused: bit(3),
        human_only: bit(4),
        content_asked: bit(5),
        protected: bit(6),
        inspection_allows: bit(7),
        edit_in_scope: bit(8),
        edits: bit(9),
        confined: confinement == Confinement::Answers,
        ..CallFacts::default()
    }
}

fn sessions() -> impl Iterator<Item = SessionFacts> {
    let availabilities = BOTH.into_iter().flat_map(|bypass| BOTH.into_iter().map(move |auto| (bypass, auto)));
    Mode::ALL.into_iter().flat_map(move |mode| {
        availabilities.clone().map(move |(bypass_available, auto_available)| SessionFacts {
            mode,
            bypass_available,
            auto_available,
            model: true,
            attended: true,
            next_denial_trips: false,
        })
    })
}

/// Stage one, and stage two for what it asks.
fn compare_stage_one(policies: &Policies, confinement: Confinement, state: State, comparison: &mut Comparison) {
    let policy = policies.of(&state, confinement);
    let plain = World::new(policy, &state, confinement, Limit::Neither);
    let decision = pipeline::decide(&plain.case());
    if decision.verdict != Verdict::Ask {
        return comparison.compare(&state, &decision, Ends::Here);
    }
    for beyond in beyond(state.session.mode, decision.step) {
        let mut state = state;
        state.session.attended = beyond.attended;
        state.session.model = beyond.model;
        state.session.next_denial_trips = beyond.limit != Limit::Neither;
        state.call.never_simulated = beyond.never_simulated;
        state.call.safe_tool = beyond.safe_tool;
        state.call.risk = beyond.risk;
        let world = World::new(policy, &state, confinement, beyond.limit);
        let case = world.case();
        follow(&case, referral::refer(&case, decision.clone()), state, comparison);
    }
}

/// Everything stage two may look at; where no layer of auto mode may speak, the two ends that would tempt it most
/// and least.
fn beyond(mode: Mode, asker: Step) -> Vec<Beyond> {
    let mut all = Vec::new();
    let classifies = matches!(mode, Mode::Auto | Mode::Plan) && asker == Step::Fallback;
    for attended in BOTH {
        if !classifies {
            let tempting = Beyond {
                attended,
                model: true,
                limit: Limit::Neither,
                never_simulated: false,
                safe_tool: true,
                risk: Risk::Safe,
            };
            let hostile = Beyond { limit: Limit::Total, safe_tool: false, risk: Risk::Blocked, ..tempting };
            all.extend([tempting, hostile]);
            continue;
        }
        for bits in 0..8_u32 {
            let (model, never_simulated, safe_tool) = (bits & 1 == 1, bits & 2 == 2, bits & 4 == 4);
            for limit in [Limit::Neither, Limit::InARow, Limit::Total] {
                for risk in [Risk::Unknown, Risk::Safe, Risk::Blocked] {
                    all.push(Beyond { attended, model, limit, never_simulated, safe_tool, risk });
                }
            }
        }
    }
    all
}

/// Answers whatever the core asks, in every way it can be answered, and compares the ends.
fn follow(case: &Case<'_>, referred: Referred, state: State, comparison: &mut Comparison) {
    match &referred.to {
        Referral::Nobody => comparison.compare(&state, &referred.decision, Ends::Here),
        Referral::Abort(_) => comparison.compare(&state, &referred.decision, Ends::TheRun),
        Referral::Classifier => {
            for classifier in CLASSIFIED {
                let state = State { answers: Answers { classifier, ..state.answers }, ..state };
                let answer = Answer::Classifier(classified(classifier));
                follow(case, referral::conclude(case, referred.clone(), answer), state, comparison);
            }
        }
        Referral::Hooks => {
            for request_hook in REQUEST_HOOKS {
                let state = State { answers: Answers { request_hook, ..state.answers }, ..state };
                let answer = Answer::Hooks(hook_answer(request_hook));
                follow(case, referral::conclude(case, referred.clone(), answer), state, comparison);
            }
        }
        Referral::Person => {
            for person in REPLIES {
                let state = State { answers: Answers { person, ..state.answers }, ..state };
                match person {
                    None => comparison.compare(&state, &referred.decision, Ends::Here),
                    Some(reply) => {
                        let answer = Answer::Person(person_answer(reply));
                        follow(case, referral::conclude(case, referred.clone(), answer), state, comparison);
                    }
                }
            }
        }
    }
}

fn classified(answer: Classified) -> referral::Classified {
    let judged = |verdict| referral::Classified::Judged { verdict, category: None, message: String::new() };
    let failed = |then| referral::Classified::Failed { problem: String::new(), then };
    match answer {
        Classified::Allow => judged(Verdict::Allow),
        Classified::Block => judged(Verdict::Deny),
        Classified::FailedClosed => failed(OnFailure::Closed),
        Classified::FailedOpen => failed(OnFailure::Person),
        Classified::TooLong => referral::Classified::TooLong,
        Classified::Superseded => referral::Classified::Superseded,
    }
}

fn hook_answer(answer: RequestHook) -> Option<HookAnswer> {
    let (verdict, interrupt) = match answer {
        RequestHook::Silent => return None,
        RequestHook::Agrees => (Verdict::Allow, false),
        RequestHook::Refuses => (Verdict::Deny, false),
        RequestHook::Interrupts => (Verdict::Deny, true),
    };
    Some(HookAnswer { verdict, message: String::new(), interrupt, changed: None })
}

fn person_answer(reply: Reply) -> PersonAnswer {
    let verdict = match reply {
        Reply::Yes => Verdict::Allow,
        Reply::No => Verdict::Deny,
    };
    PersonAnswer { verdict, comment: None }
}

/// Every policy the space needs, built once.
struct Policies(Vec<Policy>);

impl Policies {
    fn build() -> Self {
        Self((0..64).map(policy).collect())
    }

    fn of(&self, state: &State, confinement: Confinement) -> &Policy {
        let SessionFacts { mode, bypass_available, auto_available, .. } = state.session;
        let traits = [
            state.call.tool_denied,
            state.call.tool_asked,
            state.call.tool_allowed,
            confinement != Confinement::Silent,
            // A session that already is in a mode can only lose it to a setting.
            mode == Mode::BypassPermissions && !bypass_available,
            mode == Mode::Auto && !auto_available,
        ];
        let number = traits.into_iter().rev().fold(0, |number, has| number << 1 | usize::from(has));
        &self.0[number]
    }
}

fn policy(number: u32) -> Policy {
    let has = |place: u32| number >> place & 1 == 1;
    let listed = [(0, Verdict::Deny), (1, Verdict::Ask), (2, Verdict::Allow)];
    let rules = listed.into_iter().filter(|(place, _)| has(*place)).map(|(_, list)| Written::new(list, TOOL)).collect();
    let sandbox = Sandbox { enabled: true, auto_allow: has(3), ..Sandbox::default() };
    let options = Options { sandbox, bypass_disabled: has(4), auto_disabled: has(5), ..Options::default() };
    Policy::build(Workspace::at("/work"), vec![Source::of(Layer::User, "/work", rules)], options)
}

/// An abstract state, made real.
struct World<'a> {
    policy: &'a Policy,
    call: Call,
    session: Session,
    inspection: Inspection,
    hook: Option<Said>,
}

impl<'a> World<'a> {
    fn new(policy: &'a Policy, state: &State, confinement: Confinement, limit: Limit) -> Self {
        Self {
            policy,
            call: Call::new(TOOL, serde_json::json!({})),
            session: session(&state.session, limit),
            inspection: inspection(&state.call, confinement),
            hook: state.pre_hook.map(|verdict| Said { verdict, message: String::new() }),
        }
    }

    fn case(&self) -> Case<'_> {
        Case {
            call: &self.call,
            policy: self.policy,
            session: &self.session,
            inspection: &self.inspection,
            hook: self.hook.as_ref(),
        }
    }
}

fn session(facts: &SessionFacts, limit: Limit) -> Session {
    let denials = match limit {
        Limit::Neither => Denials { in_a_row: 1, total: 18 },
        Limit::InARow => Denials { in_a_row: 2, total: 2 },
        Limit::Total => Denials { in_a_row: 0, total: 19 },
    };
    Session {
        mode: facts.mode,
        attendance: if facts.attended { Attendance::Attended } else { Attendance::Unattended },
        availability: Availability {
            bypass: facts.bypass_available,
            auto: facts.auto_available,
            model: facts.model,
            sandbox: true,
        },
        denials,
        ..Session::default()
    }
}

fn inspection(facts: &CallFacts, confinement: Confinement) -> Inspection {
    let when = |holds: bool, reason: Reason| holds.then_some(reason);
    let risk = match facts.risk {
        Risk::Unknown => Assessment::default(),
        Risk::Safe => Assessment::Safe { exception: String::new(), detail: String::new() },
        Risk::Blocked => Assessment::Blocked { category: String::new(), detail: String::new() },
    };
    Inspection {
        deny: when(facts.refused, Reason::BadInput { problem: String::new() }),
        ask: when(facts.content_asked, Reason::silence()),
        guarded: when(facts.protected, Reason::Protected { path: String::new(), entry: String::new() }),
        allow: when(facts.inspection_allows, Reason::ReadOnly),
        accept_edits: when(facts.edit_in_scope, Reason::AcceptedEdit),
        confined: confinement != Confinement::None,
        edits: facts.edits,
        person: facts.human_only,
        safe_tool: facts.safe_tool,
        never_simulated: facts.never_simulated,
        risk,
        ..Inspection::default()
    }
}

/// Whether more than the call ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Ends {
    Here,
    TheRun,
}

#[derive(Default)]
struct Comparison {
    states: u64,
    disagreements: Vec<(State, Outcome, Outcome)>,
}

impl Comparison {
    fn compare(&mut self, state: &State, decision: &Decision, ends: Ends) {
        self.states += 1;
        let core = Outcome {
            verdict: decision.verdict,
            step: decision.step.id(),
            aborts: ends == Ends::TheRun,
            confined: decision.verdict == Verdict::Allow && decision.terms.confined,
        };
        let expected = oracle::decide(state);
        if core != expected {
            self.disagreements.push((*state, core, expected));
        }
    }

    /// One state for each pair of answers, with how many there are of its kind.
    fn report(&self) -> String {
        let mut kinds: Vec<(&(State, Outcome, Outcome), usize)> = Vec::new();
        for disagreement in &self.disagreements {
            let (_, core, expected) = disagreement;
            match kinds.iter_mut().find(|((_, other, wanted), _)| (other, wanted) == (core, expected)) {
                Some((_, count)) => *count += 1,
                None => kinds.push((disagreement, 1)),
            }
        }
        let mut text = format!("{} of {} states disagree", self.disagreements.len(), self.states);
        for ((state, core, expected), count) in kinds {
            let _ =
                write!(text, "\n\n{count} such states, the first: {state:?}\n  core   {core:?}\n  oracle {expected:?}");
        }
        text
    }
}
