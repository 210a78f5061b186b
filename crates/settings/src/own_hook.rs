//! Which hook commands are mayi itself. Installation finds its own entries by this, and whoever runs the hooks of
//! settings must leave them out: mayi reads the widespread format, so it meets its own command there, and running it
//! would never end.

use std::path::Path;

/// The agent that a hook command asks mayi for, when it is `mayi hook AGENT` with any path and any options. A line that
/// makes a shell do more than run one program is somebody else's, however it begins.
pub fn agent_of(command: &str) -> Option<String> {
    let bare: String = command.split('\'').step_by(2).collect();
    if bare.contains(|letter| ";|&<>()`\n".contains(letter)) {
        return None;
    }
    let mut words = words(command).into_iter();
    let program = words.next()?;
    let is_mayi = Path::new(&program).file_stem().is_some_and(|stem| stem == "mayi");
    if !is_mayi || words.next()? != "hook" {
        return None;
    }
    words.next()
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
            ("", None),
        ] {
            assert_eq!(agent_of(command).as_deref(), agent, "{command}");
        }
    }

    #[test]
    fn a_quoted_word_comes_back_as_it_was() {
        for word in ["", "plain", "/a b/c", "it's", "a\"b\\c", "$HOME `x` *", "é\n"] {
            assert_eq!(words(&quoted(word)), [word], "{word:?}");
        }
    }
}
