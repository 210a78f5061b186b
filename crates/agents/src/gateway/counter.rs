//! The counter at which a server's calls are decided: each becomes a question to the desk, and its answer a ruling.
//!
//! A decision that fails, panics or comes too late is a refusal. Nothing here allows what the desk did not.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::policy::Grants;
use mayi_core::session::{Aborted, Attendance};
use mayi_core::verdict::Verdict;
use mayi_engine::desk::{Answered, Asked, Desk, Turn};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::naming;
use crate::remedy::Remedy;

/// How long a decision may take. Agents wait about a minute for a tool before they give up.
const DEADLINE: Duration = Duration::from_secs(30);

/// How many decisions are made at once; further calls wait their turn.
const AT_ONCE: usize = 32;

type Decide = dyn Fn(Asked) -> Option<Answered> + Send + Sync;
type Note = dyn Fn(Asked, Verdict) -> Result<(), String> + Send + Sync;
type Hides = dyn Fn(&str) -> bool + Send + Sync;

/// Who asks at the counter.
#[derive(Clone, Debug)]
pub struct Asker {
    /// The server's name in rules.
    pub server: String,
    /// The session its calls belong to.
    pub session: String,
    /// Whether a person can be asked.
    pub attendance: Attendance,
}

/// The counter of one server.
pub struct Counter {
    asker: Asker,
    decide: Arc<Decide>,
    note: Arc<Note>,
    hides: Box<Hides>,
    deadline: Duration,
    turns: Semaphore,
    /// Why the run was ended; nothing is decided after that.
    ended: Mutex<Option<String>>,
}

/// What becomes of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Ruling {
    /// It goes to the server, with other arguments if they were changed.
    Forward(Option<Value>),
    /// A person must say, why, and what would spare them; a yes is for the arguments that were changed.
    Question { why: String, remedy: Remedy, changed: Option<Value> },
    /// It goes nowhere, and why.
    Refuse(String),
}

impl Counter {
    /// The counter of a server, with a desk behind it.
    ///
    /// Decisions run on threads of their own, so that one that blocks holds up neither the others nor its deadline.
    pub fn new(desk: Arc<Desk>, asker: Asker) -> Self {
        let (settings, audit) = (Arc::clone(&desk), Arc::clone(&desk));
        let decide = move |asked: Asked| {
            let runtime = tokio::runtime::Handle::try_current().ok()?;
            Some(runtime.block_on(desk.decide(&asked)))
        };
        let note = move |asked: Asked, verdict: Verdict| {
            audit.note_answer(&asked, verdict, "elicitation").map_err(|error| error.to_string())
        };
        let hides = move |tool: &str| settings.settings().policy.whole_tool(Verdict::Deny, tool, Grants::All).is_some();
        Self::with(asker, Arc::new(decide), Arc::new(note), Box::new(hides))
    }

    fn with(asker: Asker, decide: Arc<Decide>, note: Arc<Note>, hides: Box<Hides>) -> Self {
        let turns = Semaphore::new(AT_ONCE);
        Self { asker, decide, note, hides, deadline: DEADLINE, turns, ended: Mutex::new(None) }
    }

    /// Whether a tool is denied outright, so that the agent need not know of it.
    pub(crate) fn hides(&self, tool: &str) -> bool {
        (self.hides)(&self.named(tool))
    }

    /// A tool's name in rules.
    pub(crate) fn named(&self, tool: &str) -> String {
        naming::tool(&self.asker.server, tool)
    }

    /// The server's name in rules.
    pub(crate) fn server(&self) -> &str {
        &self.asker.server
    }

    /// Whether a person can be asked.
    pub(crate) fn attendance(&self) -> Attendance {
        self.asker.attendance
    }

    /// Whether the run goes on, or why not.
    pub(crate) fn goes_on(&self) -> Result<(), String> {
        self.ended.lock().unwrap_or_else(PoisonError::into_inner).clone().map_or(Ok(()), Err)
    }

    /// Decides a call.
    pub(crate) async fn rule(&self, tool: &str, arguments: Value, call_id: &str) -> Ruling {
        if let Err(why) = self.goes_on() {
            return Ruling::Refuse(why);
        }
        let asked = self.question(tool, arguments, call_id);
        let call = asked.call.clone();
        let decided = async {
            // The semaphore is never closed; if it were, nothing more would be decided.
            let _turn = self.turns.acquire().await.ok()?;
            let decide = Arc::clone(&self.decide);
            tokio::task::spawn_blocking(move || decide(asked)).await.ok()?
        };
        match tokio::time::timeout(self.deadline, decided).await {
            Err(_) => Ruling::Refuse(format!("no decision within {} seconds", self.deadline.as_secs())),
            Ok(None) => Ruling::Refuse("the decision failed; this is a fault of mayi".to_owned()),
            Ok(Some(answered)) => self.read(&call, answered),
        }
    }

    /// Records what a person said about a call that they were asked about. The error is why their yes does not count.
    pub(crate) async fn note_answer(&self, tool: &str, call_id: &str, verdict: Verdict) -> Result<(), String> {
        // The call itself was recorded when it was decided.
        let asked = self.question(tool, Value::Null, call_id);
        let note = Arc::clone(&self.note);
        let noted = tokio::task::spawn_blocking(move || note(asked, verdict));
        match tokio::time::timeout(self.deadline, noted).await {
            Err(_) => Err(format!("the answer was not recorded within {} seconds", self.deadline.as_secs())),
            Ok(Err(_)) => Err("the answer could not be recorded; this is a fault of mayi".to_owned()),
            Ok(Ok(noted)) => noted,
        }
    }

    fn question(&self, tool: &str, arguments: Value, call_id: &str) -> Asked {
        Asked {
            agent: "gateway".to_owned(),
            session: self.asker.session.clone(),
            child: None,
            call: Call { tool: self.named(tool), input: arguments },
            call_id: Some(call_id.to_owned()),
            mode: None,
            transcript: None,
            event: "tools/call".to_owned(),
            turn: Turn::First,
        }
    }

    fn read(&self, asked: &Call, answered: Answered) -> Ruling {
        if let Some(aborted) = &answered.aborted {
            return Ruling::Refuse(self.end(aborted));
        }
        let Answered { call, changed, decision, context, explanation, .. } = answered;
        let reason = || {
            let words = std::iter::once(decision.reason.to_string()).chain(context.iter().cloned());
            let words = words.chain(explanation.as_ref().map(ToString::to_string));
            words.collect::<Vec<_>>().join("\n")
        };
        if decision.verdict != Verdict::Deny && (call.tool != asked.tool || !call.input.is_object()) {
            return Ruling::Refuse("a hook made another call of it, which this server cannot be given".to_owned());
        }
        let arguments = changed.then(|| call.input.clone());
        match decision.verdict {
            Verdict::Deny => Ruling::Refuse(reason()),
            Verdict::Ask => Ruling::Question { why: reason(), remedy: Remedy::of(&decision), changed: arguments },
            Verdict::Allow => match decision.permit(call) {
                Some(permit) if permit.terms().confined => {
                    Ruling::Refuse("it may only run confined, and a server cannot be confined from here".to_owned())
                }
                Some(_) => Ruling::Forward(arguments),
                None => Ruling::Refuse(reason()),
            },
        }
    }

    /// Ends the run: every call after this one is refused as well.
    fn end(&self, aborted: &Aborted) -> String {
        let why = aborted.to_string();
        *self.ended.lock().unwrap_or_else(PoisonError::into_inner) = Some(why.clone());
        why
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayi_core::reason::Reason;
    use mayi_core::step::Step;
    use mayi_core::trace::Trace;
    use mayi_core::verdict::{Decision, Terms};
    use serde_json::json;

    fn counter(decide: impl Fn(Asked) -> Answered + Send + Sync + 'static) -> Counter {
        let asker = Asker { server: "s".to_owned(), session: "here".to_owned(), attendance: Attendance::Attended };
        let decide = move |asked| Some(decide(asked));
        Counter::with(asker, Arc::new(decide), Arc::new(|_, _| Ok(())), Box::new(|tool| tool == "mcp__s__hidden"))
    }

    fn answered(verdict: Verdict, call: Call) -> Answered {
        let decision = Decision {
            verdict,
            step: Step::DenyRules,
            reason: Reason::silence(),
            terms: Terms::default(),
            trace: Trace::default(),
        };
        Answered {
            call,
            changed: false,
            decision,
            aborted: None,
            updates: Vec::new(),
            context: Vec::new(),
            notices: Vec::new(),
            unanswered: Vec::new(),
            may_retry: false,
            instead: None,
            explanation: None,
        }
    }

    fn ruled(counter: &Counter) -> Ruling {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let ruling = runtime.block_on(counter.rule("t", json!({"a": 1}), "1"));
        runtime.shutdown_background();
        ruling
    }

    #[test]
    fn the_desks_answer_becomes_a_ruling() {
        let silence = "no rule and no mode speaks for it".to_owned();
        let rows = [
            (Verdict::Allow, Ruling::Forward(None)),
            (Verdict::Ask, Ruling::Question { why: silence.clone(), remedy: Remedy::AllowRule, changed: None }),
            (Verdict::Deny, Ruling::Refuse(silence)),
        ];
        for (verdict, ruling) in rows {
            let counter = counter(move |asked| {
                assert_eq!(asked.call, Call { tool: "mcp__s__t".to_owned(), input: json!({"a": 1}) });
                answered(verdict, asked.call)
            });
            assert_eq!(ruled(&counter), ruling);
        }
    }

    #[test]
    fn changed_arguments_are_the_ones_that_go_on() {
        let changed = |verdict| {
            ruled(&counter(move |asked| {
                let call = Call { input: json!({"a": 2}), ..asked.call };
                Answered { changed: true, ..answered(verdict, call) }
            }))
        };
        assert_eq!(changed(Verdict::Allow), Ruling::Forward(Some(json!({"a": 2}))));
        assert!(
            matches!(changed(Verdict::Ask), Ruling::Question { changed: Some(input), .. } if input == json!({"a": 2}))
        );
    }

    #[test]
    fn an_allow_that_cannot_be_kept_is_a_refusal() {
        let other_tool = counter(|asked| answered(Verdict::Allow, Call { tool: "Bash".to_owned(), ..asked.call }));
        let no_object = counter(|asked| answered(Verdict::Allow, Call { input: json!(3), ..asked.call }));
        let confined = counter(|asked| {
            let mut answered = answered(Verdict::Allow, asked.call);
            answered.decision.terms = Terms { confined: true, ..Terms::default() };
            answered
        });
        for counter in [other_tool, no_object, confined] {
            assert!(matches!(ruled(&counter), Ruling::Refuse(_)));
        }
    }

    #[test]
    fn a_decision_that_panics_or_is_late_is_a_refusal() {
        let panics = counter(|_| panic!("on purpose"));
        assert_eq!(ruled(&panics), Ruling::Refuse("the decision failed; this is a fault of mayi".to_owned()));
        let (never, waits) = std::sync::mpsc::channel::<()>();
        let waits = Mutex::new(waits);
        let mut late = counter(move |asked| {
            let _ = waits.lock().unwrap().recv();
            answered(Verdict::Allow, asked.call)
        });
        late.deadline = Duration::from_millis(20);
        assert!(matches!(ruled(&late), Ruling::Refuse(why) if why.starts_with("no decision within")));
        drop(never);
    }

    #[test]
    fn an_answer_whose_record_fails_panics_or_is_late_does_not_count() {
        let (never, waits) = std::sync::mpsc::channel::<()>();
        let waits = Mutex::new(waits);
        let late = move |_, _| {
            let _ = waits.lock().unwrap().recv();
            Ok(())
        };
        let rows: [(Arc<Note>, Duration, &str); 3] = [
            (Arc::new(|_, _| Err("no room".to_owned())), DEADLINE, "no room"),
            (Arc::new(|_, _| panic!("on purpose")), DEADLINE, "could not be recorded"),
            (Arc::new(late), Duration::from_millis(20), "was not recorded within"),
        ];
        for (note, deadline, words) in rows {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            let mut counter = counter(|asked| answered(Verdict::Ask, asked.call));
            (counter.note, counter.deadline) = (note, deadline);
            let noted = runtime.block_on(counter.note_answer("t", "1", Verdict::Allow));
            runtime.shutdown_background();
            assert!(noted.as_ref().is_err_and(|problem| problem.contains(words)), "{words}: {noted:?}");
        }
        drop(never);
    }

    #[test]
    fn an_aborted_run_stays_aborted() {
        let first = std::sync::atomic::AtomicBool::new(true);
        let counter = counter(move |asked| match first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            true => Answered { aborted: Some(Aborted::DenialLimit), ..answered(Verdict::Allow, asked.call) },
            false => answered(Verdict::Allow, asked.call),
        });
        assert!(matches!(ruled(&counter), Ruling::Refuse(_)));
        assert!(matches!(ruled(&counter), Ruling::Refuse(_)));
    }
}
