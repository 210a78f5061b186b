//! The desk where agents ask: settings, session state, hooks, classifier and audit brought together for one call.
//!
//! Used by the hook process (one question, then gone) and by the gateway (many questions, long-lived). It brings
//! what the core asks for, and never decides itself; the one thing it may do to an answer is hold an allow back,
//! when something that the answer rests on is missing.

mod afterwards;
mod alternatives;
mod bypass;
mod confining;
mod counters;
mod explaining;
mod members;
mod serving;
mod staff;

use std::future::Future;
use std::path::PathBuf;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, RwLock};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use mayi_core::call::Call;
use mayi_core::lineage::Inheritance;
use mayi_core::mode::Mode;
use mayi_core::reason::Reason;
use mayi_core::session::{Aborted, Attendance};
use mayi_core::step::Step;
use mayi_core::trace::{Finding, Trace};
use mayi_core::verdict::{Decision, Terms, Verdict};
use mayi_settings::store::Store;
use mayi_settings::update::PermissionUpdate;
use mayi_settings::{Cli, Flag, Loaded, Places};

use crate::audit::ground::Watching;
use crate::audit::{Answer, Audit, AuditError, Circumstances, Entry, Ground};
use crate::decide::{Engine, Outcome};
use crate::explain::Explanation;
use crate::observe::Machine;
use crate::remote::{Propose, Server};
use crate::store::Sessions;
use crate::waiting::Waiting;

pub use bypass::Bypass;
pub use confining::Replaced;
use members::Standing;
use staff::Aside;

/// The session that an installation is tried with. Nothing is kept of it.
pub const CANARY: &str = "mayi-doctor";

/// The commands that an installation is tried with: one that only reads, and one that must never be allowed. No other is
/// left unrecorded, whatever the session that asks is called.
pub const TRIALS: [&str; 2] = ["ls", "rm -rf /"];

/// How long sessions and their audit are kept, where settings do not say.
const KEPT: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// A question at the desk.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The agent program that asks, as records name it.
    pub agent: String,
    /// Its session; empty when it has none, and then nothing is kept.
    pub session: String,
    /// The agent within the session that makes the call, when it is not the lead.
    pub child: Option<Child>,
    /// The call.
    pub call: Call,
    /// The agent's name for the call.
    pub call_id: Option<String>,
    /// The mode the agent says it is in.
    pub mode: Option<Mode>,
    /// The file with its transcript.
    pub transcript: Option<PathBuf>,
    /// The agent's word for what happened, for the record.
    pub event: String,
    /// Whether this question was put before.
    pub turn: Turn,
}

impl Asked {
    /// Whether nobody wants to run this: it only tries whether a hook answers.
    fn is_trial(&self) -> bool {
        let command = self.call.text("command").filter(|_| self.call.tool == "Bash");
        self.session == CANARY && command.is_some_and(|command| TRIALS.contains(&command))
    }
}

/// An agent that another one started within its session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Child {
    /// Its name.
    pub id: String,
    /// What kind of agent it is.
    pub kind: Option<String>,
}

/// Whether a question was put before.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// It is new.
    #[default]
    First,
    /// The agent asks about the same call again, before it shows its own prompt: that changes no counter.
    Again,
}

/// An answer of the desk.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The call as it was decided: the changed one, if a hook changed it.
    pub call: Call,
    /// Whether it was changed.
    pub changed: bool,
    /// The decision.
    pub decision: Decision,
    /// The run ends here.
    pub aborted: Option<Aborted>,
    /// What hooks want the agent to keep.
    pub updates: Vec<PermissionUpdate>,
    /// What hooks want the model to read, and what went wrong with them.
    pub context: Vec<String>,
    /// What hooks want the person to read.
    pub notices: Vec<String>,
    /// Why hooks that were to answer in a person's place did not, or not wholly.
    pub unanswered: Vec<String>,
    /// Hooks let the model try a call again that automatic mode denied.
    pub may_retry: bool,
    /// A command that would pass instead of one that was denied. It was decided itself.
    pub instead: Option<String>,
    /// What a person who is asked should know about the call, where settings want that.
    pub explanation: Option<Explanation>,
}

/// How a desk stands: what does not come with each question.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// Whether a person can be asked.
    pub attendance: Attendance,
    /// The mode of agents that have none of their own.
    pub mode: Option<Mode>,
    /// The session that started the one that asks, and what becomes of its asks.
    pub lead: Option<(String, Inheritance)>,
    /// How long hooks, the classifier and the explainer may take; without it, as long as settings say.
    pub patience: Option<Duration>,
    /// Told before the desk waits for another process.
    pub waiting: Waiting,
    /// Whether commands really run confined, where settings want that.
    pub confinement: Confinement,
    /// Who proposes the rules that a person at a server may save with their yes.
    pub propose: Propose,
    /// What an agent's word that permissions are bypassed is worth.
    pub bypass: Bypass,
    /// The settings that were given beside the files. They are in the settings of the desk already; here they are kept for
    /// the children of whoever asks.
    pub settings: Vec<Flag>,
    /// The options of a command line that are in the settings of the desk as well. They are nobody else's.
    pub options: Cli,
}

/// Whether commands really run confined, where settings want that.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Confinement {
    /// Nobody has to know: settings do not want it, or whoever asks runs no commands.
    #[default]
    Unasked,
    /// They do.
    Sure,
    /// They do not, and why.
    Missing(String),
}

/// The desk.
#[derive(Debug)]
pub struct Desk {
    places: Places,
    settings: Settings,
    manner: Manner,
    sessions: Option<Sessions>,
    judges: Mutex<Option<(Arc<Loaded>, Arc<staff::Judge>)>>,
    server: RwLock<Option<Arc<Server>>>,
}

#[derive(Debug)]
enum Settings {
    /// As they were read, for a process that is gone in a moment.
    Read(Arc<Loaded>),
    /// Read again when they change.
    Watched(Box<Store>),
}

impl Desk {
    /// A desk for one question. Where settings name a server, it goes with the desk ([`Desk::serving`]); without it
    /// nothing is let through.
    pub fn once(places: Places, loaded: Loaded, manner: Manner) -> Self {
        Self::with(places, Settings::Read(Arc::new(loaded)), manner)
    }

    /// A desk that stays: its settings are those in force. Where they name a server, its policy is looked for, and
    /// whoever keeps the desk sees to its errands ([`crate::remote::courier::Courier`]).
    pub fn lasting(places: Places, settings: Store, manner: Manner) -> Self {
        let desk = Self::with(places, Settings::Watched(Box::new(settings)), manner);
        desk.look_for_server();
        desk
    }

    fn with(places: Places, settings: Settings, manner: Manner) -> Self {
        let sessions = places.state.as_deref().map(|state| Sessions::in_folder(state).telling(manner.waiting.clone()));
        Self { places, settings, manner, sessions, judges: Mutex::default(), server: RwLock::default() }
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Loaded> {
        match &self.settings {
            Settings::Read(loaded) => loaded.clone(),
            Settings::Watched(store) => store.refresh(),
        }
    }

    /// Whether hooks or a model may have to be asked, for which a runtime must be there.
    pub fn needs_runtime(&self) -> bool {
        let loaded = self.settings();
        let (classifier, explainer) = (&loaded.settings.classifier, &loaded.settings.explainer);
        let explains = explainer.always && explainer.model.is_some();
        !loaded.hooks.is_empty() || classifier.model.is_some() || explains || self.may_ask_elsewhere(&loaded)
    }

    /// Answers a question, driving it to its end here. Only one that hooks or a model have a part in needs a runtime.
    pub fn decided(&self, asked: &Asked) -> Result<Answered, String> {
        if self.needs_runtime() {
            return self.decided_with_others(asked);
        }
        match pin!(self.decide(asked)).poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(answered) => Ok(answered),
            Poll::Pending => Err("the decision waits for something that nobody brings".to_owned()),
        }
    }

    /// Apart from the other way, which would have to find room on the stack for both.
    #[inline(never)]
    fn decided_with_others(&self, asked: &Asked) -> Result<Answered, String> {
        Ok(runtime()?.block_on(self.decide(asked)))
    }

    /// Answers a question, and records the answer before it is given.
    pub async fn decide(&self, asked: &Asked) -> Answered {
        let since = SystemTime::now();
        let loaded = self.settings();
        let (mut answered, ground, mode) = match self.standing(asked, &loaded) {
            Ok(standing) => {
                let mode = standing.mode();
                let (answered, ground) = self.consider(asked, &loaded, standing).await;
                (answered, ground, mode)
            }
            Err(broken) => {
                let answered = refused(asked, Verdict::Deny, broken.to_string());
                (answered, Ground::default(), asked.mode.unwrap_or_default())
            }
        };
        let circumstances = Circumstances {
            agent: &asked.agent,
            session: &asked.session,
            child: asked.child.as_ref().map(|child| child.id.as_str()),
            event: &asked.event,
            call_id: asked.call_id.as_deref(),
            cwd: &loaded.policy.workspace.directory,
            mode,
            since,
        };
        self.governed(&loaded, &mut answered);
        if !asked.is_trial() {
            self.record(&loaded, circumstances, (&mut answered, ground));
        }
        answered
    }

    async fn consider(&self, asked: &Asked, loaded: &Arc<Loaded>, standing: Standing) -> (Answered, Ground) {
        let directories = loaded.policy.workspace.directories().map(str::to_owned).collect();
        let machine = Machine::for_one_decision(directories, &std::env::var_os("PATH").unwrap_or_default());
        let watching = Watching::new(&machine);
        let engine = Engine::new(&watching, self.staff(asked, loaded, (&standing, &machine)));
        let outcome = engine.decide_in_line(asked.call.clone(), &standing.line).await;
        let staff = engine.respond();
        let Aside { updates, context, notices, unanswered, ends_run, heard, elsewhere } = staff.aside();
        let ground = Ground { heard, facts: watching.take_facts(), ..standing.ground() };
        let mut answered = match outcome {
            Ok(Outcome { call, decision, aborted, .. }) => {
                let aborted = aborted.or(ends_run.map(Aborted::Interrupted));
                Answered {
                    changed: call != asked.call,
                    call,
                    decision,
                    aborted,
                    updates,
                    context,
                    notices,
                    unanswered,
                    may_retry: false,
                    instead: None,
                    explanation: None,
                }
            }
            Err(aborted) => {
                let refused = refused(asked, Verdict::Deny, aborted.to_string());
                Answered { aborted: Some(aborted), ..refused }
            }
        };
        self.concluded(asked, &mut answered, elsewhere);
        self.count(asked, &mut answered, &standing);
        self.keep(asked, &mut answered);
        if answered.decision.verdict == Verdict::Deny && answered.aborted.is_none() {
            answered.instead = apart(|| alternatives::passing(&answered.call, &standing.line, machine.clone())).await;
        }
        self.confining(&mut answered, loaded);
        if answered.decision.verdict != Verdict::Allow && self.is_bypass_refused(asked, &standing) {
            answered.context.push(bypass::REFUSED.to_owned());
        }
        if let Some(trouble) = &standing.trouble {
            hold_back(&mut answered, trouble.clone(), self.manner.attendance);
        }
        if answered.decision.verdict == Verdict::Ask && answered.aborted.is_none() {
            answered.explanation = apart(|| staff.explanation(&answered.call, &machine)).await;
        }
        let by_auto = matches!(answered.decision.step, Step::StaticRisk | Step::Classifier);
        if by_auto && answered.decision.verdict == Verdict::Deny {
            answered.may_retry = staff.tell_denied(&answered.call, &answered.decision.reason.to_string()).await;
        }
        (answered, ground)
    }

    /// Writes the answer down. What cannot be written down is not let through.
    fn record(&self, loaded: &Loaded, circumstances: Circumstances<'_>, given: (&mut Answered, Ground)) {
        let (answered, ground) = given;
        let Some(audit) = self.audit(loaded) else { return };
        let entry = Entry::decision(circumstances, &answered.call, &answered.decision).resting_on(ground);
        if let Err(error) = audit.append(&entry) {
            hold_back(answered, error.to_string(), self.manner.attendance);
        }
    }

    /// Writes down what a person said whom the caller asked about a call, and the way the question took to them. An
    /// allow counts only when this succeeds; then it ends the run of denials, if it was auto mode that had left the
    /// call to a person.
    pub fn note_answer(&self, asked: &Asked, verdict: Verdict, by: &str) -> Result<(), AuditError> {
        if let Some(audit) = self.audit(&self.settings()) {
            audit.append_answer(&Answer {
                agent: &asked.agent,
                session: &asked.session,
                child: asked.child.as_ref().map(|child| child.id.as_str()),
                call_id: asked.call_id.as_deref(),
                tool: &asked.call.tool,
                verdict,
                by,
            })?;
        }
        if let (Verdict::Allow, Some(id)) = (verdict, &asked.call_id) {
            // A run of denials that cannot be ended only means that a person is asked more often.
            let _ = self.ran(&asked.session, id);
        }
        Ok(())
    }

    /// Where answers are written down; `None` when settings switch it off or there is no home.
    pub fn audit(&self, loaded: &Loaded) -> Option<Audit> {
        let settings = &loaded.settings.audit;
        if settings.enabled == Some(false) {
            return None;
        }
        let file = settings.file.as_deref().map(|file| self.places.directory.join(file));
        let file = file.or_else(|| self.places.state.as_ref().map(|state| state.join("audit.jsonl")))?;
        Some(Audit::in_file(file).telling(self.manner.waiting.clone()))
    }
}

/// Where hooks, a model or people are waited for.
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| format!("hooks and the classifier cannot be asked: {error}"))
}

/// An answer that rests on nothing but a problem.
fn refused(asked: &Asked, verdict: Verdict, problem: String) -> Answered {
    let reason = Reason::Trouble { problem };
    let mut trace = Trace::default();
    trace.push(Step::Fallback, Finding::Settle(verdict, reason.clone()));
    Answered {
        call: asked.call.clone(),
        changed: false,
        decision: Decision { verdict, step: Step::Fallback, reason, terms: Terms::default(), trace },
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

/// Holds an allow back: a person decides, and where nobody is there it is no. A stricter answer stands.
fn hold_back(answered: &mut Answered, problem: String, attendance: Attendance) {
    if answered.decision.verdict != Verdict::Allow {
        return;
    }
    let verdict = match attendance {
        Attendance::Attended => Verdict::Ask,
        Attendance::Unattended => Verdict::Deny,
    };
    fall_back(&mut answered.decision, verdict, problem);
}

/// Has a problem decide.
fn fall_back(decision: &mut Decision, verdict: Verdict, problem: String) {
    let reason = Reason::Trouble { problem };
    decision.trace.push(Step::Fallback, Finding::Settle(verdict, reason.clone()));
    (decision.verdict, decision.step, decision.reason) = (verdict, Step::Fallback, reason);
}

/// Something to wait for, in a place of its own. It is made there, too: whoever hardly ever waits for it needs no room for it.
#[inline(never)]
fn apart<F: Future>(make: impl FnOnce() -> F) -> Pin<Box<F>> {
    Box::pin(make())
}
