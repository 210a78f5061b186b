//! What a command runs in turn, by its own words: wrappers, shells, runners.
//!
//! Launchers whose words need more than the data tells are read here; all others by the data. It looks at words only
//! and never at scopes; what it is not sure of it says with [`Inner::Unsure`].

mod options;
mod runners;
mod scripts;
mod wrappers;

use super::paths::base_name;
use crate::command::{Assignment, Via};
use crate::word::Word;
use std::ops::Range;

/// Something a command runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inner {
    /// The words from `first` on are a command, run once and in place: `sudo`, `env`, `timeout`.
    Wrapped {
        /// The wrapper's base name.
        wrapper: String,
        /// Index of the inner program.
        first: usize,
        /// Variables the wrapper sets.
        assignments: Vec<Assignment>,
    },
    /// Words hold shell text.
    Script(ScriptText),
    /// These words are a command, run once or many times: `xargs`, `find -exec`, `docker exec`.
    Words {
        /// Program and operands, with holes where the runner inserts something.
        words: Vec<Word>,
        /// How.
        via: Via,
    },
    /// A shell that reads its commands from standard input.
    Input {
        /// How.
        via: Via,
    },
    /// A word names a file with commands.
    File {
        /// Index of the word.
        word: usize,
    },
    /// It may run something that is not seen; the reason, for people.
    Unsure {
        /// Why.
        reason: String,
    },
}

/// Shell text in the words of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptText {
    /// The words that hold it; several are joined by blanks.
    pub words: Range<usize>,
    /// Bytes of the first word before it.
    pub offset: usize,
    /// Words that become its positional parameters, when they are given with it.
    pub arguments: Option<Range<usize>>,
    /// How it gets to run.
    pub via: Via,
    /// In which shell.
    pub shell: ShellKind,
}

/// In which shell a script runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellKind {
    /// In the shell at hand: `eval`.
    Current,
    /// In the shell at hand, at some later point: `trap`.
    Later,
    /// In a new one: `sh -c`.
    New,
    /// On another machine or in another root.
    Elsewhere,
}

/// What the command runs in turn.
pub fn inner(words: &[Word]) -> Vec<Inner> {
    let Some(program) = words.first().and_then(Word::text) else { return Vec::new() };
    let name = base_name(program);
    if let Some(wrapper) = wrappers::named(name) {
        return wrappers::wrapped(wrapper, words);
    }
    if scripts::is_shell(name) {
        return scripts::shell(name, words);
    }
    match name {
        "eval" => scripts::whole(words, Via::Shell("eval".to_owned()), ShellKind::Current),
        "source" | "." => scripts::sourced(words),
        "trap" => scripts::trap(words),
        "xargs" => runners::xargs(words),
        "find" | "gfind" | "bfs" => runners::find(words),
        "watch" => runners::watch(words),
        "parallel" => runners::parallel(words),
        "ssh" => runners::ssh(words),
        "su" | "runuser" | "script" => runners::command_option(name, words),
        "docker" | "podman" | "kubectl" | "nerdctl" => runners::container(name, words),
        "git" => runners::git_aliases(words),
        "mayi" => runners::mayi(words),
        _ => crate::knowledge::inner(words),
    }
}
