//! Doctor: what is installed, whether it really fires, and what is wrong. It looks and tries; it changes nothing.
//!
//! Trying means running the installed command as the agent would, with two made-up calls: one that only reads, and one
//! that must never be allowed. They are judged and never run.

mod agent;
mod canary;
mod entry;
mod limits;
mod machine;
mod sandbox;
mod switches;

use std::path::Path;
use std::time::Duration;

use mayi_settings::{Loaded, Places, Problem};

use super::{Agent, Ground};

/// How a thing is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum State {
    /// As it should be.
    Fine,
    /// A limit that is known and accepted.
    Limit,
    /// Worth a look.
    Warning,
    /// Calls are not decided as they should be.
    Wrong,
}

impl State {
    /// Its word.
    pub fn word(self) -> &'static str {
        match self {
            State::Fine => "ok",
            State::Limit => "limit",
            State::Warning => "warning",
            State::Wrong => "wrong",
        }
    }
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How it is.
    pub state: State,
    /// What it is.
    pub what: String,
    /// What to do about it.
    pub help: Option<String>,
}

impl Finding {
    fn fine(what: impl Into<String>) -> Self {
        Self { state: State::Fine, what: what.into(), help: None }
    }

    fn warning(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { state: State::Warning, what: what.into(), help: Some(help.into()) }
    }

    fn wrong(what: impl Into<String>, help: impl Into<String>) -> Self {
        Self { state: State::Wrong, what: what.into(), help: Some(help.into()) }
    }
}

/// The name of the section about mayi itself.
pub const MAYI: &str = "mayi";

/// The name of the section about accepted limits.
pub const LIMITS: &str = "limits";

/// The name of the section about confinement.
pub const SANDBOX: &str = "sandbox";

/// What was found about an agent, or about mayi itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The agent's name on the command line, [`MAYI`], [`LIMITS`] or [`SANDBOX`].
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// Whether it is of interest: a hook is installed, or the agent's program is there.
    pub presence: Presence,
    /// What was found.
    pub findings: Vec<Finding>,
}

/// Whether an agent is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Our hook is installed.
    Installed,
    /// The agent is there without our hook.
    Without,
    /// Neither is there.
    Absent,
}

impl Section {
    /// Whether nothing in it is wrong.
    pub fn is_well(&self) -> bool {
        self.findings.iter().all(|finding| finding.state < State::Wrong)
    }
}

/// What an examination needs.
#[derive(Clone, Copy, Debug)]
pub struct Examination<'a> {
    /// Where the agents' files are.
    pub ground: &'a Ground,
    /// Where mayi's own settings are.
    pub places: &'a Places,
    /// The program that is running, and its version as `--version` says it.
    pub program: (&'a Path, &'a str),
    /// How long a hook may take.
    pub deadline: Duration,
    /// What finds everything that is wrong with settings.
    pub lint: fn(&Loaded) -> Vec<Problem>,
}

impl Examination<'_> {
    /// Looks at mayi itself: its settings, trust, and the folders it writes to.
    pub fn machine(&self) -> Section {
        machine::examined(self)
    }

    /// Tries what this machine can enforce.
    pub fn sandbox(&self) -> Section {
        sandbox::examined(self)
    }

    /// The accepted limits that apply here.
    pub fn limits(&self) -> Section {
        limits::examined(self)
    }

    /// Looks at one agent.
    pub fn agent(&self, agent: &'static Agent) -> Section {
        agent::examined(self, agent)
    }
}
