//! The desk where agents ask: settings, session state, hooks, classifier and audit brought together for one call.
//!
//! Used by the hook process (one question, then gone) and by the gateway (many questions, long-lived). It brings
//! what the core asks for; it never decides.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::pipeline::Said;
use mayi_core::referral::{Classified, HookAnswer, OnFailure, PersonAnswer};
use mayi_core::session::{Aborted, Attendance, Availability, Session};
use mayi_core::verdict::Decision;
use mayi_settings::store::Store;
use mayi_settings::update::PermissionUpdate;
use mayi_settings::{Given, Loaded, Places};

use crate::decide::{Engine, Outcome, Respond};
use crate::observe::Machine;

/// A question at the desk.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The agent program that asks, as records name it.
    pub agent: String,
    /// Its session.
    pub session: String,
    /// The agent within the session that makes the call, when it is not the lead: its name and its kind.
    pub child: Option<(String, Option<String>)>,
    /// The call.
    pub call: Call,
    /// The agent's name for the call.
    pub call_id: Option<String>,
    /// The mode the agent says it is in.
    pub mode: Option<Mode>,
    /// The file with its transcript.
    pub transcript: Option<PathBuf>,
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
    /// What hooks want the model to read.
    pub context: Vec<String>,
}

/// The desk.
#[derive(Debug)]
pub struct Desk {
    settings: Store,
    attendance: Attendance,
}

impl Desk {
    /// A desk with the settings of these places.
    pub fn open(places: Places, given: Given, attendance: Attendance) -> Self {
        Self { settings: Store::open(places, given), attendance }
    }

    /// The settings in force.
    pub fn settings(&self) -> Arc<Loaded> {
        self.settings.refresh()
    }

    /// Decides a question.
    pub async fn decide(&self, asked: &Asked) -> Result<Answered, Aborted> {
        let loaded = self.settings();
        let mode = asked.mode.or(loaded.policy.options.default_mode).unwrap_or_default();
        let availability = Availability {
            bypass: mode == Mode::BypassPermissions,
            auto: mode == Mode::Auto,
            model: false,
            sandbox: false,
        };
        let session = Session { mode, attendance: self.attendance, availability, ..Session::default() };
        let machine = Machine::new(
            loaded.policy.workspace.directories().map(str::to_owned).collect(),
            &std::env::var_os("PATH").unwrap_or_default(),
        );
        let outcome = Engine::new(machine, Nobody).decide(asked.call.clone(), loaded.policy.clone(), session).await?;
        let Outcome { call, decision, .. } = outcome;
        Ok(Answered {
            changed: call != asked.call,
            call,
            decision,
            aborted: None,
            updates: Vec::new(),
            context: Vec::new(),
        })
    }
}

/// Nobody answers at this desk yet.
struct Nobody;

impl Respond for Nobody {
    async fn before(&self, _: &Call) -> Option<(Said, Option<Call>)> {
        None
    }
    async fn classify(&self, _: &Call) -> Classified {
        Classified::Failed { problem: "no classifier is configured".to_owned(), then: OnFailure::Closed }
    }
    async fn hooks(&self, _: &Call) -> Option<HookAnswer> {
        None
    }
    async fn person(&self, _: &Call, _: &Decision) -> Option<PersonAnswer> {
        None
    }
}

/// The desk of a directory on this machine.
pub fn of_this_machine(directory: &Path, given: Given, attendance: Attendance) -> Desk {
    Desk::open(Places::of_this_machine(directory), given, attendance)
}
