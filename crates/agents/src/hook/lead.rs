//! How agents that a session starts learn who their lead is: Claude Code lets a hook at the start of a session leave
//! variables for the commands it will run, so an agent started by one of them finds `MAYI_LEAD`.

use std::fs::OpenOptions;
use std::io::Write;

use mayi_settings::own_hook::quoted;

use crate::adapter::Message;

/// Leaves the session's name for its children. Without it they are on their own, and nobody's permissions bind them
/// but their own, so a failure is told.
pub(super) fn leave(message: &Message, file: Option<String>) -> Result<(), String> {
    let Some(file) = file.filter(|_| message.named == "SessionStart" && !message.session.is_empty()) else {
        return Ok(());
    };
    let line = format!("export MAYI_LEAD={}\n", quoted(&message.session));
    let append = || OpenOptions::new().append(true).create(true).open(&file)?.write_all(line.as_bytes());
    append().map_err(|error| format!("the session's name cannot be left for its children in `{file}`: {error}"))
}
