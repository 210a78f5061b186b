//! How an agent learns who its lead is. Whoever starts an agent leaves two variables: `MAYI_LEAD` names the session that
//! started it, `MAYI_INHERIT` says what becomes of its asks. Claude Code lets a hook at the start of a session leave
//! variables for the commands it will run, so an agent started by one of them finds the first.

use std::fs::OpenOptions;
use std::io::Write;

use mayi_core::lineage::Inheritance;
use mayi_settings::own_hook::quoted;

use crate::adapter::Message;

const LEAD: &str = "MAYI_LEAD";
const INHERIT: &str = "MAYI_INHERIT";

/// An inheritance that nobody knows.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{INHERIT} is ask, bubble or allow, not `{0}`")]
pub struct BadInheritance(String);

/// The lead of this process, and what becomes of its asks.
pub fn of_this_process() -> Result<Option<(String, Inheritance)>, BadInheritance> {
    read(&of_environment)
}

/// A variable of this process. A value that is no text is not as good as none: a lead by that name is unknown, and the
/// child of an unknown lead may do nothing.
pub(crate) fn of_environment(name: &str) -> Option<String> {
    std::env::var_os(name).map(|value| value.to_string_lossy().into_owned())
}

/// The lead that variables name, and what becomes of its child's asks.
pub(crate) fn read(variable: &dyn Fn(&str) -> Option<String>) -> Result<Option<(String, Inheritance)>, BadInheritance> {
    let Some(lead) = variable(LEAD).filter(|lead| !lead.is_empty()) else { return Ok(None) };
    let inheritance = match variable(INHERIT).as_deref() {
        None | Some("" | "ask") => Inheritance::Ask,
        Some("bubble") => Inheritance::Bubble,
        Some("allow") => Inheritance::Allow,
        Some(other) => return Err(BadInheritance(other.to_owned())),
    };
    Ok(Some((lead, inheritance)))
}

/// Leaves the session's name for its children. Without it they are on their own, and nobody's permissions bind them
/// but their own, so a failure is told.
pub(crate) fn leave(message: &Message, file: Option<String>) -> Result<(), String> {
    let Some(file) = file.filter(|_| message.named == "SessionStart" && !message.session.is_empty()) else {
        return Ok(());
    };
    let line = format!("export {LEAD}={}\n", quoted(&message.session));
    let append = || OpenOptions::new().append(true).create(true).open(&file)?.write_all(line.as_bytes());
    append().map_err(|error| format!("the session's name cannot be left for its children in `{file}`: {error}"))
}
