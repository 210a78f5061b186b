//! The explainer: what a call does and how risky it is, for a person who is asked about it.

pub mod model;

use serde::{Deserialize, Serialize};

/// What a call does, for a person.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// What it does.
    pub explanation: String,
    /// Why the agent wants it, in the agent's first person.
    pub reasoning: String,
    /// What could go wrong.
    pub risk: String,
    /// How bad that would be.
    #[serde(rename = "riskLevel")]
    pub level: Level,
    /// Who explains.
    pub source: Source,
}

/// How risky a call is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Level {
    /// Easily undone.
    Low,
    /// Worth a look.
    Medium,
    /// Hard to undo, or dangerous.
    High,
}

/// Who explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The static analysis.
    Static,
    /// A model.
    Model,
}
