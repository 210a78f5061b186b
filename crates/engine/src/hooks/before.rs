//! PreToolUse: what hooks say before a call, taken together. The strictest answer counts, and a hook that fails asks
//! unless settings say otherwise.

use mayi_core::call::Call;
use mayi_core::pipeline::Said;
use mayi_core::verdict::Verdict;
use mayi_settings::hooks::Hook;
use serde_json::Value;

use crate::hooks::failure::Failure;
use crate::hooks::report::{Manner, Object, Report, not_understood};
use crate::hooks::{Event, Heard, Round, reported};

/// What hooks said before a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Before {
    /// Their answer; `None` when they left it open.
    pub said: Option<Said>,
    /// The call they want instead.
    pub changed: Option<Call>,
    /// What they want the model to read.
    pub context: Vec<String>,
    /// What they want the person to read.
    pub notices: Vec<String>,
    /// Why the run should end after this call, when a hook wants that; the call itself is denied.
    pub ends_run: Option<String>,
    /// What went wrong.
    pub problems: Vec<String>,
}

/// What one hook said.
#[derive(Clone, Debug, Default, PartialEq)]
struct Opinion {
    verdict: Option<Verdict>,
    reason: Option<String>,
    input: Option<Value>,
    context: Option<String>,
    notice: Option<String>,
    ends_run: Option<String>,
    problem: Option<String>,
}

/// All answers together, in the order of settings.
pub(super) fn together(round: Round<'_>, call: &Call, told: &Value) -> Before {
    let Round { heard, problems } = round;
    let mut opinions: Vec<Opinion> = heard.iter().map(|heard| opinion(heard, &[&call.input, told])).collect();
    let mut before = Before { problems, ..Before::default() };
    let (change, conflict) = change(&opinions);
    // An allow is about the input that its hook saw or gave; it says nothing of what another hook made of it.
    for opinion in opinions.iter_mut().filter(|opinion| opinion.verdict == Some(Verdict::Allow)) {
        if opinion.input != change {
            opinion.verdict = None;
        }
    }
    opinions.extend(conflict);
    let strictest = opinions.iter().filter_map(|opinion| opinion.verdict).max();
    before.said = strictest.map(|verdict| Said { verdict, message: reasons(&opinions, verdict) });
    if strictest != Some(Verdict::Deny) {
        before.changed = change.map(|input| Call { tool: call.tool.clone(), input });
    }
    for opinion in opinions {
        before.context.extend(opinion.context);
        before.notices.extend(opinion.notice);
        before.problems.extend(opinion.problem);
        before.ends_run = before.ends_run.or(opinion.ends_run);
    }
    before
}

/// The reasons of everybody who gave the answer that counts.
fn reasons(opinions: &[Opinion], verdict: Verdict) -> String {
    let mut reasons: Vec<&str> = Vec::new();
    for reason in
        opinions.iter().filter(|opinion| opinion.verdict == Some(verdict)).filter_map(|own| own.reason.as_deref())
    {
        if !reasons.contains(&reason) {
            reasons.push(reason);
        }
    }
    reasons.join("\n")
}

/// The input that hooks want instead. Where they want different ones the first in the order of settings stands, and a
/// person is asked: which hook happened to end last must not decide.
fn change(opinions: &[Opinion]) -> (Option<Value>, Option<Opinion>) {
    let mut wanted = opinions.iter().filter_map(|opinion| opinion.input.as_ref());
    let Some(first) = wanted.next() else { return (None, None) };
    let conflict = wanted.any(|other| other != first).then(|| {
        let problem = "hooks changed the input in different ways; the first change in the order of settings stands";
        Opinion {
            verdict: Some(Verdict::Ask),
            reason: Some(problem.to_owned()),
            problem: Some(problem.to_owned()),
            ..Opinion::default()
        }
    });
    (Some(first.clone()), conflict)
}

fn opinion(heard: &Heard<'_>, unchanged: &[&Value]) -> Opinion {
    let Heard { hook, report } = heard;
    let read = report.as_ref().map_err(Failure::clone).and_then(|report| read(report, hook));
    match read {
        Ok(mut opinion) => {
            // Handing back what it was told, or what the agent sent, is no change.
            opinion.input = opinion.input.filter(|input| !unchanged.contains(&input));
            opinion.problem = opinion.problem.map(|problem| reported(hook, problem));
            let reason = opinion.verdict.filter(|_| opinion.reason.is_none()).map(|verdict| unexplained(hook, verdict));
            opinion.reason = opinion.reason.or(reason);
            opinion
        }
        Err(failure) => failed(hook, &failure),
    }
}

/// What a failure means: ask, or whatever `onFailure` says.
fn failed(hook: &Hook, failure: &Failure) -> Opinion {
    let problem = reported(hook, failure);
    let verdict = match hook.on_failure {
        None | Some(Verdict::Ask) => Some(Verdict::Ask),
        Some(Verdict::Deny) => Some(Verdict::Deny),
        Some(Verdict::Allow) => None,
    };
    let reason = match hook.on_failure {
        Some(Verdict::Deny) => format!("{problem}; blocked, as its onFailure says"),
        None | Some(Verdict::Ask | Verdict::Allow) => problem.clone(),
    };
    Opinion { verdict, reason: Some(reason), problem: Some(problem), ..Opinion::default() }
}

fn unexplained(hook: &Hook, verdict: Verdict) -> String {
    let verb = match verdict {
        Verdict::Allow => "allows this",
        Verdict::Ask => "wants this asked",
        Verdict::Deny => "blocks this",
    };
    reported(hook, verb)
}

/// Reads one report.
fn read(report: &Report, hook: &Hook) -> Result<Opinion, Failure> {
    let said = report.object.as_ref().map(of_object).unwrap_or_else(|| Ok(Opinion::default()));
    match &report.manner {
        Manner::Well => said,
        Manner::Blocking => {
            let said = said.unwrap_or_default();
            let own = said.reason.filter(|_| said.verdict == Some(Verdict::Deny));
            let stderr = Some(report.stderr.clone()).filter(|stderr| !stderr.is_empty());
            Ok(Opinion { verdict: Some(Verdict::Deny), reason: own.or(stderr), input: None, ..said })
        }
        Manner::Badly(failure) => {
            let said = said.map_err(|_| failure.clone())?;
            // With an `onFailure` of its own, the stricter of both counts.
            let least = hook.on_failure.unwrap_or(Verdict::Allow);
            if said.verdict.is_some_and(|verdict| verdict >= least) { Ok(said) } else { Err(failure.clone()) }
        }
    }
}

fn of_object(object: &Object) -> Result<Opinion, Failure> {
    let part = object.about(Event::PreToolUse)?;
    let (own, deferred) = match part.choice("permissionDecision")? {
        None => (None, None),
        Some("allow") => (Some(Verdict::Allow), None),
        Some("ask") => (Some(Verdict::Ask), None),
        Some("deny") => (Some(Verdict::Deny), None),
        Some("defer") => (None, Some("wants to defer, which is not possible here: it counts as no answer".to_owned())),
        Some(other) => return Err(not_understood(&format!("`{other}` is no `permissionDecision`"))),
    };
    let legacy = match object.choice("decision")? {
        None => None,
        Some("approve") => Some(Verdict::Allow),
        Some("block") => Some(Verdict::Deny),
        Some(other) => return Err(not_understood(&format!("`{other}` is no `decision`"))),
    };
    let ends_run = object.ends_run()?;
    let stopped = ends_run.as_ref().map(|_| Verdict::Deny);
    Ok(Opinion {
        verdict: own.max(legacy).max(stopped),
        reason: part.words("permissionDecisionReason").or_else(|| object.words("reason")).or_else(|| ends_run.clone()),
        input: part.object("updatedInput")?.filter(|_| deferred.is_none()).map(Object::into_value),
        context: part.words("additionalContext"),
        notice: object.words("systemMessage"),
        ends_run,
        problem: deferred,
    })
}
