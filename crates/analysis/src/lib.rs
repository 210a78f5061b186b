//! What a policy means, worked out and not guessed: inclusion and overlap of rules on automata, differences with
//! witnesses, policy tests, replay of recorded calls, suggestions.
//!
//! Nothing here decides: every verdict it speaks of comes from the engine.
