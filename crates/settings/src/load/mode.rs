//! The mode a session starts in.

use mayi_core::mode::Mode;
use mayi_core::policy::{Layer, Origin};

use super::Given;
use crate::keys::Supply;
use crate::problem::{Code, Problem};
use crate::sheet::{Reading, Sheet};

/// The option's mode, else that of the strongest layer that names one. A mode that this layer cannot give leaves the
/// built-in one: falling back on a weaker layer's would give a file in the project a say in which that is.
pub(super) fn starting(sheets: &[Sheet], given: &Given, problems: &mut Vec<Problem>) -> Option<Mode> {
    if given.cli.mode.is_some() {
        return given.cli.mode;
    }
    for sheet in sheets {
        let Some((mode, origin)) = named(sheet) else { continue };
        match judge(mode, sheet) {
            Judgement::Counts => {
                return unless_disabled(mode, sheets).map_or_else(
                    || {
                        let message = format!("`{mode}` cannot be the starting mode: it is disabled");
                        problems.push(Problem::new(Code::ModeNotAvailable, origin.clone(), message));
                        None
                    },
                    Some,
                );
            }
            Judgement::NeedsTrust => {
                let message = format!("the starting mode `{mode}` waits until the folder is trusted");
                let problem = Problem::new(Code::NeedsTrust, origin.clone(), message);
                problems.push(problem.fix("run `mayi trust` to trust it"));
            }
            Judgement::NotHere => {
                let message = format!("`{mode}` cannot be the starting mode in {} settings", sheet.layer);
                let problem = Problem::new(Code::KeyNotAllowedHere, origin.clone(), message);
                problems.push(problem.fix("set it in your user settings, or start with `--mode`"));
                return None;
            }
        }
    }
    None
}

fn named(sheet: &Sheet) -> Option<(Mode, &Origin)> {
    let is_mode = |reading: &&Reading| reading.path == "permissions.defaultMode";
    let reading = sheet.readings.iter().rev().find(is_mode)?;
    Some((reading.value.as_str()?.parse().ok()?, &reading.origin))
}

enum Judgement {
    Counts,
    NeedsTrust,
    NotHere,
}

fn judge(mode: Mode, sheet: &Sheet) -> Judgement {
    let in_project = matches!(sheet.layer, Layer::Project | Layer::Local);
    match (mode, in_project, sheet.provenance.supply) {
        (Mode::Auto | Mode::BypassPermissions, true, _) => Judgement::NotHere,
        // It lets edits run by themselves, so it loosens as an allow rule does.
        (Mode::AcceptEdits, _, Supply::Repository) => Judgement::NeedsTrust,
        (
            Mode::Default | Mode::Plan | Mode::AcceptEdits | Mode::DontAsk | Mode::Auto | Mode::BypassPermissions,
            _,
            _,
        ) => Judgement::Counts,
    }
}

fn unless_disabled(mode: Mode, sheets: &[Sheet]) -> Option<Mode> {
    let says = |path: &str| {
        let mut readings = sheets.iter().flat_map(|sheet| &sheet.readings);
        readings.any(|reading| reading.path == path && reading.value == "disable")
    };
    let disabled = match mode {
        Mode::BypassPermissions => says("permissions.disableBypassPermissionsMode"),
        Mode::Auto => says("permissions.disableAutoMode") || says("disableAutoMode"),
        Mode::Default | Mode::Plan | Mode::AcceptEdits | Mode::DontAsk => false,
    };
    (!disabled).then_some(mode)
}
