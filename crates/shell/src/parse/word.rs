//! Words: the fast path for plain ones, and the pieces of all others.

use super::classes::{ends_word, is_plain, starts_extglob};
use super::cursor::{Parsed, Parser};
use super::odd::is_foreign_blank;
use super::tree::{Content, Piece, Word};
use crate::command::{Opaque, Why};
use crate::word::Span;

/// Where pieces stand, which decides what quotes and backslashes mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Outside double quotes.
    Open,
    /// Inside double quotes.
    Double,
    /// In the body of a here-document: like double quotes, but `"` is a plain character.
    Here,
}

impl Parser<'_> {
    /// The word that starts here; `None` when none does.
    pub(super) fn word(&mut self) -> Parsed<Option<Word>> {
        self.peek();
        let start = self.position;
        let mut at = start;
        while self.byte(at).is_some_and(is_plain) {
            at += 1;
        }
        if self.is_plain_end(at) {
            self.position = at;
            let span = Span { start, end: at };
            return Ok((at > start).then_some(Word { span, content: Content::Plain }));
        }
        let pieces = self.word_pieces()?;
        if pieces.is_empty() {
            return Ok(None);
        }
        Ok(Some(Word { span: self.span_from(start), content: Content::Pieces(pieces) }))
    }

    /// The word that must start here.
    pub(super) fn expect_word(&mut self, what: &str) -> Parsed<Word> {
        self.word()?.ok_or_else(|| self.syntax(what))
    }

    /// A run of plain bytes that ends at `at` is the whole word.
    fn is_plain_end(&self, at: usize) -> bool {
        match self.byte(at) {
            None => true,
            Some(b'<' | b'>') => self.byte(self.past_continuations(at + 1)) != Some(b'('),
            Some(b'(') => !at.checked_sub(1).and_then(|last| self.byte(last)).is_some_and(starts_extglob),
            Some(byte) => ends_word(byte),
        }
    }

    /// The pieces of an unquoted word, up to the byte that ends it.
    fn word_pieces(&mut self) -> Parsed<Vec<Piece>> {
        let mut pieces = Vec::new();
        while let Some(byte) = self.peek() {
            if matches!(byte, b'<' | b'>') && self.peek_second() == Some(b'(') {
                pieces.push(self.process_substitution()?);
            } else if ends_word(byte) {
                break;
            } else {
                self.open_piece(byte, &mut pieces)?;
            }
        }
        Ok(pieces)
    }

    /// One piece outside quotes, starting with `byte`; any byte is accepted as text.
    pub(super) fn open_piece(&mut self, byte: u8, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let piece = match byte {
            b'\'' => self.single_quoted()?,
            b'"' => self.double_quoted()?,
            b'\\' => self.escaped(),
            b'$' => self.dollar(Place::Open)?,
            b'`' => self.backquoted(Place::Open)?,
            _ if starts_extglob(byte) && self.peek_second() == Some(b'(') => self.extglob()?,
            _ => self.bare()?,
        };
        pieces.push(piece);
        Ok(())
    }

    /// A run of unquoted text: at least one byte, up to the next that could mean something.
    fn bare(&mut self) -> Parsed<Piece> {
        let start = self.position;
        self.position += 1;
        while let Some(byte) = self.byte(self.position) {
            let special = matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`' | b'}');
            if special || ends_word(byte) || starts_extglob(byte) {
                break;
            }
            self.position += 1;
        }
        let span = self.span_from(start);
        self.refuse_foreign_blanks(span)?;
        Ok(Piece::Bare(span))
    }

    /// Blanks outside ASCII look like the end of a word and are not.
    pub(super) fn refuse_foreign_blanks(&self, span: Span) -> Parsed<()> {
        let text = self.slice(span);
        if text.is_ascii() {
            return Ok(());
        }
        match text.char_indices().find(|&(_, c)| is_foreign_blank(c)) {
            None => Ok(()),
            Some((at, c)) => {
                let start = span.start + at;
                Err(Opaque { why: Why::OddCharacter(c), span: Span { start, end: start + c.len_utf8() } })
            }
        }
    }

    /// A backslash and the character it quotes; at the very end it stands for itself.
    pub(super) fn escaped(&mut self) -> Piece {
        let backslash = self.position;
        self.position += 1;
        let start = self.position;
        let Some(c) = self.text.get(start..self.end).and_then(|rest| rest.chars().next()) else {
            return Piece::Bare(Span { start: backslash, end: start });
        };
        self.position += c.len_utf8();
        Piece::Escaped(self.span_from(start))
    }

    /// `@(…)` and its like. Nested ones and plain parentheses are balanced by counting, not by recursion.
    fn extglob(&mut self) -> Parsed<Piece> {
        let start = self.position;
        self.bump();
        self.bump();
        let inside = self.balanced_parentheses(start)?;
        Ok(Piece::Extglob(self.span_from(start), inside))
    }

    /// Pieces up to the `)` that matches a `(` just read; anything may stand between.
    pub(super) fn balanced_parentheses(&mut self, start: usize) -> Parsed<Vec<Piece>> {
        let mut inside = Vec::new();
        let mut open = 1_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b'(' => open += 1,
                b')' => open -= 1,
                b'\'' | b'"' | b'\\' | b'$' | b'`' => {
                    self.open_piece(byte, &mut inside)?;
                    continue;
                }
                b'<' | b'>' if self.peek_second() == Some(b'(') => {
                    inside.push(self.process_substitution()?);
                    continue;
                }
                _ => {}
            }
            self.position += 1;
            if open == 0 {
                return Ok(inside);
            }
        }
        Err(self.syntax_from(start, "`)` for an open `(`"))
    }
}
