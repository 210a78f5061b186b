//! Arithmetic: `$((…))`, `$[…]`, `((…))`, subscripts and slices.
//!
//! The expression itself is not parsed; what matters is which expansions it holds, since bash expands all of
//! it like a double-quoted string before it evaluates. Whether `((` opens arithmetic or two subshells is
//! decided as bash does, by looking for the `))` that belongs to it; when that look and the real reading
//! disagree, the text is opaque.

use super::cursor::{Parsed, Parser};
use super::tree::{Arithmetic, Piece};
use super::word::Place;
use crate::word::Span;

/// The bytes an expression may hold outside its expansions. `;` is not among them: it separates commands, and
/// only the header of a counting `for` has it.
const EXPRESSION: &[u8] = b" \t\n+-*/%<>=!&|^~?:,()[]#@._\"'";

impl Parser<'_> {
    /// If `((` stands here and opens arithmetic, the text between; the head then stands after `))`.
    pub(super) fn double_parentheses(&mut self) -> Parsed<Option<Span>> {
        let start = self.past_continuations(self.past_continuations(self.position + 1) + 1);
        let Some(close) = self.matching_parenthesis(start) else {
            return Err(self.syntax("`))`"));
        };
        let second = self.past_continuations(close + 1);
        if self.byte(second) != Some(b')') {
            return Ok(None);
        }
        let inner = Span { start, end: close };
        if !is_balanced(self.slice(inner).as_bytes()) {
            return Err(self.syntax("balanced parentheses in arithmetic"));
        }
        self.position = second + 1;
        Ok(Some(inner))
    }

    /// Reads the expression between double parentheses; the head stays where it was.
    pub(super) fn expression(&mut self, inner: Span, extra: &[u8]) -> Parsed<Arithmetic> {
        let after = self.position;
        let pieces = self.within(inner, Self::arithmetic_text)?;
        for piece in &pieces {
            let Piece::Bare(span) = piece else { continue };
            let fits = |byte: u8| byte.is_ascii_alphanumeric() || EXPRESSION.contains(&byte) || extra.contains(&byte);
            if !self.slice(*span).bytes().all(fits) {
                return Err(self.syntax_from(span.start, "an arithmetic expression"));
            }
        }
        self.position = after;
        Ok(Arithmetic { inner, pieces })
    }

    /// Everything up to the limit, as arithmetic.
    pub(super) fn arithmetic_text(&mut self) -> Parsed<Vec<Piece>> {
        let mut pieces = Vec::new();
        while let Some(byte) = self.peek() {
            self.evaluated_piece(byte, &mut pieces)?;
        }
        Ok(pieces)
    }

    /// Evaluated text up to an unquoted `close`, brackets inside balanced; the head stays on it.
    pub(super) fn evaluated_until(&mut self, close: u8) -> Parsed<Vec<Piece>> {
        let mut pieces = Vec::new();
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            if byte == close && open == 0 {
                return Ok(pieces);
            }
            match byte {
                b'[' => open += 1,
                b']' => open = open.saturating_sub(1),
                _ => {}
            }
            self.evaluated_piece(byte, &mut pieces)?;
        }
        Ok(pieces)
    }

    fn evaluated_piece(&mut self, byte: u8, pieces: &mut Vec<Piece>) -> Parsed<()> {
        match byte {
            b'\'' => self.transparent_quotes(pieces),
            b'"' => {
                pieces.push(self.double_quoted()?);
                Ok(())
            }
            b'\\' => {
                pieces.push(self.escaped());
                Ok(())
            }
            b'$' | b'`' => self.quoted_piece(byte, Place::Double, pieces),
            _ => {
                pieces.push(self.evaluated_run());
                Ok(())
            }
        }
    }

    fn evaluated_run(&mut self) -> Piece {
        let start = self.position;
        self.position += 1;
        while let Some(byte) = self.byte(self.position) {
            if matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`' | b'[' | b']' | b'}') {
                break;
            }
            self.position += 1;
        }
        Piece::Bare(self.span_from(start))
    }

    /// `$[…]`; the head stands on the bracket.
    pub(super) fn bracket_arithmetic(&mut self) -> Parsed<Piece> {
        let start = self.position;
        self.bump();
        let inside = self.position;
        let pieces = self.evaluated_until(b']')?;
        let inner = self.span_from(inside);
        if !self.eat(b']') {
            return Err(self.syntax_from(start, "closing `]`"));
        }
        Ok(Piece::Arithmetic(Box::new(Arithmetic { inner, pieces })))
    }

    /// The `)` that matches a `(` just before `from`, by bash's look ahead: quotes, `$(`, `${` and backquotes
    /// are skipped, comments and `case` patterns are not known to it.
    fn matching_parenthesis(&self, from: usize) -> Option<usize> {
        let mut closers = vec![b')'];
        let mut at = from;
        while let Some(byte) = self.byte(at) {
            let top = *closers.last()?;
            match byte {
                b'\\' => at += 1,
                b'\'' if top != b'"' => at = self.raw_end(at, b'\'')?,
                b'`' => at = self.raw_end(at, b'`')?,
                b'$' if matches!(self.byte(at + 1), Some(b'(' | b'{')) => {
                    closers.push(if self.byte(at + 1) == Some(b'(') { b')' } else { b'}' });
                    at += 1;
                }
                _ if byte == top => {
                    closers.pop();
                    if closers.is_empty() {
                        return Some(at);
                    }
                }
                b'"' => closers.push(b'"'),
                b'(' if top == b')' => closers.push(b')'),
                _ => {}
            }
            at += 1;
        }
        None
    }

    /// The next `close` after `at`; a backslash protects a backquote, but nothing in single quotes.
    fn raw_end(&self, at: usize, close: u8) -> Option<usize> {
        let mut at = at + 1;
        while let Some(byte) = self.byte(at) {
            if byte == close {
                return Some(at);
            }
            at += if byte == b'\\' && close == b'`' { 2 } else { 1 };
        }
        None
    }
}

/// Bash's second look before it evaluates: parentheses must balance when only plain quotes are skipped.
fn is_balanced(text: &[u8]) -> bool {
    let mut open = 0_usize;
    let mut quote = None;
    let mut bytes = text.iter();
    while let Some(&byte) = bytes.next() {
        match (quote, byte) {
            (None | Some(b'"'), b'\\') => {
                bytes.next();
            }
            (Some(close), _) => {
                if byte == close {
                    quote = None;
                }
            }
            (None, b'\'' | b'"') => quote = Some(byte),
            (None, b'(') => open += 1,
            (None, b')') if open == 0 => return false,
            (None, b')') => open -= 1,
            (None, _) => {}
        }
    }
    open == 0
}
