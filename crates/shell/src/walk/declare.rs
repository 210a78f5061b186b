//! `declare`, `local`, `export` and their like.

use super::Walker;
use super::scope::{Origin, Variable};
use super::source::Source;
use crate::word::{Part, Value, Word};

/// Whether a subscript in an operand is evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subscripts {
    /// `declare 'a[$(cmd)]=1'` runs `cmd`.
    Evaluated,
    /// `export 'a[$(cmd)]=1'` is refused as a name.
    Literal,
}

impl Walker<'_> {
    pub(super) fn declare(&mut self, source: &Source, operands: &[Word], subscripts: Subscripts) {
        let has = |letter: char| {
            operands.iter().filter_map(Word::text).any(|text| text.starts_with('-') && text.contains(letter))
        };
        let (integer, reference) = (has('i'), has('n'));
        for word in operands.iter().filter(|word| !word.known_prefix().starts_with(['-', '+'])) {
            let Some(name) = declared_name(word) else {
                self.note(word.span, "declares a variable whose name is not known");
                self.forget_everything();
                continue;
            };
            if subscripts == Subscripts::Evaluated {
                self.evaluate_name(source, word.known_prefix(), word.span);
            }
            let value = declared_value(word);
            if integer || self.integers.contains(&name) {
                self.integers.push(name.clone());
                self.declared_integer(source, word, value.as_ref());
            }
            if reference {
                self.declared_reference(source, word, value.as_ref());
                self.scope.assign(&name, Variable::Unknown(Origin::Foreign));
                continue;
            }
            match value {
                Some(Value::Literal(text)) if !integer => self.scope.assign(&name, Variable::Known(text)),
                Some(value) => self.scope.assign(&name, Variable::Unknown(self.origin(&value))),
                // `export NAME` keeps the value; `local NAME` does not.
                None if subscripts == Subscripts::Literal => {}
                None => self.scope.forget(&name),
            }
        }
    }

    fn declared_integer(&mut self, source: &Source, word: &Word, value: Option<&Value>) {
        match value {
            Some(Value::Literal(text)) => self.evaluate_text(source, text, word.span),
            Some(value @ Value::Template(_)) => self.evaluate_template(value, word.span),
            None => {}
        }
    }

    /// `declare -n r=NAME`: every use of `r` evaluates the name.
    fn declared_reference(&mut self, source: &Source, word: &Word, value: Option<&Value>) {
        match value {
            Some(Value::Literal(text)) => self.evaluate_name(source, text, word.span),
            Some(Value::Template(_)) => self.note(word.span, "takes an unknown value for the name of a variable"),
            None => {}
        }
    }
}

/// The name an operand declares, when it is known.
fn declared_name(word: &Word) -> Option<String> {
    let known = word.known_prefix();
    let end = known.find(['=', '[', '+']);
    if end.is_none() && word.text().is_none() {
        return None;
    }
    Some(known.get(..end.unwrap_or(known.len()))?.to_owned())
}

/// The value after `=`; `None` without one. An appended, subscripted or array value is not followed.
fn declared_value(word: &Word) -> Option<Value> {
    let known = word.known_prefix();
    let at = known.find('=')?;
    let (name, rest) = (known.get(..at)?, known.get(at + 1..)?);
    if !super::expand::is_name(name) || rest.starts_with("(…)") {
        return Some(Value::Template(Vec::new()));
    }
    match &word.value {
        Value::Literal(_) => Some(Value::Literal(rest.to_owned())),
        Value::Template(parts) => {
            let mut value = vec![Part::Text(rest.to_owned())];
            value.extend(parts.iter().skip(1).cloned());
            Some(Value::Template(value))
        }
    }
}
