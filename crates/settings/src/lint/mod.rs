//! Lint: what is probably wrong with rules that are well written. One file for each check, with the page that explains
//! it; [`article`] finds the page of a code.
//!
//! A check reports only what is certain. Coverage by several rules together, with witnesses, needs automata and is
//! the analysis crate's.

mod ask_shadowed;
mod cover;
mod dangerous_allow;
mod deny_shadowed;
mod duplicate;
mod fragile_deny;
mod never_matches;
mod reading;
mod secret_in_settings;
mod wrong_anchor;

use mayi_core::policy::{Entry, Layer};

use crate::load::Loaded;
use crate::problem::{Cause, Code, Problem};
use crate::sheet::SHOWN;

/// The page of a code: what it means, settings that have the problem, and the same settings mended.
#[derive(Clone, Copy, Debug)]
pub struct Article {
    /// The code.
    pub code: Code,
    /// What it means and why it matters.
    pub what: &'static str,
    /// The layer of the example.
    pub layer: Layer,
    /// Settings with the problem.
    pub example: &'static str,
    /// The same, mended.
    pub mended: &'static str,
    /// What to do.
    pub fix: &'static str,
}

/// A check over loaded settings.
type Check = fn(&Loaded, &mut Vec<Problem>);

/// The checks, in the order in which they are reported.
const CHECKS: [Check; 8] = [
    deny_shadowed::check,
    ask_shadowed::check,
    duplicate::check,
    never_matches::check,
    dangerous_allow::check,
    fragile_deny::check,
    wrong_anchor::check,
    secret_in_settings::check,
];

/// Every page.
pub const ARTICLES: [Article; 19] = [
    reading::BROKEN_FILE,
    reading::WRONG_TYPE,
    reading::UNKNOWN_KEY,
    reading::DUPLICATE_KEY,
    reading::KEY_NOT_ALLOWED_HERE,
    reading::MALFORMED_RULE,
    reading::UNKNOWN_TOOL,
    reading::NEEDS_TRUST,
    reading::MANAGED_ONLY,
    reading::MODE_NOT_AVAILABLE,
    reading::STALE_SETTINGS,
    deny_shadowed::ARTICLE,
    ask_shadowed::ARTICLE,
    duplicate::ARTICLE,
    never_matches::ARTICLE,
    dangerous_allow::ARTICLE,
    fragile_deny::ARTICLE,
    wrong_anchor::ARTICLE,
    secret_in_settings::ARTICLE,
];

/// The page of a code.
pub fn article(code: Code) -> Option<&'static Article> {
    ARTICLES.iter().find(|article| article.code == code)
}

/// Everything that is wrong: what reading found, and what the checks find. Secrets are hidden.
pub fn lint(loaded: &Loaded) -> Vec<Problem> {
    let mut found = Vec::new();
    for check in CHECKS {
        check(loaded, &mut found);
    }
    for problem in found.iter_mut().filter(|problem| problem.code != Code::SecretInSettings).take(SHOWN) {
        loaded.show(problem);
    }
    found.iter_mut().for_each(Problem::redact);
    loaded.problems().into_iter().chain(found).collect()
}

/// A problem of a rule.
fn about(entry: &Entry, code: Code, message: String) -> Problem {
    Problem::new(code, entry.origin.clone(), message).about(&entry.text, entry.verdict)
}

fn cause(entry: &Entry) -> Cause {
    Cause { rule: entry.text.clone(), list: entry.verdict, origin: entry.origin.clone() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Flag, Given, of_values};
    use mayi_core::call::Workspace;
    use mayi_core::policy::Written;
    use mayi_core::verdict::Verdict;

    fn codes(layer: Layer, text: &str) -> Vec<Code> {
        // Somebody's answer, for the organisation to set aside.
        let answer = Written::new(Verdict::Ask, "Bash(answered:*)");
        let mut given = Given { session: vec![answer], ..Given::default() };
        let value = serde_json::from_str(text).ok().filter(|_| layer != Layer::Flag);
        let layers: Vec<_> = value.iter().map(|value| (layer, value)).collect();
        if value.is_none() {
            given.flags.push(Flag::Inline(text.to_owned()));
        }
        let loaded = of_values(&layers, &Workspace::at("/w").with_home("/home/u"), &given);
        lint(&loaded).iter().map(|problem| problem.code).collect()
    }

    #[test]
    fn every_code_has_a_page_whose_example_shows_it_and_whose_mended_example_does_not() {
        for code in Code::ALL {
            let article = article(code).unwrap_or_else(|| panic!("{code} has no page"));
            assert!(article.what.len() > 60 && article.fix.len() > 20, "{code}");
            assert!(!codes(article.layer, article.mended).contains(&code), "{code}: the mended example still has it");
            // Stale settings need a past; the tests of the store have one.
            if code != Code::StaleSettings {
                assert!(codes(article.layer, article.example).contains(&code), "{code}: the example does not have it");
            }
        }
    }

    #[test]
    fn ten_thousand_rules_are_linted_in_no_time() {
        let rules = |list: &str| {
            (0..5000).map(|number| format!("\"Bash({list}-{number} run:*)\"")).collect::<Vec<_>>().join(",")
        };
        let text = format!("{{\"permissions\": {{\"allow\": [{}], \"deny\": [{}]}}}}", rules("a"), rules("d"));
        let started = std::time::Instant::now();
        let found = codes(Layer::User, &text);
        assert_eq!(found, []);
        assert!(started.elapsed().as_secs() < 10, "far more than it takes, far less than a quadratic check would");
    }
}
