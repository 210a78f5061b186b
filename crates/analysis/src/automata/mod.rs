//! Languages: the texts that rules match, as automata. Inclusion, overlap and difference are found exactly, each with a
//! shortest witness, or not at all: a search that would take too long says [`Search::Undecided`] and never "nothing".
//!
//! ```
//! use mayi_analysis::automata::{Budget, Language, Search};
//! use mayi_core::rule::text::TextPattern;
//!
//! let command = |text: &str| Language::text(&TextPattern::command(text));
//! let denied = Language::union([command("git push --force:*"), command("git push -f:*")]);
//! let found = command("git push:*").minus(&denied).find(&mut Budget::default());
//! assert_eq!(found.witness(), Some("git push"));
//! assert_eq!(command("git push -f x").minus(&denied).find(&mut Budget::default()), Search::Nothing);
//! ```

mod bytes;
mod finder;
mod formula;
mod host;
mod meaning;
mod negations;
mod nfa;
mod path;
mod search;
mod text;
mod universe;

#[cfg(test)]
mod laws;

use std::sync::Arc;

use mayi_core::path::Case;
use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::path::PathPattern;
use mayi_core::rule::text::TextPattern;

use bytes::ByteSet;
use formula::Formula;
use nfa::Nfa;

pub(crate) use finder::Finder;
pub(crate) use path::letter_of_class;

pub use meaning::{Claim, Meaning, Pattern, Region, Taken};
pub use search::Budget;
pub use universe::Universe;

/// A set of texts.
#[derive(Clone, Debug)]
pub struct Language {
    universe: Universe,
    formula: Formula,
}

/// What a search for a text found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Search {
    /// There is no such text.
    Nothing,
    /// A shortest text.
    Found(Witness),
    /// The search was given up: it would have taken too long.
    Undecided,
}

/// A text that shows something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Witness {
    /// The text.
    pub text: String,
    /// Whether a person would write it so. If not, no readable text shows the same: it holds control characters,
    /// stray blanks, or letters that no rule spells.
    pub is_readable: bool,
}

impl Search {
    /// The text, if one was found.
    pub fn witness(&self) -> Option<&str> {
        match self {
            Search::Found(witness) => Some(&witness.text),
            Search::Nothing | Search::Undecided => None,
        }
    }
}

impl Language {
    /// No text at all.
    pub fn nothing(universe: Universe) -> Self {
        Self { universe, formula: Formula::Any(Vec::new()) }
    }

    /// Every text.
    pub fn everything(universe: Universe) -> Self {
        Self { universe, formula: Formula::All(Vec::new()) }
    }

    /// What a text pattern matches.
    pub fn text(pattern: &TextPattern) -> Self {
        Self::of(Universe::Text, text::automaton(pattern))
    }

    /// The same for the names of tools.
    pub fn name(pattern: &TextPattern) -> Self {
        Self { universe: Universe::Name, ..Self::text(pattern) }
    }

    /// What a host pattern matches.
    pub fn host(pattern: &DomainPattern) -> Self {
        Self::of(Universe::Host, host::automaton(pattern))
    }

    /// What a path pattern matches, be it negated or not. Without case, paths are folded before they are compared.
    pub fn path(pattern: &PathPattern, case: Case) -> Self {
        Self::path_part(pattern, case, path::Part::Whole)
    }

    /// What lies below a directory that the pattern matches.
    fn path_above(pattern: &PathPattern, case: Case) -> Self {
        Self::path_part(pattern, case, path::Part::Above)
    }

    fn path_part(pattern: &PathPattern, case: Case, part: path::Part) -> Self {
        let whole = Self::of(Universe::Path(case), path::automaton(pattern, case, part));
        match pattern.spared() {
            Some(spared) => whole.minus(&Self::within(spared, case)),
            None => whole,
        }
    }

    /// A directory and everything in it.
    pub fn within(directory: &str, case: Case) -> Self {
        Self::of(Universe::Path(case), path::within(directory, case))
    }

    fn of(universe: Universe, nfa: Nfa) -> Self {
        Self { universe, formula: Formula::Atom(Arc::new(nfa)) }
    }

    /// What kind of texts it holds.
    pub fn universe(&self) -> Universe {
        self.universe
    }

    /// What is in any of the languages. They must be of one universe; of no language at all it is no text.
    pub fn union(languages: impl IntoIterator<Item = Language>) -> Self {
        let (mut atoms, mut others) = (Vec::new(), Vec::new());
        let mut universe = None;
        for language in languages {
            universe.get_or_insert(language.universe);
            match language.formula {
                Formula::Atom(nfa) => atoms.push(nfa),
                other @ (Formula::Not(_) | Formula::All(_) | Formula::Any(_)) => others.push(other),
            }
        }
        // Plain automata become one: side by side, each of them would be another dimension of the search.
        match atoms.as_slice() {
            [] => {}
            [only] => others.push(Formula::Atom(Arc::clone(only))),
            [_, ..] => others.push(Formula::Atom(Arc::new(Nfa::union(atoms.iter().map(Arc::as_ref))))),
        }
        let formula =
            if others.len() == 1 { others.pop().unwrap_or(Formula::Any(Vec::new())) } else { Formula::Any(others) };
        Self { universe: universe.unwrap_or(Universe::Text), formula }
    }

    /// What is in both.
    #[must_use]
    pub fn and(&self, other: &Language) -> Self {
        Self { universe: self.universe, formula: Formula::All(vec![self.formula.clone(), other.formula.clone()]) }
    }

    /// What is in this one and not in the other.
    #[must_use]
    pub fn minus(&self, other: &Language) -> Self {
        let not = Formula::Not(Arc::new(other.formula.clone()));
        Self { universe: self.universe, formula: Formula::All(vec![self.formula.clone(), not]) }
    }

    /// Looks for a text in it: a readable one if there is any, and a shortest one of those.
    pub fn find(&self, budget: &mut Budget) -> Search {
        let texts = self.universe.texts();
        // Most often there is nothing, and one search is enough to know that.
        let every = self.within_texts(&[&texts.all]);
        let found = match search(&every, ByteSet::ALL, budget) {
            Search::Found(witness) => witness,
            other @ (Search::Nothing | Search::Undecided) => return other,
        };
        let printed = ByteSet::range(0x20, 0x7e).or(ByteSet::range(0x80, 0xff));
        let letters = texts.letters.or(search::spelled_out(&self.formula).and(printed));
        if texts.readable.holds(&found.text) && found.text.bytes().all(|byte| letters.holds(byte)) {
            return Search::Found(found);
        }
        let readable = self.within_texts(&[&texts.all, &texts.readable]);
        match search(&readable, letters, budget) {
            Search::Nothing => Search::Found(Witness { is_readable: false, ..found }),
            found @ (Search::Found(_) | Search::Undecided) => found,
        }
    }

    fn within_texts(&self, texts: &[&Arc<Nfa>]) -> Formula {
        let texts = texts.iter().map(|nfa| Formula::Atom(Arc::clone(nfa)));
        Formula::All(texts.chain([self.formula.clone()]).collect())
    }

    /// Whether everything in it is in the other as well; if not, a text that is not.
    pub fn outside(&self, other: &Language, budget: &mut Budget) -> Search {
        self.minus(other).find(budget)
    }

    /// Whether the two share a text, and which.
    pub fn overlap(&self, other: &Language, budget: &mut Budget) -> Search {
        self.and(other).find(budget)
    }

    /// Whether a text is in it.
    pub fn holds(&self, text: &str) -> bool {
        let atoms = self.formula.atoms().into_iter().map(|nfa| formula::Truth::from(nfa.holds(text)));
        self.formula.truth(atoms) == formula::Truth::True
    }
}

fn search(formula: &Formula, letters: ByteSet, budget: &mut Budget) -> Search {
    // A list without rules is often one of the parts.
    if formula.truth(std::iter::repeat(formula::Truth::Open)) == formula::Truth::False {
        return Search::Nothing;
    }
    let found =
        search::letters(formula, letters, budget).and_then(|letters| search::shortest(formula, &letters, budget));
    match found {
        Err(search::Spent) => Search::Undecided,
        Ok(None) => Search::Nothing,
        Ok(Some(found)) => {
            let text = String::from_utf8_lossy(&found).into_owned();
            Search::Found(Witness { text, is_readable: true })
        }
    }
}
