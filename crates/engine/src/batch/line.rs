//! A line of the batch format: what it says, and the evaluation that it describes.

use std::sync::Arc;

use mayi_core::call::{Call, Workspace};
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::mode::Mode;
use mayi_core::pipeline::Said;
use mayi_core::policy::{Layer, Policy};
use mayi_core::referral::{Answer, Classified, OnFailure, Referral};
use mayi_core::session::{Aborted, Attendance, Availability, Denials, Session};
use mayi_core::verdict::Verdict;
use mayi_settings::load::Bundle;
use mayi_settings::{Cli, Given, Loaded, Trust};
use mayi_shell::observe::Observations;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Decided;
use crate::decide::observe_all;
use crate::observe::Imagined;

/// A line, with everything that has a default left out.
#[derive(Debug, Deserialize)]
pub struct Line {
    /// What the answer is known by.
    #[serde(default)]
    pub id: Value,
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// The mode; default where settings name none.
    pub mode: Option<Mode>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The user's home.
    pub home: Option<String>,
    /// Nobody can be asked.
    #[serde(default)]
    pub unattended: bool,
    /// The user layer.
    pub settings: Option<Value>,
    /// Settings by layer.
    #[serde(default)]
    pub layers: Map<String, Value>,
    /// Bypass mode may be entered.
    #[serde(default)]
    pub bypass_available: bool,
    /// The sandbox.
    pub sandbox: Option<SandboxState>,
    /// A classifier with a fixed answer.
    pub classifier: Option<Classifier>,
    /// Further working directories.
    #[serde(default)]
    pub additional_directories: Vec<String>,
    /// The folder is trusted.
    #[serde(default)]
    pub trusted: bool,
    /// A file system to look at.
    pub files: Option<Map<String, Value>>,
    /// What hooks before the call said.
    pub hook: Option<Verdict>,
    /// The denial counters.
    #[serde(default)]
    pub denials: Denials,
}

/// The sandbox of a line.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
pub struct SandboxState {
    /// Commands run confined.
    pub enabled: bool,
    /// The host can confine them.
    pub available: bool,
}

/// A classifier with a fixed answer, for testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Classifier {
    /// None is configured.
    None,
    /// It lets everything run.
    Allow,
    /// It blocks everything.
    Block,
    /// It gives no answer.
    Error,
}

/// Why a line cannot be decided.
#[derive(Debug, thiserror::Error)]
pub enum BadLine {
    /// Not the format.
    #[error("not a line of the batch format: {0}")]
    Shape(#[from] serde_json::Error),
    /// Not text.
    #[error("not UTF-8 text: byte {0} is out of place")]
    Text(usize),
    /// No such layer.
    #[error("`{0}` is no layer\nhelp: one of managed, flag, cli, command, session, local, project, user")]
    Layer(String),
    /// A file that is none.
    #[error(transparent)]
    File(#[from] crate::observe::BadFile),
    /// A directory that could be anywhere.
    #[error("the working directory `{0}` is not absolute")]
    Directory(String),
    /// The pipeline did not come to an end.
    #[error("nothing was decided")]
    Undecided,
}

impl Line {
    /// Reads a line. What it is known by is given with the reason why it cannot be read.
    pub fn read(line: &[u8]) -> Result<Self, (Value, BadLine)> {
        let text = std::str::from_utf8(line).map_err(|error| {
            // What the bytes were meant to say is not known, so nothing is decided about it.
            let guessed = String::from_utf8_lossy(line);
            (id_of(&guessed), BadLine::Text(error.valid_up_to() + 1))
        })?;
        serde_json::from_str(text).map_err(|error| (id_of(text), BadLine::Shape(error)))
    }

    /// Whether it brings settings of its own.
    pub fn brings_settings(&self) -> bool {
        self.settings.is_some() || !self.layers.is_empty()
    }

    /// Where it is decided; `directory` where it does not say.
    pub fn workspace(&self, directory: &str) -> Result<Workspace, BadLine> {
        let directory = self.cwd.as_deref().unwrap_or(directory);
        if !directory.starts_with('/') {
            return Err(BadLine::Directory(directory.to_owned()));
        }
        let workspace = Workspace::at(directory);
        Ok(match &self.home {
            Some(home) => workspace.with_home(home),
            None => workspace,
        })
    }

    /// Everything that its policy depends on, as text: lines with the same share their policy.
    pub fn key(&self, workspace: &Workspace) -> Result<String, BadLine> {
        Ok(serde_json::to_string(&(
            &self.settings,
            &self.layers,
            workspace,
            &self.additional_directories,
            (self.trusted, self.sandbox.is_some_and(|sandbox| sandbox.enabled)),
        ))?)
    }

    /// Its settings, bound by managed settings from elsewhere.
    pub fn loaded(&self, workspace: &Workspace, bundles: &[Bundle]) -> Result<Loaded, BadLine> {
        let mut layers: Vec<(Layer, &Value)> = Vec::new();
        if let Some(settings) = &self.settings {
            layers.push((Layer::User, settings));
        }
        for (name, value) in &self.layers {
            let layer = Layer::ALL.into_iter().find(|layer| layer.word() == name);
            layers.push((layer.ok_or_else(|| BadLine::Layer(name.clone()))?, value));
        }
        let given = Given {
            bundles: bundles.to_vec(),
            cli: Cli { directories: self.additional_directories.clone(), ..Cli::default() },
            trust: if self.trusted { Trust::Trusted } else { Trust::Untrusted },
            ..Given::default()
        };
        let mut loaded = mayi_settings::of_values(&layers, workspace, &given);
        if self.sandbox.is_some_and(|sandbox| sandbox.enabled) {
            Arc::make_mut(&mut loaded.policy).options.sandbox.enabled = true;
        }
        Ok(loaded)
    }

    /// The session that it describes.
    pub fn session(&self, classifier: Option<Classifier>, policy: &Policy) -> Session {
        let mode = self.mode.or(policy.options.default_mode).unwrap_or_default();
        let availability = Availability {
            bypass: self.bypass_available || self.mode == Some(Mode::BypassPermissions),
            auto: classifier.is_some() || self.mode == Some(Mode::Auto),
            model: matches!(classifier, Some(Classifier::Allow | Classifier::Block | Classifier::Error)),
            sandbox: self.sandbox.is_some_and(|sandbox| sandbox.available),
        };
        let attendance = if self.unattended { Attendance::Unattended } else { Attendance::Attended };
        let session = Session { attendance, availability, denials: self.denials, ..Session::default() };
        // A mode that this session may not enter gives way to default, as it does when a session starts.
        let entered = if session.may_enter(mode, policy).is_ok() { mode } else { Mode::Default };
        Session { mode: entered, ..session }
    }

    /// What hooks before the call said.
    pub fn said(&self) -> Option<Said> {
        self.hook.map(|verdict| Said { verdict, message: "as the line says".to_owned() })
    }

    /// The machine it imagines.
    pub fn observer(&self, workspace: &Workspace) -> Result<Imagined, BadLine> {
        Ok(self.files.as_ref().map(|files| Imagined::new(files, workspace)).transpose()?.unwrap_or_default())
    }

    /// What its classifier says.
    pub fn classified(&self) -> Classified {
        let judged = |verdict| Classified::Judged { verdict, category: None, message: "as the line says".to_owned() };
        match self.classifier {
            Some(Classifier::Allow) => judged(Verdict::Allow),
            Some(Classifier::Block) => judged(Verdict::Deny),
            Some(Classifier::Error | Classifier::None) | None => {
                Classified::Failed { problem: "as the line says".to_owned(), then: OnFailure::Closed }
            }
        }
    }

    /// Decides it by a policy in a session.
    pub fn decide(&self, policy: Arc<Policy>, session: Session) -> Result<Result<Decided, Aborted>, BadLine> {
        match self.begin(policy, session)? {
            Ok((evaluation, observer)) => self.drive(evaluation, &observer).map(Ok),
            Err(aborted) => Ok(Err(aborted)),
        }
    }

    pub(super) fn begin(
        &self,
        policy: Arc<Policy>,
        session: Session,
    ) -> Result<Result<(Evaluation, Imagined), Aborted>, BadLine> {
        let observer = self.observer(&policy.workspace)?;
        let facts = if self.files.is_some() { Observations::default() } else { Observations::of_nothing() };
        let call = Call::new(&self.tool, self.input.clone());
        let evaluation = Evaluation::begin_knowing(facts, call, policy, session);
        Ok(evaluation.map(|evaluation| match self.said() {
            Some(said) => (evaluation.with_hook(said), observer),
            None => (evaluation, observer),
        }))
    }

    /// Answers until nobody is left who would answer in a batch.
    pub(super) fn drive(&self, mut evaluation: Evaluation, observer: &Imagined) -> Result<Decided, BadLine> {
        let aborted = loop {
            match observe_all(&mut evaluation, observer) {
                Progress::Refer(Referral::Classifier) => evaluation.answer(Answer::Classifier(self.classified())),
                Progress::Refer(Referral::Hooks) => evaluation.answer(Answer::Hooks(None)),
                Progress::Abort(aborted) => break Some(aborted),
                Progress::Refer(Referral::Person | Referral::Nobody | Referral::Abort(_))
                | Progress::Done(_)
                | Progress::Observe(_) => break None,
            }
        };
        let (call, inspection, decision) = evaluation.into_parts();
        let decision = decision.ok_or(BadLine::Undecided)?;
        Ok(Decided { call, decision, aborted, inspection })
    }
}

fn id_of(text: &str) -> Value {
    serde_json::from_str::<Value>(text).ok().and_then(|line| line.get("id").cloned()).unwrap_or_default()
}
