//! Rules whose pattern stands for no text at all.

use mayi_core::policy::Entry;
use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::text::{Ending, Glob, TextPattern};
use mayi_settings::lint::about;
use mayi_settings::{Code, Loaded};

use super::Finding;
use super::cover::Covering;
use crate::automata::{Claim, Pattern, Search};

pub(super) fn find(loaded: &Loaded, covering: &mut Covering<'_>) -> Vec<Finding> {
    let mut found = Vec::new();
    for (place, entry) in loaded.policy.entries().iter().enumerate() {
        let claims = covering.meaning.of_rule(place).to_vec();
        let doubtful = claims.iter().any(|claim| is_doubtful(covering, claim));
        if claims.is_empty() || !doubtful || claims.iter().any(Claim::is_negation) {
            continue;
        }
        let mut searches = claims.iter().map(|claim| match covering.language(claim) {
            Some(language) => covering.search(|budget| language.find(budget)),
            None => Search::Undecided,
        });
        let worst = searches.find(|search| *search != Search::Nothing);
        match worst {
            None => found.push(finding(place, entry, &claims)),
            Some(Search::Undecided) => covering.gave_up(place),
            Some(Search::Found(_) | Search::Nothing) => {}
        }
    }
    found
}

/// Whether it takes a search to know that something matches.
fn is_doubtful(covering: &mut Covering<'_>, claim: &Claim) -> bool {
    match &claim.pattern {
        Pattern::Text(_) => false,
        Pattern::Host(host) => !is_plain(host),
        Pattern::Path(_) => {
            let paths = covering.paths(claim.place);
            !paths.iter().any(|path| matches!(covering.is_taken_back(claim, path), Ok(false)))
        }
    }
}

/// Hosts are compared in the letters of DNS.
fn is_plain(host: &DomainPattern) -> bool {
    match host {
        DomainPattern::Any => true,
        DomainPattern::Host(host) | DomainPattern::Below(host) => host.is_ascii() && !host.contains('\\'),
        DomainPattern::Labels(labels) => labels.iter().all(is_plain_label),
    }
}

/// Whether a label is certainly one that a host could have.
fn is_plain_label(label: &TextPattern) -> bool {
    let is_plain = |text: &String| text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    match label {
        TextPattern::Exact(text) | TextPattern::Prefix(text) => !text.is_empty() && is_plain(text),
        TextPattern::Glob(Glob { first, middle, last: Ending::Text(last) | Ending::Word(last) }) => {
            is_plain(first) && middle.iter().all(is_plain) && is_plain(last)
        }
    }
}

fn finding(place: usize, entry: &Entry, claims: &[Claim]) -> Finding {
    let is_host = claims.iter().any(|claim| matches!(claim.pattern, Pattern::Host(_)));
    let fix = match is_host {
        true => "write the host as the network spells it: `xn--…` for letters beyond a to z",
        false => "write a pattern that something can match, or remove the rule",
    };
    let problem = about(entry, Code::NeverMatches, format!("nothing can match `{}`", entry.text)).fix(fix);
    Finding { place, problem, needless: true }
}
