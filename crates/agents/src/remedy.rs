//! What would spare a person the same question the next time. An allow rule does, where nobody speaks for a call; it does
//! not where something above the allow rules asks, and then nobody should be told to write one.

use std::fmt;

use mayi_core::reason::Reason;
use mayi_core::step::Step;
use mayi_core::trace::{Finding, Note};
use mayi_core::verdict::Decision;

/// What would answer a question for good, from what settles most to what nothing settles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Remedy {
    /// An allow rule.
    AllowRule,
    /// An allow rule for the lead that binds the agent.
    RuleOfLead,
    /// A change of the rule that asks, or that might.
    RuleThatAsks,
    /// A change of the hook that asks.
    HookThatAsks,
    /// What is broken, mended.
    Mending,
    /// Another mode than plan mode, which lets no edit run by itself.
    Mode,
    /// Nothing: it takes a person each time.
    Person,
}

impl Remedy {
    /// What would answer the question of a decision that asks.
    pub fn of(decision: &Decision) -> Self {
        let plan_holds = decision.trace.finding(Step::AllowRules) == Some(&Finding::Pass(Note::PlanHoldsEdits));
        let settled = match decision.reason.root() {
            Reason::Silence { .. } if plan_holds => Remedy::Mode,
            Reason::Silence { .. }
            | Reason::Risk { .. }
            | Reason::Classified { .. }
            | Reason::ClassifierFailed { .. }
            | Reason::DenialLimit { .. } => Remedy::AllowRule,
            Reason::Rule { .. } | Reason::MightMatch { .. } => Remedy::RuleThatAsks,
            Reason::Hook { .. } => Remedy::HookThatAsks,
            Reason::Malformed { .. } | Reason::BrokenSettings { .. } | Reason::Trouble { .. } => Remedy::Mending,
            Reason::Covered { .. }
            | Reason::BadInput { .. }
            | Reason::LinkLoop { .. }
            | Reason::IsLink { .. }
            | Reason::ReadsBlocked { .. }
            | Reason::NeedsPerson
            | Reason::Protected { .. }
            | Reason::Critical { .. }
            | Reason::Bypass
            | Reason::ReadOnly
            | Reason::Harmless
            | Reason::PublicDocumentation { .. }
            | Reason::AcceptedEdit
            | Reason::Confined
            | Reason::NeverAsks { .. }
            | Reason::SafeTool
            | Reason::Unattended { .. }
            | Reason::Person { .. }
            | Reason::Lead { .. }
            | Reason::Vouched { .. }
            | Reason::Bubbled { .. } => Remedy::Person,
        };
        let by_lead = |reason: &Reason| matches!(reason, Reason::Lead { .. });
        let bubbled = matches!(&decision.reason, Reason::Bubbled { because, .. } if by_lead(because));
        if bubbled || by_lead(&decision.reason) { settled.max(Remedy::RuleOfLead) } else { settled }
    }
}

/// What a person should know, as the end of a sentence that tells them what else they can do.
impl fmt::Display for Remedy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Remedy::AllowRule => "a rule in mayi's settings can allow it",
            Remedy::RuleOfLead => "a rule can allow it only where it holds for the lead as well",
            Remedy::RuleThatAsks => "no allow rule overrules the rule that asks",
            Remedy::HookThatAsks => "no allow rule overrules the hook that asks",
            Remedy::Mending => "it is asked about until what is broken is mended",
            Remedy::Mode => "no rule lets an edit run in plan mode",
            Remedy::Person => "no rule can allow it",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayi_core::trace::Trace;
    use mayi_core::verdict::{Terms, Verdict};

    fn asked(reason: Reason, trace: Trace) -> Decision {
        Decision { verdict: Verdict::Ask, step: Step::Fallback, reason, terms: Terms::default(), trace }
    }

    #[test]
    fn a_rule_is_named_only_where_it_would_help() {
        let of = |reason| Remedy::of(&asked(reason, Trace::default()));
        let lead = |reason| Reason::Lead { lead: "l".to_owned(), because: Box::new(reason) };
        let bubbled = |reason| Reason::Bubbled { child: "c".to_owned(), because: Box::new(reason) };
        let protected = || Reason::Protected { path: ".git/config".to_owned(), entry: ".git".to_owned() };
        let hook = || Reason::Hook { message: "no".to_owned() };
        let trouble = || Reason::Trouble { problem: "no room".to_owned() };
        let rows = [
            (Reason::silence(), Remedy::AllowRule),
            (bubbled(Reason::silence()), Remedy::AllowRule),
            (lead(Reason::silence()), Remedy::RuleOfLead),
            (bubbled(lead(Reason::silence())), Remedy::RuleOfLead),
            (lead(protected()), Remedy::Person),
            (protected(), Remedy::Person),
            (Reason::NeedsPerson, Remedy::Person),
            (hook(), Remedy::HookThatAsks),
            (trouble(), Remedy::Mending),
        ];
        for (reason, remedy) in rows {
            assert_eq!(of(reason.clone()), remedy, "{reason}");
        }
        let mut trace = Trace::default();
        trace.push(Step::AllowRules, Finding::Pass(Note::PlanHoldsEdits));
        assert_eq!(Remedy::of(&asked(Reason::silence(), trace)), Remedy::Mode);
    }
}
