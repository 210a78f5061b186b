//! Substitutions: `$(…)`, backquotes, `<(…)` and `>(…)`.

use super::cursor::{Parsed, Parser};
use super::tree::{Body, Fragment, List, Piece, Substitution};
use super::word::Place;
use crate::word::Span;
use std::mem;

impl Parser<'_> {
    /// `$((…))` or `$(…)`; the head stands on the first parenthesis.
    pub(super) fn dollar_parenthesis(&mut self) -> Parsed<Piece> {
        if self.peek_second() == Some(b'(')
            && let Some(inner) = self.double_parentheses()?
        {
            return Ok(Piece::Arithmetic(Box::new(self.expression(inner, b"")?)));
        }
        Ok(Piece::Command(Box::new(self.parenthesised()?)))
    }

    /// `<(…)`, `>(…)`; the head stands on the angle.
    pub(super) fn process_substitution(&mut self) -> Parsed<Piece> {
        self.bump();
        self.peek();
        let substitution = self.deeper(Self::parenthesised)?;
        Ok(Piece::Process(Box::new(substitution)))
    }

    /// Commands between parentheses. Here-documents of the text around wait until its own next newline; one
    /// that is still open at the `)` would take its body from behind it, which nobody writes on purpose.
    fn parenthesised(&mut self) -> Parsed<Substitution> {
        let start = self.position;
        self.bump();
        let outer = mem::take(&mut self.pending);
        let inside = self.position;
        let list = self.list()?;
        let inner = self.span_from(inside);
        if !self.eat(b')') {
            return Err(self.syntax_from(start, "`)` for an open `(`"));
        }
        if !self.pending.is_empty() {
            return Err(self.syntax_from(start, "the body of a here-document before `)`"));
        }
        self.pending = outer;
        Ok(Substitution { inner, body: Body::Inline(list) })
    }

    /// Backquotes; the head stands on the first.
    pub(super) fn backquoted(&mut self, place: Place) -> Parsed<Piece> {
        let start = self.position;
        let Some(close) = self.closing_backquote(start) else {
            self.position = self.end;
            return Err(self.syntax_from(start, "closing backquote"));
        };
        let inner = Span { start: start + 1, end: close };
        let body = self.deeper(|parser| parser.backquoted_body(inner, place))?;
        self.position = close + 1;
        Ok(Piece::Command(Box::new(Substitution { inner, body })))
    }

    fn closing_backquote(&self, start: usize) -> Option<usize> {
        let mut at = start + 1;
        while let Some(byte) = self.byte(at) {
            match byte {
                b'`' => return Some(at),
                b'\\' => at += 2,
                _ => at += 1,
            }
        }
        None
    }

    fn backquoted_body(&mut self, inner: Span, place: Place) -> Parsed<Body> {
        let outer = mem::take(&mut self.pending);
        let body = match unescaped(self.slice(inner), place) {
            None => Body::Inline(self.within(inner, Self::script)?),
            Some(text) => {
                let (content, here) = self.reread(&text, inner, Parser::script)?;
                Body::Rewritten(Fragment { text: text.into(), content, here: here.into() })
            }
        };
        self.pending = outer;
        Ok(body)
    }

    /// Parses rewritten text on its own, within the same budgets. What fails in it fails at `origin`.
    pub(super) fn reread<'f, T>(
        &mut self,
        text: &'f str,
        origin: Span,
        read: impl FnOnce(&mut Parser<'f>) -> Parsed<T>,
    ) -> Parsed<(T, Vec<super::tree::HereDocument>)> {
        let mut parser = Parser::new(text, self.depth, self.commands);
        let content = read(&mut parser).map_err(|mut opaque| {
            opaque.span = origin;
            opaque
        })?;
        self.commands = parser.commands;
        Ok((content, parser.here))
    }

    /// A whole text: commands up to the limit, with here-documents that the end cuts off.
    pub(super) fn script(&mut self) -> Parsed<List> {
        let list = self.list()?;
        if self.peek().is_some() {
            return Err(self.syntax("a command"));
        }
        self.here_documents()?;
        Ok(list)
    }
}

/// The text between backquotes with bash's escapes removed; `None` when there are none.
fn unescaped(text: &str, place: Place) -> Option<String> {
    let is_escape = |next: Option<char>| match next {
        Some('$' | '`' | '\\') => true,
        Some('"') => place == Place::Double,
        Some(_) | None => false,
    };
    let mut result = String::new();
    let mut changed = false;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        if c == '\\' && is_escape(chars.peek().copied()) {
            changed = true;
            result.extend(chars.next());
        } else {
            result.push(c);
        }
    }
    changed.then_some(result)
}
