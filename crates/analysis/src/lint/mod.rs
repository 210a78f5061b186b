//! Lint, complete: what settings find by looking at one rule at a time, and what only automata see, which is how rules
//! lie over each other. Everything reported is certain; what could not be found out is reported as such.

mod cover;
mod duplicate;
mod empty;
mod fix;
mod index;
mod plainly;
mod sarif;
mod shadowed;
mod specimen;

#[cfg(test)]
mod laws;

use mayi_settings::{Loaded, Problem, lint};

pub use fix::{Fixed, fixes};
pub use sarif::sarif;

use cover::Covering;

/// Everything that is wrong with settings: what reading found, how rules cover each other, and what is odd about
/// single ones. Secrets are hidden.
pub fn lint(loaded: &Loaded) -> Vec<Problem> {
    let mut covering = Covering::of(&loaded.policy);
    let mut found = Vec::new();
    for shadow in shadowed::find(loaded, &mut covering) {
        found.push(shadow.problem);
    }
    for duplicate in duplicate::find(loaded, &mut covering) {
        found.push(duplicate.problem);
    }
    found.extend(empty::find(loaded, &mut covering).into_iter().map(|empty| empty.problem));
    found.extend(covering.undecided(loaded));
    found.extend(lint::checks(loaded));
    lint::report(loaded, found)
}

/// A problem of the rule at a place of the policy.
struct Finding {
    place: usize,
    problem: Problem,
    /// Whether the rule could go without a change in what is decided.
    needless: bool,
}
