//! mayi among its own hooks. Where an agent keeps its hooks in the settings that mayi reads, installation puts
//! `mayi hook AGENT` there: that one is for the agent to run, and would ask itself without end.

use mayi_core::path;
use mayi_settings::hooks::Action;
use mayi_shell::Context;
use mayi_shell::walk::commands;
use mayi_shell::word::{Part, Value, Word};

/// Whether a hook is mayi and nothing else. A line that does more is left in: what it does beside may be a guard.
pub(super) fn is_ours(action: &Action) -> bool {
    match action {
        Action::Command { command, args: Some(args) } => {
            path::name(command) == "mayi" && args.first().is_some_and(|first| first == "hook")
        }
        Action::Command { command, args: None } => command.contains("mayi") && is_our_line(command),
        Action::Http { .. } => false,
    }
}

fn is_our_line(line: &str) -> bool {
    let analysis = commands(line, &Context { directory: "/".to_owned(), home: None });
    let ([command], None) = (analysis.commands.as_slice(), &analysis.opaque) else { return false };
    let first = command.layers.last().map_or(0, |layer| layer.first);
    match command.words.get(first..) {
        Some([program, verb, ..]) => is_mayi(program) && verb.text() == Some("hook"),
        Some(_) | None => false,
    }
}

/// The program's name, wherever it lies; the folder may be anything.
fn is_mayi(program: &Word) -> bool {
    match &program.value {
        Value::Literal(text) => path::name(text) == "mayi",
        Value::Template(parts) => match parts.last() {
            Some(Part::Text(text)) => text.ends_with("/mayi"),
            Some(Part::Hole(_)) | None => false,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mayi_is_known_however_it_is_started() {
        let table = [
            ("mayi hook claude-code", true),
            ("/usr/local/bin/mayi hook claude-code --unattended", true),
            ("'/opt/my tools/mayi' hook codex", true),
            ("\"$HOME\"/.cargo/bin/mayi hook claude-code", true),
            ("MAYI_MODE=auto timeout 5 mayi hook generic", true),
            ("mayi check 'ls'", false),
            ("mayi", false),
            ("guard.sh && mayi hook claude-code", false),
            ("mayi hook claude-code; guard.sh", false),
            ("mayi hook \"$(guard.sh)\"", false),
            ("echo mayi hook", false),
            ("/opt/notmayi hook x", false),
            ("mayi hook 'never closed", false),
        ];
        for (line, expected) in table {
            let action = Action::Command { command: line.to_owned(), args: None };
            assert_eq!(is_ours(&action), expected, "{line}");
        }
        let direct = |program: &str, args: &[&str]| Action::Command {
            command: program.to_owned(),
            args: Some(args.iter().map(|arg| (*arg).to_owned()).collect()),
        };
        assert!(is_ours(&direct("/usr/bin/mayi", &["hook", "codex"])));
        assert!(!is_ours(&direct("/usr/bin/mayi", &["check", "ls"])));
        assert!(!is_ours(&direct("mayi hook", &[])));
    }
}
