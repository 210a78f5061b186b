//! The batch format: one JSON object a line in, one a line out, in order. Reproducible: a line is decided from what
//! it says alone; no file of the machine is read, and what it does not say has a default.

mod line;

use std::sync::Arc;

use mayi_core::call::{Call, Workspace};
use mayi_core::evaluation::Evaluation;
use mayi_core::inspect::Inspection;
use mayi_core::path;
use mayi_core::policy::Policy;
use mayi_core::reason::Reason;
use mayi_core::session::Aborted;
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Verdict};
use rustc_hash::FxHashMap;
use serde::Serialize;
use serde_json::Value;

use crate::json;
use crate::observe::Imagined;
use crate::remote::wire::Placed;

pub use line::{BadLine, Classifier, Line, SandboxState};

/// How many policies are kept for lines that repeat their settings.
const CACHE: usize = 512;

/// Decides lines.
#[derive(Debug, Default)]
pub struct Batch {
    /// The directory of lines that name none.
    directory: String,
    policies: FxHashMap<String, Arc<Policy>>,
}

/// What a line is answered with.
#[derive(Debug, Serialize)]
struct Answered<'a> {
    id: &'a Value,
    verdict: Verdict,
    step: Step,
    reason: &'a Reason,
    #[serde(serialize_with = "in_words")]
    message: &'a Reason,
    #[serde(skip_serializing_if = "Option::is_none")]
    aborted: Option<String>,
    trace: &'a Trace,
    effects: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    approval: Option<&'a Placed>,
}

#[derive(Debug, Serialize)]
struct Failed<'a> {
    id: &'a Value,
    error: String,
}

/// What became of a line.
#[derive(Debug)]
pub struct Decided {
    /// The call.
    pub call: Call,
    /// The decision. Still an ask when nobody answers in a batch.
    pub decision: Decision,
    /// The run ends with it, and why.
    pub aborted: Option<Aborted>,
    /// What the call's own reading found.
    pub inspection: Inspection,
}

impl Decided {
    /// What is said about it: a run that ends lets nothing through.
    pub fn verdict(&self) -> Verdict {
        if self.aborted.is_some() { Verdict::Deny } else { self.decision.verdict }
    }

    /// The answer to the line with this id, and the question that was put about it.
    pub fn answer(&self, id: &Value, approval: Option<&Placed>) -> String {
        let answered = Answered {
            id,
            verdict: self.verdict(),
            step: self.decision.step,
            reason: &self.decision.reason,
            message: &self.decision.reason,
            aborted: self.aborted.as_ref().map(ToString::to_string),
            trace: &self.decision.trace,
            effects: self.effects(),
            approval,
        };
        written(json::text(&answered))
    }

    /// What the call does, in short.
    pub fn effects(&self) -> Vec<String> {
        self.inspection.effects.iter().map(ToString::to_string).collect()
    }
}

/// The answer to a line that cannot be decided.
pub fn failed(id: &Value, error: String) -> String {
    written(json::text(&Failed { id, error }))
}

fn in_words<S: serde::Serializer>(reason: &Reason, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(reason)
}

/// Serialising texts and numbers cannot fail; if it ever does, the line still gets an answer.
fn written(json: serde_json::Result<String>) -> String {
    one_line(json.unwrap_or_else(|_| "{\"id\":null,\"error\":\"the answer cannot be written\"}".to_owned()))
}

impl Batch {
    /// Decides lines that name no directory as if in `directory`.
    pub fn new(directory: &str) -> Self {
        Self { directory: path::clean(directory), policies: FxHashMap::default() }
    }

    /// Answers one line. Whatever is wrong with it is an answer too.
    pub fn answer(&mut self, line: impl AsRef<[u8]>) -> String {
        let line = match Line::read(line.as_ref()) {
            Ok(line) => line,
            Err((id, error)) => return failed(&id, error.to_string()),
        };
        match self.decide(&line) {
            Ok(Ok(decided)) => decided.answer(&line.id, None),
            Ok(Err(aborted)) => failed(&line.id, aborted.to_string()),
            Err(error) => failed(&line.id, error.to_string()),
        }
    }

    fn decide(&mut self, line: &Line) -> Result<Result<Decided, Aborted>, BadLine> {
        match self.begin_with(line, line.classifier)? {
            Ok((evaluation, observer)) => line.drive(evaluation, &observer).map(Ok),
            Err(aborted) => Ok(Err(aborted)),
        }
    }

    /// The evaluation that a line describes, and the machine it imagines.
    pub(crate) fn begin_with(
        &mut self,
        line: &Line,
        classifier: Option<Classifier>,
    ) -> Result<Result<(Evaluation, Imagined), Aborted>, BadLine> {
        let workspace = line.workspace(&self.directory)?;
        let policy = self.policy(line, &workspace)?;
        let session = line.session(classifier, &policy);
        line.begin(policy, session)
    }

    /// The policy of a line; lines that repeat their settings share one.
    fn policy(&mut self, line: &Line, workspace: &Workspace) -> Result<Arc<Policy>, BadLine> {
        let key = line.key(workspace)?;
        if let Some(policy) = self.policies.get(&key) {
            return Ok(policy.clone());
        }
        let policy = line.loaded(workspace, &[])?.policy;
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
