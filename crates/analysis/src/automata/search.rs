//! The search for a text: automata are determinised as far as they are looked at, side by side, breadth first, so
//! that the first text found is a shortest one. Work is bounded; who runs out of it says so.

use std::rc::Rc;

use rustc_hash::{FxHashMap, FxHashSet};

use super::bytes::{self, ByteSet};
use super::formula::{Formula, Truth};
use super::nfa::{Nfa, StateId};

/// How much work a search may do. It is spent by every search that it is given to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget(usize);

impl Budget {
    /// So many steps.
    pub fn of(steps: usize) -> Self {
        Self(steps)
    }

    /// Whether nothing is left of it.
    pub fn is_spent(&self) -> bool {
        self.0 == 0
    }

    /// Lets a search have no more than so much of it.
    pub fn part<T>(&mut self, most: usize, search: impl FnOnce(&mut Budget) -> T) -> T {
        let given = self.0.min(most);
        let mut part = Budget(given);
        let found = search(&mut part);
        self.0 -= given - part.0;
        found
    }

    /// Takes some of it for work of another kind; false when nothing is left.
    pub fn take(&mut self, steps: usize) -> bool {
        self.spend(steps).is_ok()
    }

    fn spend(&mut self, steps: usize) -> Result<(), Spent> {
        self.0 = self.0.saturating_sub(steps);
        if self.0 == 0 { Err(Spent) } else { Ok(()) }
    }
}

/// Enough for every pair of patterns that a person would write, and a fraction of a second.
impl Default for Budget {
    fn default() -> Self {
        Self(4_000_000)
    }
}

/// What it costs to begin a search.
const BEGINNING: usize = 300;

/// The budget is spent.
pub(super) struct Spent;

/// Looks for a shortest text that the formula accepts, written with these letters alone; best letters first.
pub(super) fn shortest(formula: &Formula, letters: &[u8], budget: &mut Budget) -> Result<Option<Vec<u8>>, Spent> {
    let mut product = Product::of(formula, letters);
    budget.spend(BEGINNING)?;
    let first: Rc<[u32]> = product.atoms.iter().map(|_| 0).collect();
    let mut seen: FxHashSet<Rc<[u32]>> = FxHashSet::default();
    let mut found = vec![Reached { state: first.clone(), from: 0, by: 0 }];
    seen.insert(first);
    let mut at = 0;
    let mut next: Vec<u32> = Vec::new();
    while let Some(state) = found.get(at).map(|reached| reached.state.clone()) {
        budget.spend(1 + letters.len() / 8)?;
        if product.accepts(&state) {
            return Ok(Some(spelled(&found, at)));
        }
        let leading = product.leading(&state);
        for (letter, by) in letters.iter().enumerate().filter(|(_, by)| leading.holds(**by)) {
            product.after((&state, letter), &mut next, budget)?;
            if !seen.contains(next.as_slice()) && product.is_alive(&next) {
                let state: Rc<[u32]> = next.as_slice().into();
                seen.insert(state.clone());
                found.push(Reached { state, from: at, by: *by });
            }
        }
        at += 1;
    }
    Ok(None)
}

/// One byte of each class that the formula tells apart, out of `allowed`, best first.
pub(super) fn letters(formula: &Formula, allowed: ByteSet, budget: &mut Budget) -> Result<Vec<u8>, Spent> {
    let sets: FxHashSet<ByteSet> = formula.atoms().into_iter().flat_map(|nfa| nfa.sets().iter().copied()).collect();
    budget.spend(sets.len())?;
    let classes = bytes::classes(sets.into_iter());
    let mut letters: Vec<u8> = classes.into_iter().filter_map(|class| best(class.and(allowed))).collect();
    letters.sort_by_key(|letter| rank(*letter));
    Ok(letters)
}

/// The bytes that patterns spell out one by one.
pub(super) fn spelled_out(formula: &Formula) -> ByteSet {
    let sets = formula.atoms().into_iter().flat_map(|nfa| nfa.sets().iter().copied());
    sets.filter_map(ByteSet::single).fold(ByteSet::NONE, ByteSet::with)
}

fn best(class: ByteSet) -> Option<u8> {
    (0..=255).filter(|byte| class.holds(*byte)).min_by_key(|byte| rank(*byte))
}

/// The order in which letters are tried: `x` reads like a name that stands for any other.
fn rank(byte: u8) -> (u8, u8) {
    let group = match byte {
        b'x' => 0,
        b'y' | b'z' => 1,
        b'a'..=b'w' => 2,
        b'A'..=b'Z' => 3,
        b'0'..=b'9' => 4,
        b'-' | b'_' => 5,
        b'.' | b'/' => 6,
        b' ' => 7,
        b':' | b'=' | b',' | b'@' | b'+' | b'%' => 8,
        0x21..=0x7e => 9,
        0x80..=0xff => 10,
        b'\t' | b'\n' => 11,
        0..=0x1f | 0x7f => 12,
    };
    (group, byte)
}

struct Reached {
    state: Rc<[u32]>,
    from: usize,
    by: u8,
}

fn spelled(found: &[Reached], end: usize) -> Vec<u8> {
    let mut text = Vec::new();
    let mut at = end;
    while let Some(reached) = found.get(at).filter(|_| at > 0) {
        text.push(reached.by);
        at = reached.from;
    }
    text.reverse();
    text
}

/// The automata of a formula, side by side.
struct Product<'a> {
    formula: &'a Formula,
    atoms: Vec<Determined<'a>>,
    /// Those that every text must be accepted by. Where one of them comes to its end, nobody asks the others, of which
    /// one may stand for thousands of rules.
    required: Vec<usize>,
}

impl<'a> Product<'a> {
    fn of(formula: &'a Formula, letters: &'a [u8]) -> Self {
        let atoms = formula.atoms().into_iter().map(|nfa| Determined::of(nfa, letters)).collect();
        Self { formula, atoms, required: formula.required() }
    }

    fn accepts(&self, state: &[u32]) -> bool {
        let accepting = self.atoms.iter().zip(state).map(|(atom, state)| Truth::from(atom.fact(*state).accepts));
        self.formula.truth(accepting) == Truth::True
    }

    /// Whether some text may still lead to acceptance.
    fn is_alive(&self, state: &[u32]) -> bool {
        let future = self.atoms.iter().zip(state).map(|(atom, state)| atom.fact(*state).future);
        self.formula.truth(future) != Truth::False
    }

    /// The bytes that may lead on.
    fn leading(&self, state: &[u32]) -> ByteSet {
        let required = self.required.iter().filter_map(|place| self.atoms.get(*place).zip(state.get(*place)));
        required.fold(ByteSet::ALL, |leading, (atom, state)| leading.and(atom.fact(*state).leading))
    }

    /// Where a letter leads.
    fn after(
        &mut self,
        (state, letter): (&[u32], usize),
        next: &mut Vec<u32>,
        budget: &mut Budget,
    ) -> Result<(), Spent> {
        budget.spend(self.atoms.len())?;
        next.clear();
        for (atom, state) in self.atoms.iter_mut().zip(state) {
            next.push(atom.after(*state, letter, budget)?);
        }
        Ok(())
    }
}

/// An automaton, determinised as far as it was looked at.
struct Determined<'a> {
    nfa: &'a Nfa,
    letters: &'a [u8],
    states: Vec<Box<[StateId]>>,
    facts: Vec<Fact>,
    numbers: FxHashMap<Box<[StateId]>, u32>,
    /// By state and letter.
    next: Vec<Option<u32>>,
    /// The state that nothing leads on from, which most letters lead to.
    end: Option<u32>,
}

#[derive(Clone, Copy)]
struct Fact {
    accepts: bool,
    /// Whether it will accept, whatever follows.
    future: Truth,
    /// The bytes that lead on.
    leading: ByteSet,
}

impl<'a> Determined<'a> {
    fn of(nfa: &'a Nfa, letters: &'a [u8]) -> Self {
        let mut determined = Self {
            nfa,
            letters,
            states: Vec::new(),
            facts: Vec::new(),
            numbers: FxHashMap::default(),
            next: Vec::new(),
            end: None,
        };
        determined.number(nfa.starts());
        determined
    }

    fn number(&mut self, states: Vec<StateId>) -> u32 {
        if let Some(end) = self.end.filter(|_| states.is_empty()) {
            return end;
        }
        let states: Box<[StateId]> = states.into();
        if let Some(number) = self.numbers.get(&states) {
            return *number;
        }
        let number = u32::try_from(self.states.len()).unwrap_or(u32::MAX);
        if states.is_empty() {
            self.end = Some(number);
        }
        let future = match (states.is_empty(), self.nfa.accepts_all(&states)) {
            (true, _) => Truth::False,
            (false, true) => Truth::True,
            (false, false) => Truth::Open,
        };
        self.facts.push(Fact { accepts: self.nfa.accepts(&states), future, leading: self.nfa.leading(&states) });
        self.states.push(states.clone());
        self.next.extend(std::iter::repeat_n(None, self.letters.len()));
        self.numbers.insert(states, number);
        number
    }

    fn fact(&self, state: u32) -> Fact {
        self.facts.get(state as usize).copied().unwrap_or(Fact {
            accepts: false,
            future: Truth::Open,
            leading: ByteSet::ALL,
        })
    }

    fn after(&mut self, state: u32, letter: usize, budget: &mut Budget) -> Result<u32, Spent> {
        let place = state as usize * self.letters.len() + letter;
        if let Some(known) = self.next.get(place).copied().flatten() {
            return Ok(known);
        }
        let states = self.states.get(state as usize).map(|states| &**states).unwrap_or_default();
        budget.spend(1 + self.nfa.ways(states))?;
        let next = self.nfa.after(states, self.letters.get(letter).copied().unwrap_or_default());
        let next = self.number(next);
        if let Some(slot) = self.next.get_mut(place) {
            *slot = Some(next);
        }
        Ok(next)
    }
}
