//! Patterns over host names: `domain:HOST` rules.
//!
//! Host only, without case, trailing dot dropped. A leading `*.` is any depth of subdomain but not the apex; a bare
//! `*` is every host; `*` elsewhere stands for one label's text.

use rustc_hash::FxHashMap;

use crate::rule::index::RuleId;
use crate::rule::text::TextPattern;

/// A compiled host pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainPattern {
    /// Every host.
    Any,
    /// The host itself.
    Host(String),
    /// Every subdomain of the host.
    Below(String),
    /// Label by label.
    Labels(Vec<TextPattern>),
}

/// A host as it is compared: lower case, without the root's dot.
pub fn normal(host: &str) -> String {
    let host = host.trim().to_lowercase();
    host.strip_suffix('.').map_or(host.clone(), str::to_owned)
}

impl DomainPattern {
    /// The pattern of `domain:TEXT`; `None` when no host can be meant.
    pub fn new(text: &str) -> Option<Self> {
        let host = normal(text);
        if host.is_empty() || host.contains(|letter: char| letter.is_whitespace() || "/@?#".contains(letter)) {
            return None;
        }
        Some(match host.strip_prefix("*.") {
            _ if host == "*" => DomainPattern::Any,
            Some(rest) if !rest.contains('*') => DomainPattern::Below(rest.to_owned()),
            _ if host.contains('*') => DomainPattern::Labels(host.split('.').map(TextPattern::glob).collect()),
            _ => DomainPattern::Host(host),
        })
    }

    /// Whether a normal host matches.
    pub fn matches(&self, host: &str) -> bool {
        match self {
            DomainPattern::Any => true,
            DomainPattern::Host(own) => host == own,
            DomainPattern::Below(apex) => host.strip_suffix(apex.as_str()).is_some_and(|rest| rest.ends_with('.')),
            DomainPattern::Labels(labels) => {
                labels.len() == host.split('.').count()
                    && labels.iter().zip(host.split('.')).all(|(label, text)| !text.is_empty() && label.matches(text))
            }
        }
    }
}

/// An index over host patterns.
#[derive(Clone, Debug, Default)]
pub struct DomainIndex {
    any: Vec<RuleId>,
    hosts: FxHashMap<Box<str>, Vec<RuleId>>,
    below: FxHashMap<Box<str>, Vec<RuleId>>,
    labels: Vec<(DomainPattern, RuleId)>,
}

impl DomainIndex {
    /// Adds a rule.
    pub fn insert(&mut self, pattern: DomainPattern, id: RuleId) {
        match pattern {
            DomainPattern::Any => self.any.push(id),
            DomainPattern::Host(host) => self.hosts.entry(host.into()).or_default().push(id),
            DomainPattern::Below(apex) => self.below.entry(apex.into()).or_default().push(id),
            labels @ DomainPattern::Labels(_) => self.labels.push((labels, id)),
        }
    }

    /// The first rule, in the policy's order, that matches a normal host and is accepted.
    pub fn first(&self, host: &str, accept: &dyn Fn(RuleId) -> bool) -> Option<RuleId> {
        let exact = self.hosts.get(host).into_iter().flatten().copied();
        let parents = host.match_indices('.').filter_map(|(dot, _)| host.get(dot + 1..));
        let below = parents.filter_map(|parent| self.below.get(parent)).flatten().copied();
        let labels = self.labels.iter().filter(|(pattern, _)| pattern.matches(host)).map(|(_, id)| *id);
        self.any.iter().copied().chain(exact).chain(below).chain(labels).filter(|id| accept(*id)).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(pattern: &str, yes: &[&str], no: &[&str]) {
        let compiled = DomainPattern::new(pattern).unwrap();
        let mut index = DomainIndex::default();
        index.insert(compiled.clone(), RuleId(0));
        for (hosts, expected) in [(yes, true), (no, false)] {
            for host in hosts {
                let host = normal(host);
                assert_eq!(compiled.matches(&host), expected, "{pattern} {host}");
                assert_eq!(index.first(&host, &|_| true).is_some(), expected, "index: {pattern} {host}");
            }
        }
    }

    #[test]
    fn every_form_of_a_host_pattern() {
        check("example.com", &["EXAMPLE.com.", "example.com"], &["example.com.evil.io", "www.example.com"]);
        check("*.example.com", &["a.b.example.com"], &["example.com", "xexample.com"]);
        check("example.*", &["example.org"], &["example.evil.com", "example."]);
        check("*", &["anything.at.all"], &[]);
        check("api-*.x.org", &["api-1.x.org"], &["api-1.y.x.org"]);
        assert_eq!(DomainPattern::new("https://example.com/x"), None);
        assert_eq!(DomainPattern::new(""), None);
    }
}
