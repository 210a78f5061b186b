//! Visiting what stands inside words: every substitution is walked exactly once, whatever the word becomes.

use super::scope::{Origin, Variable};
use super::source::Source;
use super::{Feed, Walker};
use crate::command::{Parent, Via};
use crate::parse::tree::{Body, Content, Element, Fallback, Fragment, HereBody, Operation, Parameter, Piece, Reach};
use crate::parse::tree::{Redirect, Substitution, Target, Word};
use crate::word::Span;

/// Which way the data of a process substitution goes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    /// `$(…)`, `<(…)`: out of it.
    Out,
    /// `>(…)`: into it, from the command at hand.
    In,
}

impl Walker<'_> {
    pub(super) fn visit_word(&mut self, source: &Source, word: &Word) {
        match &word.content {
            Content::Plain => {}
            Content::Pieces(pieces) => self.visit(source, pieces),
        }
    }

    pub(super) fn visit(&mut self, source: &Source, pieces: &[Piece]) {
        for piece in pieces {
            match piece {
                Piece::Bare(_) | Piece::Escaped(_) | Piece::Single(_) | Piece::Ansi(_) => {}
                Piece::Double(inside) | Piece::Extglob(_, inside) => self.visit(source, inside),
                Piece::Parameter(parameter) => self.visit_parameter(source, parameter),
                Piece::Command(substitution) => self.substitution(source, substitution, Flow::Out),
                Piece::Process(substitution) => {
                    let before = substitution.inner.start.saturating_sub(2);
                    let into = source.text.as_bytes().get(before) == Some(&b'>');
                    self.substitution(source, substitution, if into { Flow::In } else { Flow::Out });
                }
                Piece::Arithmetic(arithmetic) => self.evaluate(source, &arithmetic.pieces, arithmetic.inner),
                Piece::Array(elements) => self.visit_elements(source, elements),
            }
        }
    }

    pub(super) fn visit_elements(&mut self, source: &Source, elements: &[Element]) {
        for element in elements {
            if let Some(subscript) = &element.subscript {
                self.evaluate(source, subscript, element.value.span);
            }
            self.visit_word(source, &element.value);
        }
    }

    fn visit_parameter(&mut self, source: &Source, parameter: &Parameter) {
        if let Some(subscript) = &parameter.subscript {
            self.evaluate(source, subscript, parameter.span);
        }
        if parameter.reach == Reach::Indirect {
            self.visit_indirect(source, parameter);
        }
        match &parameter.operation {
            Operation::Value | Operation::Length | Operation::Names => {}
            Operation::Fallback(kind, operand) => {
                self.visit(source, operand);
                if *kind == Fallback::Assign {
                    let written = Origin::of_text(source.slice(parameter.span).get(2..).unwrap_or(""));
                    let before = self.scope.variable(&parameter.name).map_or(Origin::Own, Variable::origin);
                    let origin = written.or(before);
                    self.assign_unknown(&parameter.name, origin, parameter.span);
                }
            }
            Operation::Pattern(operand) => self.visit(source, operand),
            Operation::Slice(expression) => self.evaluate(source, expression, parameter.span),
            Operation::Transform(b'P') => self.visit_prompt(source, parameter),
            Operation::Transform(_) => {}
        }
    }

    /// `${!x}`: the value of `x` is taken for a name, and a subscript in it is evaluated.
    fn visit_indirect(&mut self, source: &Source, parameter: &Parameter) {
        if matches!(parameter.operation, Operation::Names) {
            return;
        }
        match self.scope.variable(&parameter.name).cloned() {
            Some(Variable::Known(target)) => self.evaluate_name(source, &target, parameter.span),
            Some(Variable::Array(_) | Variable::Unknown(_)) | None => {
                self.note(parameter.span, "takes a value for the name of a variable");
            }
        }
    }

    /// `${x@P}`: the value is expanded once more.
    fn visit_prompt(&mut self, source: &Source, parameter: &Parameter) {
        let Some(Variable::Known(text)) = self.scope.variable(&parameter.name).cloned() else {
            return self.note(parameter.span, "expands a value as a prompt");
        };
        let parent = Parent { script: source.script, span: parameter.span, via: Via::Shell("@P".to_owned()) };
        self.nested_pieces(text, parent, crate::parse::parse_quoted);
    }

    fn substitution(&mut self, source: &Source, substitution: &Substitution, flow: Flow) {
        let notes = std::mem::take(&mut self.notes);
        let redirects = std::mem::take(&mut self.redirects);
        self.subshell(substitution.inner, |walker| {
            match flow {
                Flow::Out => walker.frame.feeds = true,
                Flow::In => walker.frame.feed = walker.current_command(),
            }
            let filling = walker.filling.take();
            walker.body(source, substitution);
            walker.filling = filling;
        });
        self.redirects = redirects;
        self.notes = notes;
    }

    /// What feeds `>(…)`: the command whose parts are being visited.
    fn current_command(&self) -> Feed {
        match self.filling {
            Some(index) => Feed::Command(index),
            None => Feed::Something,
        }
    }

    fn body(&mut self, source: &Source, substitution: &Substitution) {
        match &substitution.body {
            Body::Inline(list) => self.list(source, list),
            Body::Rewritten(fragment) => {
                let inner = self.rewritten(source, substitution.inner, fragment);
                self.list(&inner, &fragment.content);
            }
        }
    }

    /// Lists text that bash rewrote before reading it as a script of its own.
    fn rewritten<T>(&mut self, source: &Source, span: Span, fragment: &Fragment<T>) -> Source {
        self.frame.origin.get_or_insert(span);
        let parent = Parent { script: source.script, span, via: Via::Shell("rewritten".to_owned()) };
        let script = self.add_script(fragment.text.to_string(), parent);
        Source { text: fragment.text.clone(), here: fragment.here.clone(), script }
    }

    pub(super) fn visit_redirect(&mut self, source: &Source, redirect: &Redirect) {
        match &redirect.target {
            Target::Word(word) => self.visit_word(source, word),
            Target::Here(index) => self.visit_here(source, *index),
        }
    }

    fn visit_here(&mut self, source: &Source, index: usize) {
        let here = source.here.clone();
        let Some(document) = here.get(index) else { return };
        match &document.body {
            HereBody::Data(_) => {}
            HereBody::Expanded(pieces) => self.visit(source, pieces),
            HereBody::Rewritten(fragment) => {
                let frame = self.frame.clone();
                let inner = self.rewritten(source, document.span, fragment);
                self.visit(&inner, &fragment.content);
                self.frame = frame;
            }
        }
    }
}
