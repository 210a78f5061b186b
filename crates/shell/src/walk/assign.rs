//! Assignments and what they make known.

use super::Walker;
use super::expand::Expander;
use super::scope::{Origin, Variable};
use super::source::Source;
use super::variables::is_special;
use crate::command::{self, Why};
use crate::parse::tree::{AssignOperator, AssignValue, Assignment, Content, Element, Word as Written};
use crate::word::{HoleKind, Part, Quoting, Span, Value, Word};

/// Longer values are not followed.
const LONGEST: usize = 64 * 1024;

impl Walker<'_> {
    pub(super) fn expander<'w>(&'w self, source: &'w Source) -> Expander<'w> {
        Expander { scope: &self.scope, context: self.context, source }
    }

    /// Adds the words a word becomes.
    pub(super) fn expand_into(&mut self, source: &Source, word: &Written, words: &mut Vec<Word>) {
        match &word.content {
            // Nearly all words are plain, and this is the path they take.
            Content::Plain => {
                let text = source.slice(word.span);
                if self.spend(text.len()) {
                    let value = Value::Literal(text.to_owned());
                    words.push(Word { span: word.span, quoting: Quoting::Bare, value });
                }
            }
            Content::Pieces(_) => words.extend(self.expand_words(source, word)),
        }
    }

    /// The words a word becomes. Beyond the budget there are none, and the analysis is opaque.
    pub(super) fn expand_words(&mut self, source: &Source, word: &Written) -> Vec<Word> {
        let Some(words) = self.expander(source).words(word) else {
            self.give_up(Why::TooMuch, word.span);
            return Vec::new();
        };
        let bytes = words.iter().map(size).sum();
        if words.len() > 1 && !self.step(words.len()) || !self.spend(bytes) {
            return Vec::new();
        }
        words
    }

    /// The one value of a word.
    pub(super) fn expand_value(&mut self, source: &Source, word: &Written) -> Option<Word> {
        let Some(value) = self.expander(source).value(word) else {
            self.give_up(Why::TooMuch, word.span);
            return None;
        };
        self.spend(size(&value)).then_some(value)
    }

    /// An assignment as later stages see it.
    pub(super) fn assignment(&mut self, source: &Source, assignment: &Assignment) -> command::Assignment {
        let value = match (&assignment.value, &assignment.subscript) {
            (AssignValue::Scalar(word), None) => self.expand_value(source, word),
            (AssignValue::Scalar(_) | AssignValue::Array(_), _) => None,
        };
        command::Assignment { span: assignment.span, name: assignment.name.clone(), value }
    }

    pub(super) fn visit_assignment(&mut self, source: &Source, assignment: &Assignment) {
        if let Some(subscript) = &assignment.subscript {
            self.evaluate(source, subscript, assignment.span);
        }
        match &assignment.value {
            AssignValue::Scalar(word) => self.visit_word(source, word),
            AssignValue::Array(elements) => self.visit_elements(source, elements),
        }
    }

    /// Carries out an assignment of the shell itself.
    pub(super) fn carry_out(&mut self, source: &Source, assignment: &Assignment) {
        let name = assignment.name.as_str();
        let value = match (&assignment.value, &assignment.subscript) {
            // One element changed: what the others were no longer tells what the variable is.
            (_, Some(_)) => Variable::Unknown(Origin::of_text(source.slice(assignment.span))),
            (AssignValue::Scalar(word), None) => {
                let value = self.expand_value(source, word).map(|word| word.value);
                self.evaluate_integer(source, name, value.as_ref());
                self.known(value)
            }
            (AssignValue::Array(elements), None) => self.array(source, elements),
        };
        let value = match assignment.operator {
            AssignOperator::Set => value,
            AssignOperator::Append => appended(self.scope.variable(name), value),
        };
        self.scope.assign(name, value);
    }

    /// A variable that `declare -i` made arithmetic evaluates what it is given.
    fn evaluate_integer(&mut self, source: &Source, name: &str, value: Option<&Value>) {
        if self.integers.iter().any(|integer| integer == name) {
            match value {
                Some(Value::Literal(text)) => self.evaluate_text(source, &text.clone(), Span::default()),
                Some(Value::Template(_)) | None => self.note(Span::default(), "evaluates an unknown value"),
            }
        }
    }

    fn array(&mut self, source: &Source, elements: &[Element]) -> Variable {
        let mut values = Vec::new();
        for element in elements {
            if element.subscript.is_some() {
                return Variable::Unknown(elements_origin(source, elements));
            }
            for word in self.expand_words(source, &element.value) {
                match word.value {
                    Value::Literal(text) => values.push(text),
                    Value::Template(_) => {
                        return Variable::Unknown(self.origin(&word.value).or(elements_origin(source, elements)));
                    }
                }
            }
        }
        Variable::Array(values)
    }

    /// What a value makes known.
    fn known(&self, value: Option<Value>) -> Variable {
        match value {
            Some(Value::Literal(text)) if text.len() <= LONGEST => Variable::Known(text),
            Some(value) => Variable::Unknown(self.origin(&value)),
            None => Variable::Unknown(Origin::Foreign),
        }
    }

    /// Where the unknown parts of a value come from, those of the variables in it included.
    pub(super) fn origin(&self, value: &Value) -> Origin {
        let parts = match value {
            Value::Literal(text) => return Origin::of_text(text),
            Value::Template(parts) => parts,
        };
        let of_part = |part: &Part| match part {
            Part::Text(text) => Origin::of_text(text),
            Part::Hole(hole) => match &hole.kind {
                HoleKind::Variable { name, .. } => self.scope.variable(name).map_or(Origin::Own, Variable::origin),
                HoleKind::Output(text) => Origin::Output(text.clone()),
                HoleKind::Glob(_) | HoleKind::Inserted | HoleKind::Prompt | HoleKind::Indirect => Origin::Foreign,
                HoleKind::Process | HoleKind::Brace(_) | HoleKind::Tilde(_) | HoleKind::Arithmetic => Origin::Own,
            },
        };
        parts.iter().map(of_part).fold(Origin::Own, Origin::or)
    }

    /// A variable gets a value that is not known, by some other way than a plain assignment.
    pub(super) fn assign_unknown(&mut self, name: &str, origin: Origin, span: Span) {
        if is_special(name) {
            self.note(span, "assigns a variable that changes what runs");
        }
        self.scope.assign(name, Variable::Unknown(origin));
    }

    /// The variable of a loop, reported when it means something to the shell.
    pub(super) fn assigned_by_loop(&mut self, source: &Source, name: &str, span: Span) {
        if !is_special(name) {
            return;
        }
        let index = self.push_command(source.script, span);
        if let Some(command) = self.analysis.commands.get_mut(index) {
            command.assignments.push(command::Assignment { span, name: name.to_owned(), value: None });
        }
    }
}

fn appended(old: Option<&Variable>, new: Variable) -> Variable {
    match (old, new) {
        (Some(Variable::Known(old)), Variable::Known(new)) if old.len() + new.len() <= LONGEST => {
            Variable::Known(format!("{old}{new}"))
        }
        (Some(Variable::Array(old)), Variable::Array(new)) if old.len() + new.len() <= LONGEST => {
            Variable::Array(old.iter().cloned().chain(new).collect())
        }
        (old, new) => Variable::Unknown(old.map_or(Origin::Own, Variable::origin).or(new.origin())),
    }
}

/// Where the elements of an array come from, by what is written.
fn elements_origin(source: &Source, elements: &[Element]) -> Origin {
    let written = |element: &Element| Origin::of_text(source.slice(element.value.span));
    elements.iter().map(written).fold(Origin::Own, Origin::or)
}

/// Bytes of a word, holes counted as one.
fn size(word: &Word) -> usize {
    match &word.value {
        Value::Literal(text) => text.len(),
        Value::Template(parts) => parts
            .iter()
            .map(|part| match part {
                Part::Text(text) => text.len(),
                Part::Hole(_) => 1,
            })
            .sum(),
    }
}
