//! Shells, and builtins that take shell text.

use super::{Inner, ScriptText, ShellKind};
use crate::command::Via;
use crate::word::Word;

/// Shells.
const SHELLS: [&str; 10] = ["sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash", "yash"];

/// The program is a shell.
pub(super) fn is_shell(name: &str) -> bool {
    SHELLS.contains(&name)
}

/// One word is a script for a new shell.
pub(super) fn one(word: usize, name: &str) -> Vec<Inner> {
    let via = Via::Shell(name.to_owned());
    vec![Inner::Script(ScriptText { words: word..word + 1, offset: 0, arguments: None, via, shell: ShellKind::New })]
}

/// All operands joined are a script.
pub(super) fn whole(words: &[Word], via: Via, shell: ShellKind) -> Vec<Inner> {
    let first = if words.get(1).and_then(Word::text) == Some("--") { 2 } else { 1 };
    if first >= words.len() {
        return Vec::new();
    }
    vec![Inner::Script(ScriptText { words: first..words.len(), offset: 0, arguments: None, via, shell })]
}

/// `source file`.
pub(super) fn sourced(words: &[Word]) -> Vec<Inner> {
    let word = if words.get(1).and_then(Word::text) == Some("--") { 2 } else { 1 };
    match words.get(word).map(Word::text) {
        None => Vec::new(),
        Some(Some(path)) if is_input(path) => vec![Inner::Input { via: Via::Shell("source".to_owned()) }],
        Some(Some(_)) => vec![Inner::File { word }],
        Some(None) => vec![Inner::Unsure { reason: "runs a script that is not known".to_owned() }],
    }
}

/// A name of standard input.
fn is_input(path: &str) -> bool {
    matches!(path, "-" | "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0")
}

/// `trap script signal…`.
pub(super) fn trap(words: &[Word]) -> Vec<Inner> {
    let first = if words.get(1).and_then(Word::text) == Some("--") { 2 } else { 1 };
    let is_script = words.get(first).is_some_and(|word| !matches!(word.text(), Some("" | "-" | "-l" | "-p")));
    if !is_script || words.len() < first + 2 {
        return Vec::new();
    }
    let via = Via::Shell("trap".to_owned());
    let (offset, arguments, shell) = (0, None, ShellKind::Later);
    vec![Inner::Script(ScriptText { words: first..first + 1, offset, arguments, via, shell })]
}

/// `sh -c script name args…`, `sh file`, `sh` reading its input.
pub(super) fn shell(name: &str, words: &[Word]) -> Vec<Inner> {
    let via = Via::Shell(name.to_owned());
    let (mut at, mut command, mut input) = (1, false, false);
    while let Some(word) = words.get(at) {
        let prefix = word.known_prefix();
        if prefix == "--" || prefix == "-" {
            at += 1;
            break;
        }
        if word.text().is_none() && prefix.is_empty() {
            return vec![Inner::Unsure { reason: format!("`{name}` is given an unknown word") }];
        }
        if !prefix.starts_with(['-', '+']) {
            break;
        }
        at += 1;
        if matches!(prefix, "--rcfile" | "--init-file") || is_option_letter(prefix) {
            at += 1;
        }
        let letters = if prefix.starts_with("--") { "" } else { prefix };
        command |= letters.starts_with('-') && letters.contains('c') || prefix == "--command";
        input |= letters.contains('s');
    }
    if command {
        let arguments = Some(at + 2..words.len().max(at + 2));
        let words = at..at + 1;
        return vec![Inner::Script(ScriptText { words, offset: 0, arguments, via, shell: ShellKind::New })];
    }
    if input || at >= words.len() {
        let informative = words.get(1).and_then(Word::text).is_some_and(|word| matches!(word, "--version" | "--help"));
        return if informative { Vec::new() } else { vec![Inner::Input { via }] };
    }
    match words.get(at).map(Word::text) {
        Some(Some(path)) if is_input(path) => vec![Inner::Input { via }],
        Some(Some(_)) => vec![Inner::File { word: at }],
        Some(None) | None => vec![Inner::Unsure { reason: "runs a script that is not known".to_owned() }],
    }
}

/// `-o name`, `+O name`, `-eo name`: an option of the shell by its name.
fn is_option_letter(prefix: &str) -> bool {
    !prefix.starts_with("--") && prefix.ends_with(['o', 'O'])
}
