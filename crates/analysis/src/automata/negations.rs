//! The `!pattern`s of a policy: which of them may take something back from a claim. Those about another folder cannot,
//! so that thousands of them cost nobody anything who is not concerned.

use std::collections::{BTreeMap, HashMap};

use mayi_core::path;
use mayi_core::rule::path::PathPattern;
use mayi_core::verdict::Verdict;

use super::meaning::{Claim, Pattern, Region};

/// By source, list and region, and then by the folder that they are about, in the order of the policy.
pub(super) struct Negations<'a> {
    claims: &'a [Claim],
    by_folder: HashMap<(usize, Verdict, &'a Region), BTreeMap<String, Vec<usize>>>,
}

impl<'a> Negations<'a> {
    pub(super) fn of(claims: &'a [Claim]) -> Self {
        let mut by_folder: HashMap<_, BTreeMap<String, Vec<usize>>> = HashMap::new();
        for (number, claim) in claims.iter().enumerate() {
            if let Pattern::Path(path) = &claim.pattern
                && path.is_negated()
            {
                let key = (claim.source, claim.entry.verdict, &claim.region);
                by_folder.entry(key).or_default().entry(folder(path)).or_default().push(number);
            }
        }
        Self { claims, by_folder }
    }

    /// Those that may take back some of what a claim holds for, in the order of the policy.
    pub(super) fn reaching(&self, claim: &Claim) -> Vec<usize> {
        let Pattern::Path(own) = &claim.pattern else { return Vec::new() };
        let is_open = !own.is_negated() && (claim.entry.verdict == Verdict::Allow || !own.is_anchored());
        let key = (claim.source, claim.entry.verdict, &claim.region);
        let Some(by_folder) = self.by_folder.get(&key).filter(|_| is_open) else { return Vec::new() };
        let folder = folder(own);
        let around = path::ancestors(&folder).filter_map(|above| by_folder.get(above));
        // Everything that lies below a folder stands together: `0` follows on `/`.
        let below = folder.trim_end_matches('/');
        let below = by_folder.range(format!("{below}/")..format!("{below}0")).filter(|(other, _)| **other != folder);
        let lists = around.chain(below.map(|(_, list)| list));
        let is_earlier = |at: &usize| self.claims.get(*at).is_some_and(|other| other.place <= claim.place);
        let mut found: Vec<usize> = Vec::new();
        for list in lists {
            found.extend_from_slice(list.get(list.partition_point(is_earlier)..).unwrap_or_default());
        }
        found.sort_unstable();
        found
    }
}

/// The folder that holds everything a pattern matches, folded, so that it holds also where names are compared without
/// case.
fn folder(path: &PathPattern) -> String {
    path.place().0.to_lowercase()
}
