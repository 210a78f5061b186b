//! Automata with many states at once, as patterns give them: a chain of states, loops where a wildcard stands.
//!
//! A state may *rule out* earlier ones of its pattern: whoever has come to the second `*` of `a*b*c` gains nothing by
//! looking for `b` once more. This keeps the determinised automaton of one pattern as small as the pattern, however
//! many stars it has.

use std::collections::HashMap;

use super::bytes::ByteSet;

/// The number of a state.
pub(super) type StateId = u32;

/// An automaton.
#[derive(Clone, Debug, Default)]
pub(super) struct Nfa {
    states: Vec<State>,
    starts: Vec<StateId>,
    /// The sets that its steps are about, each once.
    sets: Vec<ByteSet>,
}

#[derive(Clone, Debug, Default)]
struct State {
    steps: Vec<Step>,
    accepts: bool,
    /// Whatever follows, it is accepted.
    is_total: bool,
    /// The first of the earlier states that this one makes needless.
    rules_out: Option<StateId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Step {
    /// The place in `sets`.
    on: usize,
    to: StateId,
}

impl Nfa {
    /// The states it starts in.
    pub(super) fn starts(&self) -> Vec<StateId> {
        self.settled(self.starts.clone())
    }

    /// The sets of bytes that it tells apart.
    pub(super) fn sets(&self) -> &[ByteSet] {
        &self.sets
    }

    /// Where a byte leads from some states.
    pub(super) fn after(&self, states: &[StateId], byte: u8) -> Vec<StateId> {
        let steps = states.iter().filter_map(|state| self.states.get(*state as usize)).flat_map(|state| &state.steps);
        let taken = steps.filter(|step| self.sets.get(step.on).is_some_and(|set| set.holds(byte)));
        self.settled(taken.map(|step| step.to).collect())
    }

    /// Whether it accepts a text.
    pub(super) fn holds(&self, text: &str) -> bool {
        let end = text.bytes().fold(self.starts(), |states, byte| self.after(&states, byte));
        self.accepts(&end)
    }

    /// How many steps lead on from some states: what it costs to follow them.
    pub(super) fn ways(&self, states: &[StateId]) -> usize {
        states.iter().filter_map(|state| self.states.get(*state as usize)).map(|state| state.steps.len()).sum()
    }

    /// The bytes that lead on from some states.
    pub(super) fn leading(&self, states: &[StateId]) -> ByteSet {
        let steps = states.iter().filter_map(|state| self.states.get(*state as usize)).flat_map(|state| &state.steps);
        steps.filter_map(|step| self.sets.get(step.on)).fold(ByteSet::NONE, |all, set| all.or(*set))
    }

    /// Whether one of the states accepts.
    pub(super) fn accepts(&self, states: &[StateId]) -> bool {
        states.iter().filter_map(|state| self.states.get(*state as usize)).any(|state| state.accepts)
    }

    /// Whether one of the states accepts whatever follows.
    pub(super) fn accepts_all(&self, states: &[StateId]) -> bool {
        states.iter().filter_map(|state| self.states.get(*state as usize)).any(|state| state.is_total)
    }

    /// Sorted, each once, without those that another one rules out.
    fn settled(&self, mut states: Vec<StateId>) -> Vec<StateId> {
        states.sort_unstable();
        states.dedup();
        let is_total = |state: &&StateId| self.states.get(**state as usize).is_some_and(|state| state.is_total);
        if let Some(total) = states.iter().find(is_total) {
            return vec![*total];
        }
        let mut kept: Vec<StateId> = Vec::with_capacity(states.len());
        for state in states {
            let rules_out = self.states.get(state as usize).and_then(|state| state.rules_out);
            if let Some(first) = rules_out {
                kept.truncate(kept.partition_point(|earlier| *earlier < first));
            }
            kept.push(state);
        }
        kept
    }

    /// The automaton that accepts what any of these does. What patterns spell alike at their beginning is there once:
    /// thousands of rules about one folder are one until the folder ends.
    pub(super) fn union<'a>(parts: impl Iterator<Item = &'a Nfa>) -> Self {
        let mut union = Union::default();
        let start = union.state();
        union.whole.starts.push(start);
        parts.for_each(|part| union.add(start, part));
        union.whole
    }

    /// The bytes that it spells before anything else, one state after the other from the only start.
    fn spelled(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        if self.starts != [0] {
            return bytes;
        }
        while let Some(State { steps, accepts: false, is_total: false, rules_out: None }) = self.states.get(bytes.len())
        {
            let [Step { on, to }] = steps.as_slice() else { break };
            let byte = self.sets.get(*on).and_then(|set| set.single());
            let Some(byte) = byte.filter(|_| *to as usize == bytes.len() + 1) else { break };
            bytes.push(byte);
        }
        bytes
    }
}

/// A union in the making.
#[derive(Default)]
struct Union {
    whole: Nfa,
    places: HashMap<ByteSet, usize>,
    /// Where a byte leads within what is spelled.
    spelled: HashMap<(StateId, u8), StateId>,
}

impl Union {
    fn state(&mut self) -> StateId {
        self.whole.states.push(State::default());
        id(self.whole.states.len() - 1)
    }

    fn place(&mut self, set: ByteSet) -> usize {
        *self.places.entry(set).or_insert_with(|| {
            self.whole.sets.push(set);
            self.whole.sets.len() - 1
        })
    }

    /// The state after a byte that patterns spell.
    fn after(&mut self, at: StateId, byte: u8) -> StateId {
        if let Some(known) = self.spelled.get(&(at, byte)) {
            return *known;
        }
        let (to, on) = (self.state(), self.place(ByteSet::one(byte)));
        self.spelled.insert((at, byte), to);
        if let Some(state) = self.whole.states.get_mut(at as usize) {
            state.steps.push(Step { on, to });
        }
        to
    }

    fn add(&mut self, start: StateId, part: &Nfa) {
        let mut spelled = part.spelled();
        // A state that something leads back to is nobody else's.
        let further = part.states.iter().skip(spelled.len()).flat_map(|state| &state.steps);
        spelled.truncate(further.map(|step| step.to as usize).min().unwrap_or(usize::MAX));
        let shared = id(spelled.len());
        let joint = spelled.into_iter().fold(start, |at, byte| self.after(at, byte));
        let sets: Vec<usize> = part.sets.iter().map(|set| self.place(*set)).collect();
        // What is left of the part comes after everything so far, in its own order.
        let base = id(self.whole.states.len());
        let moved = |state: StateId| state.saturating_sub(shared) + base;
        let step = |step: &Step| Some(Step { on: *sets.get(step.on)?, to: moved(step.to) });
        for state in part.states.iter().skip(shared as usize) {
            let steps = state.steps.iter().filter_map(step).collect();
            self.whole.states.push(State { steps, rules_out: state.rules_out.map(moved), ..state.clone() });
        }
        let firsts = match shared {
            0 => part.starts.clone(),
            _ => vec![shared],
        };
        for first in firsts {
            self.join(joint, moved(first));
        }
    }

    /// Whatever the second state does, the first one does as well.
    fn join(&mut self, joint: StateId, first: StateId) {
        let Some(State { steps, accepts, is_total, .. }) = self.whole.states.get(first as usize).cloned() else {
            return;
        };
        if let Some(state) = self.whole.states.get_mut(joint as usize) {
            state.steps.extend(steps);
            (state.accepts, state.is_total) = (state.accepts || accepts, state.is_total || is_total);
        }
    }
}

fn id(number: usize) -> StateId {
    StateId::try_from(number).unwrap_or(StateId::MAX)
}

/// Puts an automaton together, state by state, in the order of its pattern.
#[derive(Debug, Default)]
pub(super) struct Builder {
    nfa: Nfa,
    places: HashMap<ByteSet, usize>,
    /// States that are reached without a byte.
    free: Vec<Vec<StateId>>,
    /// States where something must still come: they accept nothing, and no `stop` byte leads on from them.
    unbegun: Vec<(StateId, ByteSet)>,
}

impl Builder {
    /// A new state.
    pub(super) fn state(&mut self) -> StateId {
        self.nfa.states.push(State::default());
        self.free.push(Vec::new());
        id(self.nfa.states.len() - 1)
    }

    /// The automaton starts there.
    pub(super) fn start(&mut self, state: StateId) {
        self.nfa.starts.push(state);
    }

    /// A byte of the set leads from one state to another.
    pub(super) fn step(&mut self, from: StateId, on: ByteSet, to: StateId) {
        let sets = &mut self.nfa.sets;
        let on = *self.places.entry(on).or_insert_with(|| {
            sets.push(on);
            sets.len() - 1
        });
        if let Some(state) = self.nfa.states.get_mut(from as usize) {
            state.steps.push(Step { on, to });
        }
    }

    /// The second state is reached with the first one.
    pub(super) fn free(&mut self, from: StateId, to: StateId) {
        if let Some(free) = self.free.get_mut(from as usize) {
            free.push(to);
        }
    }

    /// Steps over a text, byte by byte; gives the state after it.
    pub(super) fn text(&mut self, from: StateId, text: &[u8]) -> StateId {
        let mut at = from;
        for byte in text {
            let next = self.state();
            self.step(at, ByteSet::one(*byte), next);
            at = next;
        }
        at
    }

    /// The state accepts.
    pub(super) fn accept(&mut self, state: StateId) {
        if let Some(state) = self.nfa.states.get_mut(state as usize) {
            state.accepts = true;
        }
    }

    /// The state loops on the set, and makes the states from `first` on needless.
    pub(super) fn wildcard(&mut self, state: StateId, on: ByteSet, first: StateId) {
        self.step(state, on, state);
        if let Some(state) = self.nfa.states.get_mut(state as usize) {
            state.rules_out = Some(first);
        }
    }

    /// A new state that accepts whatever follows.
    pub(super) fn everything(&mut self) -> StateId {
        let state = self.state();
        self.step(state, ByteSet::ALL, state);
        if let Some(state) = self.nfa.states.get_mut(state as usize) {
            (state.accepts, state.is_total) = (true, true);
        }
        state
    }

    /// Something must come at this state, and no byte of `stop`.
    pub(super) fn unbegun(&mut self, state: StateId, stop: ByteSet) {
        self.unbegun.push((state, stop));
    }

    /// The automaton, without the steps that take no byte.
    pub(super) fn finish(mut self) -> Nfa {
        let closures: Vec<Vec<StateId>> = (0..self.nfa.states.len()).map(|state| self.closure(id(state))).collect();
        let bare = self.nfa.states.clone();
        for (state, closure) in self.nfa.states.iter_mut().zip(&closures) {
            for reached in closure.iter().filter_map(|reached| bare.get(*reached as usize)) {
                state.accepts |= reached.accepts;
                state.is_total |= reached.is_total;
                let new = reached.steps.iter().filter(|step| !state.steps.contains(step)).copied().collect::<Vec<_>>();
                state.steps.extend(new);
            }
        }
        for (state, stop) in &self.unbegun {
            let sets = &self.nfa.sets;
            if let Some(state) = self.nfa.states.get_mut(*state as usize) {
                state.accepts = false;
                state.steps.retain(|step| sets.get(step.on).is_some_and(|set| set != stop));
            }
        }
        self.nfa
    }

    fn closure(&self, state: StateId) -> Vec<StateId> {
        let mut reached = vec![state];
        let mut at = 0;
        while let Some(state) = reached.get(at).copied() {
            for next in self.free.get(state as usize).into_iter().flatten() {
                if !reached.contains(next) {
                    reached.push(*next);
                }
            }
            at += 1;
        }
        reached
    }
}
