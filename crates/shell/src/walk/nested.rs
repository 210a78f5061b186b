//! Scripts and commands inside a command: `sh -c`, `eval`, `xargs`, `find -exec`, `ssh`, …

use super::builtin::span_of;
use super::expand::as_script;
use super::inner::{Inner, ScriptText, ShellKind};
use super::scope::{Certainty, Origin, Variable};
use super::source::Source;
use super::{Feed, Walker};
use crate::command::{Directory, Parent, Via, Why};
use crate::parse::budget;
use crate::word::{HoleKind, Part, Span, Value, Word};

impl Walker<'_> {
    /// Follows one thing that the command at `index` runs; `words` start with its program.
    pub(super) fn inner(&mut self, source: &Source, index: usize, (words, inner): (&[Word], Inner)) {
        match inner {
            // A wrapper without a command runs nothing.
            Inner::Wrapped { .. } => {}
            Inner::Script(script) => self.script(source, words, script),
            Inner::Words { words, via } => self.inner_words(source, words, via),
            Inner::Input { via, .. } => self.input(source, index, (span_of(words), via)),
            Inner::File { .. } => {}
            Inner::Unsure { reason } => self.note(span_of(words), &reason),
        }
    }

    /// A script given as words.
    fn script(&mut self, source: &Source, words: &[Word], script: ScriptText) {
        let holding = words.get(script.words.clone()).unwrap_or_default();
        if holding.is_empty() {
            return;
        }
        let span = span_of(holding);
        let settled = holding.iter().all(is_settled);
        if !settled {
            self.note(span, "runs a script that is not fully known");
        }
        let text = holding.iter().map(|word| script_text(word, &script)).collect::<Vec<_>>().join(" ");
        let parent = self.parent(source, span, script.via);
        // The holes of an unsettled script are written as variables of the outer shell, so that its own
        // parameters must stay unknown.
        let arguments = script.arguments.filter(|_| settled).map(|range| words.get(range).unwrap_or_default());
        match script.shell {
            ShellKind::Current => self.nested(text, parent),
            ShellKind::Later => self.later(source, text, parent),
            ShellKind::New => self.in_new_shell(arguments, |walker| walker.nested(text, parent)),
            ShellKind::Elsewhere => self.in_new_shell(None, |walker| {
                walker.scope.assign("HOME", Variable::Unknown(Origin::Own));
                walker.scope.move_to(Directory::Unknown, Certainty::Certain);
                walker.nested(text, parent);
            }),
        }
    }

    /// A script that runs at some later point of this shell: a trap.
    fn later(&mut self, source: &Source, text: String, parent: Parent) {
        let mark = self.scope.mark();
        let names = self.scope.known_names();
        if !self.step(names.len()) {
            return;
        }
        for name in names {
            if self.mentions(source, &name) != 1 {
                self.scope.forget(&name);
            }
        }
        if ["cd", "pushd", "popd"].iter().any(|name| self.mentions(source, name) > 0) {
            self.scope.move_to(Directory::Unknown, Certainty::Certain);
        }
        self.nested(text, parent);
        self.scope.undo(mark);
    }

    /// Runs `walk` in a shell of its own, which has none of our variables for sure, but these arguments.
    pub(super) fn in_new_shell(&mut self, arguments: Option<&[Word]>, walk: impl FnOnce(&mut Self)) {
        let mark = self.scope.mark();
        let place = self.scope.place().clone();
        let redirects = std::mem::take(&mut self.redirects);
        self.forget_everything();
        self.scope.move_to(place.directory, place.certainty);
        let known = arguments.map(|words| words.iter().map(|word| word.text().map(str::to_owned)).collect());
        self.scope.set_positional(known.flatten());
        walk(self);
        self.redirects = redirects;
        self.scope.undo(mark);
    }

    /// Parses and walks a nested script in the scope at hand.
    pub(super) fn nested(&mut self, text: String, parent: Parent) {
        let span = self.frame.origin.unwrap_or(parent.span);
        if self.frame.depth >= budget::DEPTH {
            return self.give_up(Why::TooDeep, span);
        }
        if !self.spend(text.len()) || !self.step(1) {
            return;
        }
        let script = self.add_script(text.clone(), parent);
        let notes = std::mem::take(&mut self.notes);
        self.deeper(span, |walker| {
            walker.frame.origin = Some(span);
            walker.run(&text, script);
        });
        self.notes = notes;
    }

    /// Words that make a command of their own.
    fn inner_words(&mut self, source: &Source, mut words: Vec<Word>, via: Via) {
        let span = span_of(&words);
        if self.frame.depth >= budget::DEPTH {
            return self.give_up(Why::TooDeep, span);
        }
        let text = source.slice(span).to_owned();
        if words.is_empty() || !self.spend(text.len()) || !self.step(words.len()) {
            return;
        }
        let elsewhere = matches!(via, Via::Elsewhere(_));
        let script = self.add_script(text.as_str().to_owned(), self.parent(source, span, via));
        for word in &mut words {
            word.span = Span { start: word.span.start - span.start, end: word.span.end - span.start };
        }
        let inner = Source { text: text.as_str().into(), here: [].into(), script };
        let notes = std::mem::take(&mut self.notes);
        let redirects = std::mem::take(&mut self.redirects);
        let mark = self.scope.mark();
        self.deeper(span, |walker| {
            walker.frame.origin.get_or_insert(span);
            walker.frame.feed = Feed::Something;
            if elsewhere {
                walker.scope.move_to(Directory::Unknown, Certainty::Certain);
            }
            let index = walker.push_command(script, Span { start: 0, end: text.len() });
            walker.follow(&inner, index, words);
        });
        self.scope.undo(mark);
        self.redirects = redirects;
        self.notes = notes;
    }
}

/// The word holds no text from outside: what fills its holes is digits only.
fn is_settled(word: &Word) -> bool {
    word.holes().all(|hole| match &hole.kind {
        HoleKind::Arithmetic => true,
        HoleKind::Variable { name, .. } => matches!(name.as_str(), "#" | "?" | "$" | "!"),
        HoleKind::Output(_)
        | HoleKind::Process
        | HoleKind::Glob(_)
        | HoleKind::Brace(_)
        | HoleKind::Tilde(_)
        | HoleKind::Prompt
        | HoleKind::Indirect
        | HoleKind::Inserted => false,
    })
}

/// The text of a word, from the offset at which its script starts.
fn script_text(word: &Word, script: &ScriptText) -> String {
    match &word.value {
        Value::Literal(text) => text.get(script.offset..).unwrap_or("").to_owned(),
        Value::Template(parts) => {
            let mut parts = parts.clone();
            if let Some(Part::Text(text)) = parts.first_mut() {
                *text = text.get(script.offset..).unwrap_or("").to_owned();
            }
            as_script(&Value::Template(parts))
        }
    }
}
