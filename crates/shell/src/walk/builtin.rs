//! Builtins that change what is known, or that evaluate what looks like data.

use super::Walker;
use super::scope::Origin;
use super::source::Source;
use crate::command::{Parent, Via};
use crate::word::{Span, Word};

/// Letters of `read` that take a value, besides `-a`.
const READ_VALUES: &str = "dinNptu";
/// Letters of `mapfile` that take a value.
const MAPFILE_VALUES: &str = "dnOsuCc";

impl Walker<'_> {
    /// What a builtin does to this shell.
    pub(super) fn builtin(&mut self, source: &Source, name: &str, operands: &[Word]) {
        match name {
            "cd" => self.change_directory(operands),
            "pushd" => self.push_directory(operands),
            "popd" => self.pop_directory(operands),
            "export" | "readonly" => self.declare(source, operands, super::declare::Subscripts::Literal),
            "declare" | "typeset" | "local" => self.declare(source, operands, super::declare::Subscripts::Evaluated),
            "read" => self.read(source, operands),
            "mapfile" | "readarray" => self.mapfile(source, operands),
            "unset" => self.unset(source, operands),
            "printf" => self.value_option(source, operands, "-v"),
            "wait" => self.value_option(source, operands, "-p"),
            "test" | "[" => self.test(source, operands),
            "let" => operands.iter().for_each(|word| self.evaluate_expanded(source, word)),
            "getopts" => self.set_names(source, operands.get(1..2).unwrap_or_default(), &Origin::Own),
            "set" => self.set(operands),
            "shift" => self.scope.set_positional(None),
            "source" | "." => self.forget_everything(),
            "alias" => self.define_aliases(operands),
            "hash" if operands.iter().any(names_a_program) => {
                self.note(span_of(operands), "tells the shell where a program is");
            }
            _ => {}
        }
    }

    fn read(&mut self, source: &Source, operands: &[Word]) {
        let (names, arrays) = without_options(operands, READ_VALUES, "a");
        self.set_names(source, &names, &Origin::Foreign);
        self.set_names(source, &arrays, &Origin::Foreign);
        if names.is_empty() {
            self.scope.assign("REPLY", super::scope::Variable::Unknown(Origin::Foreign));
        }
    }

    fn mapfile(&mut self, source: &Source, operands: &[Word]) {
        let (names, _) = without_options(operands, MAPFILE_VALUES, "");
        self.set_names(source, &names, &Origin::Foreign);
        let callback = operands.iter().position(|word| word.known_prefix().starts_with("-C"));
        let Some(at) = callback else { return };
        let attached = operands.get(at).and_then(Word::text).and_then(|text| text.strip_prefix("-C"));
        let text = match attached {
            Some("") => operands.get(at + 1).and_then(Word::text),
            other => other,
        };
        match text.map(str::to_owned) {
            Some(text) => {
                let parent = self.parent(source, span_of(operands), Via::Shell("mapfile".to_owned()));
                self.maybe(|walker| walker.nested(text, parent));
            }
            None => self.note(span_of(operands), "runs an unknown command for each line"),
        }
    }

    fn unset(&mut self, source: &Source, operands: &[Word]) {
        let functions = operands.iter().any(|word| word.text() == Some("-f"));
        let (names, _) = without_options(operands, "", "");
        for word in &names {
            let Some(name) = word.text() else { continue };
            if functions {
                self.scope.doubt_function(name);
            }
        }
        if !functions {
            self.set_names(source, &names, &Origin::Own);
        }
    }

    /// `printf -v NAME`, `wait -p NAME`.
    fn value_option(&mut self, source: &Source, operands: &[Word], option: &str) {
        for (at, word) in operands.iter().enumerate() {
            let Some(attached) = word.known_prefix().strip_prefix(option) else { continue };
            if !attached.is_empty() || word.text().is_none() {
                let name = Word { value: crate::word::Value::Literal(attached.to_owned()), ..word.clone() };
                self.set_names(source, &[name], &Origin::Foreign);
            } else {
                self.set_names(source, operands.get(at + 1..at + 2).unwrap_or_default(), &Origin::Foreign);
            }
            return;
        }
    }

    /// `test -v NAME` and `-R NAME` evaluate a subscript.
    fn test(&mut self, source: &Source, operands: &[Word]) {
        for pair in operands.windows(2) {
            let [operator, name] = pair else { continue };
            if !matches!(operator.text(), Some("-v" | "-R")) {
                continue;
            }
            match name.text() {
                Some(text) => self.evaluate_name(source, text, name.span),
                None => self.note(name.span, "takes an unknown value for the name of a variable"),
            }
        }
    }

    /// A word that was expanded already and is evaluated as a whole.
    pub(super) fn evaluate_expanded(&mut self, source: &Source, word: &Word) {
        match word.text() {
            Some(text) => self.evaluate_text(source, text, word.span),
            None => self.evaluate_template(&word.value, word.span),
        }
    }

    /// `set -e` is remembered, `set -- …` sets the positional parameters.
    fn set(&mut self, operands: &[Word]) {
        for (at, word) in operands.iter().enumerate() {
            match word.text() {
                Some("--") | None => {
                    let values = operands.get(at + 1..).unwrap_or_default();
                    let known = values.iter().map(|word| word.text().map(str::to_owned)).collect();
                    return self.scope.set_positional(if word.text().is_some() { known } else { None });
                }
                Some(text) if text.starts_with('-') && !text.starts_with("--") => {
                    self.errexit |= text.contains('e') && self.frame.depth == 0;
                }
                Some(text) if text.starts_with('+') => self.errexit &= !text.contains('e'),
                Some(_) => self.scope.set_positional(None),
            }
        }
    }

    fn define_aliases(&mut self, operands: &[Word]) {
        for word in operands {
            match word.text().and_then(|text| text.split_once('=')) {
                Some((name, text)) => self.scope.set_alias(name, text),
                None if word.text().is_none() => self.note(word.span, "defines an unknown alias"),
                None => {}
            }
        }
    }

    /// A name the text made an alias: it may stand for its text instead of itself.
    pub(super) fn alias(&mut self, source: &Source, text: String, span: Span) {
        if self.frame.depth >= crate::parse::budget::DEPTH {
            return;
        }
        let parent = self.parent(source, span, Via::Shell("alias".to_owned()));
        let mark = self.scope.mark();
        // Inside its own text the name is no alias again.
        self.scope.drop_aliases();
        self.nested(text, parent);
        self.scope.undo(mark);
        self.forget_everything();
    }

    pub(super) fn parent(&self, source: &Source, span: Span, via: Via) -> Parent {
        Parent { script: source.script, span, via }
    }
}

/// An operand of `hash` that tells where a program is, or may do so.
fn names_a_program(word: &Word) -> bool {
    word.known_prefix().starts_with("-p") || word.text().is_none()
}

/// The operands that are no options, and the values of options whose letter is in `wanted`.
pub(super) fn without_options(operands: &[Word], valued: &str, wanted: &str) -> (Vec<Word>, Vec<Word>) {
    let (mut plain, mut values) = (Vec::new(), Vec::new());
    let mut words = operands.iter();
    while let Some(word) = words.next() {
        let prefix = word.known_prefix();
        if prefix == "--" {
            plain.extend(words.cloned());
            break;
        }
        let Some(letters) = prefix.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
            plain.push(word.clone());
            continue;
        };
        let Some(at) = letters.find(|letter| valued.contains(letter) || wanted.contains(letter)) else { continue };
        let attached = letters.get(at + 1..).unwrap_or("");
        let value = if attached.is_empty() && word.text().is_some() {
            words.next().cloned()
        } else {
            Some(Word { value: crate::word::Value::Literal(attached.to_owned()), ..word.clone() })
        };
        if letters.get(at..=at).is_some_and(|letter| wanted.contains(letter)) {
            values.extend(value);
        }
    }
    (plain, values)
}

/// From the first to the last of the words.
pub(super) fn span_of(words: &[Word]) -> Span {
    let start = words.iter().map(|word| word.span.start).min().unwrap_or(0);
    let end = words.iter().map(|word| word.span.end).max().unwrap_or(start);
    Span { start, end }
}
