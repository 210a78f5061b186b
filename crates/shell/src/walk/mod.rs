//! From the tree to the list of commands that may run.
//!
//! The walk follows the text the way the shell would, with what the text itself settles: variables, functions,
//! the directory. It never runs, reads or guesses anything; what it cannot settle becomes a hole in a word, an
//! unknown effect on a command, or makes the analysis opaque.

mod arithmetic;
mod assign;
mod braces;
mod builtin;
mod declare;
mod directory;
mod expand;
mod feed;
mod fields;
mod forms;
mod function;
mod inner;
mod list;
mod nested;
mod paths;
mod quoted_output;
mod redirect;
mod scope;
mod simple;
mod source;
mod variables;
mod visit;

pub use forms::LiteralForm;
pub use inner::{Inner, ScriptText, ShellKind, inner};

use crate::command::{Analysis, Command, Directory, Opaque, Parent, Redirect, Script, ScriptId, Standing, Why};
use crate::effect::{Act, Effect};
use crate::parse::{self, budget};
use crate::word::Span;
use function::Definition;
use scope::{Certainty, Scope};
use source::Source;
use std::collections::HashMap;

/// Steps a walk may take: stages entered, names looked at, words made. Keeps repeated work (functions that call
/// each other, loops over many variables) within a few milliseconds.
const STEPS: usize = 200_000;
/// What it costs to copy a redirection of a compound command to a command inside.
const REDIRECT_STEPS: usize = 4;
/// What it costs to call a function.
const CALL_STEPS: usize = 8;
/// Bytes of text a walk may copy: nested scripts, values, words.
const BYTES: usize = 1024 * 1024;

/// What the walk is told about the place the text will run in.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The directory it starts in, absolute.
    pub directory: String,
    /// The user's home, absolute; `None` keeps `~` and `$HOME` unknown.
    pub home: Option<String>,
}

/// Every command the text may run, in everything but its effects. Total: any text gives an analysis.
pub fn commands(text: &str, context: &Context) -> Analysis {
    let mut walker = Walker::new(context);
    walker.outermost(text);
    walker.analysis
}

/// The same for bytes that may be no text at all.
pub fn commands_of_bytes(bytes: &[u8], context: &Context) -> Analysis {
    match std::str::from_utf8(bytes) {
        Ok(text) => commands(text, context),
        Err(error) => {
            // What is no text stands as a replacement character in the listed script.
            let start = error.valid_up_to();
            let span = Span { start, end: start + char::REPLACEMENT_CHARACTER.len_utf8() };
            let script = Script { text: String::from_utf8_lossy(bytes).into_owned(), parent: None };
            let opaque = Some(Opaque { why: Why::NotText, span });
            Analysis { scripts: vec![script], opaque, ..Analysis::default() }
        }
    }
}

/// What stands on the other end of standard input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Feed {
    /// Whatever the whole text was given.
    Outside,
    /// The output of this command.
    Command(usize),
    /// The output of something that is no single command.
    Something,
}

/// Where the walk stands.
#[derive(Clone, Debug)]
struct Frame {
    depth: usize,
    feed: Feed,
    feeds: bool,
    background: bool,
    /// In a nested script: the words of the outermost text that hold it.
    origin: Option<Span>,
    /// How many times loops around are written out at once.
    unrolled: usize,
}

/// The walk's state.
struct Walker<'c> {
    context: &'c Context,
    analysis: Analysis,
    scope: Scope,
    frame: Frame,
    /// Redirections of the compound commands around.
    redirects: Vec<Redirect>,
    /// All function definitions met.
    definitions: Vec<Definition>,
    /// Definitions that are being called.
    calls: Vec<usize>,
    /// Variables that `declare -i` made arithmetic.
    integers: Vec<String>,
    /// `set -e` was seen: a failing `cd` ends the text.
    errexit: bool,
    /// The command whose parts are being visited.
    filling: Option<usize>,
    /// Effects found while visiting the parts of the command at hand.
    notes: Vec<Effect>,
    /// How often each name stands in a script where it could be assigned.
    mentions: HashMap<ScriptId, HashMap<String, usize>>,
    steps: usize,
    bytes: usize,
}

impl<'c> Walker<'c> {
    fn new(context: &'c Context) -> Self {
        Self {
            context,
            analysis: Analysis::default(),
            scope: Scope::new(),
            frame: Frame { depth: 0, feed: Feed::Outside, feeds: false, background: false, origin: None, unrolled: 1 },
            redirects: Vec::new(),
            definitions: Vec::new(),
            calls: Vec::new(),
            integers: Vec::new(),
            errexit: false,
            filling: None,
            notes: Vec::new(),
            mentions: HashMap::new(),
            steps: STEPS,
            bytes: BYTES,
        }
    }

    fn outermost(&mut self, text: &str) {
        self.analysis.scripts.push(Script { text: text.to_owned(), parent: None });
        self.run(text, ScriptId(0));
        self.uncalled_functions();
    }

    /// Parses a script that is already listed and walks it.
    fn run(&mut self, text: &str, script: ScriptId) {
        match parse::parse(text, self.frame.depth) {
            Ok(tree) => {
                let source = Source { text: text.into(), here: tree.here, script };
                self.list(&source, &tree.list);
            }
            Err(opaque) => self.give_up(opaque.why, opaque.span),
        }
    }

    /// Lists a nested script.
    fn add_script(&mut self, text: String, parent: Parent) -> ScriptId {
        self.analysis.scripts.push(Script { text, parent: Some(parent) });
        ScriptId(self.analysis.scripts.len() - 1)
    }

    /// Notes that part of the text is not understood; the first reason is kept.
    fn give_up(&mut self, why: Why, span: Span) {
        let span = self.frame.origin.unwrap_or(span);
        self.analysis.opaque.get_or_insert(Opaque { why, span });
    }

    /// Spends steps; `false` when the budget is used up, and then the analysis is opaque.
    fn step(&mut self, steps: usize) -> bool {
        let enough = self.steps >= steps && self.bytes > 0 && self.analysis.commands.len() < budget::COMMANDS;
        self.steps = self.steps.saturating_sub(steps);
        if !enough {
            self.give_up(Why::TooMuch, Span::default());
        }
        enough
    }

    /// Spends bytes, likewise.
    fn spend(&mut self, bytes: usize) -> bool {
        let enough = self.bytes >= bytes;
        self.bytes = self.bytes.saturating_sub(bytes);
        if !enough {
            self.give_up(Why::TooMuch, Span::default());
        }
        enough
    }

    /// Runs `walk` one level deeper, unless that is too deep.
    fn deeper(&mut self, span: Span, walk: impl FnOnce(&mut Self)) {
        if self.frame.depth >= budget::DEPTH {
            return self.give_up(Why::TooDeep, span);
        }
        let frame = self.frame.clone();
        self.frame.depth += 1;
        walk(self);
        self.frame = frame;
    }

    /// Runs `walk` in a subshell: what it changes is undone.
    fn subshell(&mut self, span: Span, walk: impl FnOnce(&mut Self)) {
        let mark = self.scope.mark();
        self.deeper(span, walk);
        self.scope.undo(mark);
    }

    /// An unknown effect of the command at hand.
    fn note(&mut self, span: Span, reason: &str) {
        self.notes.push(Effect { act: Act::Unknown(reason.to_owned()), span });
    }

    /// Where a command stands now.
    fn standing(&self) -> Standing {
        let place = self.scope.place();
        let fed_by = match self.frame.feed {
            Feed::Command(index) => Some(index),
            Feed::Outside | Feed::Something => None,
        };
        Standing {
            depth: self.frame.depth,
            fed_by,
            feeds: self.frame.feeds,
            background: self.frame.background,
            directory: place.directory.clone(),
            doubtful: place.certainty == Certainty::Doubtful && place.directory != Directory::Unknown,
        }
    }

    /// An empty command here, to be filled; its index.
    fn push_command(&mut self, script: ScriptId, span: Span) -> usize {
        self.step(REDIRECT_STEPS * self.redirects.len());
        self.analysis.commands.push(Command {
            script,
            span,
            words: Vec::new(),
            assignments: Vec::new(),
            redirects: if self.steps > 0 { self.redirects.clone() } else { Vec::new() },
            layers: Vec::new(),
            standing: self.standing(),
            effects: Vec::new(),
        });
        self.analysis.commands.len() - 1
    }
}
