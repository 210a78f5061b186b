//! Simple commands, assignments, and the function definitions that start like one.

use super::classes::starts_name;
use super::cursor::{Parsed, Parser};
use super::tree::{AssignOperator, AssignValue, Assignment, Content, Element, Function, Piece, Simple, Stage, Word};

/// Builtins whose operands may be array assignments.
const DECLARING: [&str; 5] = ["declare", "typeset", "local", "export", "readonly"];

impl Parser<'_> {
    /// A simple command, or `name () body`.
    pub(super) fn simple(&mut self) -> Parsed<Stage> {
        self.count_command()?;
        let start = self.position;
        let mut simple = Simple::default();
        let mut end = start;
        loop {
            self.skip_blanks();
            if self.peek() == Some(b'(') && simple.redirects.is_empty() && simple.assignments.is_empty() {
                return self.function_after_name(simple.words);
            }
            if !self.simple_part(&mut simple)? {
                break;
            }
            end = self.position;
        }
        if end == start {
            return Err(self.syntax("a command"));
        }
        simple.span = crate::word::Span { start, end };
        Ok(Stage::Simple(simple))
    }

    /// One redirection, assignment or word; `false` when none follows.
    fn simple_part(&mut self, simple: &mut Simple) -> Parsed<bool> {
        if let Some(redirect) = self.redirect()? {
            simple.redirects.push(redirect);
            return Ok(true);
        }
        // A `#` is only seen here at the start of a word, where it opens a comment.
        if self.peek() == Some(b'#') {
            return Ok(false);
        }
        if simple.words.is_empty()
            && let Some(assignment) = self.assignment()?
        {
            simple.assignments.push(assignment);
            return Ok(true);
        }
        let word = if self.is_declaring(simple) { self.declared_word()? } else { self.word()? };
        let found = word.is_some();
        simple.words.extend(word);
        Ok(found)
    }

    fn is_declaring(&self, simple: &Simple) -> bool {
        simple.words.first().is_some_and(|first| DECLARING.contains(&self.slice(first.span)))
    }

    /// An operand of `declare`: a word, or `NAME=(…)`.
    fn declared_word(&mut self) -> Parsed<Option<Word>> {
        let start = self.position;
        if let Some(assignment) = self.assignment()? {
            if let AssignValue::Array(elements) = assignment.value {
                let head = crate::word::Span { start, end: start + assignment.name.len() };
                let span = self.span_from(start);
                let mut pieces = vec![Piece::Bare(head)];
                pieces.extend(assignment.subscript.unwrap_or_default());
                pieces.push(Piece::Array(elements));
                return Ok(Some(Word { span, content: Content::Pieces(pieces) }));
            }
            self.position = start;
        }
        self.word()
    }

    /// The assignment that starts here, if one does.
    fn assignment(&mut self) -> Parsed<Option<Assignment>> {
        if !self.peek().is_some_and(starts_name) {
            return Ok(None);
        }
        let start = self.position;
        let mut at = start;
        // Most words are no assignments: decide on raw bytes, and read again only when it could be one.
        while self.byte(at).is_some_and(super::classes::in_name) {
            at += 1;
        }
        if !matches!(self.byte(at), Some(b'=' | b'+' | b'[' | b'\\')) {
            return Ok(None);
        }
        let name = self.name();
        let subscript = if self.peek() == Some(b'[') { self.assigned_subscript(start)? } else { None };
        let operator = if self.eat(b'=') {
            AssignOperator::Set
        } else if self.eat_all(b"+=") {
            AssignOperator::Append
        } else {
            return self.no_assignment(start, subscript.as_ref());
        };
        let value = self.assigned_value()?;
        Ok(Some(Assignment { span: self.span_from(start), name, subscript, operator, value }))
    }

    /// Goes back to read a word instead. Bash would keep the blanks of a subscript in that word; such a word is
    /// no command anybody means.
    fn no_assignment(&mut self, start: usize, subscript: Option<&Vec<Piece>>) -> Parsed<Option<Assignment>> {
        let odd = subscript.is_some() && self.slice(self.span_from(start)).bytes().any(super::classes::ends_word);
        if odd {
            return Err(self.syntax_from(start, "`=` after a subscript"));
        }
        self.position = start;
        Ok(None)
    }

    fn assigned_subscript(&mut self, start: usize) -> Parsed<Option<Vec<Piece>>> {
        match self.subscript() {
            Ok(pieces) => Ok(Some(pieces)),
            // Not a subscript after all: the word `a[` may be read plainly.
            Err(_) if self.slice(crate::word::Span { start, end: self.end }).find([' ', '\n', ';']).is_some() => {
                Err(self.syntax_from(start, "closing `]`"))
            }
            Err(error) => Err(error),
        }
    }

    fn assigned_value(&mut self) -> Parsed<AssignValue> {
        if self.peek() == Some(b'(') {
            return Ok(AssignValue::Array(self.deeper(Self::elements)?));
        }
        let start = self.position;
        let word =
            self.word()?.unwrap_or(Word { span: crate::word::Span { start, end: start }, content: Content::Plain });
        if self.peek() == Some(b'(') {
            return Err(self.syntax("no `(` after an assignment"));
        }
        Ok(AssignValue::Scalar(word))
    }

    /// `(…)` of an array; the head stands on the parenthesis.
    fn elements(&mut self) -> Parsed<Vec<Element>> {
        let start = self.position;
        self.bump();
        let mut elements = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.eat(b')') {
                return Ok(elements);
            }
            elements.push(self.element(start)?);
        }
    }

    fn element(&mut self, start: usize) -> Parsed<Element> {
        let before = self.position;
        let mut subscript = None;
        if self.peek() == Some(b'[') {
            let pieces = self.subscript()?;
            if self.eat(b'=') || self.eat_all(b"+=") {
                subscript = Some(pieces);
            } else {
                self.position = before;
            }
        }
        match self.word()? {
            Some(value) => Ok(Element { subscript, value }),
            None if subscript.is_some() => {
                let span = self.span_from(self.position);
                Ok(Element { subscript, value: Word { span, content: Content::Plain } })
            }
            None => Err(self.syntax_from(start, "`)` of an array")),
        }
    }

    /// `(` after the words of a simple command: only `name ()` may go on.
    fn function_after_name(&mut self, mut words: Vec<Word>) -> Parsed<Stage> {
        let start = self.position;
        self.bump();
        self.skip_blanks();
        let closed = self.eat(b')');
        match words.pop() {
            Some(name) if closed && words.is_empty() => self.function_body(name),
            Some(_) | None => Err(self.syntax_from(start, "no `(` here")),
        }
    }

    /// The compound command that is a function's body.
    pub(super) fn function_body(&mut self, name: Word) -> Parsed<Stage> {
        self.skip_newlines()?;
        match self.compound()? {
            Some(body) => Ok(Stage::Function(Box::new(Function { name, body: body.into() }))),
            None => Err(self.syntax("a function's body")),
        }
    }
}
