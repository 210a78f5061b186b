//! The embedding API, driven by a one-line executor and a scripted party that answers: hooks before the call, the
//! classifier, permission hooks, a person. A permit comes from an allow and from nothing else.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

use std::cell::RefCell;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};

use mayi_core::call::{Call, Workspace};
use mayi_core::mode::Mode;
use mayi_core::pipeline::Said;
use mayi_core::policy::{Layer, Policy};
use mayi_core::reason::Reason;
use mayi_core::referral::{Classified, HookAnswer, OnFailure, PersonAnswer};
use mayi_core::session::{Aborted, Attendance, Availability, Denials, Session};
use mayi_core::step::Step;
use mayi_core::verdict::{Decision, Verdict};
use mayi_engine::observe::Imagined;
use mayi_engine::{Engine, Outcome, Respond};
use mayi_settings::{Given, of_values};
use serde_json::{Value, json};

/// Nothing here ever waits, so a future is ready when it is asked often enough.
fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return output;
        }
    }
}

thread_local! {
    /// Who was asked about what, in order.
    static ASKED: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Answers as it was told to. A party that was given no answer has none.
#[derive(Default)]
struct Script {
    before: Option<(Said, Option<Call>)>,
    classifier: Option<Classified>,
    hooks: Mutex<Vec<HookAnswer>>,
    person: Option<PersonAnswer>,
}

fn note(who: &str, call: &Call) {
    let text = call.text("command").or(call.text("file_path")).unwrap_or_default();
    ASKED.with_borrow_mut(|asked| asked.push(format!("{who}: {text}")));
}

impl Respond for Script {
    async fn before(&self, call: &Call) -> (Option<Said>, Option<Call>) {
        note("before", call);
        self.before.clone().map_or((None, None), |(said, changed)| (Some(said), changed))
    }

    async fn classify(&self, call: &Call) -> Classified {
        note("classifier", call);
        self.classifier.clone().expect("a classifier that nobody expected was asked")
    }

    async fn hooks(&self, call: &Call) -> Option<HookAnswer> {
        note("hooks", call);
        let mut answers = self.hooks.lock().unwrap();
        (!answers.is_empty()).then(|| answers.remove(0))
    }

    async fn person(&self, call: &Call, asked: &Decision) -> Option<PersonAnswer> {
        note("person", call);
        assert_eq!(asked.verdict, Verdict::Ask, "a person is shown the question as it stands");
        self.person.clone()
    }
}

fn policy(settings: &Value) -> Arc<Policy> {
    let workspace = Workspace::at("/w").with_home("/home/u");
    of_values(&[(Layer::User, settings)], &workspace, &Given::default()).policy
}

fn attended() -> Session {
    Session::default()
}

fn unattended() -> Session {
    Session { attendance: Attendance::Unattended, ..Session::default() }
}

fn auto() -> Session {
    let availability = Availability { auto: true, model: true, ..Availability::default() };
    Session { mode: Mode::Auto, availability, ..Session::default() }
}

fn decide_with(settings: Value, script: Script, call: Call, session: Session) -> Result<Outcome, Aborted> {
    ASKED.take();
    let engine = Engine::new(Imagined::default(), script);
    let outcome = block_on(engine.decide(call, policy(&settings), session));
    if let Ok(Outcome { call, decision, permit, aborted: None }) = &outcome {
        assert_eq!(permit.is_some(), decision.verdict == Verdict::Allow, "a permit is for an allow alone");
        if let Some(permit) = permit {
            assert_eq!((permit.call(), permit.step()), (call, decision.step), "and for the call that was decided");
            assert_eq!(permit.terms(), decision.terms);
        }
    }
    outcome
}

fn decide(script: Script, command: &str, session: Session) -> Outcome {
    decide_with(json!({}), script, Call::shell(command), session).unwrap()
}

fn end_of(outcome: &Outcome) -> (Verdict, Step) {
    (outcome.decision.verdict, outcome.decision.step)
}

fn asked() -> Vec<String> {
    ASKED.take()
}

fn said(verdict: Verdict) -> Said {
    Said { verdict, message: "the hook's words".to_owned() }
}

fn before(verdict: Verdict, changed: Option<&str>) -> Script {
    Script { before: Some((said(verdict), changed.map(Call::shell))), ..Script::default() }
}

fn hook(verdict: Verdict, changed: Option<&str>) -> HookAnswer {
    let message = "the hook's words".to_owned();
    HookAnswer { verdict, message, interrupt: false, changed: changed.map(Call::shell) }
}

fn hooks(answers: impl IntoIterator<Item = HookAnswer>) -> Script {
    Script { hooks: Mutex::new(answers.into_iter().collect()), ..Script::default() }
}

fn person(verdict: Verdict) -> Script {
    Script { person: Some(PersonAnswer { verdict, comment: Some("not today".to_owned()) }), ..Script::default() }
}

fn classifier(answer: Classified) -> Script {
    Script { classifier: Some(answer), ..Script::default() }
}

fn judged(verdict: Verdict) -> Classified {
    Classified::Judged { verdict, category: None, message: "as told".to_owned() }
}

/// A command that no rule, mode or static analysis speaks for.
const UNCLEAR: &str = "frobnicate --all";

#[test]
fn a_read_runs_and_nobody_is_asked() {
    let outcome = decide(Script::default(), "ls src", attended());
    assert_eq!(end_of(&outcome), (Verdict::Allow, Step::AllowRules));
    assert_eq!(asked(), ["before: ls src"]);
}

#[test]
fn a_question_that_nobody_answers_stays_a_question_without_a_permit() {
    let outcome = decide(Script::default(), UNCLEAR, attended());
    assert_eq!(end_of(&outcome), (Verdict::Ask, Step::Fallback));
    assert_eq!(asked(), ["before: frobnicate --all", "person: frobnicate --all"]);
}

#[test]
fn a_persons_answer_settles_it() {
    let allowed = decide(person(Verdict::Allow), UNCLEAR, attended());
    assert_eq!(end_of(&allowed), (Verdict::Allow, Step::Human));
    for no in [Verdict::Deny, Verdict::Ask] {
        let denied = decide(person(no), UNCLEAR, attended());
        assert_eq!(end_of(&denied), (Verdict::Deny, Step::Human), "{no}: only a clear yes is a yes");
        assert_eq!(denied.decision.reason, Reason::Person { comment: Some("not today".to_owned()) });
    }
}

#[test]
fn a_hooks_allow_answers_silence_and_nothing_above_the_line() {
    let outcome = decide(before(Verdict::Allow, None), UNCLEAR, attended());
    assert_eq!(outcome.decision.verdict, Verdict::Allow);
    assert_eq!(asked(), ["before: frobnicate --all"]);
    let protected = decide(before(Verdict::Allow, None), "echo x > .git/config", attended());
    assert_eq!(end_of(&protected), (Verdict::Ask, Step::ProtectedPaths));
    let settings = json!({"permissions": {"deny": ["Bash(frobnicate:*)"]}});
    let denied = decide_with(settings, before(Verdict::Allow, None), Call::shell(UNCLEAR), attended()).unwrap();
    assert_eq!(end_of(&denied), (Verdict::Deny, Step::ToolDeny));
}

#[test]
fn a_hooks_ask_asks_about_what_would_have_run() {
    let outcome = decide(before(Verdict::Ask, None), "ls", attended());
    assert_eq!(outcome.decision.verdict, Verdict::Ask);
    let denied = decide(before(Verdict::Ask, None), "ls", unattended());
    assert_eq!(end_of(&denied), (Verdict::Deny, Step::Nobody));
}

#[test]
fn a_hooks_deny_is_final() {
    let outcome = decide(before(Verdict::Deny, None), "ls", attended());
    assert_eq!(end_of(&outcome), (Verdict::Deny, Step::Hooks));
    assert_eq!(asked(), ["before: ls"]);
}

#[test]
fn what_a_hook_changed_before_is_what_gets_decided() {
    let outcome = decide(before(Verdict::Allow, Some("cat .git/config > .git/hooks/x")), "ls", attended());
    assert_eq!(end_of(&outcome), (Verdict::Ask, Step::ProtectedPaths));
    assert_eq!(outcome.call, Call::shell("cat .git/config > .git/hooks/x"));
}

#[test]
fn the_classifier_allows_and_denies() {
    let allowed = decide(classifier(judged(Verdict::Allow)), UNCLEAR, auto());
    assert_eq!(end_of(&allowed), (Verdict::Allow, Step::Classifier));
    for no in [Verdict::Deny, Verdict::Ask] {
        let denied = decide(classifier(judged(no)), UNCLEAR, auto());
        assert_eq!(end_of(&denied), (Verdict::Deny, Step::Classifier), "{no}");
    }
}

#[test]
fn a_classifier_that_fails_never_allows() {
    let failed = |then| Classified::Failed { problem: "no answer".to_owned(), then };
    let closed = decide(classifier(failed(OnFailure::Closed)), UNCLEAR, auto());
    assert_eq!(end_of(&closed), (Verdict::Deny, Step::Classifier));
    let open = decide(classifier(failed(OnFailure::Person)), UNCLEAR, auto());
    assert_eq!(end_of(&open), (Verdict::Ask, Step::Classifier));
    assert_eq!(asked().last().map(String::as_str), Some("person: frobnicate --all"));
    for given_up in [Classified::TooLong, Classified::Superseded] {
        let outcome = decide(classifier(given_up.clone()), UNCLEAR, auto());
        assert_eq!(outcome.decision.verdict, Verdict::Ask, "{given_up:?}");
    }
}

#[test]
fn a_transcript_that_is_too_long_ends_a_run_that_nobody_watches() {
    let session = Session { attendance: Attendance::Unattended, ..auto() };
    let aborted = decide_with(json!({}), classifier(Classified::TooLong), Call::shell(UNCLEAR), session);
    assert_eq!(aborted.unwrap().aborted.unwrap(), Aborted::TranscriptTooLong);
}

#[test]
fn the_denial_that_reaches_the_limit_asks_a_person_or_ends_the_run() {
    let denials = Denials { in_a_row: 2, total: 2 };
    let outcome = decide(classifier(judged(Verdict::Deny)), UNCLEAR, Session { denials, ..auto() });
    assert_eq!(outcome.decision.verdict, Verdict::Ask);
    let alone = Session { denials, attendance: Attendance::Unattended, ..auto() };
    let aborted = decide_with(json!({}), classifier(judged(Verdict::Deny)), Call::shell(UNCLEAR), alone);
    assert_eq!(aborted.unwrap().aborted.unwrap(), Aborted::DenialLimit);
}

#[test]
fn where_nobody_is_there_hooks_answer_and_silence_denies() {
    let allowed = decide(hooks([hook(Verdict::Allow, None)]), UNCLEAR, unattended());
    assert_eq!(end_of(&allowed), (Verdict::Allow, Step::RequestHooks));
    let denied = decide(hooks([hook(Verdict::Deny, None)]), UNCLEAR, unattended());
    assert_eq!(end_of(&denied), (Verdict::Deny, Step::RequestHooks));
    let nobody = decide(hooks([]), UNCLEAR, unattended());
    assert_eq!(end_of(&nobody), (Verdict::Deny, Step::Nobody));
    assert_eq!(asked(), ["before: frobnicate --all", "hooks: frobnicate --all"]);
}

#[test]
fn changed_input_is_decided_again_from_the_top() {
    let harmless = decide(hooks([hook(Verdict::Allow, Some("frobnicate --one"))]), UNCLEAR, unattended());
    assert_eq!(harmless.decision.verdict, Verdict::Allow);
    assert_eq!(harmless.call, Call::shell("frobnicate --one"));
    let settings = json!({"permissions": {"deny": ["Bash(curl:*)"]}});
    let script = hooks([hook(Verdict::Allow, Some("curl example.org"))]);
    let denied = decide_with(settings, script, Call::shell(UNCLEAR), unattended()).unwrap();
    assert_eq!(end_of(&denied), (Verdict::Deny, Step::ToolDeny));
}

#[test]
fn changed_input_that_asks_above_the_line_is_put_to_the_hooks_again() {
    let script = hooks([hook(Verdict::Allow, Some("echo x > .git/config"))]);
    let outcome = decide(script, UNCLEAR, unattended());
    assert_eq!(end_of(&outcome), (Verdict::Deny, Step::Nobody), "no hook answered the second time");
    assert_eq!(asked().last().map(String::as_str), Some("hooks: echo x > .git/config"));
}

#[test]
fn a_second_change_is_refused() {
    let first = hook(Verdict::Allow, Some("echo x > .git/config"));
    let second = hook(Verdict::Allow, Some("ls"));
    let outcome = decide(hooks([first, second]), UNCLEAR, unattended());
    assert_eq!(end_of(&outcome), (Verdict::Deny, Step::RequestHooks));
    assert!(matches!(outcome.decision.reason, Reason::BadInput { .. }), "{:?}", outcome.decision.reason);
}

#[test]
fn an_interrupt_ends_the_run() {
    let interrupt = HookAnswer { interrupt: true, ..hook(Verdict::Deny, None) };
    let aborted = decide_with(json!({}), hooks([interrupt]), Call::shell(UNCLEAR), unattended());
    assert_eq!(aborted.unwrap().aborted.unwrap(), Aborted::Interrupted("the hook's words".to_owned()));
}

#[test]
fn an_aborted_session_decides_nothing() {
    let session = Session { aborted: Some(Aborted::Stopped), ..Session::default() };
    let aborted = decide_with(json!({}), Script::default(), Call::shell("ls"), session);
    assert_eq!(aborted.unwrap_err(), Aborted::Stopped);
    assert_eq!(asked(), [""; 0], "not even the hooks before the call run");
}

#[test]
fn a_mode_that_never_asks_asks_nobody() {
    let outcome = decide(person(Verdict::Allow), UNCLEAR, Session::in_mode(Mode::DontAsk));
    assert_eq!(end_of(&outcome), (Verdict::Deny, Step::DontAsk));
    assert_eq!(asked(), ["before: frobnicate --all"]);
}

#[test]
fn a_permit_carries_the_confinement_it_was_given_for() {
    let settings = json!({"sandbox": {"enabled": true, "autoAllowBashIfSandboxed": true}});
    let availability = Availability { sandbox: true, ..Availability::default() };
    let session = Session { availability, ..Session::default() };
    let outcome = decide_with(settings, Script::default(), Call::shell(UNCLEAR), session).unwrap();
    assert!(outcome.permit.unwrap().terms().confined);
    let free = decide(person(Verdict::Allow), UNCLEAR, attended());
    assert!(!free.permit.unwrap().terms().confined);
}

#[test]
fn input_that_misses_its_field_is_denied_by_the_tool_itself() {
    for (tool, input) in
        [("Bash", json!({})), ("Bash", json!({"command": 5})), ("Read", json!([])), ("Write", json!(null))]
    {
        let call = Call::new(tool, input.clone());
        let outcome = decide_with(json!({}), person(Verdict::Allow), call, attended()).unwrap();
        assert_eq!(end_of(&outcome), (Verdict::Deny, Step::ToolDeny), "{tool} {input}");
    }
}
