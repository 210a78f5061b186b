//! Rules that match exactly what another one of their list matches, however they are spelled.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::Arc;

use mayi_core::policy::Entry;
use mayi_core::rule::text::{Ending, TextPattern};
use mayi_settings::lint::{about, cause};
use mayi_settings::{Code, Loaded, Problem};

use super::Finding;
use super::cover::Covering;
use super::plainly::plain_path;
use crate::automata::{Claim, Pattern, Search};

pub(super) fn find(loaded: &Loaded, covering: &mut Covering<'_>) -> Vec<Finding> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut alike: HashMap<String, Vec<usize>> = HashMap::new();
    let mut found = Vec::new();
    for (place, entry) in loaded.policy.entries().iter().enumerate() {
        let claims = covering.meaning.of_rule(place).to_vec();
        if claims.is_empty() || claims.iter().any(Claim::is_negation) {
            continue;
        }
        let key = key(entry, &claims);
        let first = seen.get(&key).copied().or_else(|| same_paths(covering, &claims, &mut alike));
        match first.and_then(|first| loaded.policy.entries().get(first)) {
            Some(first) => found.push(finding(place, entry, first)),
            None => {
                seen.insert(key, place);
            }
        }
    }
    found
}

fn finding(place: usize, entry: &Arc<Entry>, first: &Arc<Entry>) -> Finding {
    let message = match first.text == entry.text {
        true => format!("`{}` stands in {} already", entry.text, first.origin),
        false => format!("`{}` matches the same as `{}` in {}", entry.text, first.text, first.origin),
    };
    let problem = about(entry, Code::Duplicate, message).fix("keep one of the two");
    let needless = entry.origin.file == first.origin.file && entry.origin.layer == first.origin.layer;
    Finding { place, problem: Problem { by: vec![cause(first)], ..problem }, needless }
}

/// The same for rules that match the same; rules that differ in it may still do.
fn key(entry: &Entry, claims: &[Claim]) -> String {
    let mut key = entry.verdict.word().to_owned();
    for claim in claims {
        let pattern = match &claim.pattern {
            Pattern::Text(text) => format!("{:?}", plainer(text)),
            Pattern::Host(host) => format!("{host:?}"),
            Pattern::Path(path) => format!("{} {}", plain_path(path), path.is_anchored()),
        };
        let _ = write!(key, "\n{:?} {pattern} {:?}", claim.region, claim.taken);
    }
    key
}

/// `x *:*` ends where it likes, as `x *` does with a second wildcard.
fn plainer(pattern: &TextPattern) -> TextPattern {
    match pattern.clone() {
        TextPattern::Glob(mut glob) if glob.last == Ending::Word(String::new()) => {
            glob.last = Ending::Text(String::new());
            TextPattern::Glob(glob)
        }
        other @ (TextPattern::Exact(_) | TextPattern::Prefix(_) | TextPattern::Glob(_)) => other,
    }
}

/// An earlier rule over paths that matches the same though it is written otherwise: both have a specimen in common,
/// and automata find no difference.
fn same_paths(covering: &mut Covering<'_>, claims: &[Claim], alike: &mut HashMap<String, Vec<usize>>) -> Option<usize> {
    let [claim] = claims else { return None };
    let specimens = covering.paths(claim.place);
    let specimen = specimens.last()?;
    let key = format!("{} {:?} {specimen}", claim.entry.verdict, claim.region);
    let earlier = alike.entry(key).or_default();
    if earlier.is_empty() {
        earlier.push(claim.place);
        return None;
    }
    let own = covering.language(claim);
    for place in earlier.iter() {
        let other = covering.meaning.of_rule(*place).first().cloned();
        let other = other.and_then(|other| covering.language(&other));
        let (Some(own), Some(other)) = (&own, &other) else { break };
        let is_within = covering.search(|budget| own.outside(other, budget)) == Search::Nothing;
        if is_within && covering.search(|budget| other.outside(own, budget)) == Search::Nothing {
            return Some(*place);
        }
    }
    if covering.is_spent() {
        covering.gave_up(claim.place);
    }
    earlier.push(claim.place);
    None
}
