//! Simple commands: words, assignments and redirections, then whatever the command runs in turn.

use super::Walker;
use super::inner::{self, Inner};
use super::scope::{Certainty, Origin};
use super::source::Source;
use crate::command::{Command, Layer};
use crate::parse::tree::Simple;
use crate::word::{Span, Value, Word};

/// Wrappers that run a builtin or function in the shell itself.
const SAME_SHELL: [&str; 2] = ["command", "builtin"];

impl Walker<'_> {
    /// Walks a simple command; the index it is listed at, if it is.
    pub(super) fn simple(&mut self, source: &Source, simple: &Simple) -> Option<usize> {
        let mut words = Vec::with_capacity(simple.words.len());
        for word in &simple.words {
            self.expand_into(source, word, &mut words);
        }
        if !self.step(words.len()) {
            return None;
        }
        let function = words.first().and_then(Word::text).and_then(|name| self.scope.function(name)).cloned();
        let Some(function) = function else { return Some(self.plain(source, simple, words)) };
        let index = match function.certainty {
            Certainty::Certain => None,
            Certainty::Doubtful => Some(self.plain(source, simple, words.clone())),
        };
        if index.is_none() {
            self.visit_parts(source, simple);
            self.report_loose_notes(source, simple.span);
        }
        let redirects = simple.redirects.iter().filter_map(|redirect| self.redirect(source, redirect)).collect();
        let mark = self.scope.mark();
        for assignment in &simple.assignments {
            self.scope.forget(&assignment.name);
        }
        self.call(&function, &words, redirects);
        if !simple.assignments.is_empty() {
            self.scope.doubt(mark);
        }
        index
    }

    /// A command that is no function's call.
    fn plain(&mut self, source: &Source, simple: &Simple, words: Vec<Word>) -> usize {
        let index = self.push_command(source.script, simple.span);
        let outer = std::mem::take(&mut self.notes);
        let filling = self.filling.replace(index);
        self.visit_parts(source, simple);
        self.filling = filling;
        let assignments = simple.assignments.iter().map(|assignment| self.assignment(source, assignment)).collect();
        for redirect in &simple.redirects {
            let expanded = self.redirect(source, redirect);
            if let Some(command) = self.analysis.commands.get_mut(index) {
                command.redirects.extend(expanded);
            }
        }
        if words.is_empty() {
            for assignment in &simple.assignments {
                self.carry_out(source, assignment);
            }
        }
        let notes = std::mem::take(&mut self.notes);
        if let Some(command) = self.analysis.commands.get_mut(index) {
            command.assignments = assignments;
            command.effects = notes;
        }
        if !words.is_empty() {
            self.follow(source, index, words);
        }
        self.notes = outer;
        index
    }

    fn visit_parts(&mut self, source: &Source, simple: &Simple) {
        for assignment in &simple.assignments {
            self.visit_assignment(source, assignment);
        }
        for word in &simple.words {
            self.visit_word(source, word);
        }
        for redirect in &simple.redirects {
            self.visit_redirect(source, redirect);
        }
    }

    fn report_loose_notes(&mut self, source: &Source, span: Span) {
        if !self.notes.is_empty() {
            let index = self.push_command(source.script, span);
            let notes = std::mem::take(&mut self.notes);
            if let Some(command) = self.analysis.commands.get_mut(index) {
                command.effects = notes;
            }
        }
    }

    /// Finds what a listed command runs in turn: through wrappers, as scripts, by builtins.
    pub(super) fn follow(&mut self, source: &Source, index: usize, words: Vec<Word>) {
        let mut first = 0;
        let mut layers: Vec<Layer> = Vec::new();
        let mut found = Vec::new();
        loop {
            let mut next = None;
            for inner in inner::inner(words.get(first..).unwrap_or_default()) {
                match inner {
                    Inner::Wrapped { wrapper, first: offset, assignments } => {
                        next = Some(first + offset.max(1));
                        layers.push(Layer { wrapper, first: first + offset.max(1), assignments });
                    }
                    Inner::Script(_)
                    | Inner::Words { .. }
                    | Inner::Input { .. }
                    | Inner::File { .. }
                    | Inner::Unsure { .. } => found.push((first, inner)),
                }
            }
            match next.filter(|&next| next < words.len()) {
                Some(next) => first = next,
                None => break,
            }
        }
        let same_shell = layers.iter().all(|layer| SAME_SHELL.contains(&layer.wrapper.as_str()));
        self.with_command(index, |command| command.layers = layers);
        if same_shell {
            self.in_this_shell(source, words.get(first..).unwrap_or_default());
        }
        for (first, inner) in found {
            self.inner(source, index, (words.get(first..).unwrap_or_default(), inner));
        }
        let notes = std::mem::take(&mut self.notes);
        self.with_command(index, |command| {
            command.words = words;
            command.effects.extend(notes);
        });
    }

    pub(super) fn with_command(&mut self, index: usize, change: impl FnOnce(&mut Command)) {
        if let Some(command) = self.analysis.commands.get_mut(index) {
            change(command);
        }
    }

    /// What the command does to the shell that runs it.
    fn in_this_shell(&mut self, source: &Source, words: &[Word]) {
        let Some(program) = words.first() else { return };
        match &program.value {
            Value::Literal(name) => {
                let operands = words.get(1..).unwrap_or_default();
                self.builtin(source, name, operands);
                if let Some(text) = self.scope.alias(name).map(str::to_owned) {
                    self.alias(source, text, program.span);
                }
            }
            // It may be any builtin at all.
            Value::Template(_) => self.forget_everything(),
        }
    }

    /// Names that a builtin sets to something from outside the text.
    pub(super) fn set_names(&mut self, source: &Source, names: &[Word], origin: &Origin) {
        for word in names {
            match word.text() {
                Some(text) => {
                    self.evaluate_name(source, text, word.span);
                    let name = text.split(['[', '=']).next().unwrap_or(text).to_owned();
                    self.assign_unknown(&name, origin.clone(), word.span);
                }
                None => {
                    self.note(word.span, "assigns a variable whose name is not known");
                    self.forget_everything();
                }
            }
        }
    }
}
