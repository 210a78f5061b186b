//! Which hook commands are mayi itself. Installation finds its own entries by this, and whoever runs the hooks of
//! settings must leave them out: mayi reads the widespread format, so it meets its own command there, and running it
//! would never end.

use std::path::Path;

/// What follows our command where an agent lets the call pass when its hook fails, but not when the hook says something
/// and ends with 2: so a crash or a missing program stops the call.
const GUARD: &str = " || { echo 'mayi: the hook failed' >&2; exit 2; }";

/// The command with its guard, once.
pub fn guarded(command: &str) -> String {
    format!("{}{GUARD}", unguarded(command))
}

/// The command without its guard, if it has one.
pub fn unguarded(command: &str) -> &str {
    command.strip_suffix(GUARD).unwrap_or(command)
}

/// The agent that a hook command asks mayi for, when it is `mayi hook AGENT` with any path and any options, with or
/// without our guard. The program that is running is mayi under any name. A line that makes a shell do more than that is somebody else's, however it begins.
pub fn agent_of(command: &str) -> Option<String> {
    let command = unguarded(command);
    if bare(command).contains(|letter| ";|&<>()`\n".contains(letter)) {
        return None;
    }
    let mut words = words(command).into_iter();
    let program = words.next()?;
    let is_hook = words.next()? == "hook";
    let agent = words.next()?;
    (is_hook && is_mayi(Path::new(&program))).then_some(agent)
}

/// Whether a program is mayi: by its name, or because it is the one that is running, whatever it is called.
fn is_mayi(program: &Path) -> bool {
    program.file_stem().is_some_and(|stem| stem == "mayi") || (program.is_absolute() && is_running(program))
}

fn is_running(program: &Path) -> bool {
    let running = std::env::current_exe().and_then(|running| running.canonicalize());
    running.is_ok_and(|running| program.canonicalize().is_ok_and(|program| program == running))
}

/// The letters that mean something to a shell: those after a backslash and those in single quotes do not.
fn bare(command: &str) -> String {
    let mut bare = String::new();
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None | Some('"'), '\\') => {
                letters.next();
            }
            (Some('\''), _) => {}
            (_, letter) => bare.push(letter),
        }
    }
    bare
}

/// The words of a plain command, as a shell would part them. Quotes and backslashes are read; nothing is expanded.
pub fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    let mut letters = command.chars();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None | Some('"'), '\\') => word.get_or_insert_default().extend(letters.next()),
            (None, letter) if letter.is_whitespace() => words.extend(word.take()),
            (_, letter) => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    words
}

/// A word as a shell of the Bourne family reads it back.
pub fn quoted(word: &str) -> String {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "/._-+:@%=,".contains(letter);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

/// Whether a file is one that Claude Code reads as well.
pub fn is_of_claude_code(file: &str) -> bool {
    ["/.claude/", "/claude-code/", "/ClaudeCode/"].iter().any(|part| file.contains(part))
        || file.starts_with(".claude/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_commands_are_known_in_every_spelling() {
        for (command, agent) in [
            ("mayi hook codex", Some("codex")),
            ("/usr/bin/mayi hook claude-code --unattended", Some("claude-code")),
            ("'/home/a b/bin/mayi' hook gemini", Some("gemini")),
            ("\"$HOME/bin/mayi\" hook cursor", Some("cursor")),
            (r"/opt/my\ tools/mayi.exe hook cline", Some("cline")),
            ("mayi check ls", None),
            ("mayi hook", None),
            ("dismayi hook codex", None),
            ("echo mayi hook codex", None),
            ("mayi hook codex; rm -rf x", None),
            ("mayi hook codex && curl x", None),
            ("mayi hook codex $(id)", None),
            ("mayi hook codex > out", None),
            ("'/opt/a (b); c/mayi' hook codex", Some("codex")),
            (r"'/opt/it'\''s (b)/mayi' hook codex", Some("codex")),
            (r"mayi hook codex \'; rm -rf x; echo \'", None),
            (r#"mayi hook codex "'"; rm -rf x; echo "'""#, None),
            (r#"mayi hook codex "$(id)""#, None),
            ("mayi hook codex || { echo 'mayi: the hook failed' >&2; exit 2; }", Some("codex")),
            ("'/a b/mayi' hook gemini --mode auto || { echo 'mayi: the hook failed' >&2; exit 2; }", Some("gemini")),
            ("mayi hook codex || { echo 'mayi: the hook failed' >&2; exit 0; }", None),
            ("mayi hook codex || { echo 'mayi: failed' >&2; exit 2; }", None),
            ("mayi hook codex || { echo 'mayi: the hook failed' >&2; exit 2; }; curl x", None),
            ("mayi hook codex; x || { echo 'mayi: the hook failed' >&2; exit 2; }", None),
            ("mayi hook codex || true", None),
            ("", None),
        ] {
            assert_eq!(agent_of(command).as_deref(), agent, "{command}");
        }
    }

    #[test]
    fn the_running_program_is_known_under_any_name() {
        let this = std::env::current_exe().unwrap();
        let this = this.to_str().unwrap();
        assert!(!this.ends_with("/mayi"));
        assert_eq!(agent_of(&format!("{this} hook codex --mode auto")).as_deref(), Some("codex"));
        assert_eq!(agent_of(&format!("{this} check codex")), None);
        assert_eq!(agent_of(&format!("{this} hook codex; rm -rf x")), None);
        assert_eq!(agent_of("/bin/sh hook codex"), None);
    }

    #[test]
    fn a_guard_is_put_on_once_and_taken_off() {
        let guarded_once = guarded("mayi hook codex");
        assert_eq!(guarded(&guarded_once), guarded_once);
        assert_eq!(unguarded(&guarded_once), "mayi hook codex");
        assert_eq!(unguarded("mayi hook codex"), "mayi hook codex");
    }

    #[test]
    fn a_quoted_word_comes_back_as_it_was() {
        for word in ["", "plain", "/a b/c", "it's", "a\"b\\c", "$HOME `x` *", "é\n"] {
            assert_eq!(words(&quoted(word)), [word], "{word:?}");
        }
    }
}
