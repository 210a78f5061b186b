//! The steps of the pipeline: their ids are public and stable, they appear in traces, JSON, tests and the book.

use std::fmt;

use serde::{Serialize, Serializer};

/// One stage of the pipeline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Step {
    /// What a hook said before the call was looked at.
    Hooks,
    /// 1a: a deny rule names the whole tool.
    DenyRules,
    /// 1b: an ask rule names the whole tool.
    AskRules,
    /// 1c: the tool's own inspection of its input.
    ToolCheck,
    /// 1d: what the inspection refuses. Takes the place of 1c in the trace when it does.
    ToolDeny,
    /// 1e: the tool needs a person.
    HumanOnly,
    /// 1f: an ask rule with content.
    ContentAskRules,
    /// 1g: protected and critical paths.
    ProtectedPaths,
    /// 2a: bypass mode.
    Bypass,
    /// 2b: allow rules and what the inspection allows.
    AllowRules,
    /// 3: nobody spoke.
    Fallback,
    /// 4a: a mode that never asks.
    DontAsk,
    /// 4b.1: not for the classifier.
    NotForClassifier,
    /// 4b.2: accept-edits mode would have allowed it.
    AcceptEdits,
    /// 4b.3: a safe tool.
    SafeTools,
    /// 4b.4: the static analysis is certain.
    StaticRisk,
    /// 4b.5: the classifier.
    Classifier,
    /// 4c: permission hooks of an unattended run.
    RequestHooks,
    /// 4d: nobody is there to ask.
    Nobody,
    /// 4e: a person.
    Human,
}

impl Step {
    /// The gauntlet, in order.
    pub const GAUNTLET: [Step; 9] = [
        Step::DenyRules,
        Step::AskRules,
        Step::ToolCheck,
        Step::HumanOnly,
        Step::ContentAskRules,
        Step::ProtectedPaths,
        Step::Bypass,
        Step::AllowRules,
        Step::Fallback,
    ];

    /// Every step, in order.
    pub const ALL: [Step; 20] = [
        Step::Hooks,
        Step::DenyRules,
        Step::AskRules,
        Step::ToolCheck,
        Step::ToolDeny,
        Step::HumanOnly,
        Step::ContentAskRules,
        Step::ProtectedPaths,
        Step::Bypass,
        Step::AllowRules,
        Step::Fallback,
        Step::DontAsk,
        Step::NotForClassifier,
        Step::AcceptEdits,
        Step::SafeTools,
        Step::StaticRisk,
        Step::Classifier,
        Step::RequestHooks,
        Step::Nobody,
        Step::Human,
    ];

    /// The stable id.
    pub fn id(self) -> &'static str {
        match self {
            Step::Hooks => "pre",
            Step::DenyRules => "1a",
            Step::AskRules => "1b",
            Step::ToolCheck => "1c",
            Step::ToolDeny => "1d",
            Step::HumanOnly => "1e",
            Step::ContentAskRules => "1f",
            Step::ProtectedPaths => "1g",
            Step::Bypass => "2a",
            Step::AllowRules => "2b",
            Step::Fallback => "3",
            Step::DontAsk => "4a",
            Step::NotForClassifier => "4b.1",
            Step::AcceptEdits => "4b.2",
            Step::SafeTools => "4b.3",
            Step::StaticRisk => "4b.4",
            Step::Classifier => "4b.5",
            Step::RequestHooks => "4c",
            Step::Nobody => "4d",
            Step::Human => "4e",
        }
    }

    /// The name beside the id.
    pub fn name(self) -> &'static str {
        match self {
            Step::Hooks => "hooks",
            Step::DenyRules => "deny-rules",
            Step::AskRules => "ask-rules",
            Step::ToolCheck | Step::ToolDeny => "tool-check",
            Step::HumanOnly => "human-only",
            Step::ContentAskRules => "content-ask-rules",
            Step::ProtectedPaths => "protected-paths",
            Step::Bypass => "bypass",
            Step::AllowRules => "allow-rules",
            Step::Fallback => "fallback",
            Step::DontAsk => "dont-ask",
            Step::NotForClassifier => "not-for-classifier",
            Step::AcceptEdits => "accept-edits",
            Step::SafeTools => "safe-tools",
            Step::StaticRisk => "static-risk",
            Step::Classifier => "classifier",
            Step::RequestHooks => "hooks",
            Step::Nobody => "nobody",
            Step::Human => "human",
        }
    }

    /// Above the line: what is found here, nothing below can overrule.
    pub fn is_above_the_line(self) -> bool {
        self <= Step::ProtectedPaths
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.id())
    }
}

impl Serialize for Step {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}
