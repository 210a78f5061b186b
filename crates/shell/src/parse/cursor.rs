//! The reading head: position, limits, depth, and the ways to fail.
//!
//! A backslash before a newline is nothing wherever bash removes it, so [`Parser::peek`] steps over it; the
//! places that keep it (single quotes, comments, quoted here-documents) read raw bytes instead.

use super::budget;
use super::heredoc::Pending;
use super::tree::HereDocument;
use crate::command::{Opaque, Why};
use crate::word::Span;

/// What a parsing function yields.
pub(crate) type Parsed<T> = Result<T, Opaque>;

/// A parser over one text.
pub(crate) struct Parser<'t> {
    pub(super) text: &'t str,
    pub(super) position: usize,
    /// One past the last byte that may be read: the text's end, or that of the piece being read.
    pub(super) end: usize,
    pub(super) depth: usize,
    /// Commands read so far, counted against the budget.
    pub(super) commands: usize,
    /// Here-documents whose body starts after the next newline.
    pub(super) pending: Vec<Pending>,
    pub(super) here: Vec<HereDocument>,
}

impl<'t> Parser<'t> {
    /// A parser at the start of `text`, which already stands `depth` levels deep.
    pub(super) fn new(text: &'t str, depth: usize, commands: usize) -> Self {
        Self { text, position: 0, end: text.len(), depth, commands, pending: Vec::new(), here: Vec::new() }
    }

    /// The byte at an absolute offset, within the limit.
    pub(super) fn byte(&self, at: usize) -> Option<u8> {
        if at < self.end { self.text.as_bytes().get(at).copied() } else { None }
    }

    /// The offset at or after `at` that is no line continuation.
    pub(super) fn past_continuations(&self, mut at: usize) -> usize {
        while self.byte(at) == Some(b'\\') && self.byte(at + 1) == Some(b'\n') {
            at += 2;
        }
        at
    }

    /// The next byte, line continuations removed.
    #[inline]
    pub(super) fn peek(&mut self) -> Option<u8> {
        let byte = self.byte(self.position);
        if byte == Some(b'\\') {
            self.position = self.past_continuations(self.position);
            return self.byte(self.position);
        }
        byte
    }

    /// The byte after the next one, line continuations removed.
    pub(super) fn peek_second(&mut self) -> Option<u8> {
        self.peek()?;
        self.byte(self.past_continuations(self.position + 1))
    }

    /// Steps over the next byte.
    pub(super) fn bump(&mut self) {
        self.peek();
        self.position = (self.position + 1).min(self.end);
    }

    /// Steps over `byte` if it is next.
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        let found = self.peek() == Some(byte);
        if found {
            self.bump();
        }
        found
    }

    /// Steps over `bytes` if they are next.
    pub(super) fn eat_all(&mut self, bytes: &[u8]) -> bool {
        let mut at = self.position;
        for &byte in bytes {
            at = self.past_continuations(at);
            if self.byte(at) != Some(byte) {
                return false;
            }
            at += 1;
        }
        self.position = at;
        true
    }

    /// Steps over blanks (not newlines).
    pub(super) fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t')) {
            self.position += 1;
        }
    }

    /// Steps over a comment, if one starts here, up to its newline.
    pub(super) fn skip_comment(&mut self) {
        if self.peek() != Some(b'#') {
            return;
        }
        while !matches!(self.byte(self.position), None | Some(b'\n')) {
            self.position += 1;
        }
    }

    /// Steps over blanks, comments and newlines; bodies of here-documents are read on the way.
    pub(super) fn skip_newlines(&mut self) -> Parsed<()> {
        loop {
            self.skip_blanks();
            self.skip_comment();
            if self.peek() != Some(b'\n') {
                return Ok(());
            }
            self.newline()?;
        }
    }

    /// From `start` to here.
    pub(super) fn span_from(&self, start: usize) -> Span {
        Span { start, end: self.position.min(self.end).max(start) }
    }

    /// The text of a span.
    pub(super) fn slice(&self, span: Span) -> &'t str {
        self.text.get(span.start..span.end).unwrap_or("")
    }

    /// Runs `read` with the reading head confined to `start..end`, then puts the limit back.
    pub(super) fn within<T>(&mut self, range: Span, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        let outer = self.end;
        self.position = range.start;
        self.end = range.end.min(outer);
        let result = read(self);
        self.end = outer;
        result
    }

    /// Runs `read` one level deeper.
    pub(super) fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= budget::DEPTH {
            return Err(self.opaque(Why::TooDeep));
        }
        self.depth += 1;
        let result = read(self);
        self.depth -= 1;
        result
    }

    /// Counts one more command.
    pub(super) fn count_command(&mut self) -> Parsed<()> {
        self.commands += 1;
        if self.commands > budget::COMMANDS {
            return Err(self.opaque(Why::TooMuch));
        }
        Ok(())
    }

    /// A failure here.
    pub(super) fn opaque(&self, why: Why) -> Opaque {
        Opaque { why, span: self.whole_characters(Span { start: self.position, end: self.position + 1 }) }
    }

    /// A syntax error here.
    pub(super) fn syntax(&self, expected: &str) -> Opaque {
        self.opaque(Why::Syntax(expected.to_owned()))
    }

    /// A syntax error that starts at `start`.
    pub(super) fn syntax_from(&self, start: usize, expected: &str) -> Opaque {
        Opaque { why: Why::Syntax(expected.to_owned()), span: self.whole_characters(self.span_from(start)) }
    }

    /// The span widened to whole characters within the text.
    fn whole_characters(&self, span: Span) -> Span {
        Span { start: self.text.floor_char_boundary(span.start), end: self.text.ceil_char_boundary(span.end) }
    }
}
