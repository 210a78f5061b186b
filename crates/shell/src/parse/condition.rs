//! `[[ … ]]`: terms, operators and the words of regular expressions.

use super::cursor::{Parsed, Parser};
use super::tree::{CompoundKind, Content, Piece, Term, Word};
use crate::word::Span;

impl Parser<'_> {
    /// The inside of `[[`, up to and with `]]`. Joints and parentheses are checked and dropped: every term may
    /// be evaluated.
    pub(super) fn condition(&mut self) -> Parsed<CompoundKind> {
        let mut terms = Vec::new();
        let mut open = 0_usize;
        loop {
            self.term_prefixes(&mut open)?;
            terms.push(self.term()?);
            self.skip_newlines()?;
            while open > 0 && self.eat(b')') {
                open -= 1;
                self.skip_newlines()?;
            }
            if self.eat_all(b"&&") || self.eat_all(b"||") {
                continue;
            }
            if open == 0 && self.is_condition_end() {
                self.eat_all(b"]]");
                return Ok(CompoundKind::Condition(terms));
            }
            return Err(self.syntax("`&&`, `||` or `]]`"));
        }
    }

    /// `!` and `(` before a term.
    fn term_prefixes(&mut self, open: &mut usize) -> Parsed<()> {
        loop {
            self.skip_newlines()?;
            match (self.peek(), self.peek_second()) {
                (Some(b'('), _) => {
                    self.bump();
                    *open += 1;
                }
                (Some(b'!'), Some(b' ' | b'\t' | b'\n')) => self.bump(),
                _ => return Ok(()),
            }
        }
    }

    fn is_condition_end(&mut self) -> bool {
        let start = self.position;
        let ends = self.eat_all(b"]]") && self.peek().is_none_or(super::classes::ends_word);
        self.position = start;
        ends
    }

    fn term(&mut self) -> Parsed<Term> {
        if self.is_condition_end() {
            return Err(self.syntax("a term before `]]`"));
        }
        let left = self.expect_word("a term of `[[`")?;
        self.skip_newlines()?;
        if is_unary(self.slice(left.span)) && !self.is_term_end() {
            // `-f == x` compares the word `-f`.
            if let Some(operator) = self.binary_operator() {
                return self.binary(left, operator);
            }
            let operand = self.expect_word("an operand of `[[`")?;
            return Ok(Term::Unary(left.span, operand));
        }
        match self.binary_operator() {
            Some(operator) => self.binary(left, operator),
            None => Ok(Term::Word(left)),
        }
    }

    fn binary(&mut self, left: Word, operator: Span) -> Parsed<Term> {
        self.skip_newlines()?;
        if self.is_condition_end() {
            return Err(self.syntax("an operand before `]]`"));
        }
        let right =
            if self.slice(operator) == "=~" { self.regular_expression()? } else { self.expect_word("an operand")? };
        Ok(Term::Binary(left, operator, right))
    }

    fn is_term_end(&mut self) -> bool {
        matches!(self.peek(), None | Some(b')' | b'&' | b'|')) || self.is_condition_end()
    }

    /// The binary operator here, stepped over.
    fn binary_operator(&mut self) -> Option<Span> {
        let start = self.position;
        for operator in ["==", "=~", "!=", "=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"]
        {
            if !self.eat_all(operator.as_bytes()) {
                continue;
            }
            let angle = matches!(operator, "<" | ">");
            if angle || matches!(self.peek(), Some(b' ' | b'\t' | b'\n')) {
                return Some(self.span_from(start));
            }
            self.position = start;
        }
        None
    }

    /// The word after `=~`: parentheses and bars are part of it, blanks only inside parentheses.
    fn regular_expression(&mut self) -> Parsed<Word> {
        let start = self.position;
        let mut pieces = Vec::new();
        let mut open = 0_usize;
        while let Some(byte) = self.peek() {
            match byte {
                b' ' | b'\t' | b'\n' if open == 0 => break,
                b'&' | b';' if open == 0 => break,
                b')' if open == 0 => break,
                b'(' => open += 1,
                b')' => open -= 1,
                b'\'' | b'"' | b'\\' | b'$' | b'`' => {
                    self.open_piece(byte, &mut pieces)?;
                    continue;
                }
                _ => {}
            }
            pieces.push(self.expression_run());
        }
        if pieces.is_empty() || open > 0 {
            return Err(self.syntax_from(start, "a regular expression"));
        }
        Ok(Word { span: self.span_from(start), content: Content::Pieces(pieces) })
    }

    /// One byte with a meaning to the caller, or a run of bytes without.
    fn expression_run(&mut self) -> Piece {
        let start = self.position;
        self.position += 1;
        let ends = |byte: u8| super::classes::ends_word(byte) || matches!(byte, b'\'' | b'"' | b'\\' | b'$' | b'`');
        while self.byte(self.position).is_some_and(|byte| !ends(byte)) {
            self.position += 1;
        }
        Piece::Bare(self.span_from(start))
    }
}

/// An operator with one operand: `-f`, `-v`, `-n` …
fn is_unary(word: &str) -> bool {
    matches!(word.as_bytes(), [b'-', letter] if letter.is_ascii_alphabetic())
}
