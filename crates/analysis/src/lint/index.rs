//! What coverage is looked up in: the claims of each list and region by what they spell, a letter that nobody spells,
//! and what it costs to look.

use std::collections::{HashMap, HashSet};

use mayi_core::policy::{Entry, Layer, Policy};
use mayi_core::verdict::Verdict;

use super::plainly;
use crate::automata::{Finder, Meaning, Pattern, Region};

/// What it costs to hold a pattern against a text, in the steps of a lookup.
const WORK_OF_MATCH: usize = 10;

/// A letter that no rule spells.
pub(super) fn fresh_letter(policy: &Policy) -> Option<char> {
    let rules = policy.entries().iter().map(|entry| &entry.rule);
    let texts = rules.flat_map(|rule| [Some(&rule.tool), rule.content.as_ref()]).flatten();
    let spelled: HashSet<char> = texts.flat_map(|text| text.chars()).filter(|letter| !letter.is_ascii()).collect();
    ('\u{80}'..=char::MAX).rev().find(|letter| !spelled.contains(letter))
}

/// The claims of each list and region, each pattern once. The numbers are those of claims.
pub(super) fn finders(policy: &Policy, meaning: &Meaning) -> HashMap<(Verdict, Region), Finder> {
    let sandbox = &policy.options.sandbox;
    let confined = sandbox.enabled && sandbox.auto_allow;
    let mut lists: HashMap<(Verdict, Region), Vec<(usize, &Pattern)>> = HashMap::new();
    let mut seen = HashSet::new();
    for (number, claim) in meaning.claims().iter().enumerate().filter(|(_, claim)| !claim.is_negation()) {
        let key = match &claim.pattern {
            // Such an ask holds only for what runs outside the sandbox, so it shadows nothing.
            Pattern::Text(_) if confined && is_personal_ask_for_bash(&claim.entry) => continue,
            Pattern::Text(_) | Pattern::Host(_) => format!("{:?}", claim.pattern),
            Pattern::Path(path) => plainly::plain_path(path),
        };
        let list = (claim.entry.verdict, claim.region.clone());
        let slot = lists.entry(list.clone()).or_default();
        if seen.insert((list, key, claim.taken)) {
            slot.push((number, &claim.pattern));
        }
    }
    let finder = |patterns: Vec<(usize, &Pattern)>| Finder::of(patterns.into_iter(), meaning.case());
    lists.into_iter().map(|(list, patterns)| (list, finder(patterns))).collect()
}

/// Matching takes time with the depth of both, and once for each folder on the way.
pub(super) fn work_of_match(pattern: &Pattern, text: &str) -> usize {
    match pattern {
        Pattern::Text(_) | Pattern::Host(_) => WORK_OF_MATCH + text.len() / 8,
        Pattern::Path(path) => {
            let depth = text.bytes().filter(|byte| *byte == b'/').count();
            2 * WORK_OF_MATCH + depth * depth * path.segments().len() / 8
        }
    }
}

fn is_personal_ask_for_bash(entry: &Entry) -> bool {
    let personal = match entry.origin.layer {
        Layer::User | Layer::Local | Layer::Cli | Layer::Session | Layer::Flag => true,
        Layer::Managed | Layer::Command | Layer::Project => false,
    };
    personal && entry.verdict == Verdict::Ask && entry.rule.tool == "Bash" && entry.rule.content.is_none()
}
