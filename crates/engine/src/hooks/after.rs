//! PostToolUse and PermissionDenied: hooks that are told what has happened. Nothing is decided any more; they can
//! speak to the model, change what it reads, or end the run.

use serde_json::Value;

use crate::hooks::failure::Failure;
use crate::hooks::report::{Manner, Object, Report, not_understood};
use crate::hooks::{Event, Heard, Round, reported};

/// What hooks said after a call.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct After {
    /// What they find wrong with it; the model reads that.
    pub objections: Vec<String>,
    /// What else they want the model to read.
    pub context: Vec<String>,
    /// What they want the person to read.
    pub notices: Vec<String>,
    /// What the model should read instead of the tool's own output; the first in the order of settings.
    pub replaced: Option<Value>,
    /// Why the run should end, when a hook wants that.
    pub ends_run: Option<String>,
    /// What went wrong.
    pub problems: Vec<String>,
}

/// All answers together, in the order of settings.
pub(super) fn together(round: Round<'_>) -> After {
    let Round { heard, problems } = round;
    let mut after = After { problems, ..After::default() };
    for Heard { hook, report } in heard {
        match report.and_then(|report| read(&report)) {
            Ok(own) => {
                after.objections.extend(own.objections);
                after.context.extend(own.context);
                after.notices.extend(own.notices);
                after.replaced = after.replaced.or(own.replaced);
                after.ends_run = after.ends_run.or(own.ends_run);
            }
            Err(failure) => after.problems.push(reported(hook, failure)),
        }
    }
    after
}

fn read(report: &Report) -> Result<After, Failure> {
    let said = report.object.as_ref().map(of_object).unwrap_or_else(|| Ok(After::default()));
    match report.manner {
        Manner::Well | Manner::Badly(_) => said,
        Manner::Blocking => {
            let mut said = said.unwrap_or_default();
            if said.objections.is_empty() && !report.stderr.is_empty() {
                said.objections.push(report.stderr.clone());
            }
            Ok(said)
        }
    }
}

fn of_object(object: &Object) -> Result<After, Failure> {
    let part = object.about(Event::PostToolUse)?;
    let objection = match object.choice("decision")? {
        None => None,
        Some("block") => Some(object.words("reason").unwrap_or_else(|| "a hook objects".to_owned())),
        Some(other) => return Err(not_understood(&format!("`{other}` is no `decision`"))),
    };
    let replaced = part.value("updatedToolOutput").or_else(|| part.value("updatedMCPToolOutput"));
    Ok(After {
        objections: objection.into_iter().collect(),
        context: part.words("additionalContext").into_iter().collect(),
        notices: object.words("systemMessage").into_iter().collect(),
        replaced: replaced.cloned(),
        ends_run: object.ends_run()?,
        problems: Vec::new(),
    })
}

/// PermissionDenied: whether a hook tells the model that it may try again.
pub(super) fn may_retry(round: &Round<'_>) -> bool {
    let retries = |heard: &Heard<'_>| {
        let object = heard.report.as_ref().ok()?.object.as_ref()?;
        object.about(Event::PermissionDenied).ok()?.flag("retry").ok()?
    };
    round.heard.iter().filter_map(retries).any(|retry| retry)
}
