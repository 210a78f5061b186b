//! What evaluation runs: subscripts, arithmetic, and names that are given as data.
//!
//! Bash expands an expression, evaluates it, and on the way evaluates the values of the variables in it and
//! every subscript as an expression again: `x='a[$(cmd)]'; ((x))` runs `cmd`. Text that is known is followed;
//! a value from outside the text is noted as unknown.

use super::Walker;
use super::scope::{Origin, Variable};
use super::source::Source;
use super::variables::is_special;
use crate::command::{Parent, Via};
use crate::parse::Pieces;
use crate::parse::tree::{Operation, Piece, Word};
use crate::word::{Span, Value};

impl Walker<'_> {
    /// Visits and evaluates an expression.
    pub(super) fn evaluate(&mut self, source: &Source, pieces: &[Piece], span: Span) {
        self.visit(source, pieces);
        let mut text = String::new();
        for piece in pieces {
            match piece {
                Piece::Bare(bare) => text.push_str(source.slice(*bare)),
                Piece::Double(inside) => self.evaluate(source, inside, span),
                Piece::Parameter(parameter) if matches!(parameter.operation, Operation::Value) => {
                    text.push('0');
                    self.evaluate_variable(source, &parameter.name, span);
                    self.evaluate_positional(source, piece, span);
                }
                Piece::Command(_) => {
                    text.push('0');
                    self.note(span, "evaluates the output of a command");
                }
                Piece::Parameter(_)
                | Piece::Escaped(_)
                | Piece::Single(_)
                | Piece::Ansi(_)
                | Piece::Process(_)
                | Piece::Arithmetic(_)
                | Piece::Extglob(..)
                | Piece::Array(_) => text.push('0'),
            }
        }
        self.evaluate_names(source, &text, span);
    }

    /// The names in an expression: their values are evaluated, and some may be assigned.
    fn evaluate_names(&mut self, source: &Source, text: &str, span: Span) {
        let names = names(text);
        for name in &names {
            self.evaluate_variable(source, name, span);
        }
        if !assigns(text) {
            return;
        }
        for name in names {
            if is_special(name) {
                self.note(span, "assigns a variable that changes what runs");
            }
            self.scope.forget(name);
        }
    }

    /// `$1`, `$@`: arguments that are known are evaluated like any other value.
    fn evaluate_positional(&mut self, source: &Source, piece: &Piece, span: Span) {
        let Piece::Parameter(parameter) = piece else { return };
        if crate::walk::expand::is_name(&parameter.name) {
            return;
        }
        if let Some(Value::Literal(text)) = self.expander(source).quoted(std::slice::from_ref(piece)) {
            self.evaluate_text(source, &text, span);
        }
    }

    fn evaluate_variable(&mut self, source: &Source, name: &str, span: Span) {
        match self.scope.variable(name).cloned() {
            None | Some(Variable::Unknown(Origin::Own)) => {}
            Some(Variable::Known(text)) => self.evaluate_text(source, &text, span),
            Some(Variable::Array(values)) => {
                for value in values {
                    self.evaluate_text(source, &value, span);
                }
            }
            Some(Variable::Unknown(Origin::Output(_) | Origin::Foreign)) => {
                self.note(span, "evaluates a value from outside the text");
            }
        }
    }

    /// Evaluates text that is known.
    pub(super) fn evaluate_text(&mut self, source: &Source, text: &str, span: Span) {
        let harmless = |byte: u8| byte.is_ascii_digit() || matches!(byte, b' ' | b'-' | b'+');
        if text.bytes().all(harmless) || !self.step(20) {
            return;
        }
        let parent = Parent { script: source.script, span, via: Via::Shell("arithmetic".to_owned()) };
        self.nested_pieces(text.to_owned(), parent, crate::parse::parse_arithmetic);
    }

    /// Parses text as pieces and evaluates them as a script of their own.
    pub(super) fn nested_pieces(&mut self, text: String, parent: Parent, parse: fn(&str, usize) -> Pieces) {
        if !self.spend(text.len()) {
            return;
        }
        let span = parent.span;
        let source =
            Source { text: text.as_str().into(), here: [].into(), script: self.script_if_needed(text, parent) };
        self.deeper(span, |walker| {
            walker.frame.origin.get_or_insert(span);
            match parse(&source.text, walker.frame.depth) {
                Ok((pieces, tree)) => {
                    let source = Source { here: tree.here, ..source };
                    walker.evaluate(&source, &pieces, span);
                }
                Err(opaque) => walker.give_up(opaque.why, opaque.span),
            }
        });
    }

    /// Text that can hold commands is listed as a script; a plain name or number is not worth it.
    fn script_if_needed(&mut self, text: String, parent: Parent) -> crate::command::ScriptId {
        if text.contains(['$', '`']) { self.add_script(text, parent) } else { parent.script }
    }

    /// A word in a place that bash takes for the name of a variable.
    pub(super) fn evaluate_named_word(&mut self, source: &Source, word: &Word) {
        match self.expand_value(source, word).map(|word| word.value) {
            Some(Value::Literal(text)) => self.evaluate_name(source, &text, word.span),
            Some(Value::Template(_)) | None => {
                self.note(word.span, "takes an unknown value for the name of a variable")
            }
        }
    }

    /// Text taken for the name of a variable: its subscript is evaluated.
    pub(super) fn evaluate_name(&mut self, source: &Source, text: &str, span: Span) {
        let name = text.split_once('=').map_or(text, |(name, _)| name);
        let text = if name.contains('[') { text } else { name };
        if let Some((_, subscript)) = text.split_once('[') {
            let end = subscript.rfind(']').unwrap_or(subscript.len());
            self.evaluate_text(source, subscript.get(..end).unwrap_or(""), span);
        }
    }

    /// A word that is evaluated as a whole: an operand of `-eq`, of `let`.
    pub(super) fn evaluate_word(&mut self, source: &Source, word: &Word) {
        match self.expand_value(source, word).map(|word| word.value) {
            Some(Value::Literal(text)) => self.evaluate_text(source, &text, word.span),
            Some(value @ Value::Template(_)) => self.evaluate_template(&value, word.span),
            None => {}
        }
    }

    /// A template is evaluated with whatever fills it; only what comes from outside the text is worth a note.
    pub(super) fn evaluate_template(&mut self, value: &Value, span: Span) {
        match self.origin(value) {
            Origin::Own => {}
            Origin::Output(_) | Origin::Foreign => self.note(span, "evaluates a value from outside the text"),
        }
    }
}

/// The names of variables in an expression; digits of other bases are none.
fn names(text: &str) -> Vec<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '#' | '@');
    let words = text.split(|c| !is_part(c));
    words.filter(|word| word.bytes().next().is_some_and(crate::parse::starts_name)).collect()
}

/// The expression assigns something.
fn assigns(text: &str) -> bool {
    let bytes = text.as_bytes();
    let at = |index: usize| bytes.get(index).copied().unwrap_or(b' ');
    bytes.iter().enumerate().any(|(index, &byte)| match byte {
        b'+' | b'-' => at(index + 1) == byte,
        b'=' if at(index + 1) == b'=' => false,
        b'=' => {
            let (before, earlier) = (at(index.wrapping_sub(1)), at(index.wrapping_sub(2)));
            match before {
                b'=' | b'!' => false,
                b'<' | b'>' => earlier == before,
                _ => true,
            }
        }
        _ => false,
    })
}
