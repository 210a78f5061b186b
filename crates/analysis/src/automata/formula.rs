//! Formulas over automata: and, or, not. A formula is never multiplied out; the search asks it about the truth of its
//! automata, which may still be open.

use std::sync::Arc;

use super::nfa::Nfa;

/// A boolean combination of automata.
#[derive(Clone, Debug)]
pub(super) enum Formula {
    Atom(Arc<Nfa>),
    Not(Arc<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

/// What is known of a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Truth {
    False,
    Open,
    True,
}

impl From<bool> for Truth {
    fn from(known: bool) -> Self {
        if known { Truth::True } else { Truth::False }
    }
}

impl Truth {
    fn not(self) -> Self {
        match self {
            Truth::False => Truth::True,
            Truth::Open => Truth::Open,
            Truth::True => Truth::False,
        }
    }
}

impl Formula {
    /// Its automata, in the order in which the formula names them.
    pub(super) fn atoms(&self) -> Vec<&Nfa> {
        let mut atoms: Vec<&Arc<Nfa>> = Vec::new();
        self.collect(&mut atoms);
        atoms.into_iter().map(Arc::as_ref).collect()
    }

    fn collect<'a>(&'a self, atoms: &mut Vec<&'a Arc<Nfa>>) {
        match self {
            // In the order of the walk, repetitions too: the walk that reads the truths takes them one by one.
            Formula::Atom(nfa) => atoms.push(nfa),
            Formula::Not(inner) => inner.collect(atoms),
            Formula::All(parts) | Formula::Any(parts) => parts.iter().for_each(|part| part.collect(atoms)),
        }
    }

    /// The places of those automata that have to accept for it to be true.
    pub(super) fn required(&self) -> Vec<usize> {
        let mut required = Vec::new();
        self.require(0, &mut required);
        required
    }

    /// Notes what this part requires; gives the place after its last automaton.
    fn require(&self, place: usize, required: &mut Vec<usize>) -> usize {
        match self {
            Formula::Atom(_) => {
                required.push(place);
                place + 1
            }
            Formula::All(parts) => parts.iter().fold(place, |place, part| part.require(place, required)),
            Formula::Not(_) | Formula::Any(_) => place + self.atoms().len(),
        }
    }

    /// Its truth, from the truth of its automata in their order.
    pub(super) fn truth(&self, mut atoms: impl Iterator<Item = Truth>) -> Truth {
        self.walk(&mut atoms)
    }

    fn walk(&self, atoms: &mut impl Iterator<Item = Truth>) -> Truth {
        match self {
            Formula::Atom(_) => atoms.next().unwrap_or(Truth::Open),
            Formula::Not(inner) => inner.walk(&mut *atoms).not(),
            Formula::All(parts) => parts.iter().fold(Truth::True, |all, part| match (all, part.walk(&mut *atoms)) {
                (Truth::False, _) | (_, Truth::False) => Truth::False,
                (Truth::Open, _) | (_, Truth::Open) => Truth::Open,
                (Truth::True, Truth::True) => Truth::True,
            }),
            Formula::Any(parts) => parts.iter().fold(Truth::False, |any, part| match (any, part.walk(&mut *atoms)) {
                (Truth::True, _) | (_, Truth::True) => Truth::True,
                (Truth::Open, _) | (_, Truth::Open) => Truth::Open,
                (Truth::False, Truth::False) => Truth::False,
            }),
        }
    }
}
