//! `cd`, `pushd`, `popd`: where commands run.

use super::Walker;
use super::paths;
use super::scope::{Certainty, Scope};
use super::source::Source;
use crate::command::Directory;
use crate::parse::tree::{CompoundKind, Content, Ending, Item, List, Pipeline, Stage, Word};
use crate::word;

impl Walker<'_> {
    /// `cd` with its operands.
    pub(super) fn change_directory(&mut self, operands: &[word::Word]) {
        let target = self.cd_target(operands);
        self.scope.move_to(target, Certainty::Certain);
    }

    pub(super) fn push_directory(&mut self, operands: &[word::Word]) {
        let target = if operands.is_empty() { Directory::Unknown } else { self.cd_target(operands) };
        self.scope.push_directory(target);
    }

    pub(super) fn pop_directory(&mut self, operands: &[word::Word]) {
        let target = self.scope.pop_directory().filter(|_| operands.is_empty());
        self.scope.move_to(target.unwrap_or(Directory::Unknown), Certainty::Certain);
    }

    fn cd_target(&self, operands: &[word::Word]) -> Directory {
        let mut operands = operands.iter();
        let mut target = None;
        for operand in operands.by_ref() {
            match operand.text() {
                Some("-L" | "-P" | "-e" | "-@" | "-Pe" | "--") => {}
                Some(text) => {
                    target = Some(text);
                    break;
                }
                None => return Directory::Unknown,
            }
        }
        if operands.next().is_some() || self.scope.variable("CDPATH").is_some() {
            return Directory::Unknown;
        }
        let home = self.context.home.as_deref().filter(|_| self.scope.variable("HOME").is_none());
        match (target, home) {
            (None, None) => Directory::Unknown,
            (None, Some(home)) => self.seen_from_here(home),
            (Some(text), _) if text.is_empty() || text.starts_with(['-', '+']) => Directory::Unknown,
            (Some(text), _) => self.seen_from_here(text),
        }
    }

    /// A path seen from the current directory; the start is told apart from all others.
    fn seen_from_here(&self, path: &str) -> Directory {
        let here = match &self.scope.place().directory {
            Directory::Start => self.context.directory.as_str(),
            Directory::At(directory) => directory,
            Directory::Unknown => "",
        };
        match paths::absolute(here, path) {
            None => Directory::Unknown,
            Some(path) if paths::absolute("", &self.context.directory).as_deref() == Some(&path) => Directory::Start,
            Some(path) => Directory::At(path),
        }
    }
}

/// Looks for commands that may change the directory of the shell that runs them.
pub(super) struct Movers<'w> {
    pub(super) scope: &'w Scope,
    pub(super) source: &'w Source,
}

impl Movers<'_> {
    /// Some command of the list moves.
    pub(super) fn list(&self, list: &List) -> bool {
        list.items.iter().any(|item| item.ending == Ending::Waits && self.item(item))
    }

    fn item(&self, item: &Item) -> bool {
        self.pipeline(&item.first) || item.rest.iter().any(|(_, pipeline)| self.pipeline(pipeline))
    }

    fn pipeline(&self, pipeline: &Pipeline) -> bool {
        match pipeline.stages.as_slice() {
            [Stage::Simple(simple)] => simple.words.first().is_some_and(|word| self.program(word)),
            [Stage::Compound(compound)] => self.compound(&compound.kind),
            _ => false,
        }
    }

    /// The program may be one that moves; anything but a plain word might be.
    fn program(&self, word: &Word) -> bool {
        let text = self.source.slice(word.span);
        let moving = matches!(text, "cd" | "pushd" | "popd" | "eval" | "source" | "." | "builtin" | "command");
        moving || !matches!(word.content, Content::Plain) || self.scope.function(text).is_some()
    }

    fn compound(&self, kind: &CompoundKind) -> bool {
        match kind {
            CompoundKind::Group(list) | CompoundKind::Counting(_, list) => self.list(list),
            CompoundKind::For(each) => self.list(&each.body),
            CompoundKind::Loop(condition, body) => self.list(condition) || self.list(body),
            CompoundKind::If(branches, otherwise) => {
                branches.iter().any(|(condition, branch)| self.list(condition) || self.list(branch))
                    || otherwise.as_ref().is_some_and(|list| self.list(list))
            }
            CompoundKind::Case(_, arms) => arms.iter().any(|arm| self.list(&arm.body)),
            CompoundKind::Subshell(_) | CompoundKind::Condition(_) | CompoundKind::Arithmetic(_) => false,
        }
    }
}
