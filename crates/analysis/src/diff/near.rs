//! Which claims may match something that another one matches, as far as their beginnings tell: among thousands few do, and
//! nobody looks at the others.

use std::collections::{BTreeMap, HashMap};

use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::text::TextPattern;
use mayi_core::verdict::Verdict;

use crate::automata::{Claim, Meaning, Pattern, Region};

/// The claims of each list and region, by what they begin with.
pub(super) struct Near {
    lists: HashMap<(Verdict, Region), BTreeMap<String, Vec<usize>>>,
}

impl Near {
    pub(super) fn of(meaning: &Meaning) -> Self {
        let mut lists: HashMap<(Verdict, Region), BTreeMap<String, Vec<usize>>> = HashMap::new();
        for (number, claim) in meaning.claims().iter().enumerate().filter(|(_, claim)| !claim.is_negation()) {
            let list = lists.entry((claim.entry.verdict, claim.region.clone())).or_default();
            list.entry(beginning(&claim.pattern)).or_default().push(number);
        }
        Self { lists }
    }

    /// The claims of a list that speak for the region of a claim and may match something of it.
    pub(super) fn meeting<'m>(&self, meaning: &'m Meaning, list: Verdict, claim: &Claim) -> Vec<&'m Claim> {
        let own = beginning(&claim.pattern);
        let speaking = self
            .lists
            .iter()
            .filter(|((other, region), _)| *other == list && meaning.reaches(list, region, &claim.region));
        let mut found: Vec<usize> = Vec::new();
        for (_, by_beginning) in speaking {
            let shorter = own.char_indices().filter_map(|(end, _)| by_beginning.get(own.get(..end)?));
            let longer = by_beginning.range(own.clone()..).take_while(|(other, _)| other.starts_with(&own));
            found.extend(shorter.chain(longer.map(|(_, list)| list)).flatten());
        }
        found.sort_unstable();
        found.iter().filter_map(|number| meaning.claims().get(*number)).collect()
    }
}

/// A text that everything begins with that a pattern matches. Hosts are read from their end, and paths without case,
/// so that it holds also where names are compared so.
fn beginning(pattern: &Pattern) -> String {
    match pattern {
        Pattern::Text(TextPattern::Exact(text) | TextPattern::Prefix(text)) => text.clone(),
        Pattern::Text(TextPattern::Glob(glob)) => glob.first.clone(),
        Pattern::Path(path) => path.place().0.trim_end_matches('/').to_lowercase(),
        Pattern::Host(DomainPattern::Any | DomainPattern::Labels(_)) => String::new(),
        Pattern::Host(DomainPattern::Host(host)) => host.chars().rev().collect(),
        Pattern::Host(DomainPattern::Below(apex)) => format!(".{apex}").chars().rev().collect(),
    }
}
