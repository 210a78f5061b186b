//! The batch format: one JSON object a line in, one a line out, in order. Reproducible: a line is decided from what
//! it says alone; no file of the machine is read, and what it does not say has a default.

use std::sync::Arc;

use mayi_core::call::{Call, Workspace};
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::mode::Mode;
use mayi_core::path;
use mayi_core::pipeline::Said;
use mayi_core::policy::{Layer, Policy};
use mayi_core::reason::Reason;
use mayi_core::referral::{Answer, Classified, OnFailure, Referral};
use mayi_core::session::{Aborted, Attendance, Availability, Denials, Session};
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Verdict};
use mayi_settings::{Cli, Given, Trust};
use mayi_shell::observe::Observations;
use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::decide::observe_all;
use crate::observe::Imagined;

/// How many policies are kept for lines that repeat their settings.
const CACHE: usize = 512;

/// Decides lines.
#[derive(Debug, Default)]
pub struct Batch {
    /// The directory of lines that name none.
    directory: String,
    policies: FxHashMap<String, Arc<Policy>>,
}

/// A line, with everything that has a default left out.
#[derive(Debug, Deserialize)]
pub(crate) struct Line {
    #[serde(default)]
    pub(crate) id: Value,
    pub(crate) tool: String,
    pub(crate) input: Value,
    pub(crate) mode: Option<Mode>,
    pub(crate) cwd: Option<String>,
    pub(crate) home: Option<String>,
    #[serde(default)]
    unattended: bool,
    settings: Option<Value>,
    #[serde(default)]
    layers: Map<String, Value>,
    #[serde(default)]
    bypass_available: bool,
    sandbox: Option<SandboxState>,
    pub(crate) classifier: Option<Classifier>,
    #[serde(default)]
    additional_directories: Vec<String>,
    #[serde(default)]
    trusted: bool,
    files: Option<Map<String, Value>>,
    /// What hooks before the call said.
    hook: Option<Verdict>,
    #[serde(default)]
    denials: Denials,
}

/// The sandbox of a line.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(default)]
struct SandboxState {
    enabled: bool,
    available: bool,
}

/// A classifier with a fixed answer, for testing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Classifier {
    None,
    Allow,
    Block,
    Error,
}

/// What a line is answered with.
#[derive(Debug, Serialize)]
struct Answered<'a> {
    id: &'a Value,
    verdict: Verdict,
    step: Step,
    reason: &'a Reason,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    aborted: Option<String>,
    trace: &'a Trace,
    effects: Vec<String>,
}

#[derive(Debug, Serialize)]
struct Failed<'a> {
    id: &'a Value,
    error: String,
}

/// Why a line cannot be decided.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BadLine {
    #[error("not a line of the batch format: {0}")]
    Shape(#[from] serde_json::Error),
    #[error("not UTF-8 text: byte {0} is out of place")]
    Text(usize),
    #[error("`{0}` is no layer\nhelp: one of managed, flag, cli, command, session, local, project, user")]
    Layer(String),
    #[error(transparent)]
    File(#[from] crate::observe::BadFile),
    #[error("the working directory `{0}` is not absolute")]
    Directory(String),
}

impl Batch {
    /// Decides lines that name no directory as if in `directory`.
    pub fn new(directory: &str) -> Self {
        Self { directory: path::clean(directory), policies: FxHashMap::default() }
    }

    /// Answers one line. Whatever is wrong with it is an answer too.
    pub fn answer(&mut self, line: impl AsRef<[u8]>) -> String {
        let answered = match std::str::from_utf8(line.as_ref()) {
            Ok(text) => self.answer_text(text),
            // What the bytes were meant to say is not known, so nothing is decided about it.
            Err(error) => {
                let guessed = String::from_utf8_lossy(line.as_ref());
                Err((id_of(&guessed), BadLine::Text(error.valid_up_to() + 1)))
            }
        };
        let written =
            answered.or_else(|(id, error)| serde_json::to_string(&Failed { id: &id, error: error.to_string() }));
        // Serialising texts and numbers cannot fail; if it ever does, the line still gets an answer.
        one_line(written.unwrap_or_else(|_| "{\"id\":null,\"error\":\"the answer cannot be written\"}".to_owned()))
    }

    fn answer_text(&mut self, text: &str) -> Result<String, (Value, BadLine)> {
        match serde_json::from_str::<Line>(text) {
            Ok(line) => self.decide(&line).map_err(|error| (line.id, error)),
            Err(error) => Err((id_of(text), BadLine::Shape(error))),
        }
    }

    fn decide(&mut self, line: &Line) -> Result<String, BadLine> {
        let (mut evaluation, observer) = match self.begin(line)? {
            Ok(begun) => begun,
            Err(aborted) => return Ok(serde_json::to_string(&Failed { id: &line.id, error: aborted.to_string() })?),
        };
        let aborted = drive(&mut evaluation, &observer, line.classifier);
        let Some(decision) = evaluation.standing() else {
            return Ok(serde_json::to_string(&Failed { id: &line.id, error: "nothing was decided".to_owned() })?);
        };
        Ok(serde_json::to_string(&answered(line, &evaluation, decision, aborted))?)
    }

    fn begin(&mut self, line: &Line) -> Result<Result<(Evaluation, Imagined), Aborted>, BadLine> {
        self.begin_with(line, line.classifier)
    }

    /// The evaluation that a line describes, and the machine it imagines.
    pub(crate) fn begin_with(
        &mut self,
        line: &Line,
        classifier: Option<Classifier>,
    ) -> Result<Result<(Evaluation, Imagined), Aborted>, BadLine> {
        let workspace = self.workspace(line)?;
        let policy = self.policy(line, &workspace)?;
        let session = session(line, classifier, &policy);
        let (observer, facts) = match &line.files {
            Some(files) => (Imagined::new(files, &policy.workspace)?, Observations::default()),
            None => (Imagined::default(), Observations::of_nothing()),
        };
        let call = Call::new(&line.tool, line.input.clone());
        let evaluation = Evaluation::begin_knowing(facts, call, policy, session);
        Ok(evaluation.map(|evaluation| match line.hook {
            Some(verdict) => (evaluation.with_hook(Said { verdict, message: "as the line says".to_owned() }), observer),
            None => (evaluation, observer),
        }))
    }

    fn workspace(&self, line: &Line) -> Result<Workspace, BadLine> {
        let directory = line.cwd.as_deref().unwrap_or(&self.directory);
        if !directory.starts_with('/') {
            return Err(BadLine::Directory(directory.to_owned()));
        }
        let workspace = Workspace::at(directory);
        Ok(match &line.home {
            Some(home) => workspace.with_home(home),
            None => workspace,
        })
    }

    /// The policy of a line; lines that repeat their settings share one.
    fn policy(&mut self, line: &Line, workspace: &Workspace) -> Result<Arc<Policy>, BadLine> {
        let key = serde_json::to_string(&(
            &line.settings,
            &line.layers,
            workspace,
            &line.additional_directories,
            (line.trusted, line.sandbox.is_some_and(|sandbox| sandbox.enabled)),
        ))?;
        if let Some(policy) = self.policies.get(&key) {
            return Ok(policy.clone());
        }
        let policy = Arc::new(build(line, workspace)?);
        if self.policies.len() >= CACHE {
            self.policies.clear();
        }
        self.policies.insert(key, policy.clone());
        Ok(policy)
    }
}

/// Escapes what some readers take for the end of a line, and what a person could not see. Such characters only ever
/// stand inside strings, where an escape means the same.
fn one_line(json: String) -> String {
    let odd = |letter: char| matches!(letter, '\u{7f}'..='\u{9f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    if (json.is_ascii() && !json.contains('\u{7f}')) || !json.contains(odd) {
        return json;
    }
    let mut escaped = String::with_capacity(json.len() + 16);
    for letter in json.chars() {
        if odd(letter) {
            escaped.push_str(&format!("\\u{:04x}", u32::from(letter)));
        } else {
            escaped.push(letter);
        }
    }
    escaped
}

fn id_of(text: &str) -> Value {
    serde_json::from_str::<Value>(text).ok().and_then(|line| line.get("id").cloned()).unwrap_or_default()
}

fn build(line: &Line, workspace: &Workspace) -> Result<Policy, BadLine> {
    let mut layers: Vec<(Layer, &Value)> = Vec::new();
    if let Some(settings) = &line.settings {
        layers.push((Layer::User, settings));
    }
    for (name, value) in &line.layers {
        let layer = Layer::ALL.into_iter().find(|layer| layer.word() == name);
        layers.push((layer.ok_or_else(|| BadLine::Layer(name.clone()))?, value));
    }
    let given = Given {
        cli: Cli { directories: line.additional_directories.clone(), ..Cli::default() },
        trust: if line.trusted { Trust::Trusted } else { Trust::Untrusted },
        ..Given::default()
    };
    let loaded = mayi_settings::of_values(&layers, workspace, &given);
    let mut policy = Arc::unwrap_or_clone(loaded.policy);
    if line.sandbox.is_some_and(|sandbox| sandbox.enabled) {
        policy.options.sandbox.enabled = true;
    }
    Ok(policy)
}

fn session(line: &Line, classifier: Option<Classifier>, policy: &Policy) -> Session {
    let mode = line.mode.or(policy.options.default_mode).unwrap_or_default();
    let availability = Availability {
        bypass: line.bypass_available || line.mode == Some(Mode::BypassPermissions),
        auto: classifier.is_some() || line.mode == Some(Mode::Auto),
        model: matches!(classifier, Some(Classifier::Allow | Classifier::Block | Classifier::Error)),
        sandbox: line.sandbox.is_some_and(|sandbox| sandbox.available),
    };
    let attendance = if line.unattended { Attendance::Unattended } else { Attendance::Attended };
    let session = Session { attendance, availability, denials: line.denials, ..Session::default() };
    // A mode that this session may not enter gives way to default, as it does when a session starts.
    let entered = if session.may_enter(mode, policy).is_ok() { mode } else { Mode::Default };
    Session { mode: entered, ..session }
}

/// Answers until nobody is left who would answer in a batch. Returns why the run ended, if it did.
fn drive(evaluation: &mut Evaluation, observer: &Imagined, classifier: Option<Classifier>) -> Option<String> {
    loop {
        match observe_all(evaluation, observer) {
            Progress::Refer(Referral::Classifier) => evaluation.answer(Answer::Classifier(classified(classifier))),
            Progress::Refer(Referral::Hooks) => evaluation.answer(Answer::Hooks(None)),
            Progress::Abort(aborted) => return Some(aborted.to_string()),
            Progress::Refer(Referral::Person | Referral::Nobody | Referral::Abort(_))
            | Progress::Done(_)
            | Progress::Observe(_) => return None,
        }
    }
}

fn classified(classifier: Option<Classifier>) -> Classified {
    let judged = |verdict| Classified::Judged { verdict, category: None, message: "as the line says".to_owned() };
    match classifier {
        Some(Classifier::Allow) => judged(Verdict::Allow),
        Some(Classifier::Block) => judged(Verdict::Deny),
        Some(Classifier::Error | Classifier::None) | None => {
            Classified::Failed { problem: "as the line says".to_owned(), then: OnFailure::Closed }
        }
    }
}

fn answered<'a>(
    line: &'a Line,
    evaluation: &Evaluation,
    decision: &'a Decision,
    aborted: Option<String>,
) -> Answered<'a> {
    Answered {
        id: &line.id,
        verdict: if aborted.is_some() { Verdict::Deny } else { decision.verdict },
        step: decision.step,
        reason: &decision.reason,
        message: decision.reason.to_string(),
        aborted,
        trace: &decision.trace,
        effects: evaluation.inspection().effects.iter().map(ToString::to_string).collect(),
    }
}
