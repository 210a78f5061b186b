//! PermissionRequest: hooks that answer a question in a person's place. A deny wins over an allow, and a hook that
//! fails has simply not answered: the question stays.

use mayi_core::call::Call;
use mayi_core::referral::HookAnswer;
use mayi_core::verdict::Verdict;
use mayi_settings::hooks::Hook;
use mayi_settings::update::PermissionUpdate;
use serde_json::Value;

use crate::hooks::failure::Failure;
use crate::hooks::report::{Manner, Object, Report, not_understood};
use crate::hooks::{Event, Heard, Round, reported};

/// What hooks answered to a question.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requested {
    /// Their answer; `None` when none of them gave one.
    pub answer: Option<HookAnswer>,
    /// What they want to be kept, with an allow.
    pub updates: Vec<PermissionUpdate>,
    /// What they want the person to read.
    pub notices: Vec<String>,
    /// What went wrong.
    pub problems: Vec<String>,
}

/// What one hook answered.
#[derive(Clone, Debug, Default)]
struct Reply {
    verdict: Option<Verdict>,
    message: Option<String>,
    interrupt: bool,
    input: Option<Value>,
    updates: Vec<PermissionUpdate>,
    notice: Option<String>,
    problems: Vec<String>,
}

/// All answers together, in the order of settings.
pub(super) fn together(round: Round<'_>, call: &Call, told: &Value) -> Requested {
    let Round { heard, problems } = round;
    let mut requested = Requested { problems, ..Requested::default() };
    let mut replies: Vec<Reply> = heard.iter().map(|heard| reply(heard, &[&call.input, told])).collect();
    for reply in &mut replies {
        requested.notices.extend(reply.notice.take());
        requested.problems.append(&mut reply.problems);
    }
    let given = |verdict| replies.iter().filter(move |reply| reply.verdict == Some(verdict));
    if given(Verdict::Deny).next().is_some() {
        let interrupt = given(Verdict::Deny).any(|reply| reply.interrupt);
        let message = messages(given(Verdict::Deny));
        requested.answer = Some(HookAnswer { verdict: Verdict::Deny, message, interrupt, changed: None });
        return requested;
    }
    let Some(first) = given(Verdict::Allow).next() else { return requested };
    if given(Verdict::Allow).any(|reply| reply.input != first.input) {
        let problem = "hooks allowed the call with different inputs, so none of them answered the question";
        requested.problems.push(problem.to_owned());
        return requested;
    }
    requested.answer = Some(HookAnswer {
        verdict: Verdict::Allow,
        message: messages(given(Verdict::Allow)),
        interrupt: false,
        changed: first.input.clone().map(|input| Call { tool: call.tool.clone(), input }),
    });
    for update in given(Verdict::Allow).flat_map(|reply| &reply.updates) {
        if !requested.updates.contains(update) {
            requested.updates.push(update.clone());
        }
    }
    requested
}

fn messages<'a>(replies: impl Iterator<Item = &'a Reply>) -> String {
    let mut messages: Vec<&str> = replies.filter_map(|reply| reply.message.as_deref()).collect();
    messages.dedup();
    messages.join("\n")
}

fn reply(heard: &Heard<'_>, unchanged: &[&Value]) -> Reply {
    let Heard { hook, report } = heard;
    match report.as_ref().map_err(Failure::clone).and_then(|report| read(report, hook)) {
        Ok(mut reply) => {
            reply.input = reply.input.filter(|input| !unchanged.contains(&input));
            let unexplained = || match reply.verdict? {
                Verdict::Allow => Some(reported(hook, "allows this")),
                Verdict::Ask | Verdict::Deny => Some(reported(hook, "denies this")),
            };
            reply.message = reply.message.take().or_else(unexplained);
            for problem in &mut reply.problems {
                *problem = reported(hook, &*problem);
            }
            reply
        }
        Err(failure) => {
            let problem = reported(hook, failure);
            let blocks = hook.on_failure == Some(Verdict::Deny);
            let message = blocks.then(|| format!("{problem}; blocked, as its onFailure says"));
            Reply { verdict: blocks.then_some(Verdict::Deny), message, problems: vec![problem], ..Reply::default() }
        }
    }
}

/// Reads one report. Exit code 2 blocks nothing here, but whoever ends with it allows nothing either.
fn read(report: &Report, hook: &Hook) -> Result<Reply, Failure> {
    let said = report.object.as_ref().map(of_object).unwrap_or_else(|| Ok(Reply::default()));
    let (failure, least) = match &report.manner {
        Manner::Well => return said,
        Manner::Blocking => (Failure::Exit { code: 2, stderr: report.stderr.clone() }, Verdict::Deny),
        Manner::Badly(failure) => (failure.clone(), hook.on_failure.unwrap_or(Verdict::Allow)),
    };
    match said {
        Ok(reply) if reply.verdict.is_some_and(|verdict| verdict >= least) => Ok(reply),
        Ok(_) | Err(_) => Err(failure),
    }
}

fn of_object(object: &Object) -> Result<Reply, Failure> {
    let notice = object.words("systemMessage");
    if let Some(reason) = object.ends_run()? {
        let verdict = Some(Verdict::Deny);
        return Ok(Reply { verdict, message: Some(reason), interrupt: true, notice, ..Reply::default() });
    }
    let Some(decision) = object.about(Event::PermissionRequest)?.object("decision")? else {
        return Ok(Reply { notice, ..Reply::default() });
    };
    let message = decision.words("message");
    match decision.choice("behavior")? {
        Some("allow") => {
            let (updates, problems) = updates(&decision)?;
            let input = decision.object("updatedInput")?.map(Object::into_value);
            let verdict = Some(Verdict::Allow);
            Ok(Reply { verdict, message, input, updates, notice, problems, ..Reply::default() })
        }
        Some("deny") => {
            let interrupt = decision.flag("interrupt")? == Some(true);
            Ok(Reply { verdict: Some(Verdict::Deny), message, interrupt, notice, ..Reply::default() })
        }
        Some(other) => Err(not_understood(&format!("`{other}` is no `behavior`"))),
        None => Err(not_understood("`decision` has no `behavior`")),
    }
}

/// The updates that can be read, and what is wrong with the others.
fn updates(decision: &Object) -> Result<(Vec<PermissionUpdate>, Vec<String>), Failure> {
    let listed = match decision.value("updatedPermissions") {
        None => return Ok((Vec::new(), Vec::new())),
        Some(Value::Array(listed)) => listed,
        Some(_) => return Err(not_understood("`updatedPermissions` is no list")),
    };
    let (mut updates, mut problems) = (Vec::new(), Vec::new());
    for update in listed {
        match serde_json::from_value(update.clone()) {
            Ok(update) => updates.push(update),
            Err(error) => problems.push(format!("wants a permission kept that cannot be read: {error}")),
        }
    }
    Ok((updates, problems))
}
