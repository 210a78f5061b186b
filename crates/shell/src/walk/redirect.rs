//! Redirections as later stages see them.

use super::Walker;
use super::scope::Origin;
use super::source::Source;
use crate::command::{Direction, Redirect, RedirectTarget, Why};
use crate::parse::tree::{Descriptor, Redirect as Written, RedirectOperator, Target};
use crate::word::{Quoting, Value, Word};

impl Walker<'_> {
    /// The redirection with its target expanded. `None` only when a budget ran out, and then that is noted.
    pub(super) fn redirect(&mut self, source: &Source, redirect: &Written) -> Option<Redirect> {
        if let Descriptor::Variable(name) = &redirect.descriptor {
            self.assign_unknown(name, Origin::Own, redirect.span);
        }
        let word = match &redirect.target {
            Target::Word(word) => self.redirect_word(source, word)?,
            Target::Here(index) => self.here_word(source, *index)?,
        };
        let direction = direction(redirect.operator);
        let target = match redirect.operator {
            RedirectOperator::HereDocument | RedirectOperator::HereString => RedirectTarget::Here(word),
            RedirectOperator::CopyIn | RedirectOperator::CopyOut => copied(word),
            RedirectOperator::In
            | RedirectOperator::Out
            | RedirectOperator::Append
            | RedirectOperator::Both
            | RedirectOperator::AllOut
            | RedirectOperator::AllAppend => RedirectTarget::File(word),
        };
        Some(Redirect { span: redirect.span, direction, target })
    }

    /// A target is one word; patterns in it are kept as such.
    fn redirect_word(&mut self, source: &Source, word: &crate::parse::tree::Word) -> Option<Word> {
        let mut words = self.expand_words(source, word);
        match (words.pop(), words.is_empty()) {
            (Some(only), true) => Some(only),
            (Some(_), false) | (None, _) => self.expand_value(source, word),
        }
    }

    fn here_word(&mut self, source: &Source, index: usize) -> Option<Word> {
        let document = source.here.get(index)?;
        let span = document.span;
        match self.expander(source).here(&document.body) {
            Some(value) => Some(Word { span, quoting: Quoting::Quoted, value }),
            None => {
                self.give_up(Why::TooMuch, span);
                None
            }
        }
    }
}

fn direction(operator: RedirectOperator) -> Direction {
    match operator {
        RedirectOperator::In
        | RedirectOperator::CopyIn
        | RedirectOperator::HereString
        | RedirectOperator::HereDocument => Direction::In,
        RedirectOperator::Out | RedirectOperator::CopyOut | RedirectOperator::AllOut => Direction::Out,
        RedirectOperator::Append | RedirectOperator::AllAppend => Direction::Append,
        RedirectOperator::Both => Direction::Both,
    }
}

/// `>&1`, `<&-` and `2>&3-` name descriptors; any other word is a file.
fn copied(word: Word) -> RedirectTarget {
    match &word.value {
        Value::Literal(text) if is_descriptor(text) => RedirectTarget::Descriptor(text.clone()),
        Value::Literal(_) | Value::Template(_) => RedirectTarget::File(word),
    }
}

fn is_descriptor(text: &str) -> bool {
    let digits = text.strip_suffix('-').unwrap_or(text);
    !text.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}
