//! The steps of the pipeline: their ids are public and stable, they appear in traces, JSON, tests and the book.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

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

    /// When it speaks, and what it says then, for the book.
    pub fn about(self) -> &'static str {
        match self {
            Step::Hooks => {
                "a hook before the call: its deny is final, its ask forces at least an ask, its allow only answers what step 3 asks"
            }
            Step::DenyRules => "a deny rule names the whole tool: deny",
            Step::AskRules => {
                "an ask rule names the whole tool: ask, unless the command will run confined and settings let that count"
            }
            Step::ToolCheck => "the tool's own reading of its input; what it allows is remembered for 2b",
            Step::ToolDeny => "a deny rule with content matches, or the input cannot be read: deny",
            Step::HumanOnly => "the tool speaks to a person: ask",
            Step::ContentAskRules => "an ask rule with content matches: ask",
            Step::ProtectedPaths => "a protected path would be written, or a critical one removed: ask",
            Step::Bypass => "the mode is bypassPermissions, or plan in a session started with bypass: allow",
            Step::AllowRules => {
                "an allow rule covers all of it, or the reading of the input does (it only reads; an edit in acceptEdits; confined): allow"
            }
            Step::Fallback => "nobody spoke: ask",
            Step::DontAsk => "the mode is dontAsk: deny, whatever asked",
            Step::NotForClassifier => "auto mode, but only a person may clear this: ask; deny where nobody is there",
            Step::AcceptEdits => "auto mode: acceptEdits would have allowed it: allow",
            Step::SafeTools => "auto mode: the tool is on the safe list: allow",
            Step::StaticRisk => "auto mode: the static analysis is certain: allow, or deny with a category",
            Step::Classifier => "auto mode: the model answers: allow, or deny and go on",
            Step::RequestHooks => "nobody is there: permission hooks answer: allow, deny, or end the run",
            Step::Nobody => "nobody is there, and no hook answered: deny",
            Step::Human => "a person is there: ask them",
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

impl Step {
    /// The step with this id.
    pub fn of_id(id: &str) -> Option<Self> {
        Step::ALL.into_iter().find(|step| step.id() == id)
    }
}

impl<'de> Deserialize<'de> for Step {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let id = std::borrow::Cow::<str>::deserialize(deserializer)?;
        Step::of_id(&id).ok_or_else(|| serde::de::Error::custom(format_args!("`{id}` is no step")))
    }
}
