//! What is executed for a permitted shell text: a shell with the text, or the program itself where the text is one
//! plain command and means the same without a shell, whose start is then saved.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use mayi_shell::command::Analysis;
use mayi_shell::walk;
use mayi_shell::word::Word;

/// Names that a shell takes for itself, so that no program is meant by them.
const SHELL_WORDS: &[&str] = &[
    "!",
    ".",
    ":",
    "[",
    "[[",
    "]]",
    "alias",
    "bg",
    "bind",
    "break",
    "builtin",
    "caller",
    "case",
    "cd",
    "command",
    "compgen",
    "complete",
    "compopt",
    "continue",
    "coproc",
    "declare",
    "dirs",
    "disown",
    "do",
    "done",
    "echo",
    "elif",
    "else",
    "enable",
    "esac",
    "eval",
    "exec",
    "exit",
    "export",
    "false",
    "fc",
    "fg",
    "fi",
    "for",
    "function",
    "getopts",
    "hash",
    "help",
    "history",
    "if",
    "in",
    "jobs",
    "kill",
    "let",
    "local",
    "logout",
    "mapfile",
    "popd",
    "printf",
    "pushd",
    "pwd",
    "read",
    "readarray",
    "readonly",
    "return",
    "select",
    "set",
    "shift",
    "shopt",
    "source",
    "suspend",
    "test",
    "then",
    "time",
    "times",
    "trap",
    "true",
    "type",
    "typeset",
    "ulimit",
    "umask",
    "unalias",
    "unset",
    "until",
    "wait",
    "while",
    "{",
    "}",
];

/// Where a shell is looked for when the search path has none.
const SHELLS: [&str; 3] = ["/bin/bash", "/usr/bin/bash", "/bin/sh"];

/// What is executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// The file.
    pub(crate) program: PathBuf,
    /// The words it gets, its own name first.
    pub(crate) words: Vec<OsString>,
}

/// Why nothing can be executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Missing {
    /// No program of that name.
    NotFound(String),
    /// It is there and cannot be executed.
    NotExecutable(String),
    /// There is no shell at all.
    NoShell,
}

/// What to execute for a text, in a directory, with these variables.
pub(crate) fn of(text: &str, directory: &Path, environment: &[(OsString, OsString)]) -> Result<Words, Missing> {
    let path = environment.iter().rev().find(|(name, _)| name == "PATH").map(|(_, value)| value.as_os_str());
    let changed = environment.iter().any(|(name, _)| {
        name == "BASH_ENV"
            || name == "SHELLOPTS"
            || name == "BASHOPTS"
            || name.as_encoded_bytes().starts_with(b"BASH_FUNC_")
    });
    if !changed && let Some(words) = plain(text) {
        let program = words.first().cloned().unwrap_or_default();
        let found = find(&program, directory, path)?;
        // A script that does not say what runs it is run by the shell that finds it.
        if says_what_runs_it(&found) {
            return Ok(Words { program: found, words: words.into_iter().map(OsString::from).collect() });
        }
    }
    let shell = find("bash", directory, path)
        .ok()
        .or_else(|| SHELLS.iter().map(PathBuf::from).find(|shell| is_executable(shell)))
        .ok_or(Missing::NoShell)?;
    let words = vec![shell.file_name().unwrap_or(OsStr::new("sh")).to_owned(), "-c".into(), text.into()];
    Ok(Words { program: shell, words })
}

/// The words of a text that is one plain command, every byte of it known.
fn plain(text: &str) -> Option<Vec<String>> {
    let text = text.trim_matches([' ', '\t', '\n']);
    let analysis = walk::commands(text, &walk::Context { directory: "/".into(), home: None });
    let Analysis { scripts: _, commands, opaque: None, questions: _ } = &analysis else { return None };
    let [command] = commands.as_slice() else { return None };
    let whole = command.span.start == 0 && command.span.end == text.len();
    if !whole || !command.assignments.is_empty() || !command.redirects.is_empty() || command.script.0 != 0 {
        return None;
    }
    let words: Option<Vec<String>> = command.words.iter().map(|word| Word::text(word).map(str::to_owned)).collect();
    let words = words?;
    let first = words.first()?;
    let program = !first.is_empty() && !SHELL_WORDS.contains(&first.as_str()) && !first.contains('=');
    (program && !words.iter().any(|word| word.contains('\0'))).then_some(words)
}

/// As a shell looks for a program.
fn find(program: &str, directory: &Path, path: Option<&OsStr>) -> Result<PathBuf, Missing> {
    if program.contains('/') {
        let file = directory.join(program);
        return match (is_executable(&file), file.exists()) {
            (true, _) => Ok(file),
            (false, true) => Err(Missing::NotExecutable(program.to_owned())),
            (false, false) => Err(Missing::NotFound(program.to_owned())),
        };
    }
    let path = path.unwrap_or(OsStr::new("/usr/local/bin:/usr/bin:/bin"));
    let mut seen = false;
    for folder in std::env::split_paths(path) {
        let file = directory.join(folder).join(program);
        if is_executable(&file) {
            return Ok(file);
        }
        seen |= file.is_file();
    }
    Err(if seen { Missing::NotExecutable(program.to_owned()) } else { Missing::NotFound(program.to_owned()) })
}

fn is_executable(file: &Path) -> bool {
    file.is_file() && rustix::fs::access(file, rustix::fs::Access::EXEC_OK).is_ok()
}

fn says_what_runs_it(file: &Path) -> bool {
    let mut start = [0; 4];
    match File::open(file).and_then(|mut file| file.read(&mut start)) {
        Ok(read) => read == 4 && (start.starts_with(b"#!") || start == *b"\x7fELF"),
        // A program may be executable and not readable; the kernel knows what it is.
        Err(_) => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_one_plain_command_goes_without_a_shell() {
        for (text, wanted) in [
            ("ls -la /", Some(vec!["ls", "-la", "/"])),
            ("  git status ", Some(vec!["git", "status"])),
            ("grep 'a b' \"c\"", Some(vec!["grep", "a b", "c"])),
            ("ls; id", None),
            ("ls &", None),
            ("! ls", None),
            ("ls | wc", None),
            ("ls > f", None),
            ("A=1 ls", None),
            ("ls $HOME", None),
            ("ls ~", None),
            ("ls *.c", None),
            ("echo x", None),
            ("time ls", None),
            ("(ls)", None),
            ("cat <<E\nx\nE", None),
            ("", None),
        ] {
            let wanted: Option<Vec<String>> = wanted.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(plain(text), wanted, "{text}");
        }
    }
}
