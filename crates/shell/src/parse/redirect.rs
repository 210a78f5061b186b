//! Redirections in all their spellings.

use super::classes::starts_name;
use super::cursor::{Parsed, Parser};
use super::heredoc::Tabs;
use super::tree::{Descriptor, Redirect, RedirectOperator, Target};

impl Parser<'_> {
    /// The redirection that starts here, if one does.
    pub(super) fn redirect(&mut self) -> Parsed<Option<Redirect>> {
        let Some(byte) = self.peek() else { return Ok(None) };
        if !matches!(byte, b'<' | b'>' | b'&' | b'{' | b'0'..=b'9') {
            return Ok(None);
        }
        let start = self.position;
        let descriptor = self.descriptor(byte);
        let Some(operator) = self.redirect_operator(&descriptor) else {
            self.position = start;
            return Ok(None);
        };
        let target = match operator {
            (RedirectOperator::HereDocument, tabs) => self.here_document(tabs)?,
            (_, _) => {
                self.skip_blanks();
                Target::Word(self.expect_word("a word after a redirection")?)
            }
        };
        Ok(Some(Redirect { span: self.span_from(start), descriptor, operator: operator.0, target }))
    }

    /// All redirections that follow, as after a compound command.
    pub(super) fn redirects(&mut self) -> Parsed<Vec<Redirect>> {
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            match self.redirect()? {
                Some(redirect) => redirects.push(redirect),
                None => return Ok(redirects),
            }
        }
    }

    /// A number or `{name}` before the operator. The caller goes back when no operator follows.
    fn descriptor(&mut self, byte: u8) -> Descriptor {
        match byte {
            b'0'..=b'9' => {
                while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
                    self.position += 1;
                }
                Descriptor::Number
            }
            b'{' if self.peek_second().is_some_and(starts_name) => {
                self.bump();
                let name = self.name();
                // `{name[i]}` is a form of it too; without `}` here no operator follows and it stays a word.
                if self.eat(b'}') { Descriptor::Variable(name) } else { Descriptor::Default }
            }
            _ => Descriptor::Default,
        }
    }

    /// The operator here. `<(` and `>(` are no operators but the start of a word.
    fn redirect_operator(&mut self, descriptor: &Descriptor) -> Option<(RedirectOperator, Tabs)> {
        let kept = |operator| Some((operator, Tabs::Kept));
        match (self.peek()?, self.peek_second()) {
            (b'&', Some(b'>')) => {
                if !matches!(descriptor, Descriptor::Default) {
                    return None;
                }
                self.eat_all(b"&>");
                kept(if self.eat(b'>') { RedirectOperator::AllAppend } else { RedirectOperator::AllOut })
            }
            (b'<' | b'>', Some(b'(')) => None,
            (b'<', _) => self.input_operator(),
            (b'>', _) => {
                self.bump();
                kept(match self.peek() {
                    Some(b'>') => self.operator_byte(RedirectOperator::Append),
                    Some(b'|') => self.operator_byte(RedirectOperator::Out),
                    Some(b'&') => self.operator_byte(RedirectOperator::CopyOut),
                    Some(_) | None => RedirectOperator::Out,
                })
            }
            _ => None,
        }
    }

    fn input_operator(&mut self) -> Option<(RedirectOperator, Tabs)> {
        self.bump();
        let operator = match self.peek() {
            Some(b'<') => {
                self.bump();
                return Some(match self.peek() {
                    Some(b'<') => (self.operator_byte(RedirectOperator::HereString), Tabs::Kept),
                    Some(b'-') => (self.operator_byte(RedirectOperator::HereDocument), Tabs::Stripped),
                    Some(_) | None => (RedirectOperator::HereDocument, Tabs::Kept),
                });
            }
            Some(b'>') => self.operator_byte(RedirectOperator::Both),
            Some(b'&') => self.operator_byte(RedirectOperator::CopyIn),
            Some(_) | None => RedirectOperator::In,
        };
        Some((operator, Tabs::Kept))
    }

    /// Steps over the operator's last byte.
    fn operator_byte(&mut self, operator: RedirectOperator) -> RedirectOperator {
        self.bump();
        operator
    }
}
