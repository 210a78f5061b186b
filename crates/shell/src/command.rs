//! Commands: what the walk finds in a script, one entry for every simple command wherever it stands.

use crate::effect::Effect;
use crate::observe::Question;
use crate::word::{Span, Word};

/// Index into [`Analysis::scripts`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScriptId(pub usize);

/// Everything the text yields.
#[derive(Clone, Debug, Default)]
pub struct Analysis {
    /// The text itself first, then every script found inside it (`sh -c '…'`, an expanded task, a function).
    pub scripts: Vec<Script>,
    /// Every simple command that may run, in the order of the text; nested ones included.
    pub commands: Vec<Command>,
    /// Why (part of) the text was not understood. `Some` means: commands may be missing from the list.
    pub opaque: Option<Opaque>,
    /// What the analysis would have to know of the machine to say more. Empty when nothing is open.
    pub questions: Vec<Question>,
}

impl Analysis {
    /// Everything was understood and only looks: at names, metadata or content. Whether those places may be looked
    /// at is for the caller to decide.
    pub fn is_reading(&self) -> bool {
        self.opaque.is_none()
            && self.commands.iter().all(|command| command.effects.iter().all(|effect| effect.act.is_reading()))
    }
}

/// A piece of shell text that was parsed.
#[derive(Clone, Debug)]
pub struct Script {
    /// The text; spans of its commands and words are ranges in it.
    pub text: String,
    /// Where it came from: `None` for the outermost text.
    pub parent: Option<Parent>,
}

/// Where a nested script came from.
#[derive(Clone, Debug)]
pub struct Parent {
    /// The script that holds it.
    pub script: ScriptId,
    /// The words that hold it there.
    pub span: Span,
    /// How it gets to run.
    pub via: Via,
}

/// How a nested script or command gets to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Via {
    /// A shell given the text: `sh -c`, `bash -lc`, `eval`, `trap`, `env -S`, a here-document fed to a shell.
    Shell(String),
    /// A runner that calls it once or many times: `xargs`, `find -exec`, `parallel`, `watch`.
    Runner(String),
    /// Runs on another machine or in another root: `ssh host`, `docker exec c`, `kubectl exec p --`.
    Elsewhere(String),
    /// A task file's text: `package.json` script, `Makefile` recipe, git alias, script file.
    Task(String),
}

/// One simple command.
#[derive(Clone, Debug)]
pub struct Command {
    /// The script it stands in.
    pub script: ScriptId,
    /// From its first assignment or word to its last word or redirection.
    pub span: Span,
    /// Program and operands, wrappers included, in order. Empty for a bare assignment or redirection.
    pub words: Vec<Word>,
    /// `A=1` before the program (also bare assignments, and array assignments).
    pub assignments: Vec<Assignment>,
    /// Redirections, its own and those of the compound commands around it.
    pub redirects: Vec<Redirect>,
    /// The commands reached through wrappers, outermost first: for `sudo timeout 5 rm x` one for `timeout …`
    /// and one for `rm x`. Empty when the program is no wrapper.
    pub layers: Vec<Layer>,
    /// Where it stands.
    pub standing: Standing,
    /// What it does, as far as is known.
    pub effects: Vec<Effect>,
}

/// A command inside a wrapper: the words from `first` on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layer {
    /// The wrapper's base name: `sudo`, `timeout`, `env`.
    pub wrapper: String,
    /// Index into [`Command::words`] of the inner program.
    pub first: usize,
    /// Variables the wrapper sets for it: `env A=1 cmd`.
    pub assignments: Vec<Assignment>,
}

/// `NAME=value`, `NAME+=value`, `NAME[i]=value`, `NAME=(…)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assignment {
    /// Where it stands.
    pub span: Span,
    /// The variable, without subscript.
    pub name: String,
    /// The value; `None` for an array or a subscripted one.
    pub value: Option<Word>,
}

/// A redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirect {
    /// Where it stands.
    pub span: Span,
    /// Which way the data goes.
    pub direction: Direction,
    /// What stands on the other end.
    pub target: RedirectTarget,
}

/// Which way a redirection's data goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `<`.
    In,
    /// `>`, `>|`, `&>`.
    Out,
    /// `>>`, `&>>`.
    Append,
    /// `<>`.
    Both,
}

/// The other end of a redirection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RedirectTarget {
    /// A file.
    File(Word),
    /// Another descriptor, or `-` to close: `2>&1`.
    Descriptor(String),
    /// A here-document or here-string: its body. A literal body is data; a template has been expanded, and the
    /// commands in it are reported on their own.
    Here(Word),
}

/// Where a command stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Standing {
    /// How many compound commands, substitutions and nested scripts are around it.
    pub depth: usize,
    /// Something is piped into it: the index in [`Analysis::commands`] of the (last) command that feeds it.
    pub fed_by: Option<usize>,
    /// Its output goes into a pipe or is captured by a substitution.
    pub feeds: bool,
    /// Put in the background: it goes on when the call is over.
    pub background: bool,
    /// Its directory.
    pub directory: Directory,
    /// The directory may also still be an earlier one: in `cd a; x` the command `x` runs even when `cd` fails.
    pub doubtful: bool,
}

/// The directory a command runs in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Directory {
    /// Where the whole text was started.
    #[default]
    Start,
    /// After `cd` to a known place: absolute, cleaned lexically.
    At(String),
    /// After a `cd` to somewhere the text does not tell.
    Unknown,
}

/// Why a text was not understood, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opaque {
    /// The reason.
    pub why: Why,
    /// Where in the outermost text.
    pub span: Span,
}

/// Reasons for not understanding.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Why {
    /// Bash would not accept it either, or we do not know the form; what was expected or found.
    Syntax(String),
    /// Longer than the budget.
    TooLong,
    /// Nested deeper than the budget.
    TooDeep,
    /// More commands or work than the budget.
    TooMuch,
    /// A character that hides what will run: control, bidirectional, zero-width, NUL, carriage return.
    OddCharacter(char),
    /// Not UTF-8.
    NotText,
}
