//! Explaining a call to the person who is asked about it: what it does, why the agent may want it, what could go
//! wrong. Written from the effects and categories; with a model, the same shape is filled by it.
//!
//! An explanation never decides anything, and says so when it does not know.

mod effects;
#[cfg(feature = "desk")]
pub mod model;
mod tools;

use std::fmt;
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::evaluation::Evaluation;
use mayi_core::inspect::Inspection;
use mayi_core::mode::Mode;
use mayi_core::policy::Policy;
use mayi_core::risk::{self, Assessment};
use mayi_core::session::{Availability, Session};
use mayi_settings::settings::Settings;
use serde::{Deserialize, Serialize};

use crate::decide::observe_all;
use crate::observe::Observer;

/// How bad it could get.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// It only looks, or changes what is easily changed back.
    Low,
    /// It changes something, or is not known well enough.
    Medium,
    /// It cannot be undone, reaches other people, or touches what protects.
    High,
}

/// Who wrote an explanation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The analysis of the call.
    Static,
    /// A model.
    Model,
}

/// An explanation of a call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// What it does.
    pub explanation: String,
    /// Why the agent may want it, in the agent's first person.
    pub reasoning: String,
    /// What could go wrong.
    pub risk: String,
    /// How bad that could get.
    #[serde(rename = "riskLevel")]
    pub level: Level,
    /// Who wrote this.
    pub source: Source,
}

impl fmt::Display for Level {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::Low => "LOW",
            Self::Medium => "MEDIUM",
            Self::High => "HIGH",
        })
    }
}

/// One paragraph, for a prompt.
impl fmt::Display for Explanation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { explanation, reasoning, risk, level, source: _ } = self;
        write!(out, "{explanation} Why: {reasoning} Risk {level}: {risk}")
    }
}

/// Whether settings want explanations at all.
pub fn is_enabled(settings: &Settings) -> bool {
    settings.permission_explainer_enabled != Some(false)
}

/// The explanation that goes along with every prompt, where settings want that: for the reason that a hook or a
/// page shows.
pub fn for_prompt(
    settings: &Settings,
    call: &Call,
    policy: &Arc<Policy>,
    observer: &impl Observer,
) -> Option<Explanation> {
    (is_enabled(settings) && settings.explainer.always).then(|| explain(call, policy, observer))
}

/// Explains a call from what the analysis finds in it. The mode makes no difference: the call is read as automatic
/// mode reads it, because only that mode weighs risks.
pub fn explain(call: &Call, policy: &Arc<Policy>, observer: &impl Observer) -> Explanation {
    let availability = Availability { auto: true, ..Availability::default() };
    let session = Session { availability, ..Session::in_mode(Mode::Auto) };
    let policy = if policy.options.auto_disabled {
        // Whether the mode may be entered is beside the point here.
        let mut policy = Policy::clone(policy);
        policy.options.auto_disabled = false;
        Arc::new(policy)
    } else {
        policy.clone()
    };
    // A session that was just made is not aborted, so an evaluation always begins.
    match Evaluation::begin(call.clone(), policy.clone(), session) {
        Ok(mut evaluation) => {
            observe_all(&mut evaluation, observer);
            of_inspection(call, &policy, evaluation.inspection())
        }
        Err(aborted) => unknown(&aborted.to_string()),
    }
}

fn unknown(why: &str) -> Explanation {
    Explanation {
        explanation: format!("What this call does cannot be told: {why}."),
        reasoning: "I want to make this call as part of the task.".to_owned(),
        risk: "Nobody knows what it would do.".to_owned(),
        level: Level::High,
        source: Source::Static,
    }
}

fn of_inspection(call: &Call, policy: &Policy, inspection: &Inspection) -> Explanation {
    let kind = policy.tool(&call.tool).kind;
    let words = tools::describe(call, kind, inspection);
    let (risk, level) = match &inspection.guarded {
        Some(reason) => (format!("Needs a person's word: {reason}."), Level::High),
        None => weigh(inspection, words.level),
    };
    Explanation { explanation: words.explanation, reasoning: words.reasoning, risk, level, source: Source::Static }
}

/// What the static risk analysis makes of it; `least` is what the kind of tool says by itself.
fn weigh(inspection: &Inspection, least: Level) -> (String, Level) {
    if inspection.reads_only {
        return ("It only looks.".to_owned(), Level::Low);
    }
    match &inspection.risk {
        Assessment::Blocked { category, detail } => {
            let found = risk::categories().iter().find(|own| own.id == category);
            let (title, guidance) = found.map_or((category.as_str(), ""), |own| (own.title, own.guidance));
            (format!("{title}: {detail}. {guidance}").trim_end().to_owned(), Level::High)
        }
        Assessment::Safe { exception, .. } => {
            let found = risk::exceptions().iter().find(|own| own.id == exception);
            (format!("{}.", found.map_or(exception.as_str(), |own| own.title)), Level::Low)
        }
        Assessment::Unknown { what } if what.is_empty() => match inspection.accept_edits {
            Some(_) => {
                ("It changes files in the working directories, which can be changed back.".to_owned(), Level::Low)
            }
            None => ("Nothing speaks against it, and nothing for it.".to_owned(), least),
        },
        Assessment::Unknown { what } => (format!("Not certain: {what}."), least.max(Level::Medium)),
    }
}

#[cfg(test)]
mod tests;
