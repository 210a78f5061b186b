//! What a policy means, worked out and not guessed: inclusion and overlap of rules on automata, differences with
//! witnesses, policy tests, replay of recorded calls, suggestions.
//!
//! Nothing here decides: every verdict it speaks of comes from the engine.

pub mod again;
pub mod automata;
pub mod diff;
pub mod lint;
pub mod policy_test;
pub mod replay;
pub mod suggest;
pub mod why;
