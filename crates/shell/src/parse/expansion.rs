//! What starts with a dollar: parameters, substitutions, arithmetic, quoted strings.

use super::classes::{in_name, starts_name};
use super::cursor::{Parsed, Parser};
use super::tree::{Fallback, Operation, Parameter, Piece, Reach};
use super::word::Place;
use crate::word::Span;

impl Parser<'_> {
    /// The expansion that starts with the `$` under the head; a `$` that starts none stands for itself.
    pub(super) fn dollar(&mut self, place: Place) -> Parsed<Piece> {
        let start = self.position;
        self.position += 1;
        match self.peek() {
            Some(b'(') => self.deeper(|parser| parser.dollar_parenthesis()),
            Some(b'{') => self.deeper(|parser| parser.braced_parameter(start, place)),
            Some(b'[') => self.deeper(Self::bracket_arithmetic),
            Some(b'\'') if place == Place::Open => self.ansi_quoted(),
            Some(b'"') if place == Place::Open => self.double_quoted(),
            Some(byte) if starts_name(byte) => {
                let name = self.name();
                Ok(self.plain_parameter(start, name))
            }
            Some(byte) if byte.is_ascii_digit() || is_special(byte) => {
                self.bump();
                Ok(self.plain_parameter(start, char::from(byte).to_string()))
            }
            Some(_) | None => {
                self.position = start + 1;
                Ok(Piece::Bare(Span { start, end: start + 1 }))
            }
        }
    }

    fn plain_parameter(&self, start: usize, name: String) -> Piece {
        let span = self.span_from(start);
        let (reach, operation) = (Reach::Direct, Operation::Value);
        Piece::Parameter(Box::new(Parameter { span, name, reach, subscript: None, operation }))
    }

    /// A run of name characters.
    pub(super) fn name(&mut self) -> String {
        let mut name = String::new();
        while let Some(byte) = self.peek().filter(|&byte| in_name(byte)) {
            name.push(char::from(byte));
            self.position += 1;
        }
        name
    }

    /// `${…}`; the head stands on the brace.
    fn braced_parameter(&mut self, start: usize, place: Place) -> Parsed<Piece> {
        self.bump();
        let reach = self.reach();
        if reach == Reach::Direct && self.is_length() {
            return self.length(start);
        }
        let name = self.parameter_name(start)?;
        let subscript = if self.peek() == Some(b'[') { Some(self.subscript()?) } else { None };
        let keys = reach == Reach::Indirect && subscript.is_some() && self.peek() == Some(b'}');
        let operation = if keys { Operation::Names } else { self.operation(reach, place)? };
        if !self.eat(b'}') {
            return Err(self.syntax_from(start, "closing `}` of `${`"));
        }
        let span = self.span_from(start);
        Ok(Piece::Parameter(Box::new(Parameter { span, name, reach, subscript, operation })))
    }

    /// `!` before a name reaches through it; alone it is the parameter `$!`.
    fn reach(&mut self) -> Reach {
        let indirect = self.peek() == Some(b'!')
            && self
                .peek_second()
                .is_some_and(|next| in_name(next) || matches!(next, b'@' | b'*' | b'#' | b'?' | b'$' | b'!'));
        if indirect {
            self.bump();
            return Reach::Indirect;
        }
        Reach::Direct
    }

    /// `#` before a name, or before a special parameter that ends the expansion.
    fn is_length(&mut self) -> bool {
        if self.peek() != Some(b'#') {
            return false;
        }
        let Some(next) = self.peek_second() else { return false };
        if in_name(next) {
            return true;
        }
        let second = self.past_continuations(self.position + 1);
        is_special(next) && self.byte(self.past_continuations(second + 1)) == Some(b'}')
    }

    fn length(&mut self, start: usize) -> Parsed<Piece> {
        self.bump();
        let name = self.parameter_name(start)?;
        let subscript = if self.peek() == Some(b'[') { Some(self.subscript()?) } else { None };
        if !self.eat(b'}') {
            return Err(self.syntax_from(start, "closing `}` of `${#`"));
        }
        let span = self.span_from(start);
        let (reach, operation) = (Reach::Direct, Operation::Length);
        Ok(Piece::Parameter(Box::new(Parameter { span, name, reach, subscript, operation })))
    }

    fn parameter_name(&mut self, start: usize) -> Parsed<String> {
        match self.peek() {
            Some(byte) if in_name(byte) => {
                let name = self.name();
                let numbered = byte.is_ascii_digit();
                if numbered && !name.bytes().all(|digit| digit.is_ascii_digit()) {
                    return Err(self.syntax_from(start, "a parameter name"));
                }
                Ok(name)
            }
            Some(byte) if is_special(byte) => {
                self.bump();
                Ok(char::from(byte).to_string())
            }
            Some(_) | None => Err(self.syntax_from(start, "a parameter name")),
        }
    }

    /// `[…]` after a name; the head stands on the bracket.
    pub(super) fn subscript(&mut self) -> Parsed<Vec<Piece>> {
        let start = self.position;
        self.bump();
        let pieces = self.deeper(|parser| parser.evaluated_until(b']'))?;
        if !self.eat(b']') {
            return Err(self.syntax_from(start, "closing `]`"));
        }
        Ok(pieces)
    }

    /// What follows the name, up to the closing brace.
    fn operation(&mut self, reach: Reach, place: Place) -> Parsed<Operation> {
        let Some(byte) = self.peek() else { return Err(self.syntax("closing `}` of `${`")) };
        match byte {
            b'}' => Ok(Operation::Value),
            b'*' | b'@' if reach == Reach::Indirect && self.peek_second() == Some(b'}') => {
                self.bump();
                Ok(Operation::Names)
            }
            b'@' => self.transform(),
            b':' => self.colon(place),
            b'-' | b'=' | b'?' | b'+' => self.fallback(place),
            b'#' | b'%' | b'/' | b'^' | b',' | b'~' => Ok(Operation::Pattern(self.operand(Place::Open)?)),
            _ => Err(self.syntax("an operator of `${`")),
        }
    }

    fn transform(&mut self) -> Parsed<Operation> {
        self.bump();
        match self.peek() {
            Some(letter @ (b'Q' | b'E' | b'P' | b'A' | b'K' | b'k' | b'a' | b'u' | b'U' | b'L')) => {
                self.bump();
                Ok(Operation::Transform(letter))
            }
            Some(_) | None => Err(self.syntax("a letter after `@`")),
        }
    }

    fn colon(&mut self, place: Place) -> Parsed<Operation> {
        self.bump();
        if matches!(self.peek(), Some(b'-' | b'=' | b'?' | b'+')) {
            return self.fallback(place);
        }
        Ok(Operation::Slice(self.evaluated_until(b'}')?))
    }

    fn fallback(&mut self, place: Place) -> Parsed<Operation> {
        let kind = match self.peek() {
            Some(b'=') => Fallback::Assign,
            Some(b'?') => Fallback::Fail,
            Some(b'+') => Fallback::Instead,
            Some(_) | None => Fallback::Use,
        };
        self.bump();
        Ok(Operation::Fallback(kind, self.operand(place)?))
    }

    /// The word of an operator, up to the closing brace. Blanks and operators are text in it. Inside double
    /// quotes single quotes do not quote here: what they hold is expanded.
    fn operand(&mut self, place: Place) -> Parsed<Vec<Piece>> {
        let mut pieces = Vec::new();
        while let Some(byte) = self.peek().filter(|&byte| byte != b'}') {
            match (place, byte) {
                (Place::Open, b'<' | b'>') if self.peek_second() == Some(b'(') => {
                    pieces.push(self.process_substitution()?);
                }
                (Place::Open, _) => self.open_piece(byte, &mut pieces)?,
                (Place::Double | Place::Here, b'"') => pieces.push(self.double_quoted()?),
                (Place::Double | Place::Here, b'\'') => self.transparent_quotes(&mut pieces)?,
                (Place::Double | Place::Here, b'\\') if self.byte(self.position + 1) == Some(b'}') => {
                    pieces.push(self.escaped());
                }
                (Place::Double | Place::Here, _) => self.quoted_piece(byte, place, &mut pieces)?,
            }
        }
        Ok(pieces)
    }
}

/// The special parameters that are one character.
fn is_special(byte: u8) -> bool {
    matches!(byte, b'@' | b'*' | b'#' | b'?' | b'-' | b'$' | b'!')
}
