//! Coverage that is plain to see, without a search: the same pattern, a folder around it, a domain above it. What is not
//! plain may still be so.

use mayi_core::path;
use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::path::{PathPattern, Segment};

use crate::automata::Pattern;

/// Whether one pattern plainly matches everything that the other matches.
pub(super) fn covers(over: &Pattern, under: &Pattern) -> bool {
    match (over, under) {
        (Pattern::Path(over), Pattern::Path(under)) => paths(over, under),
        (Pattern::Host(over), Pattern::Host(under)) => hosts(over, under),
        (Pattern::Text(over), Pattern::Text(under)) => over == under,
        (Pattern::Text(_) | Pattern::Path(_) | Pattern::Host(_), _) => false,
    }
}

fn paths(over: &PathPattern, under: &PathPattern) -> bool {
    let (folder, below) = over.place();
    let around = below.is_empty() && over.spared().is_none() && path::is_within(&under.place().0, &folder);
    let same = || over.root() == under.root() && over.spared() == under.spared();
    around || (same() && plain_segments(over) == plain_segments(under))
}

/// The same text for patterns that match the same.
pub(super) fn plain_path(path: &PathPattern) -> String {
    format!("{} {:?} {:?}", path.root(), plain_segments(path), path.spared())
}

/// A directory takes everything below it along, so `**` at the end says nothing; nor does a second one after another.
fn plain_segments(path: &PathPattern) -> Vec<&Segment> {
    let mut segments: Vec<&Segment> = path.segments().iter().collect();
    segments.dedup_by(|next, before| **next == Segment::Any && **before == Segment::Any);
    while segments.len() > 1 && segments.last() == Some(&&Segment::Any) {
        segments.pop();
    }
    segments
}

fn hosts(over: &DomainPattern, under: &DomainPattern) -> bool {
    match (over, under) {
        (DomainPattern::Any, _) => true,
        (DomainPattern::Below(over), DomainPattern::Below(under)) => over == under || is_below(under, over),
        (DomainPattern::Below(over), DomainPattern::Host(under)) => is_below(under, over),
        (over, under) => over == under,
    }
}

fn is_below(host: &str, apex: &str) -> bool {
    host.strip_suffix(apex).is_some_and(|rest| rest.ends_with('.'))
}
