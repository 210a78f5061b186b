//! Lists, pipelines and compound commands: what runs for sure, what may run, and in which scope.

use super::directory::Movers;
use super::scope::{Certainty, Origin, Variable, Whereabouts};
use super::source::Source;
use super::{Feed, Walker};
use crate::command::Directory;
use crate::parse::tree::{Arm, Compound, CompoundKind, Ending, For, Item, Joint, List, Pipeline, Stage, Term, Word};
use crate::word::{Span, Value};

/// How many times loops around a command may be written out.
const UNROLLED: usize = 64;

impl Walker<'_> {
    pub(super) fn list(&mut self, source: &Source, list: &List) {
        for item in &list.items {
            if !self.step(1) {
                return;
            }
            match item.ending {
                Ending::Waits => self.item(source, item),
                Ending::Background => {
                    let mark = self.scope.mark();
                    let outer = std::mem::replace(&mut self.frame.background, true);
                    self.item(source, item);
                    self.frame.background = outer;
                    self.scope.undo(mark);
                }
            }
        }
    }

    /// An and-or chain. Inside it the shell knows what succeeded; after it we no longer do.
    fn item(&mut self, source: &Source, item: &Item) {
        let before = self.scope.place().clone();
        self.pipeline(source, &item.first);
        let mark = self.scope.mark();
        let mut strayed = false;
        for (joint, pipeline) in &item.rest {
            let reached = self.scope.place().clone();
            if *joint == Joint::Or {
                self.scope.doubt(mark);
                self.failed_from(&before, &reached, item);
            }
            let here = self.scope.place().clone();
            self.pipeline(source, pipeline);
            if *joint == Joint::Or {
                strayed |= *self.scope.place() != here;
                let certainty = if leaves(source, pipeline) { reached.certainty } else { Certainty::Doubtful };
                self.scope.move_to(reached.directory, certainty);
            }
        }
        self.after_item(&before, mark, (strayed, item));
    }

    /// The right side of `||` runs when the left side failed: after a lone `cd`, still where that started.
    fn failed_from(&mut self, before: &Whereabouts, reached: &Whereabouts, item: &Item) {
        let lone = item.rest.len() == 1 && matches!(item.first.stages.as_slice(), [Stage::Simple(_)]);
        if lone {
            self.scope.move_to(before.directory.clone(), before.certainty);
        } else if before != reached {
            self.scope.move_to(reached.directory.clone(), Certainty::Doubtful);
        }
    }

    fn after_item(&mut self, before: &Whereabouts, mark: super::scope::Mark, (strayed, item): (bool, &Item)) {
        let place = self.scope.place().clone();
        self.scope.doubt(mark);
        if strayed {
            return self.scope.move_to(Directory::Unknown, Certainty::Certain);
        }
        let guarded = matches!(item.rest.as_slice(), [.., (Joint::Or, _)]);
        let certainty = match place.certainty {
            Certainty::Certain if guarded || place == *before || self.errexit => place.certainty,
            Certainty::Certain | Certainty::Doubtful => Certainty::Doubtful,
        };
        if *self.scope.place() != (Whereabouts { directory: place.directory.clone(), certainty }) {
            self.scope.move_to(place.directory, certainty);
        }
    }

    fn pipeline(&mut self, source: &Source, pipeline: &Pipeline) {
        if let [stage] = pipeline.stages.as_slice() {
            self.stage(source, stage);
            return;
        }
        let frame = self.frame.clone();
        for (at, stage) in pipeline.stages.iter().enumerate() {
            self.frame.feeds = frame.feeds || at + 1 < pipeline.stages.len();
            let mark = self.scope.mark();
            let main = self.stage(source, stage);
            self.scope.undo(mark);
            self.frame.feed = main.map_or(Feed::Something, Feed::Command);
        }
        self.frame = frame;
    }

    /// Walks a stage; the index of the command whose output is its output, if one can be named.
    fn stage(&mut self, source: &Source, stage: &Stage) -> Option<usize> {
        if !self.step(1) {
            return None;
        }
        match stage {
            Stage::Simple(simple) => self.simple(source, simple),
            Stage::Compound(compound) => {
                self.compound(source, compound);
                None
            }
            Stage::Function(function) => {
                self.define_function(source, function);
                None
            }
            Stage::Coprocess(name, stage) => {
                self.subshell(Span::default(), |walker| {
                    walker.frame.feed = Feed::Something;
                    walker.stage(source, stage);
                });
                let span = name.unwrap_or_default();
                let name = name.map_or("COPROC", |name| source.slice(name));
                self.assigned_by_loop(source, name, span);
                self.assign_unknown(name, Origin::Own, span);
                None
            }
        }
    }

    /// A compound command with its redirections, which hold for everything in it.
    pub(super) fn compound(&mut self, source: &Source, compound: &Compound) {
        let outer = self.redirects.len();
        for redirect in &compound.redirects {
            self.visit_redirect(source, redirect);
            let expanded = self.redirect(source, redirect);
            self.redirects.extend(expanded);
        }
        self.deeper(compound.span, |walker| walker.compound_kind(source, compound));
        self.report_notes(source, compound.span);
        self.bare_redirects(source, compound, outer);
        self.redirects.truncate(outer);
    }

    /// A redirection opens its file even when the compound command runs nothing that could carry it.
    fn bare_redirects(&mut self, source: &Source, compound: &Compound, outer: usize) {
        let bare = matches!(compound.kind, CompoundKind::Condition(_) | CompoundKind::Arithmetic(_));
        if bare && self.redirects.len() > outer {
            self.push_command(source.script, compound.span);
        }
    }

    fn compound_kind(&mut self, source: &Source, compound: &Compound) {
        match &compound.kind {
            CompoundKind::Group(list) => self.list(source, list),
            CompoundKind::Subshell(list) => {
                let mark = self.scope.mark();
                self.list(source, list);
                self.scope.undo(mark);
            }
            CompoundKind::If(branches, otherwise) => self.branches(source, branches, otherwise.as_ref()),
            CompoundKind::Loop(condition, body) => {
                self.enter_loop(source, &[condition, body]);
                self.repeatedly(|walker| {
                    walker.list(source, condition);
                    walker.list(source, body);
                });
            }
            CompoundKind::For(each) => self.for_each(source, each),
            CompoundKind::Counting(header, body) => {
                self.evaluate(source, &header.pieces, header.inner);
                self.enter_loop(source, &[body]);
                self.repeatedly(|walker| walker.list(source, body));
            }
            CompoundKind::Case(subject, arms) => self.case(source, subject, arms),
            CompoundKind::Condition(terms) => self.condition(source, terms),
            CompoundKind::Arithmetic(arithmetic) => self.evaluate(source, &arithmetic.pieces, arithmetic.inner),
        }
    }

    /// Walks something that may or may not run: afterwards, what it set is not known.
    pub(super) fn maybe(&mut self, walk: impl FnOnce(&mut Self)) {
        let mark = self.scope.mark();
        let before = self.scope.place().clone();
        walk(self);
        self.scope.doubt(mark);
        if *self.scope.place() != before {
            self.scope.move_to(Directory::Unknown, Certainty::Certain);
        }
    }

    /// Walks something that may run many times. When one round changes what the next would see, in a way that
    /// was not foreseen on entry, the next is walked too.
    fn repeatedly(&mut self, walk: impl Fn(&mut Self)) {
        let known = self.scope.known_names();
        let (functions, positional) = (self.definitions.len(), self.scope.positional().is_some());
        self.maybe(&walk);
        let lost = |name: &String| matches!(self.scope.variable(name), Some(Variable::Unknown(_)));
        let changed = known.iter().any(lost)
            || self.definitions.len() > functions
            || positional && self.scope.positional().is_none();
        if changed && self.step(known.len()) {
            self.maybe(walk);
        }
    }

    fn branches(&mut self, source: &Source, branches: &[(List, List)], otherwise: Option<&List>) {
        for (at, (condition, branch)) in branches.iter().enumerate() {
            if at == 0 {
                self.list(source, condition);
            } else {
                self.maybe(|walker| walker.list(source, condition));
            }
            self.maybe(|walker| walker.list(source, branch));
        }
        if let Some(list) = otherwise {
            self.maybe(|walker| walker.list(source, list));
        }
    }

    fn case(&mut self, source: &Source, subject: &Word, arms: &[Arm]) {
        self.visit_word(source, subject);
        for arm in arms {
            for pattern in &arm.patterns {
                self.visit_word(source, pattern);
            }
            self.maybe(|walker| walker.list(source, &arm.body));
        }
    }

    /// `for` and `select`. A few literal words are written out, so that the body is seen with each value.
    fn for_each(&mut self, source: &Source, each: &For) {
        let name = source.slice(each.variable).to_owned();
        let words = each.words.as_deref().unwrap_or_default();
        for word in words {
            self.visit_word(source, word);
        }
        let values = self.loop_values(source, each.words.as_deref());
        self.enter_loop(source, &[&each.body]);
        self.assigned_by_loop(source, &name, each.variable);
        match values {
            Ok(values) if !values.is_empty() && values.len() * self.frame.unrolled <= UNROLLED => {
                self.frame.unrolled *= values.len();
                for value in values {
                    self.maybe(|walker| {
                        walker.scope.assign(&name, Variable::Known(value));
                        walker.list(source, &each.body);
                    });
                }
            }
            Ok(values) => self.loop_body(source, (&name, Origin::of_texts(&values)), &each.body),
            Err(origin) => self.loop_body(source, (&name, origin), &each.body),
        }
    }

    fn loop_body(&mut self, source: &Source, (name, origin): (&str, Origin), body: &List) {
        self.repeatedly(|walker| {
            walker.scope.assign(name, Variable::Unknown(origin.clone()));
            walker.list(source, body);
        });
    }

    /// The literal words a loop runs over, or where its values come from.
    fn loop_values(&mut self, source: &Source, words: Option<&[Word]>) -> Result<Vec<String>, Origin> {
        let Some(words) = words else {
            let positional = self.scope.positional().map(<[String]>::to_vec);
            return positional.ok_or(Origin::Own);
        };
        let mut values = Vec::new();
        for word in words {
            for expanded in self.expand_words(source, word) {
                match expanded.value {
                    Value::Literal(text) => values.push(text),
                    Value::Template(_) => return Err(self.origin(&expanded.value).or(Origin::of_texts(&values))),
                }
            }
        }
        Ok(values)
    }

    /// A loop runs its body again with what the body set: forget whatever could be set in it.
    fn enter_loop(&mut self, source: &Source, lists: &[&List]) {
        let names = self.scope.known_names();
        if !self.step(names.len()) {
            return;
        }
        for name in names {
            if self.mentions(source, &name) != 1 {
                self.scope.forget(&name);
            }
        }
        let movers = Movers { scope: &self.scope, source };
        if lists.iter().any(|list| movers.list(list)) {
            self.scope.move_to(Directory::Unknown, Certainty::Certain);
        }
    }

    fn condition(&mut self, source: &Source, terms: &[Term]) {
        for term in terms {
            match term {
                Term::Word(word) => self.visit_word(source, word),
                Term::Unary(operator, word) => {
                    self.visit_word(source, word);
                    if matches!(source.slice(*operator), "-v" | "-R") {
                        self.evaluate_named_word(source, word);
                    }
                }
                Term::Binary(left, operator, right) => {
                    self.visit_word(source, left);
                    self.visit_word(source, right);
                    if matches!(source.slice(*operator), "-eq" | "-ne" | "-lt" | "-le" | "-gt" | "-ge") {
                        self.evaluate_word(source, left);
                        self.evaluate_word(source, right);
                    }
                }
            }
        }
    }

    /// Notes that belong to no simple command get one of their own, without words.
    fn report_notes(&mut self, source: &Source, span: Span) {
        if self.notes.is_empty() || self.filling.is_some() {
            return;
        }
        let index = self.push_command(source.script, span);
        let notes = std::mem::take(&mut self.notes);
        if let Some(command) = self.analysis.commands.get_mut(index) {
            command.effects = notes;
        }
    }
}

/// The pipeline ends the shell or function: `exit 1`, `return`.
fn leaves(source: &Source, pipeline: &Pipeline) -> bool {
    match pipeline.stages.as_slice() {
        [Stage::Simple(simple)] => {
            simple.words.first().is_some_and(|word| matches!(source.slice(word.span), "exit" | "return"))
        }
        [Stage::Compound(compound)] => match &compound.kind {
            CompoundKind::Group(list) => list.items.last().is_some_and(|item| leaves(source, &item.first)),
            CompoundKind::Subshell(_)
            | CompoundKind::If(..)
            | CompoundKind::Loop(..)
            | CompoundKind::For(_)
            | CompoundKind::Counting(..)
            | CompoundKind::Case(..)
            | CompoundKind::Condition(_)
            | CompoundKind::Arithmetic(_) => false,
        },
        _ => false,
    }
}
