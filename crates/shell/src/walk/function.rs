//! Functions of the text: calls are followed into the body, and bodies nobody calls are reported too.

use super::scope::{Certainty, Defined};
use super::source::Source;
use super::{CALL_STEPS, Walker};
use crate::command::{Redirect, Why};
use crate::parse::budget;
use crate::parse::tree::{Compound, Function};
use crate::word::Word;
use std::rc::Rc;

/// A function definition that was met.
pub(super) struct Definition {
    body: Rc<Compound>,
    source: Source,
    calls: usize,
}

/// Calls of one function that are followed with their own arguments. One more is followed with nothing known,
/// which covers all others.
const CALLS: usize = 8;

impl Walker<'_> {
    pub(super) fn define_function(&mut self, source: &Source, function: &Function) {
        let Some(name) = self.expand_value(source, &function.name).and_then(|word| word.text().map(str::to_owned))
        else {
            return self.give_up(Why::Syntax("a function's name".to_owned()), function.name.span);
        };
        let id = self.definitions.len();
        let (body, source) = (function.body.clone(), source.clone());
        self.definitions.push(Definition { body: body.clone(), source: source.clone(), calls: 0 });
        self.scope.define(&name, Defined { id, body, source, certainty: Certainty::Certain });
    }

    /// Walks a function's body as called with `words` (its name first) and the call's own redirections.
    pub(super) fn call(&mut self, function: &Defined, words: &[Word], redirects: Vec<Redirect>) {
        let Some(definition) = self.definitions.get_mut(function.id) else { return };
        definition.calls += 1;
        let calls = definition.calls;
        if calls > CALLS + 1 || self.calls.contains(&function.id) {
            // It runs commands that are already listed; what it leaves behind is not followed.
            return self.forget_everything();
        }
        if self.frame.depth >= budget::DEPTH {
            return self.give_up(Why::TooDeep, function.body.span);
        }
        if !self.step(CALL_STEPS) {
            return;
        }
        let arguments = words.iter().skip(1).map(|word| word.text().map(str::to_owned)).collect();
        let outer = self.scope.positional().map(<[String]>::to_vec);
        let depth = self.redirects.len();
        self.redirects.extend(redirects);
        self.calls.push(function.id);
        self.maybe(|walker| {
            walker.scope.set_positional(arguments);
            if calls > CALLS {
                walker.forget_everything();
            }
            walker.compound(&function.source, &function.body);
        });
        self.scope.set_positional(outer);
        self.calls.pop();
        self.redirects.truncate(depth);
    }

    /// Bodies that no call reached: someone may call them later, with anything, from anywhere.
    pub(super) fn uncalled_functions(&mut self) {
        let mut id = 0;
        while let Some(definition) = self.definitions.get_mut(id) {
            id += 1;
            if definition.calls > 0 {
                continue;
            }
            definition.calls = CALLS + 1;
            let (body, source) = (definition.body.clone(), definition.source.clone());
            let mark = self.scope.mark();
            self.forget_everything();
            self.compound(&source, &body);
            self.scope.undo(mark);
        }
    }

    /// Code ran that the text does not show.
    pub(super) fn forget_everything(&mut self) {
        let size = self.scope.size();
        if self.step(size) {
            self.scope.forget_all();
        }
    }
}
