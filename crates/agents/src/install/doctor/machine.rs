//! mayi itself: its settings, whether this folder is trusted, and whether it can write what it must keep.

use std::path::Path;

use mayi_settings::trust::TrustStore;
use mayi_settings::{Given, Loaded, Severity, Trust, load};

use super::{Examination, Finding, Presence, Section};

pub(super) fn examined(examination: &Examination<'_>) -> Section {
    let mut findings = Vec::new();
    let trust = trust(examination, &mut findings);
    let loaded = load(examination.places, &Given { trust, ..Given::default() });
    settings(examination, &loaded, &mut findings);
    let audit = loaded.settings.audit.file.as_ref().map(|file| examination.places.directory.join(file));
    match &examination.places.state {
        Some(state) => kept(state, &audit.unwrap_or_else(|| state.join("audit.jsonl")), &mut findings),
        None => findings.push(Finding::wrong("there is no folder to keep sessions and the audit in", "set HOME")),
    }
    Section { name: super::MAYI, title: "mayi itself", presence: Presence::Installed, findings }
}

/// Whether this folder is trusted. What cannot be found out is not.
pub(super) fn is_trusted(examination: &Examination<'_>) -> bool {
    trust(examination, &mut Vec::new()) == Trust::Trusted
}

fn trust(examination: &Examination<'_>, findings: &mut Vec<Finding>) -> Trust {
    let Some(state) = &examination.places.state else { return Trust::Untrusted };
    TrustStore::in_folder(state).trust_of(&examination.places.directory).unwrap_or_else(|error| {
        let text = error.to_string();
        let (what, help) = text.split_once("\nhelp: ").unwrap_or((&text, "mend the file"));
        findings.push(Finding::wrong(what, help));
        Trust::Untrusted
    })
}

fn settings(examination: &Examination<'_>, loaded: &Loaded, findings: &mut Vec<Finding>) {
    let problems = (examination.lint)(loaded);
    let count = |severity| problems.iter().filter(|problem| problem.severity == severity).count();
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    for problem in problems.iter().filter(|problem| problem.severity == Severity::Error) {
        findings.push(Finding::wrong(format!("settings: {}", problem.message), "mayi rules lint shows where"));
    }
    if errors == 0 && warnings > 0 {
        findings.push(Finding::warning(format!("settings: {warnings} warning(s)"), "mayi rules lint shows them"));
    }
    if errors == 0 && warnings == 0 {
        findings.push(Finding::fine(format!("settings: {} rule(s), nothing wrong", loaded.policy.entries().len())));
    }
    if !loaded.withheld.is_empty() {
        let what = format!("{} rule(s) of this folder do not count, because it is not trusted", loaded.withheld.len());
        findings.push(Finding::warning(what, "mayi trust"));
    }
}

/// Whether sessions and the audit can be written. Without them a hook forgets approvals and leaves no trace.
fn kept(state: &Path, audit: &Path, findings: &mut Vec<Finding>) {
    let nearest = state.ancestors().find(|folder| folder.exists()).unwrap_or(state);
    if !nearest.is_dir() || !can_write(nearest) {
        let help = format!("make {} writable", nearest.display());
        findings.push(Finding::wrong(format!("{} cannot be written", state.display()), help));
        return;
    }
    // Looked at before it is opened: a pipe would keep whoever opens it waiting.
    let is_file = std::fs::metadata(audit).map(|facts| facts.is_file());
    let can_be_opened = || std::fs::OpenOptions::new().append(true).open(audit).is_ok();
    if is_file.is_ok_and(|is_file| !is_file || !can_be_opened()) {
        let help = format!("make {} a file that can be written", audit.display());
        findings.push(Finding::wrong("the audit cannot be written", help));
        return;
    }
    findings.push(Finding::fine(format!("sessions and the audit are kept in {}", state.display())));
}

#[cfg(unix)]
fn can_write(folder: &Path) -> bool {
    rustix::fs::access(folder, rustix::fs::Access::WRITE_OK).is_ok()
}

#[cfg(not(unix))]
fn can_write(folder: &Path) -> bool {
    folder.metadata().is_ok_and(|metadata| !metadata.permissions().readonly())
}
