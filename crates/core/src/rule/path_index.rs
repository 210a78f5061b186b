//! The index over path patterns: which rules of a list match this path, without trying them one by one.
//!
//! A pattern is found by the longest literal folder it begins with, by a name, or by an extension; the pattern itself
//! then says whether it matches.

use rustc_hash::FxHashMap;

use crate::path::{self, Case};
use crate::rule::index::RuleId;
use crate::rule::path::{PathPattern, Reached, Segment};
use crate::verdict::Verdict;

/// A path pattern of a policy.
#[derive(Clone, Debug)]
struct PathRule {
    id: RuleId,
    /// Rules of one list in one file; negation reaches no further.
    source: u32,
    pattern: PathPattern,
}

/// What a `!pattern` can re-open.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Reopening {
    /// As in gitignore: nothing below a matched directory, and no anchored rule. For deny and ask.
    #[default]
    Narrow,
    /// Whatever it matches: taking back a grant is always safe. For allow.
    Wide,
}

/// An index over the path patterns of one list.
#[derive(Clone, Debug, Default)]
pub struct PathIndex {
    case: Case,
    reopening: Reopening,
    rules: Vec<PathRule>,
    /// By the longest literal directory a pattern begins with.
    by_directory: FxHashMap<Box<str>, Vec<usize>>,
    /// Patterns for any depth, by the first name when it is literal.
    by_name: FxHashMap<Box<str>, Vec<usize>>,
    /// `*.ext` for any depth, by extension.
    by_extension: FxHashMap<Box<str>, Vec<usize>>,
    negations: Vec<PathRule>,
}

impl PathIndex {
    /// An empty index.
    pub fn new(case: Case, list: Verdict) -> Self {
        let reopening = if list == Verdict::Allow { Reopening::Wide } else { Reopening::Narrow };
        Self { case, reopening, ..Self::default() }
    }

    /// Adds a rule of a source.
    pub fn insert(&mut self, pattern: PathPattern, id: RuleId, source: u32) {
        if pattern.negated {
            self.negations.push(PathRule { id, source, pattern });
            return;
        }
        let at = self.rules.len();
        let fold = |text: &str| -> Box<str> { self.case.fold(text).into_owned().into() };
        let first = pattern.segments.get(usize::from(!pattern.anchored));
        match (pattern.anchored, first) {
            (false, Some(Segment::Name(name))) => self.by_name.entry(fold(name)).or_default().push(at),
            (false, Some(Segment::Like(like))) if extension_of(like).is_some() => {
                let extension = extension_of(like).unwrap_or_default();
                self.by_extension.entry(fold(extension)).or_default().push(at);
            }
            (false, _) => self.by_directory.entry(fold(&pattern.root)).or_default().push(at),
            (true, _) => self.by_directory.entry(fold(&literal_start(&pattern))).or_default().push(at),
        }
        self.rules.push(PathRule { id, source, pattern });
    }

    /// Whether there is any rule at all.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }

    /// The first rule, in the policy's order, that matches the path and that no later negation re-opens.
    pub fn first(&self, path: &str, accept: &dyn Fn(RuleId) -> bool) -> Option<RuleId> {
        if self.rules.is_empty() {
            return None;
        }
        let folded = self.case.fold(path);
        let by_directory = path::ancestors(&folded).filter_map(|above| self.by_directory.get(above));
        let by_name = path::segments(&folded).filter_map(|name| self.by_name.get(name));
        let by_extension = path::segments(&folded)
            .filter_map(|name| name.rsplit_once('.'))
            .filter_map(|(_, extension)| self.by_extension.get(extension));
        let candidates = by_directory.chain(by_name).chain(by_extension).flatten();
        let rules = candidates.filter_map(|at| self.rules.get(*at));
        rules.filter(|rule| accept(rule.id) && self.holds(rule, path)).map(|rule| rule.id).min()
    }

    /// The first rule that a shell pattern below a directory may run into. What a `!pattern` re-opens still counts:
    /// nobody has looked which of the files is meant.
    pub fn meeting(&self, below: &str, globs: &str) -> Option<RuleId> {
        self.rules.iter().find(|rule| rule.pattern.may_meet(below, globs)).map(|rule| rule.id)
    }

    fn holds(&self, rule: &PathRule, path: &str) -> bool {
        let Some(reached) = rule.pattern.reach(path, self.case) else { return false };
        let fixed = reached == Reached::Above || rule.pattern.anchored;
        if fixed && self.reopening == Reopening::Narrow {
            return true;
        }
        !self.negations.iter().any(|negation| {
            negation.source == rule.source && negation.id > rule.id && negation.pattern.matches(path, self.case)
        })
    }
}

/// The extension of a `*.ext` pattern with no other wildcard.
fn extension_of(like: &str) -> Option<&str> {
    let (_, extension) = like.strip_prefix('*')?.rsplit_once('.')?;
    let plain = !like.get(1..)?.contains(['*', '?', '[', '\\']);
    (plain && !extension.is_empty()).then_some(extension)
}

/// The directory an anchored pattern begins with, as far as it is literal.
fn literal_start(pattern: &PathPattern) -> String {
    let mut start = pattern.root.clone();
    for segment in &pattern.segments {
        let Segment::Name(name) = segment else { break };
        if !start.ends_with('/') {
            start.push('/');
        }
        start.push_str(name);
    }
    start
}
