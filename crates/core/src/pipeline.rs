//! Stage one, the gauntlet: the steps of a decision, read from top to bottom.
//!
//! Pure and total: same case, same decision; it cannot fail. The first step that speaks wins. Step 0 is not here:
//! an aborted session has no case (see [`crate::evaluation::Evaluation::begin`]).

use serde::{Deserialize, Serialize};

use crate::call::Call;
use crate::inspect::Inspection;
use crate::mode::Mode;
use crate::policy::{Layer, Policy};
use crate::reason::Reason;
use crate::session::Session;
use crate::step::Step;
use crate::trace::{Finding, Note, Trace};
use crate::verdict::{Decision, Terms, Verdict};

/// Everything a step may look at.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// The call.
    pub call: &'a Call,
    /// The rules and options in force.
    pub policy: &'a Policy,
    /// The session.
    pub session: &'a Session,
    /// What the tool's own reading of its input found.
    pub inspection: &'a Inspection,
    /// What hooks before the call said.
    pub hook: Option<&'a Said>,
}

/// What hooks before the call said, taken together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Said {
    /// The strictest answer.
    pub verdict: Verdict,
    /// The hook's own words.
    pub message: String,
}

type Check = fn(&Case<'_>) -> Finding;

/// The steps, in order.
pub const GAUNTLET: [(Step, Check); 9] = [
    (Step::DenyRules, deny_rules),
    (Step::AskRules, ask_rules),
    (Step::ToolCheck, tool_check),
    (Step::HumanOnly, human_only),
    (Step::ContentAskRules, content_ask_rules),
    (Step::ProtectedPaths, protected_paths),
    // ------------------------------------------------------------------------------------------------------------
    // The line. Nothing below can overrule anything above, in any mode.
    // ------------------------------------------------------------------------------------------------------------
    (Step::Bypass, bypass),
    (Step::AllowRules, allow_rules),
    (Step::Fallback, fallback),
];

/// Decides a case.
pub fn decide(case: &Case<'_>) -> Decision {
    let mut trace = Trace::default();
    if let Some(said) = case.hook {
        let finding = hooks(said);
        if let Finding::Settle(verdict, reason) = &finding {
            let (verdict, reason) = (*verdict, reason.clone());
            trace.push(Step::Hooks, finding);
            return Decision { verdict, step: Step::Hooks, reason, terms: Terms::default(), trace };
        }
        trace.push(Step::Hooks, finding);
    }
    for (step, check) in GAUNTLET {
        match check(case) {
            pass @ Finding::Pass(_) => trace.push(step, pass),
            Finding::Settle(verdict, reason) => {
                let step = if step == Step::ToolCheck { Step::ToolDeny } else { step };
                let terms = terms(case, &reason);
                trace.push(step, Finding::Settle(verdict, reason.clone()));
                return Decision { verdict, step, reason, terms, trace };
            }
        }
    }
    // The fallback always speaks; this line only says so to the compiler.
    Decision { verdict: Verdict::Ask, step: Step::Fallback, reason: Reason::silence(), terms: Terms::default(), trace }
}

/// INVARIANT: a call that was spared a question, or allowed, because it will run confined keeps that condition.
fn terms(case: &Case<'_>, reason: &Reason) -> Terms {
    Terms { confined: *reason == Reason::Confined || spared(case), bounds: case.inspection.bounds }
}

/// A hook's deny is final. Its ask and allow are remembered for the steps below the line.
fn hooks(said: &Said) -> Finding {
    match said.verdict {
        Verdict::Deny => Finding::Settle(Verdict::Deny, Reason::Hook { message: said.message.clone() }),
        Verdict::Ask => Finding::Pass(Note::HookAsked),
        Verdict::Allow => Finding::Pass(Note::HookAllowed),
    }
}

/// 1a: a deny rule names the whole tool; or the organisation's own file is broken, and the call does not just read.
fn deny_rules(case: &Case<'_>) -> Finding {
    if let Some(rule) = case.policy.whole_tool(Verdict::Deny, &case.call.tool, case.session.grants(case.policy)) {
        return Finding::Settle(Verdict::Deny, Reason::Rule { rule: rule.clone(), matched: None });
    }
    let broken = case.policy.options.broken.iter().find(|origin| origin.layer == Layer::Managed);
    match broken {
        Some(origin) if !case.inspection.reads_only => {
            Finding::Settle(Verdict::Deny, Reason::BrokenSettings { origin: origin.clone() })
        }
        Some(_) | None => Finding::Pass(Note::NoToolRule(Verdict::Deny)),
    }
}

/// 1b: an ask rule names the whole tool, unless the command will run confined instead. What the inspection refuses
/// is not asked about: a person's yes to the tool must not become a yes to what a content rule denies.
fn ask_rules(case: &Case<'_>) -> Finding {
    let finding = whole_tool_ask(case);
    if matches!(finding, Finding::Settle(..)) && case.inspection.deny.is_some() {
        return Finding::Pass(Note::RefusedBelow);
    }
    finding
}

/// An ask rule for the whole tool. A file or a rule that cannot be read asks as well: nobody knows what it was
/// meant to stop.
fn whole_tool_ask(case: &Case<'_>) -> Finding {
    if let Some(origin) = case.policy.options.broken.iter().find(|origin| origin.layer != Layer::Managed) {
        return Finding::Settle(Verdict::Ask, Reason::BrokenSettings { origin: origin.clone() });
    }
    if let Some(rule) = case.policy.malformed(&case.call.tool) {
        return Finding::Settle(Verdict::Ask, Reason::Malformed { rule: rule.clone() });
    }
    match case.policy.whole_tool(Verdict::Ask, &case.call.tool, case.session.grants(case.policy)) {
        Some(_) if runs_confined(case) => Finding::Pass(Note::ConfinedInstead),
        Some(rule) => Finding::Settle(Verdict::Ask, Reason::Rule { rule: rule.clone(), matched: None }),
        None => Finding::Pass(Note::NoToolRule(Verdict::Ask)),
    }
}

/// A shell command that will run confined, where that answers the question; never while planning.
fn runs_confined(case: &Case<'_>) -> bool {
    case.inspection.confined && case.policy.options.sandbox.auto_allow && case.session.mode != Mode::Plan
}

/// Whether 1b let it pass only because it will run confined.
fn spared(case: &Case<'_>) -> bool {
    runs_confined(case)
        && case.policy.whole_tool(Verdict::Ask, &case.call.tool, case.session.grants(case.policy)).is_some()
}

/// 1c: the tool's own inspection; what it refuses ends here, as 1d.
fn tool_check(case: &Case<'_>) -> Finding {
    match (&case.inspection.deny, case.inspection.commands) {
        (Some(reason), _) => Finding::Settle(Verdict::Deny, reason.clone()),
        (None, Some(commands)) => Finding::Pass(Note::Commands(commands)),
        (None, None) => Finding::Pass(Note::NothingRefused),
    }
}

/// 1e: the tool needs a person by its nature.
fn human_only(case: &Case<'_>) -> Finding {
    if case.inspection.person {
        Finding::Settle(Verdict::Ask, Reason::NeedsPerson)
    } else {
        Finding::Pass(Note::NotApplicable)
    }
}

/// 1f: an ask rule with content matches, or a deny or ask rule might.
fn content_ask_rules(case: &Case<'_>) -> Finding {
    match &case.inspection.ask {
        Some(reason) => Finding::Settle(Verdict::Ask, reason.clone()),
        None => Finding::Pass(Note::NoContentRule),
    }
}

/// 1g: a protected path would be written, or a critical one removed.
fn protected_paths(case: &Case<'_>) -> Finding {
    match &case.inspection.guarded {
        Some(reason) => Finding::Settle(Verdict::Ask, reason.clone()),
        None => Finding::Pass(Note::NothingProtected),
    }
}

/// 2a: the mode skips questions, unless a hook asked one.
fn bypass(case: &Case<'_>) -> Finding {
    match (case.session.bypasses(case.policy), hook_said(case, Verdict::Ask)) {
        (true, None) => Finding::Settle(Verdict::Allow, Reason::Bypass),
        (true, Some(_)) => Finding::Pass(Note::HookAsked),
        (false, _) => Finding::Pass(Note::OtherMode),
    }
}

/// 2b: an allow rule names the whole tool, or the inspection said allow.
fn allow_rules(case: &Case<'_>) -> Finding {
    if hook_said(case, Verdict::Ask).is_some() {
        return Finding::Pass(Note::HookAsked);
    }
    if held_by_plan(case) {
        return Finding::Pass(Note::PlanHoldsEdits);
    }
    let whole = case.policy.whole_tool(Verdict::Allow, &case.call.tool, case.session.grants(case.policy));
    if let Some(rule) = whole {
        return Finding::Settle(Verdict::Allow, Reason::Rule { rule: rule.clone(), matched: None });
    }
    let by_mode = match case.session.mode {
        Mode::AcceptEdits => case.inspection.accept_edits.as_ref(),
        Mode::Default | Mode::Plan | Mode::BypassPermissions | Mode::DontAsk | Mode::Auto => None,
    };
    if let Some(reason) = case.inspection.allow.as_ref().or(by_mode) {
        return Finding::Settle(Verdict::Allow, reason.clone());
    }
    if runs_confined(case) {
        return Finding::Settle(Verdict::Allow, Reason::Confined);
    }
    Finding::Pass(Note::NotAllowed)
}

/// Plan mode lets no edit run by itself, not even by a rule.
pub(crate) fn held_by_plan(case: &Case<'_>) -> bool {
    case.session.mode == Mode::Plan && case.inspection.edits
}

/// 3: nobody spoke. A hook's allow satisfies this question, and no other.
fn fallback(case: &Case<'_>) -> Finding {
    if let Some(said) = hook_said(case, Verdict::Ask) {
        return Finding::Settle(Verdict::Ask, Reason::Hook { message: said.message.clone() });
    }
    match hook_said(case, Verdict::Allow) {
        Some(said) if !held_by_plan(case) => {
            Finding::Settle(Verdict::Allow, Reason::Hook { message: said.message.clone() })
        }
        Some(_) | None => Finding::Settle(Verdict::Ask, Reason::Silence { part: case.inspection.open.clone() }),
    }
}

fn hook_said<'a>(case: &Case<'a>, verdict: Verdict) -> Option<&'a Said> {
    case.hook.filter(|said| said.verdict == verdict)
}
