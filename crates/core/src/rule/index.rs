//! The index over text patterns: which rules match this text, without trying them one by one.
//!
//! Exact texts and prefixes are looked up by hash. Globs are found by the hash of how they begin, then of how they
//! end. The cost of a lookup depends on the text, not on the number of rules.

use std::collections::hash_map::Entry;

use rustc_hash::FxHashMap;

use crate::rule::text::{Ending, Glob, TextPattern};

/// A rule's place in its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RuleId(pub u32);

/// Rules that share a pattern: nearly always one, which takes no memory of its own.
#[derive(Clone, Debug)]
enum Ids {
    One(RuleId),
    #[expect(clippy::box_collection, reason = "a policy has one of these for each pattern, and hardly ever this one")]
    Several(Box<Vec<RuleId>>),
}

impl Ids {
    fn add(&mut self, id: RuleId) {
        match self {
            Ids::One(first) => *self = Ids::Several(Box::new(vec![*first, id])),
            Ids::Several(ids) => ids.push(id),
        }
    }

    fn as_slice(&self) -> &[RuleId] {
        match self {
            Ids::One(id) => std::slice::from_ref(id),
            Ids::Several(ids) => ids,
        }
    }
}

/// Puts a rule beside those that share its pattern.
fn share(ids: &mut FxHashMap<Box<str>, Ids>, text: String, id: RuleId) {
    match ids.entry(text.into()) {
        Entry::Occupied(mut sharing) => sharing.get_mut().add(id),
        Entry::Vacant(vacant) => {
            vacant.insert(Ids::One(id));
        }
    }
}

/// An index over text patterns.
#[derive(Clone, Debug, Default)]
pub struct TextIndex {
    exact: FxHashMap<Box<str>, Ids>,
    prefixes: FxHashMap<Box<str>, Ids>,
    longest_prefix: usize,
    globs: FxHashMap<Box<str>, Endings>,
    beginnings: Lengths,
}

/// Globs that begin alike, by how they end.
#[derive(Clone, Debug, Default)]
struct Endings {
    by_text: FxHashMap<Box<str>, Vec<(Glob, RuleId)>>,
    lengths: Lengths,
    by_word: Vec<(Glob, RuleId)>,
}

/// The distinct lengths of a set of keys, ascending.
#[derive(Clone, Debug, Default)]
struct Lengths(Vec<usize>);

impl Lengths {
    fn insert(&mut self, length: usize) {
        if let Err(at) = self.0.binary_search(&length) {
            self.0.insert(at, length);
        }
    }

    fn up_to(&self, limit: usize) -> impl Iterator<Item = usize> {
        self.0.iter().copied().take_while(move |length| *length <= limit)
    }
}

/// Which patterns of an index may speak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Every pattern.
    Every,
    /// Only patterns that spell the whole text out: a wildcard would have to swallow something unknown.
    Spelled,
}

impl TextIndex {
    /// Makes room for so many prefixes, which is what most rules are.
    pub fn make_room(&mut self, count: usize) {
        self.prefixes.reserve(count);
    }

    /// Adds a rule.
    pub fn insert(&mut self, pattern: TextPattern, id: RuleId) {
        match pattern {
            TextPattern::Exact(text) => share(&mut self.exact, text, id),
            // An empty prefix would grant everything by accident.
            TextPattern::Prefix(text) if text.is_empty() => {}
            TextPattern::Prefix(text) => {
                self.longest_prefix = self.longest_prefix.max(text.len());
                share(&mut self.prefixes, text, id);
            }
            TextPattern::Glob(glob) => {
                self.beginnings.insert(glob.first.len());
                self.globs.entry(glob.first.as_str().into()).or_default().insert(glob, id);
            }
        }
    }

    /// Whether there is any rule at all.
    pub fn is_empty(&self) -> bool {
        self.exact.is_empty() && self.prefixes.is_empty() && self.globs.is_empty()
    }

    /// Calls `found` for every rule that matches, in no particular order.
    pub fn visit(&self, text: &str, reach: Reach, found: &mut dyn FnMut(RuleId)) {
        if let Some(ids) = self.exact.get(text) {
            ids.as_slice().iter().copied().for_each(&mut *found);
        }
        if reach == Reach::Spelled {
            return;
        }
        self.visit_prefixes(text, found);
        for length in self.beginnings.up_to(text.len()) {
            let endings = text.get(..length).and_then(|first| self.globs.get(first));
            if let Some(endings) = endings {
                endings.visit(text, found);
            }
        }
    }

    fn visit_prefixes(&self, text: &str, found: &mut dyn FnMut(RuleId)) {
        if self.prefixes.is_empty() {
            return;
        }
        let ends = text.char_indices().filter(|(_, letter)| matches!(letter, ' ' | '\t' | '\n'));
        for end in ends.map(|(at, _)| at).chain([text.len()]).take_while(|end| *end <= self.longest_prefix) {
            let ids = text.get(..end).and_then(|prefix| self.prefixes.get(prefix));
            ids.map(Ids::as_slice).unwrap_or_default().iter().copied().for_each(&mut *found);
        }
    }

    /// The first rule, in the policy's order, that matches and is accepted.
    pub fn first(&self, text: &str, reach: Reach, accept: &dyn Fn(RuleId) -> bool) -> Option<RuleId> {
        let mut first = None;
        self.visit(text, reach, &mut |id| {
            if first.is_none_or(|earlier| id < earlier) && accept(id) {
                first = Some(id);
            }
        });
        first
    }
}

impl Endings {
    fn insert(&mut self, glob: Glob, id: RuleId) {
        match &glob.last {
            Ending::Text(last) => {
                self.lengths.insert(last.len());
                self.by_text.entry(last.as_str().into()).or_default().push((glob, id));
            }
            Ending::Word(_) => self.by_word.push((glob, id)),
        }
    }

    fn visit(&self, text: &str, found: &mut dyn FnMut(RuleId)) {
        let by_text = self.lengths.up_to(text.len()).filter_map(|length| {
            let last = text.get(text.len() - length..)?;
            self.by_text.get(last)
        });
        for (glob, id) in by_text.flatten().chain(&self.by_word) {
            if glob.matches(text) {
                found(*id);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_index_finds_what_trying_one_by_one_finds(
            patterns in proptest::collection::vec("[ab *:]{0,6}", 0..12),
            text in "[ab ]{0,8}",
        ) {
            let mut index = TextIndex::default();
            let compiled: Vec<_> = patterns.iter().map(|pattern| TextPattern::command(pattern)).collect();
            for (number, pattern) in compiled.iter().enumerate() {
                index.insert(pattern.clone(), RuleId(number as u32));
            }
            let mut found = vec![];
            index.visit(&text, Reach::Every, &mut |id| found.push(id.0 as usize));
            found.sort_unstable();
            let expected: Vec<_> = (0..compiled.len()).filter(|&number| compiled[number].matches(&text)).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
