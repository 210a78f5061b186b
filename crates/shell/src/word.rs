//! Words: what one argument of a command is, as far as the text alone tells.
//!
//! A word is either literal (quotes removed, nothing left to expand) or a template whose unknown parts are
//! marked by kind. Nothing here guesses: a part that is not known stays a [`Hole`].

/// A range of bytes in the text of the script the item belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

/// How a word was written. Two spellings can mean the same word, but only one of them is what people write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quoting {
    /// No quoting at all: `-la`.
    Bare,
    /// Quotes somewhere: `"-la"`, `'a b'`.
    Quoted,
    /// A backslash outside quotes, or `$'…'`: `\-la`.
    Escaped,
}

/// One word of a simple command, after quote removal and after every expansion that the text itself settles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Where it stands in its script. Words that an expansion made (braces, a followed variable) share a span.
    pub span: Span,
    /// How it was written.
    pub quoting: Quoting,
    /// What it is.
    pub value: Value,
}

/// The value of a word.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// Known to the last byte.
    Literal(String),
    /// Text with holes, in order.
    Template(Vec<Part>),
}

/// A piece of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    /// Known text.
    Text(String),
    /// An unknown part.
    Hole(Hole),
}

/// A part of a word that the text does not settle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hole {
    /// What would fill it.
    pub kind: HoleKind,
    /// Inside double quotes: it cannot split into several words, and its content is never globbed.
    pub quoted: bool,
}

/// What would fill a hole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoleKind {
    /// `$NAME`, `${NAME}`, `${NAME%…}`: a variable the text does not assign, or assigns something unknown.
    Variable {
        /// Its name; positional parameters are `1`, `@`, `*` …
        name: String,
        /// `${NAME:?}`: the command does not run when it is empty.
        guarded: bool,
        /// The text of the command substitution it was assigned from in the same script, if it was.
        assigned_from: Option<String>,
    },
    /// `$(…)` or backticks; the text inside (its commands are reported on their own).
    Output(String),
    /// `<(…)` or `>(…)`: the name of a pipe.
    Process,
    /// An unquoted pattern: `*.rs`, `[ab]`, `+(x|y)`; the pattern's text.
    Glob(String),
    /// A brace expansion with too many words to list; its text.
    Brace(String),
    /// `~user`, or `~` when home is not known.
    Tilde(String),
    /// `$((…))`, `$[…]`.
    Arithmetic,
    /// `${x@P}`: evaluated as a prompt, which can run commands.
    Prompt,
    /// `${!x}`.
    Indirect,
    /// What a runner inserts: a line `xargs` reads, a name `find` found.
    Inserted,
}

impl Word {
    /// A literal word written plainly.
    pub fn literal(text: impl Into<String>) -> Self {
        Self { span: Span::default(), quoting: Quoting::Bare, value: Value::Literal(text.into()) }
    }

    /// The text, when all of it is known.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Literal(text) => Some(text),
            Value::Template(_) => None,
        }
    }

    /// The known text at the start of the word (all of it for a literal).
    pub fn known_prefix(&self) -> &str {
        match &self.value {
            Value::Literal(text) => text,
            Value::Template(parts) => match parts.first() {
                Some(Part::Text(text)) => text,
                Some(Part::Hole(_)) | None => "",
            },
        }
    }

    /// The holes, in order.
    pub fn holes(&self) -> impl Iterator<Item = &Hole> {
        let parts: &[Part] = match &self.value {
            Value::Literal(_) => &[],
            Value::Template(parts) => parts,
        };
        parts.iter().filter_map(|part| match part {
            Part::Hole(hole) => Some(hole),
            Part::Text(_) => None,
        })
    }
}
