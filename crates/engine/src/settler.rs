//! Who settled a call, as auto mode's books count it: cheapest first. Read from the id of the step that spoke last.

use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use serde::Serialize;

/// Who settled a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Settler {
    /// Rules and the steps around them: hooks before the call, 1a to 3, and a mode that never asks.
    Rules,
    /// Accept-edits mode would have allowed it.
    AcceptEdits,
    /// A safe tool.
    SafeTools,
    /// The static analysis was certain.
    StaticRisk,
    /// The classifier.
    Classifier,
    /// A person, a permission hook in their place, or nobody where nobody was there.
    People,
}

impl Settler {
    /// All, cheapest first.
    pub const ALL: [Settler; 6] = [
        Settler::Rules,
        Settler::AcceptEdits,
        Settler::SafeTools,
        Settler::StaticRisk,
        Settler::Classifier,
        Settler::People,
    ];

    /// Who speaks at a step.
    pub fn of(step: Step) -> Self {
        match step {
            Step::Hooks
            | Step::DenyRules
            | Step::AskRules
            | Step::ToolCheck
            | Step::ToolDeny
            | Step::HumanOnly
            | Step::ContentAskRules
            | Step::ProtectedPaths
            | Step::Bypass
            | Step::AllowRules
            | Step::Fallback
            | Step::DontAsk => Settler::Rules,
            Step::AcceptEdits => Settler::AcceptEdits,
            Step::SafeTools => Settler::SafeTools,
            Step::StaticRisk => Settler::StaticRisk,
            Step::Classifier => Settler::Classifier,
            Step::NotForClassifier | Step::RequestHooks | Step::Nobody | Step::Human => Settler::People,
        }
    }

    /// Who settled a call with this verdict at this step: a question that stands is for people, whoever put it.
    pub fn of_verdict(verdict: Verdict, step: Step) -> Self {
        match verdict {
            Verdict::Ask => Settler::People,
            Verdict::Allow | Verdict::Deny => Settler::of(step),
        }
    }

    /// The step with this id, as records have it.
    pub fn step(id: &str) -> Option<Step> {
        Step::ALL.into_iter().find(|step| step.id() == id)
    }

    /// For people.
    pub fn title(self) -> &'static str {
        match self {
            Settler::Rules => "rules",
            Settler::AcceptEdits => "accept edits",
            Settler::SafeTools => "safe tools",
            Settler::StaticRisk => "static risk",
            Settler::Classifier => "classifier",
            Settler::People => "people",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_step_is_found_by_its_id_and_every_question_is_for_people() {
        for step in Step::ALL {
            assert_eq!(Settler::step(step.id()), Some(step), "{step}");
            assert_eq!(Settler::of_verdict(Verdict::Ask, step), Settler::People, "{step}");
        }
        assert_eq!(Settler::step("9z"), None);
    }
}
