//! Lists, and-or chains and pipelines.

use super::cursor::{Parsed, Parser};
use super::keyword::Keyword;
use super::tree::{Compound, Ending, Item, Joint, List, Pipeline, Stage};

impl Parser<'_> {
    /// Commands up to whatever ends a list: the limit, `)`, `;;`, or a reserved word such as `done`.
    pub(super) fn list(&mut self) -> Parsed<List> {
        let mut items = Vec::new();
        loop {
            self.skip_newlines()?;
            if self.is_list_end() {
                return Ok(List { items });
            }
            let mut item = self.item()?;
            item.ending = self.ending(&item)?;
            items.push(item);
        }
    }

    /// A list that must hold a command.
    pub(super) fn body(&mut self) -> Parsed<List> {
        let list = self.list()?;
        if list.items.is_empty() {
            return Err(self.syntax("a command"));
        }
        Ok(list)
    }

    fn is_list_end(&mut self) -> bool {
        match self.peek() {
            None | Some(b')') => true,
            Some(b';') => matches!(self.peek_second(), Some(b';' | b'&')),
            Some(_) => self.peek_keyword().is_some_and(|(keyword, _)| keyword.ends_list()),
        }
    }

    /// What ends an item. After it another may follow; without it the list must end.
    fn ending(&mut self, item: &Item) -> Parsed<Ending> {
        self.skip_blanks();
        self.skip_comment();
        match (self.peek(), self.peek_second()) {
            (None | Some(b')'), _) | (Some(b';'), Some(b';' | b'&')) => Ok(Ending::Waits),
            (Some(b';'), _) => {
                self.bump();
                Ok(Ending::Waits)
            }
            (Some(b'&'), _) => {
                self.bump();
                Ok(Ending::Background)
            }
            (Some(b'\n'), _) => {
                self.newline()?;
                Ok(Ending::Waits)
            }
            // `{ (a) }` and `if (a) then`: a compound command ends by itself.
            (Some(_), _) if ends_compound(item) && self.is_list_end() => Ok(Ending::Waits),
            (Some(_), _) => Err(self.syntax("`;` or a newline between commands")),
        }
    }

    fn item(&mut self) -> Parsed<Item> {
        let first = self.pipeline()?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let joint = match (self.peek(), self.peek_second()) {
                (Some(b'&'), Some(b'&')) => Joint::And,
                (Some(b'|'), Some(b'|')) => Joint::Or,
                _ => return Ok(Item { first, rest, ending: Ending::Waits }),
            };
            self.bump();
            self.bump();
            self.skip_newlines()?;
            rest.push((joint, self.pipeline()?));
        }
    }

    fn pipeline(&mut self) -> Parsed<Pipeline> {
        let prefixed = self.pipeline_prefixes();
        let mut stages = Vec::new();
        if prefixed && self.is_empty_pipeline() {
            return Ok(Pipeline { stages });
        }
        loop {
            stages.push(self.stage()?);
            self.skip_blanks();
            if self.peek() != Some(b'|') || self.peek_second() == Some(b'|') {
                return Ok(Pipeline { stages });
            }
            self.bump();
            self.eat(b'&');
            self.skip_newlines()?;
            self.pipeline_prefixes();
        }
    }

    /// `!` and `time`, any number of them.
    fn pipeline_prefixes(&mut self) -> bool {
        let mut found = false;
        loop {
            if self.eat_keyword(Keyword::Bang) {
                self.skip_blanks();
            } else if self.eat_keyword(Keyword::Time) {
                self.time_options();
            } else {
                return found;
            }
            found = true;
        }
    }

    fn time_options(&mut self) {
        for option in [&b"-p"[..], b"--"] {
            self.skip_blanks();
            let start = self.position;
            let ended = self.eat_all(option) && self.peek().is_none_or(super::classes::ends_word);
            if !ended {
                self.position = start;
            }
        }
        self.skip_blanks();
    }

    /// `time` or `!` alone.
    fn is_empty_pipeline(&mut self) -> bool {
        match self.peek() {
            None | Some(b'\n' | b';' | b')') => true,
            Some(b'&') => self.peek_second() != Some(b'>'),
            Some(_) => false,
        }
    }
}

/// The last command of the item is a compound one without redirections.
fn ends_compound(item: &Item) -> bool {
    let last = item.rest.last().map_or(&item.first, |(_, pipeline)| pipeline);
    let closed = |compound: &Compound| compound.redirects.is_empty();
    match last.stages.last() {
        Some(Stage::Compound(compound)) => closed(compound),
        Some(Stage::Function(function)) => closed(&function.body),
        Some(Stage::Simple(_) | Stage::Coprocess(..)) | None => false,
    }
}
