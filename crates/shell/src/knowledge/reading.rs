//! Reads the words of a command by what is known of its program. Anything that is not known (a flag, a subcommand,
//! one operand too many, a word of unknown content that could turn into a flag) is a fault, never a guess.

use std::fmt;

use crate::knowledge::model::{Deed, Entry, Flag, Form, Grammar, Reader, Role, Spec, Surprises, Takes};
use crate::knowledge::{bespoke, holes};
use crate::word::{Quoting, Span, Word};

/// Part of a word that plays a role: the word from byte `from` of its known text on.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Piece<'w> {
    pub(crate) word: &'w Word,
    pub(crate) index: usize,
    pub(crate) from: usize,
}

impl<'w> Piece<'w> {
    /// The text, when all of it is known.
    pub(crate) fn text(&self) -> Option<&'w str> {
        self.word.text().and_then(|text| text.get(self.from..))
    }
}

/// A piece and what it is for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Item<'w> {
    pub(crate) role: Role,
    pub(crate) piece: Piece<'w>,
}

/// Why the words were not understood.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    Flag(String),
    Subcommand(String),
    Operands,
    Value(String),
    Surprise,
    Escaped,
    Form(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(name) => write!(out, "unknown flag `{name}`"),
            Self::Subcommand(name) => write!(out, "unknown subcommand `{name}`"),
            Self::Operands => write!(out, "unexpected operands"),
            Self::Value(value) => write!(out, "unexpected value `{value}`"),
            Self::Surprise => write!(out, "a part that is not known could become a flag"),
            Self::Escaped => write!(out, "a flag written with escapes"),
            Self::Form(what) => write!(out, "{what}"),
        }
    }
}

/// What the words say.
#[derive(Debug)]
pub(crate) struct Reading<'w> {
    pub(crate) spec: &'static Spec,
    pub(crate) items: Vec<Item<'w>>,
    pub(crate) deeds: Vec<(Deed, Span)>,
    /// What is done to the current directory, since no operand names a place.
    pub(crate) default: Option<Role>,
    pub(crate) fault: Option<(Fault, Span)>,
}

/// Words, and the text they were written in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'w> {
    pub(crate) words: &'w [Word],
    pub(crate) source: &'w str,
}

/// Reads the words of a command whose program is known.
pub(crate) fn read<'w>(spec: &'static Spec, line: Line<'w>) -> Reading<'w> {
    let mut cursor = Cursor::new(spec, line);
    cursor.run();
    cursor.finish()
}

/// The position in the words, and what was found so far.
pub(crate) struct Cursor<'w> {
    pub(crate) line: Line<'w>,
    pub(crate) at: usize,
    pub(crate) reading: Reading<'w>,
    pub(crate) operands: Vec<Piece<'w>>,
    /// No more flags: after `--`, or after the first operand where that ends them.
    pub(crate) ended: bool,
    /// An unknown subcommand: nothing that follows means anything. After any other fault the rest is still read,
    /// since a removal is worth knowing of even where one flag is not.
    pub(crate) lost: bool,
}

impl<'w> Cursor<'w> {
    fn new(spec: &'static Spec, line: Line<'w>) -> Self {
        let reading = Reading { spec, items: Vec::new(), deeds: Vec::new(), default: None, fault: None };
        Self { line, at: 1, reading, operands: Vec::new(), ended: spec.grammar == Grammar::Plain, lost: false }
    }

    fn run(&mut self) {
        while !self.lost {
            let spec = self.reading.spec;
            if spec.reader != Reader::Described {
                bespoke::read(self);
                if std::ptr::eq(spec, self.reading.spec) {
                    return;
                }
            } else if let Some(word) = self.line.words.get(self.at) {
                self.step(word);
            } else {
                return;
            }
        }
    }

    /// Reads one word, and the value after it if it is a flag that takes one.
    pub(crate) fn step(&mut self, word: &'w Word) {
        if !self.ended && word.text() == Some("--") {
            self.ended = true;
            self.at += 1;
        } else if self.ended || !self.looks_like_flag(word) {
            self.operand(word);
        } else {
            self.flag(word);
        }
    }

    pub(crate) fn fail(&mut self, fault: Fault, span: Span) {
        if self.reading.fault.is_none() {
            self.reading.fault = Some((fault, span));
        }
    }

    fn has(&self, form: Form) -> bool {
        self.reading.spec.forms.contains(&form)
    }

    fn looks_like_flag(&self, word: &Word) -> bool {
        let start = word.known_prefix();
        (start.len() > 1 || !start.is_empty() && word.text().is_none()) && start.starts_with('-')
            || start.starts_with('+')
                && (self.has(Form::Plus) || self.has(Form::PlusActs) || self.find(start).is_some())
            || self.has(Form::PlusNumber) && word.text().is_some_and(is_plus_number)
    }

    fn operand(&mut self, word: &'w Word) {
        let spec = self.reading.spec;
        if !self.ended && self.operands.is_empty() && !(spec.subcommands.is_empty() && spec.families.is_empty()) {
            return self.subcommand(word);
        }
        self.check_surprise(word);
        self.operands.push(Piece { word, index: self.at, from: 0 });
        self.at += 1;
        if matches!(spec.grammar, Grammar::Posix | Grammar::WordsFirst) {
            self.ended = true;
        }
    }

    fn subcommand(&mut self, word: &'w Word) {
        let spec = self.reading.spec;
        let found = word.text().and_then(|text| subcommand(spec, text));
        match found {
            Some(below) => {
                self.note(spec);
                self.reading.spec = below;
                self.ended = below.grammar == Grammar::Plain;
                self.at += 1;
            }
            None if spec.operands.is_empty() => {
                self.lost = true;
                self.fail(Fault::Subcommand(word.known_prefix().to_string()), word.span);
            }
            None => {
                self.check_surprise(word);
                self.operands.push(Piece { word, index: self.at, from: 0 });
                self.at += 1;
                if matches!(spec.grammar, Grammar::Posix | Grammar::WordsFirst) {
                    self.ended = true;
                }
            }
        }
    }

    /// Keeps what a level above does for everything below it.
    fn note(&mut self, spec: &'static Spec) {
        if spec.forms.contains(&Form::Repository) {
            self.reading.default = self.reading.default.or(Some(Role::List));
        }
    }

    /// A word of unknown content must not be able to turn into a flag that does harm.
    pub(crate) fn check_surprise(&mut self, word: &Word) {
        let harmless = self.reading.spec.surprises == Surprises::Harmless;
        if !self.ended && !harmless && (holes::can_be_flag(word) || holes::can_split(word)) {
            self.fail(Fault::Surprise, word.span);
        }
    }

    fn find(&self, name: &str) -> Option<&'static Flag> {
        let flags = &self.reading.spec.flags;
        flags.binary_search_by(|flag| (*flag.name).cmp(name)).ok().and_then(|at| flags.get(at))
    }

    fn flag(&mut self, word: &'w Word) {
        let start = word.known_prefix();
        let grammar = self.reading.spec.grammar;
        if start.starts_with('+') {
            self.at += 1;
            match self.find(start) {
                Some(flag) => self.take(flag, word, None),
                None if self.has(Form::PlusActs) => self.fail(Fault::Flag(start.to_string()), word.span),
                None => {}
            }
        } else if start.starts_with("--") || matches!(grammar, Grammar::Words | Grammar::WordsFirst) {
            self.long(word, start);
        } else {
            self.bundle(word, start);
        }
    }

    fn long(&mut self, word: &'w Word, start: &'w str) {
        let (name, attached) = match start.find('=') {
            Some(at) => (start.get(..at).unwrap_or(start), Some(at + 1)),
            None => (start, None),
        };
        if attached.is_none() && word.text().is_none() {
            return self.fail(Fault::Surprise, word.span);
        }
        self.check_spelling(word, name);
        let found = self.find(name).or_else(|| self.find_with_one_dash(name));
        self.at += 1;
        match found {
            Some(flag) => self.take(flag, word, attached),
            None if attached.is_none() && self.asks_for_help(name) => self.deed(Deed::Stop, word.span),
            None if self.is_number(start) => {}
            None => self.fail(Fault::Flag(name.to_string()), word.span),
        }
    }

    fn find_with_one_dash(&self, name: &str) -> Option<&'static Flag> {
        let words = matches!(self.reading.spec.grammar, Grammar::Words | Grammar::WordsFirst);
        name.strip_prefix('-').filter(|rest| words && rest.starts_with('-')).and_then(|rest| self.find(rest))
    }

    /// `--help` and `--version` as the only word after the (sub)command: every program answers and ends.
    fn asks_for_help(&self, name: &str) -> bool {
        let alone = self.operands.is_empty() && self.at == self.line.words.len();
        alone && matches!(name, "--help" | "--version") && !self.has(Form::NoHelp)
    }

    fn is_number(&self, start: &str) -> bool {
        let digits = start.trim_start_matches('-');
        self.has(Form::Number) && !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Short flags behind one dash. One that takes a value swallows the rest of the word.
    fn bundle(&mut self, word: &'w Word, start: &'w str) {
        self.at += 1;
        if word.text().is_some() && self.is_number(start) {
            return;
        }
        let mut from = 1;
        for letter in start.chars().skip(1) {
            let mut name = [b'-', 0, 0, 0, 0];
            let length = letter.len_utf8();
            letter.encode_utf8(name.get_mut(1..).unwrap_or_default());
            let name = std::str::from_utf8(name.get(..=length).unwrap_or_default()).unwrap_or_default();
            from += length;
            let Some(flag) = self.find(name) else {
                return self.fail(Fault::Flag(name.to_string()), word.span);
            };
            match flag.takes {
                Takes::Nothing => self.play(flag, word),
                Takes::Value(_) | Takes::Optional(_) | Takes::Pair(_) => {
                    self.check_spelling(word, start.get(..from).unwrap_or_default());
                    let attached = (from < start.len() || word.text().is_none()).then_some(from);
                    return self.take(flag, word, attached);
                }
            }
        }
        if word.text().is_none() {
            return self.fail(Fault::Surprise, word.span);
        }
        self.check_spelling(word, start);
    }

    /// Escapes are fine in a value, but nobody writes them in the name of a flag.
    fn check_spelling(&mut self, word: &Word, name: &str) {
        if word.quoting != Quoting::Escaped {
            return;
        }
        let written = self.line.source.get(word.span.start..word.span.end).unwrap_or_default();
        if !written.starts_with(name) {
            self.fail(Fault::Escaped, word.span);
        }
    }

    fn take(&mut self, flag: &'static Flag, word: &'w Word, attached: Option<usize>) {
        self.play(flag, word);
        let (role, optional) = match flag.takes {
            Takes::Nothing if attached.is_some() => return self.fail(Fault::Flag(flag.name.to_string()), word.span),
            Takes::Nothing => return,
            Takes::Value(role) => (role, false),
            Takes::Optional(role) => (role, true),
            Takes::Pair(role) => {
                self.at += 1;
                (role, false)
            }
        };
        let piece = match attached {
            Some(from) => Piece { word, index: self.at - 1, from },
            // What the program does then is named elsewhere: a pager by a variable, a port by a default.
            None if optional && matches!(role, Role::Run | Role::Refuse | Role::Write | Role::Send) => {
                return self.fail(Fault::Flag(flag.name.to_string()), word.span);
            }
            None if optional => return,
            None => {
                let Some(value) = self.line.words.get(self.at) else {
                    return self.fail(Fault::Value(flag.name.to_string()), word.span);
                };
                self.at += 1;
                Piece { word: value, index: self.at - 1, from: 0 }
            }
        };
        let more = holes::can_split(piece.word) || holes::can_multiply(piece.word) && holes::can_be_flag(piece.word);
        if more && self.reading.spec.surprises != Surprises::Harmless {
            self.fail(Fault::Surprise, piece.word.span);
        }
        self.item(role, piece);
        self.ended |= flag.does.contains(&Deed::Rest);
    }

    /// Records a piece after checking that its text has the shape its role asks for.
    pub(crate) fn item(&mut self, role: Role, piece: Piece<'w>) {
        let fits = match (role, piece.text()) {
            (Role::Number, Some(text)) => is_number(text),
            (Role::Choice(choices), Some(text)) => choices.iter().any(|choice| fits(choice, text)),
            (Role::File, Some(text)) => !text.contains(':') && !text.starts_with(['@', '|']),
            (Role::Name, Some(text)) => !text.contains(['/', '@', '=', ':']),
            (Role::Choice(_) | Role::Name, None) => self.reading.spec.surprises == Surprises::Harmless,
            _ => true,
        };
        if !fits {
            return self.fail(Fault::Value(piece.word.known_prefix().to_string()), piece.word.span);
        }
        self.reading.items.push(Item { role, piece });
    }

    fn play(&mut self, flag: &'static Flag, word: &Word) {
        for deed in flag.does.iter() {
            let alone = self.operands.is_empty() && self.at == self.line.words.len();
            if *deed != Deed::Alone {
                self.deed(*deed, word.span);
            } else if alone && self.reading.deeds.is_empty() {
                self.deed(Deed::Stop, word.span);
            } else {
                self.fail(Fault::Flag(flag.name.to_string()), word.span);
            }
        }
    }

    pub(crate) fn deed(&mut self, deed: Deed, span: Span) {
        self.reading.deeds.push((deed, span));
    }
}

/// A subcommand by its exact name, else by the start of its name.
pub(crate) fn subcommand(spec: &Spec, name: &str) -> Option<&'static Spec> {
    let exact = spec.subcommands.binary_search_by(|entry: &Entry| (*entry.name).cmp(name)).ok();
    let exact = exact.and_then(|at| spec.subcommands.get(at));
    let family = || spec.families.iter().find(|entry| name.starts_with(&*entry.name));
    exact.or_else(family).and_then(Entry::spec)
}

/// `+5`, `+5c`, `+2:3`: nothing in it could lead to a file.
fn is_plus_number(text: &str) -> bool {
    let rest = text.strip_prefix('+').unwrap_or_default();
    rest.starts_with(|first: char| first.is_ascii_digit())
        && rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b':')
}

/// A number as programs take it: signs, a decimal point, ranges and units.
fn is_number(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.,:%/".contains(&byte))
}

/// Whether a text fits a choice, in which a star stands for any text.
pub(crate) fn fits(choice: &str, text: &str) -> bool {
    match choice.split_once('*') {
        None => choice == text,
        Some((start, end)) => match text.strip_prefix(start) {
            None => false,
            Some(rest) if end.is_empty() => !rest.is_empty() || start.is_empty(),
            Some(rest) => (0..=rest.len()).any(|at| rest.get(at..).is_some_and(|tail| fits(end, tail))),
        },
    }
}
