//! What in an agent's own settings keeps a hook from running, though it is installed.

use std::collections::BTreeSet;
use std::path::Path;

use mayi_settings::document;
use serde_json::Value;

use super::Finding;
use crate::install::Ground;
use crate::install::facts::{Agent, Lies, Off};

/// Every switch that is thrown, an approval that is missing, and files where either may stand and that nobody can read.
pub(super) fn thrown(ground: &Ground, agent: &Agent) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut broken = BTreeSet::new();
    for switch in agent.switches {
        let Some(path) = ground.settings(agent, switch.lies, switch.file) else { continue };
        let value = match parsed(&path) {
            Ok(Some(value)) => value,
            Ok(None) => continue,
            Err(problem) => {
                // A file that may hold the hook itself is read, and complained of, elsewhere.
                if !ground.holds_hooks(agent, &path) && broken.insert(path.clone()) {
                    let what = format!("{} cannot be read: {problem}", path.display());
                    findings.push(Finding::wrong(what, "mend the file: it may say that hooks are not run"));
                }
                continue;
            }
        };
        let is_off = value.pointer(switch.pointer).is_some_and(|value| match switch.off {
            Off::Holds(off) => *value == off.value(),
            Off::Lists(text) => value.as_array().is_some_and(|list| list.iter().any(|item| item == text)),
        });
        if is_off {
            let name = switch.pointer.trim_start_matches('/').replace('/', ".");
            findings.push(Finding::wrong(switch.means, format!("change `{name}` in {}", path.display())));
        }
    }
    findings.extend(approval(ground, agent));
    findings
}

/// Whether the agent noted that a person approved the hook. Whether the note is for the hook as it is now, only the
/// agent can tell.
fn approval(ground: &Ground, agent: &Agent) -> Option<Finding> {
    let approval = agent.approval.as_ref()?;
    let value = parsed(&ground.settings(agent, Lies::User, approval.file)?).ok().flatten().unwrap_or_default();
    let notes = value.pointer(approval.pointer).and_then(Value::as_object);
    let is_given = |(name, note): (&String, &Value)| {
        approval.named.iter().all(|part| name.contains(part)) && note.get(approval.member).is_some()
    };
    let is_noted = notes.is_some_and(|notes| notes.iter().any(is_given));
    let (what, help) = approval.missing;
    (!is_noted).then(|| Finding::warning(what, help))
}

/// A settings file, JSON or TOML; `None` when it is not there.
fn parsed(path: &Path) -> Result<Option<Value>, String> {
    let Some(text) = document::read_text(path).map_err(|error| error.to_string())? else { return Ok(None) };
    if path.extension().is_some_and(|extension| extension == "toml") {
        let broken = |error: toml::de::Error| error.message().to_owned();
        return toml::from_str(&text).map(Some).map_err(broken);
    }
    let document = document::Document::parse(&text).map_err(|error| error.to_string())?;
    Ok(Some(document.root.to_value()))
}
