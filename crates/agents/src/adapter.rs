//! What every adapter fills in: a message of an agent read into calls, and an answer written in its dialect.
//!
//! An adapter only translates. It never decides, and what it cannot read it calls [`Foreign`], which is answered
//! like any other failure: by asking or denying.

use std::path::PathBuf;
use std::time::Duration;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::session::Attendance;
use mayi_core::verdict::Verdict;
pub use mayi_engine::desk::Child;
use mayi_settings::update::PermissionUpdate;
use serde_json::Value;

use crate::remedy::Remedy;

/// What happened at the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Event {
    /// A tool is about to be called.
    Before,
    /// The agent is about to ask a person.
    Request,
    /// The agent's own classifier denied a call.
    Denied,
    /// A tool was called, and came back.
    After,
    /// A tool was called, and failed.
    Failed,
    /// Anything else, such as the start of a session: nothing is to be decided.
    Other,
}

/// A message of an agent.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// What happened.
    pub event: Event,
    /// The agent's own word for it, which some answers must repeat.
    pub named: String,
    /// The agent's name for its session.
    pub session: String,
    /// The calls it is about. Usually one; a patch of several files is an edit of each, and the strictest answer
    /// counts for all. Empty only where nothing is to be decided.
    pub calls: Vec<Call>,
    /// The tool and its input as the agent sent them, for records and for changed input.
    pub original: Call,
    /// The agent's name for the call.
    pub call_id: Option<String>,
    /// The mode the agent says it is in, where it has such a thing.
    pub mode: Option<Mode>,
    /// Whether a person can be asked, where the agent says so.
    pub attendance: Option<Attendance>,
    /// The directory it works in.
    pub directory: Option<PathBuf>,
    /// The file with its transcript.
    pub transcript: Option<PathBuf>,
    /// The agent within the session that makes the call, when it is not the lead.
    pub child: Option<Child>,
    /// What the tool gave back.
    pub response: Option<Value>,
    /// Why the agent denied the call by itself.
    pub denial: Option<String>,
    /// A session begins with this, or is taken up again.
    pub begins: bool,
}

/// What the agent is to be told.
#[derive(Clone, Debug, PartialEq)]
pub struct Told {
    /// The verdict over all calls of the message.
    pub verdict: Verdict,
    /// Why, in words for the agent's model and for its user.
    pub reason: String,
    /// What would spare a person the question, where the verdict is one and that is known.
    pub remedy: Option<Remedy>,
    /// The call to run instead. An agent that cannot be given one must be told no.
    pub changed: Option<Call>,
    /// Rules and modes that a hook of ours wants the agent to keep.
    pub updates: Vec<PermissionUpdate>,
    /// The agent's run ends here.
    pub ends_run: bool,
    /// The model may try a call again that the agent's own classifier denied.
    pub may_retry: bool,
    /// What hooks of ours want the model to read.
    pub context: Vec<String>,
    /// What hooks of ours find wrong with a call that ran. The model reads that, too.
    pub objections: Vec<String>,
    /// What the model should read instead of what the tool gave back. An agent that cannot do that shows both.
    pub replaced: Option<Value>,
    /// What hooks of ours want the person to read.
    pub notices: Vec<String>,
}

impl Told {
    /// A plain verdict with its reason.
    pub fn new(verdict: Verdict, reason: impl Into<String>) -> Self {
        Self {
            verdict,
            reason: reason.into(),
            remedy: None,
            changed: None,
            updates: Vec::new(),
            ends_run: false,
            may_retry: false,
            context: Vec::new(),
            objections: Vec::new(),
            replaced: None,
            notices: Vec::new(),
        }
    }
}

/// What a hook process leaves behind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
    /// Its exit code.
    pub code: u8,
}

/// Why a message cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this is no message of {agent}: {problem}")]
pub struct Foreign {
    /// Whose message it should be.
    pub agent: &'static str,
    /// What is wrong.
    pub problem: String,
}

/// What the process around an adapter knows: variables of its environment and its directory.
pub struct Surroundings<'a> {
    /// A variable of the environment.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The directory the hook was started in.
    pub directory: PathBuf,
}

/// How one agent speaks.
#[derive(Clone, Copy, Debug)]
pub struct Dialect {
    /// Its name on the command line.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Reads a message.
    pub read: fn(&Value, &Surroundings<'_>) -> Result<Message, Foreign>,
    /// Writes an answer to a message.
    pub write: fn(&Message, &Told) -> Reply,
    /// Writes an answer where no message could be read, or where the time is up before one was. Never an allow.
    pub refuse: fn(Verdict, &str) -> Reply,
    /// When the hook must have answered: well inside the agent's own time-out, because several agents run the call
    /// when their hook is late.
    pub deadline: Duration,
    /// Whether it runs a changed call when it is given one.
    pub changes: Changes,
    /// The field of an answer that it shows to its user, where it has one.
    pub notice: Option<&'static str>,
}

/// When an agent runs a changed call that it is given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Changes {
    /// Never.
    Never,
    /// At this event alone, by the agent's own word for it.
    At(&'static str),
    /// Whenever a tool is about to be called.
    Always,
}

impl Changes {
    /// Whether a message can be answered with a changed call.
    pub fn answers(self, message: &Message) -> bool {
        match self {
            Changes::Never => false,
            Changes::At(event) => message.named == event,
            Changes::Always => true,
        }
    }
}
