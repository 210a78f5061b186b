//! PowerShell: compared without case, aliases by their cmdlet. Only the best-known reading cmdlets are known to
//! read; everything else asks, and whatever could hide a command asks too.

use crate::inspect::files;
use crate::inspect::{Inspection, View};
use crate::locations;
use crate::path;
use crate::policy::{Access, Text};
use crate::powershell;
use crate::reason::{Part, Reason};
use crate::verdict::Verdict;

pub(super) fn inspect(view: &View<'_>) -> Inspection {
    let text = match view.primary() {
        Ok(text) => text,
        Err(refusal) => return *refusal,
    };
    let script = powershell::read(text);
    let mut inspection = Inspection {
        deny: matching(view, &script, Verdict::Deny),
        ask: matching(view, &script, Verdict::Ask).or_else(|| might_match(view, &script)),
        commands: Some(script.commands.len()),
        ..Inspection::default()
    };
    let freedoms = examine(view, &script, &mut inspection);
    inspection.edits =
        script.hides.is_some() || !script.commands.iter().all(|command| powershell::only_reads(command.cmdlet()));
    inspection.guarded = inspection.guarded.or_else(|| critical(view, &script));
    inspection.reads_only = script.hides.is_none() && freedoms.iter().all(|freedom| *freedom == Freedom::Free);
    match covered(view, &script, &freedoms) {
        Ok(reason) => {
            inspection.allow = Some(reason.clone());
            inspection.accept_edits = Some(reason);
        }
        Err(part) => inspection.open = Some(part),
    }
    inspection
}

/// A removal of the root, home or the working directory, or of everything in one of them.
fn critical(view: &View<'_>, script: &powershell::Script) -> Option<Reason> {
    let removals = script.commands.iter().filter(|command| powershell::removes(command.cmdlet()));
    removals.flat_map(|command| &command.operands).find_map(|operand| {
        let (powershell::Operand::Path(text) | powershell::Operand::Unclear(text)) = operand;
        let swept = text.trim_end_matches(['*', '.']).trim_end_matches('/');
        let place = match swept {
            "" if text.starts_with('/') => "/".to_owned(),
            "" => view.policy.workspace.here().to_owned(),
            _ => path::place(swept, &view.policy.workspace).ok()?,
        };
        let why = locations::critical(&place, &view.policy.workspace)?;
        Some(Reason::Critical { path: text.clone(), why: why.to_owned() })
    })
}

fn matching(view: &View<'_>, script: &powershell::Script, list: Verdict) -> Option<Reason> {
    script.commands.iter().flat_map(powershell::Command::forms).find_map(|form| {
        let rule = view.policy.text(list, &view.call.tool, Text::every(&form))?;
        Some(Reason::Rule { rule: rule.clone(), matched: Some(form) })
    })
}

fn might_match(view: &View<'_>, script: &powershell::Script) -> Option<Reason> {
    let unknown = script.hides.clone()?;
    let lists = [Verdict::Deny, Verdict::Ask];
    let rule = lists.into_iter().find_map(|list| view.policy.some_text_rule(list, &view.call.tool))?;
    Some(Reason::MightMatch { rule: rule.clone(), unknown })
}

/// How freely a command may run without a rule of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Freedom {
    /// It only reads, where reading is free.
    Free,
    /// It only reads, where path rules allow it.
    Allowed,
    /// Not known to read only, or nobody knows where.
    Closed,
}

fn covered(view: &View<'_>, script: &powershell::Script, freedoms: &[Freedom]) -> Result<Reason, Part> {
    if let Some(hides) = &script.hides {
        return Err(Part { text: hides.clone(), why: "may run anything".to_owned(), span: None });
    }
    let grants = view.session.grants(view.policy);
    let mut rules = Vec::new();
    for (command, freedom) in script.commands.iter().zip(freedoms) {
        let query = Text { grants, ..Text::every(&command.canonical) };
        if let Some(rule) = view.policy.text(Verdict::Allow, &view.call.tool, query) {
            rules.push(rule.clone());
        } else if *freedom == Freedom::Closed {
            let why = "not known to read only".to_owned();
            return Err(Part { text: command.canonical.clone(), why, span: None });
        }
    }
    Ok(if rules.is_empty() { Reason::ReadOnly } else { Reason::Covered { rules } })
}

/// Holds every operand of every command against the path rules, whatever else speaks for the command: an allow rule
/// for a cmdlet is no way round a path that is denied.
fn examine(view: &View<'_>, script: &powershell::Script, inspection: &mut Inspection) -> Vec<Freedom> {
    let each = script.commands.iter().map(|command| {
        let access = if powershell::only_reads(command.cmdlet()) { Access::Read } else { Access::Write };
        let known = match access {
            Access::Read => Freedom::Free,
            Access::Write => Freedom::Closed,
        };
        let freedoms = command.operands.iter().map(|operand| examine_operand(view, operand, access, inspection));
        freedoms.fold(known, strictest)
    });
    each.collect()
}

fn strictest(one: Freedom, other: Freedom) -> Freedom {
    match (one, other) {
        (Freedom::Closed, _) | (_, Freedom::Closed) => Freedom::Closed,
        (Freedom::Allowed, _) | (_, Freedom::Allowed) => Freedom::Allowed,
        (Freedom::Free, Freedom::Free) => Freedom::Free,
    }
}

fn examine_operand(
    view: &View<'_>,
    operand: &powershell::Operand,
    access: Access,
    inspection: &mut Inspection,
) -> Freedom {
    let path = match operand {
        powershell::Operand::Path(path) => path,
        powershell::Operand::Unclear(_) => return Freedom::Closed,
    };
    let Ok(located) = files::locate(view, path, &mut inspection.questions) else { return Freedom::Closed };
    let findings = files::examine(view, &located, access);
    inspection.deny = inspection.deny.take().or(findings.deny);
    inspection.ask = inspection.ask.take().or(findings.ask);
    inspection.guarded = inspection.guarded.take().or(findings.guarded);
    match (findings.free, findings.allow) {
        (true, _) => Freedom::Free,
        (false, Some(_)) => Freedom::Allowed,
        (false, None) => Freedom::Closed,
    }
}
