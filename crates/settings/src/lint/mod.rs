//! Lint: what is probably wrong with rules that are well written. One file for each check, and one page for each code.
//!
//! The checks here look at one rule at a time and report only what is certain. Whether rules cover each other needs
//! automata; the analysis crate adds that, and its `lint` is the whole of it.

mod dangerous_allow;
mod fragile_deny;
mod never_matches;
mod pages;
mod secret_in_settings;
mod wrong_anchor;

use mayi_core::policy::Entry;

use crate::load::Loaded;
use crate::problem::{Cause, Code, Problem};
use crate::sheet::SHOWN;

pub use pages::{Article, article, articles};
pub use wrong_anchor::better as better_anchor;

/// A check over loaded settings.
type Check = fn(&Loaded, &mut Vec<Problem>);

/// The checks, in the order in which they are reported.
const CHECKS: [Check; 5] =
    [never_matches::check, dangerous_allow::check, fragile_deny::check, wrong_anchor::check, secret_in_settings::check];

/// What the checks find that look at one rule at a time. Not yet fit to be shown: [`report`] makes it so.
pub fn checks(loaded: &Loaded) -> Vec<Problem> {
    let mut found = Vec::new();
    for check in CHECKS {
        check(loaded, &mut found);
    }
    found
}

/// Everything that is wrong: what reading found, and then what checks found, with the lines it stands on. Secrets are
/// hidden.
pub fn report(loaded: &Loaded, mut found: Vec<Problem>) -> Vec<Problem> {
    for problem in found.iter_mut().filter(|problem| problem.code != Code::SecretInSettings).take(SHOWN) {
        loaded.show(problem);
    }
    found.iter_mut().for_each(Problem::redact);
    loaded.problems().into_iter().chain(found).collect()
}

/// A problem of a rule.
pub fn about(entry: &Entry, code: Code, message: String) -> Problem {
    Problem::new(code, entry.origin.clone(), message).about(&entry.text, entry.verdict)
}

/// A rule as the cause of a problem.
pub fn cause(entry: &Entry) -> Cause {
    Cause { rule: entry.text.clone(), list: entry.verdict, origin: entry.origin.clone() }
}
