//! The syntax tree: what bash would read, with byte spans into the text it was read from.
//!
//! The tree holds spans instead of copies, so it is only meaningful beside its text. Text that bash rewrites
//! before reading it again (escapes inside backquotes, stripped tabs of `<<-`) is kept as a [`Fragment`] with
//! its own text. The tree never interprets: values, scopes and expansions are the walk's business.

use crate::word::Span;
use std::rc::Rc;

/// A parsed text.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Its commands.
    pub(crate) list: List,
    /// The here-documents in it, in the order of their operators.
    pub(crate) here: Rc<[HereDocument]>,
}

/// Text that stands in a script only after rewriting, with what was parsed from it.
#[derive(Debug)]
pub(crate) struct Fragment<T> {
    /// The rewritten text; spans of `content` point into it.
    pub(crate) text: Rc<str>,
    /// What was parsed.
    pub(crate) content: T,
    /// Here-documents inside.
    pub(crate) here: Rc<[HereDocument]>,
}

/// Commands in sequence.
#[derive(Debug, Default)]
pub(crate) struct List {
    /// The and-or lists.
    pub(crate) items: Vec<Item>,
}

/// `a && b || c`, perhaps in the background.
#[derive(Debug)]
pub(crate) struct Item {
    /// The first pipeline.
    pub(crate) first: Pipeline,
    /// The others, each with the operator before it.
    pub(crate) rest: Vec<(Joint, Pipeline)>,
    /// How it ends.
    pub(crate) ending: Ending,
}

/// The operator between two pipelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joint {
    /// `&&`.
    And,
    /// `||`.
    Or,
}

/// How an item of a list ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// `;`, a newline or the end: the shell waits.
    Waits,
    /// `&`: runs in a subshell of its own.
    Background,
}

/// `a | b | c`; `!` and `time` leave no trace, they change no command.
#[derive(Debug)]
pub(crate) struct Pipeline {
    /// At least one stage, except for a bare `!` or `time`.
    pub(crate) stages: Vec<Stage>,
}

/// One stage of a pipeline.
#[derive(Debug)]
pub(crate) enum Stage {
    /// A simple command.
    Simple(Simple),
    /// A compound command.
    Compound(Box<Compound>),
    /// A function definition.
    Function(Box<Function>),
    /// `coproc`; the name of its variable, where it has one, and the command.
    Coprocess(Option<Span>, Box<Stage>),
}

/// A simple command.
#[derive(Debug, Default)]
pub(crate) struct Simple {
    /// From its first assignment, word or redirection to its last.
    pub(crate) span: Span,
    /// Assignments before the first word.
    pub(crate) assignments: Vec<Assignment>,
    /// The words.
    pub(crate) words: Vec<Word>,
    /// The redirections.
    pub(crate) redirects: Vec<Redirect>,
}

/// `NAME=…`, `NAME+=…`, `NAME[…]=…`.
#[derive(Debug)]
pub(crate) struct Assignment {
    /// All of it.
    pub(crate) span: Span,
    /// The name.
    pub(crate) name: String,
    /// The subscript; it is evaluated.
    pub(crate) subscript: Option<Vec<Piece>>,
    /// `=` or `+=`.
    pub(crate) operator: AssignOperator,
    /// The value.
    pub(crate) value: AssignValue,
}

/// How an assignment assigns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AssignOperator {
    /// `=`.
    Set,
    /// `+=`.
    Append,
}

/// What is assigned.
#[derive(Debug)]
pub(crate) enum AssignValue {
    /// One word.
    Scalar(Word),
    /// `(…)`.
    Array(Vec<Element>),
}

/// An element of an array assignment.
#[derive(Debug)]
pub(crate) struct Element {
    /// `[…]=` before it.
    pub(crate) subscript: Option<Vec<Piece>>,
    /// The word.
    pub(crate) value: Word,
}

/// A word as written.
#[derive(Debug)]
pub(crate) struct Word {
    /// Where.
    pub(crate) span: Span,
    /// Of what.
    pub(crate) content: Content,
}

/// What a word is made of.
#[derive(Debug)]
pub(crate) enum Content {
    /// Characters without any meaning to the shell: the span's text is the value.
    Plain,
    /// Pieces.
    Pieces(Vec<Piece>),
}

/// A piece of a word.
#[derive(Debug)]
pub(crate) enum Piece {
    /// Unquoted text (in double quotes: plain text). Outside quotes it may hold globs, braces and a tilde.
    Bare(Span),
    /// One character after a backslash.
    Escaped(Span),
    /// `'…'`: the text between.
    Single(Span),
    /// `$'…'`, decoded; `None` when the bytes are no text.
    Ansi(Option<String>),
    /// `"…"` or `$"…"`.
    Double(Vec<Piece>),
    /// `$x`, `${…}`.
    Parameter(Box<Parameter>),
    /// `$(…)`, backquotes.
    Command(Box<Substitution>),
    /// `<(…)`, `>(…)`.
    Process(Box<Substitution>),
    /// `$((…))`, `$[…]`.
    Arithmetic(Box<Arithmetic>),
    /// `@(…)` and its like, with what is expanded inside.
    Extglob(Span, Vec<Piece>),
    /// `(…)` after `NAME=` among the operands of `declare` and its like.
    Array(Vec<Element>),
}

/// A command or process substitution.
#[derive(Debug)]
pub(crate) struct Substitution {
    /// The text between the delimiters, as written.
    pub(crate) inner: Span,
    /// The commands.
    pub(crate) body: Body,
}

/// The commands of a substitution.
#[derive(Debug)]
pub(crate) enum Body {
    /// Read in place.
    Inline(List),
    /// Backquotes whose escapes were removed first.
    Rewritten(Fragment<List>),
}

/// A parameter expansion.
#[derive(Debug)]
pub(crate) struct Parameter {
    /// All of it.
    pub(crate) span: Span,
    /// The name; special and positional parameters are their character or digits.
    pub(crate) name: String,
    /// `${!name…}` or not.
    pub(crate) reach: Reach,
    /// `[…]`.
    pub(crate) subscript: Option<Vec<Piece>>,
    /// What is done with the value.
    pub(crate) operation: Operation,
}

/// Whose value is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The parameter's own.
    Direct,
    /// `${!x}`: that of the parameter it names.
    Indirect,
}

/// What an expansion does with the value.
#[derive(Debug)]
pub(crate) enum Operation {
    /// Nothing.
    Value,
    /// `${#x}`.
    Length,
    /// `${!prefix*}`, `${!a[@]}`: names or keys.
    Names,
    /// `:-`, `=`, `?`, `+` …
    Fallback(Fallback, Vec<Piece>),
    /// `#`, `%`, `/`, `^`, `,` …: a pattern and perhaps a replacement.
    Pattern(Vec<Piece>),
    /// `${x:offset:length}`.
    Slice(Vec<Piece>),
    /// `${x@Q}`; the letter.
    Transform(u8),
}

/// The four fallbacks, with or without colon.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fallback {
    /// `-`.
    Use,
    /// `=`.
    Assign,
    /// `?`.
    Fail,
    /// `+`.
    Instead,
}

/// An arithmetic expression: text and the expansions in it.
#[derive(Debug)]
pub(crate) struct Arithmetic {
    /// The text between the delimiters.
    pub(crate) inner: Span,
    /// Its pieces.
    pub(crate) pieces: Vec<Piece>,
}

/// A compound command.
#[derive(Debug)]
pub(crate) struct Compound {
    /// All of it.
    pub(crate) span: Span,
    /// Which.
    pub(crate) kind: CompoundKind,
    /// Redirections after it.
    pub(crate) redirects: Vec<Redirect>,
}

/// The compound commands.
#[derive(Debug)]
pub(crate) enum CompoundKind {
    /// `{ …; }`.
    Group(List),
    /// `( … )`.
    Subshell(List),
    /// `if`: conditions with their branches, and `else`.
    If(Vec<(List, List)>, Option<List>),
    /// `while` and `until`: condition and body.
    Loop(List, List),
    /// `for NAME in …` and `select`.
    For(For),
    /// `for ((…))`.
    Counting(Arithmetic, List),
    /// `case`.
    Case(Word, Vec<Arm>),
    /// `[[ … ]]`: its terms; how they are joined does not matter here.
    Condition(Vec<Term>),
    /// `((…))`.
    Arithmetic(Arithmetic),
}

/// `for` and `select`.
#[derive(Debug)]
pub(crate) struct For {
    /// The variable.
    pub(crate) variable: Span,
    /// The words after `in`; `None` for the positional parameters.
    pub(crate) words: Option<Vec<Word>>,
    /// The body.
    pub(crate) body: List,
}

/// An arm of `case`.
#[derive(Debug)]
pub(crate) struct Arm {
    /// The patterns.
    pub(crate) patterns: Vec<Word>,
    /// The commands.
    pub(crate) body: List,
}

/// A term of `[[ … ]]`.
#[derive(Debug)]
pub(crate) enum Term {
    /// A word alone.
    Word(Word),
    /// `-f word`; the operator.
    Unary(Span, Word),
    /// `left op right`.
    Binary(Word, Span, Word),
}

/// A function definition.
#[derive(Debug)]
pub(crate) struct Function {
    /// Its name.
    pub(crate) name: Word,
    /// Its body, shared with the calls that will run it.
    pub(crate) body: Rc<Compound>,
}

/// A redirection.
#[derive(Debug)]
pub(crate) struct Redirect {
    /// All of it, from the descriptor on.
    pub(crate) span: Span,
    /// The descriptor before the operator.
    pub(crate) descriptor: Descriptor,
    /// The operator.
    pub(crate) operator: RedirectOperator,
    /// What follows.
    pub(crate) target: Target,
}

/// The descriptor a redirection names.
#[derive(Debug)]
pub(crate) enum Descriptor {
    /// None: the operator's own.
    Default,
    /// A number.
    Number,
    /// `{name}`: the shell picks one and assigns it.
    Variable(String),
}

/// Redirection operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RedirectOperator {
    /// `<`.
    In,
    /// `>`, `>|`.
    Out,
    /// `>>`.
    Append,
    /// `<>`.
    Both,
    /// `<&`.
    CopyIn,
    /// `>&`.
    CopyOut,
    /// `&>`.
    AllOut,
    /// `&>>`.
    AllAppend,
    /// `<<<`.
    HereString,
    /// `<<`, `<<-`.
    HereDocument,
}

/// What follows a redirection operator.
#[derive(Debug)]
pub(crate) enum Target {
    /// A word.
    Word(Word),
    /// A here-document: index into the list of its tree or fragment.
    Here(usize),
}

/// A here-document.
#[derive(Debug)]
pub(crate) struct HereDocument {
    /// Its body, without the delimiter.
    pub(crate) span: Span,
    /// What stands there.
    pub(crate) body: HereBody,
}

/// The body of a here-document.
#[derive(Debug)]
pub(crate) enum HereBody {
    /// The delimiter was quoted: data.
    Data(String),
    /// Expanded like a double-quoted string.
    Expanded(Vec<Piece>),
    /// The same after `<<-` stripped tabs.
    Rewritten(Fragment<Vec<Piece>>),
}
