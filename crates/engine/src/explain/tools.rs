//! What each kind of tool says of itself, and why an agent may want it. The agent's own description of a command is
//! quoted as its own: it is a claim, not a finding.

use mayi_core::call::Call;
use mayi_core::catalogue::{self, Kind};
use mayi_core::inspect::Inspection;

use super::Level;
use super::effects::Summary;

/// How much of what the agent wrote is quoted.
const QUOTED: usize = 120;

/// The words of a tool, and how bad it could get when nothing else is known.
pub(super) struct Words {
    pub(super) explanation: String,
    pub(super) reasoning: String,
    pub(super) level: Level,
}

fn words(explanation: String, reasoning: &str, level: Level) -> Words {
    Words { explanation, reasoning: reasoning.to_owned(), level }
}

pub(super) fn describe(call: &Call, kind: Kind, inspection: &Inspection) -> Words {
    let field = |names: &[&str]| names.iter().find_map(|name| call.text(name)).map(quoted);
    let path = || field(&["file_path", "notebook_path", "path", "filePath"]).unwrap_or("a file".to_owned());
    match kind {
        Kind::Shell => shell(call, inspection),
        Kind::Powershell => words(
            "Runs a PowerShell command, which is read less closely than a shell command.".to_owned(),
            "I want to run this command as part of the task.",
            Level::Medium,
        ),
        Kind::Read => {
            words(format!("Reads {}.", path()), "I want to read this file to go on with the task.", Level::Low)
        }
        Kind::Search => {
            let place = field(&["path", "filePath"]).unwrap_or("the working directory".to_owned());
            words(format!("Searches in {place}."), "I want to find out where something stands.", Level::Low)
        }
        Kind::Edit => {
            words(format!("Writes {}.", path()), "I want to change this file as part of the task.", Level::Medium)
        }
        Kind::Fetch => {
            let address = field(&["url"]).unwrap_or("an address".to_owned());
            let explanation = format!("Fetches {address} and reads what is there.");
            words(explanation, "I want to read this page to go on with the task.", Level::Medium)
        }
        Kind::Agent => {
            let name = field(&["subagent_type"]).unwrap_or("of the general kind".to_owned());
            let explanation = format!("Starts another agent ({name}). Each of its calls is decided on its own.");
            words(explanation, "I want to hand over a part of the task.", Level::Medium)
        }
        Kind::Skill => {
            let name = field(&["skill", "command", "name"]).unwrap_or("a skill".to_owned());
            words(format!("Runs the skill {name}."), "I want to follow a recipe that is meant for this.", Level::Medium)
        }
        Kind::Books => words(
            "Keeps the agent's own notes; nothing else changes.".to_owned(),
            "I want to keep track of what I am doing.",
            Level::Low,
        ),
        Kind::Person => words("Asks you something.".to_owned(), "I need an answer that only you can give.", Level::Low),
        Kind::Plain => plain(call),
    }
}

fn shell(call: &Call, inspection: &Inspection) -> Words {
    let summary = Summary::of(&inspection.effects);
    let mut sentences = summary.sentences();
    if let Some(many) = inspection.commands.filter(|many| *many > 1) {
        sentences.insert(0, format!("Runs {many} commands."));
    }
    if sentences.is_empty() {
        sentences.push("Computes and prints; nothing is read or changed.".to_owned());
    }
    let reasoning = match call.text("description").map(str::trim).filter(|text| !text.is_empty()) {
        Some(own) => format!("In my own words: {}", quoted(own)),
        None => reason(&summary).to_owned(),
    };
    let level = if summary.only_looks() { Level::Low } else { Level::Medium };
    Words { explanation: sentences.join(" "), reasoning, level }
}

/// Why an agent may want such effects; the most telling one speaks.
fn reason(summary: &Summary) -> &'static str {
    let rows = [
        (&summary.removes, "I want to remove something that I think is no longer needed."),
        (&summary.sends, "I want to change something on another machine, or to send it something."),
        (&summary.changes, "I want to change how this machine is set up, or what runs on it."),
        (&summary.runs, "I want to build, test or run something to see whether my work holds."),
        (&summary.writes, "I want to change files as part of the task."),
        (&summary.fetches, "I want to fetch something that I need for the task."),
        (&summary.unknown, "I want to run this command as part of the task."),
        (&summary.reads, "I want to look at files to go on with the task."),
        (&summary.lists, "I want to see what is there."),
    ];
    let told = rows.into_iter().find(|(names, _)| !names.is_empty());
    told.map_or("I want to compute or print something.", |(_, reason)| reason)
}

/// A tool of which only the name is known.
fn plain(call: &Call) -> Words {
    let explanation = match catalogue::mcp_server(&call.tool) {
        Some(server) => {
            let name = call.tool.rsplit("__").next().unwrap_or_default();
            format!(
                "Calls {} of the server {}. What it does there is that server's business.",
                quoted(name),
                quoted(server)
            )
        }
        None => format!("Calls the tool {}. Nothing is known of it but its name.", quoted(&call.tool)),
    };
    words(explanation, "I want to use this tool as part of the task.", Level::Medium)
}

/// A text from outside, short and in one line.
fn quoted(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let short: String = line.chars().take(QUOTED).collect();
    let more = if short.len() < line.len() { "…" } else { "" };
    format!("`{short}{more}`")
}
