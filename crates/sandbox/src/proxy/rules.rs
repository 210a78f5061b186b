//! Judges hosts by the lists of a plan. Pure: it resolves nothing and asks nobody. Deny wins.

use std::net::IpAddr;

use mayi_core::policy::Origin;
use mayi_core::rule::domain::{DomainIndex, DomainPattern};
use mayi_core::rule::index::RuleId;

use super::address::{faces, special};
use super::names::{Host, Target};
use super::refusal::Why;
use crate::plan::{HostPattern, Hosts, Unlisted};

/// The lists of a plan, ready to judge.
#[derive(Clone, Debug)]
pub struct Rules {
    allowed: List,
    denied: List,
    /// The first denied entry that cannot be read: it might mean any host.
    unreadable: Option<Why>,
    unlisted: Unlisted,
}

/// What the lists say of a host.
#[derive(Clone, Debug, PartialEq)]
pub enum Judged {
    /// It may be reached.
    Listed,
    /// It must not be reached.
    Refused(Why),
    /// The lists are silent, and somebody may be asked.
    Unlisted,
}

impl Rules {
    /// Compiles the lists.
    ///
    /// Every doubt is resolved against the connection: an allowed entry that cannot be read matches nothing, and a
    /// denied one everything.
    pub fn of(hosts: &Hosts) -> Self {
        let mut rules =
            Self { allowed: List::default(), denied: List::default(), unreadable: None, unlisted: hosts.unlisted };
        for entry in &hosts.allowed {
            // A star in the middle opens nothing here: the lists of a sandbox know whole subtrees only.
            if let Some(pattern) = read(&entry.host).filter(|pattern| !matches!(pattern, DomainPattern::Labels(_))) {
                rules.allowed.push(pattern, entry);
            }
        }
        for entry in &hosts.denied {
            match read(&entry.host) {
                Some(pattern) => rules.denied.push(pattern, entry),
                None => rules.unreadable = rules.unreadable.or_else(|| Some(unreadable(entry))),
            }
        }
        rules
    }

    /// What the lists say of a host as a program wrote it, without brackets.
    pub fn judge(&self, host: &str, port: u16) -> Judged {
        match Host::read(host).and_then(|host| Target::new(host, port)) {
            Ok(target) => self.judge_target(&target),
            Err(bad) => Judged::Refused(Why::Unreadable(bad)),
        }
    }

    /// What the lists say of a target.
    pub fn judge_target(&self, target: &Target) -> Judged {
        if let Some(why) = self.denial(target) {
            return Judged::Refused(why);
        }
        if let Some(address) = target.host.address()
            && let Some(special) = special(address)
            && !self.lists_address(address, target.port)
        {
            return Judged::Refused(Why::NotPublic(address, special));
        }
        if self.allowed.first(target).is_some() {
            return Judged::Listed;
        }
        match self.unlisted {
            Unlisted::Asked => Judged::Unlisted,
            Unlisted::Refused => Judged::Refused(Why::NotListed),
        }
    }

    /// Why an address that a name leads to is denied by itself.
    pub fn denied_address(&self, address: IpAddr, port: u16) -> Option<Why> {
        self.denial(&Target { host: Host::Address(address), port })
    }

    /// Whether an address itself is listed, which a star does not do.
    pub fn lists_address(&self, address: IpAddr, port: u16) -> bool {
        self.allowed.exact(&Target { host: Host::Address(address), port })
    }

    pub(super) fn denial(&self, target: &Target) -> Option<Why> {
        if self.unreadable.is_some() {
            return self.unreadable.clone();
        }
        let origin = match target.host.address() {
            None => self.denied.first(target),
            Some(address) => faces(address).find_map(|face| {
                self.denied.first(&Target { host: Host::Address(face.to_canonical()), port: target.port })
            }),
        };
        origin.map(|origin| Why::Denied(Box::new(origin.clone())))
    }
}

/// A pattern of a list; `None` when it cannot be read.
fn read(text: &str) -> Option<DomainPattern> {
    let text = text.trim();
    if text == "*" {
        return Some(DomainPattern::Any);
    }
    if let Some(rest) = text.strip_prefix("*.")
        && !rest.contains('*')
    {
        return match Host::written(rest).ok()? {
            Host::Name(apex) => Some(DomainPattern::Below(apex)),
            Host::Address(_) => None,
        };
    }
    if text.contains('*') {
        return DomainPattern::new(text).filter(|_| text.is_ascii());
    }
    Host::written(text).ok().map(|host| DomainPattern::Host(host.to_string()))
}

fn unreadable(entry: &HostPattern) -> Why {
    Why::DeniedUnreadable { entry: entry.host.clone(), origin: entry.origin.clone() }
}

/// Patterns with their ports and origins.
#[derive(Clone, Debug, Default)]
struct List {
    index: DomainIndex,
    entries: Vec<Listed>,
}

#[derive(Clone, Debug)]
struct Listed {
    port: Option<u16>,
    origin: Box<Origin>,
    breadth: Breadth,
}

/// How much a pattern covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Breadth {
    One,
    Many,
}

impl List {
    fn push(&mut self, pattern: DomainPattern, entry: &HostPattern) {
        let Ok(place) = u32::try_from(self.entries.len()) else { return };
        let breadth = match &pattern {
            DomainPattern::Host(_) => Breadth::One,
            DomainPattern::Any | DomainPattern::Below(_) | DomainPattern::Labels(_) => Breadth::Many,
        };
        self.index.insert(pattern, RuleId(place));
        self.entries.push(Listed { port: entry.port, origin: entry.origin.clone(), breadth });
    }

    /// The origin of the first entry that covers a target.
    fn first(&self, target: &Target) -> Option<&Origin> {
        self.find(target, |_| true).map(|listed| listed.origin.as_ref())
    }

    /// Whether an entry is the target itself.
    fn exact(&self, target: &Target) -> bool {
        self.find(target, |breadth| breadth == Breadth::One).is_some()
    }

    fn find(&self, target: &Target, suits: impl Fn(Breadth) -> bool) -> Option<&Listed> {
        let entry = |id: RuleId| usize::try_from(id.0).ok().and_then(|place| self.entries.get(place));
        let accept = |id: RuleId| {
            entry(id).is_some_and(|listed| listed.port.is_none_or(|port| port == target.port) && suits(listed.breadth))
        };
        self.index.first(&target.host.to_string(), &accept).and_then(entry)
    }
}

#[cfg(test)]
mod tests {
    use mayi_core::policy::Layer;

    use super::super::address::Special;
    use super::super::names::BadName;
    use super::*;

    fn entries(texts: &[&str]) -> Vec<HostPattern> {
        let entry = |text: &&str| {
            let (host, port) = match text.split_once('#') {
                Some((host, port)) => (host, Some(port.parse().unwrap())),
                None => (*text, None),
            };
            HostPattern { host: host.to_owned(), port, origin: Box::new(Origin::of(Layer::User)) }
        };
        texts.iter().map(entry).collect()
    }

    /// Lists with `#` before the port, as a plan holds them.
    fn rules(allowed: &[&str], denied: &[&str]) -> Rules {
        Rules::of(&Hosts { allowed: entries(allowed), denied: entries(denied), unlisted: Unlisted::Asked })
    }

    /// Allowed hosts, denied hosts, a host and its port, and what is said of it.
    type Row = (&'static [&'static str], &'static [&'static str], &'static str, u16, Judged);

    #[track_caller]
    fn check(rows: &[Row]) {
        for (allowed, denied, host, port, expected) in rows {
            let judged = rules(allowed, denied).judge(host, *port);
            assert_eq!(judged, *expected, "{allowed:?} {denied:?} {host}:{port}");
        }
    }

    fn denied() -> Judged {
        Judged::Refused(Why::Denied(Box::new(Origin::of(Layer::User))))
    }

    fn not_public(address: &str, special: Special) -> Judged {
        Judged::Refused(Why::NotPublic(address.parse().unwrap(), special))
    }

    #[test]
    fn names_are_judged_by_the_lists_and_deny_wins() {
        check(&[
            (&["*.example.org"], &[], "api.example.org", 443, Judged::Listed),
            (&["*.example.org"], &[], "a.b.example.org", 443, Judged::Listed),
            (&["*.example.org"], &[], "example.org", 443, Judged::Unlisted),
            (&["*.example.org"], &[], "xexample.org", 443, Judged::Unlisted),
            (&["*.example.org"], &[], "example.org.evil.net", 443, Judged::Unlisted),
            (&["example.org"], &[], "EXAMPLE.org.", 443, Judged::Listed),
            (&["Example.ORG."], &[], "example.org", 443, Judged::Listed),
            (&["example.org#443"], &[], "example.org", 443, Judged::Listed),
            (&["example.org#443"], &[], "example.org", 80, Judged::Unlisted),
            (&["example.org"], &["example.org"], "example.org", 443, denied()),
            (&["*"], &["example.org"], "example.org.", 443, denied()),
            (&["example.org"], &["*"], "example.org", 443, denied()),
            (&["*"], &["*.example.org"], "a.example.org", 443, denied()),
            (&["*"], &["*.example.org"], "example.org", 443, Judged::Listed),
            (&["*"], &["example.org#22"], "example.org", 443, Judged::Listed),
            (&["*"], &["example.org#22"], "example.org", 22, denied()),
            (&["*"], &["ex*.org"], "example.org", 443, denied()),
            (&["ex*.org"], &[], "example.org", 443, Judged::Unlisted),
            (&["b\u{fc}cher.example"], &[], "xn--bcher-kva.example", 443, Judged::Listed),
            (&["*"], &["*.b\u{fc}cher.example"], "a.xn--bcher-kva.example", 443, denied()),
            (&["exa mple.org"], &[], "example.org", 443, Judged::Unlisted),
            (&["*"], &[], "evil\0.example.org", 443, Judged::Refused(Why::Unreadable(BadName::Character))),
            (&["*.example.org"], &[], "evil%00.example.org", 443, Judged::Refused(Why::Unreadable(BadName::Character))),
            (&["*"], &[], "example.org", 0, Judged::Refused(Why::Unreadable(BadName::Port))),
        ]);
    }

    #[test]
    fn an_address_that_is_not_public_must_be_listed_itself() {
        check(&[
            (&["*"], &[], "8.8.8.8", 53, Judged::Listed),
            (&["*"], &[], "127.0.0.1", 80, not_public("127.0.0.1", Special::Loopback)),
            (&["*"], &[], "::1", 80, not_public("::1", Special::Loopback)),
            (&["*"], &[], "169.254.169.254", 80, not_public("169.254.169.254", Special::LinkLocal)),
            (&["*"], &[], "::ffff:169.254.169.254", 80, not_public("169.254.169.254", Special::LinkLocal)),
            (&["*"], &[], "2130706433", 80, Judged::Refused(Why::Unreadable(BadName::Number))),
            (&["*"], &[], "0x7f.1", 80, Judged::Refused(Why::Unreadable(BadName::Number))),
            (&["127.0.0.1"], &[], "127.0.0.1", 80, Judged::Listed),
            (&["127.0.0.1"], &[], "::ffff:127.0.0.1", 80, Judged::Listed),
            (&["[::1]#443"], &[], "::1", 443, Judged::Listed),
            (&["::1#443"], &[], "0:0::1", 443, Judged::Listed),
            (&["::1#443"], &[], "::1", 80, not_public("::1", Special::Loopback)),
            // Both readings of `::1:443` in a list of denied hosts, as a plan would hold them.
            (&["::1", "::1:443"], &["::1#443", "::1:443"], "::1", 443, denied()),
            (&["::1", "::1:443"], &["::1#443", "::1:443"], "::1:443", 80, denied()),
            (&["*"], &["8.8.8.8"], "::ffff:8.8.8.8", 53, denied()),
            (&["*"], &["8.8.8.8"], "64:ff9b::8.8.8.8", 53, denied()),
            (&["*"], &["8.8.8.8"], "8.8.4.4", 53, Judged::Listed),
            (&["*"], &["8.8.*.*"], "8.8.4.4", 53, denied()),
            (&["*.0.0.1"], &[], "127.0.0.1", 80, not_public("127.0.0.1", Special::Loopback)),
        ]);
    }

    #[test]
    fn a_denied_entry_that_cannot_be_read_might_mean_any_host() {
        for entry in ["https://evil.org/", "evil .org", "0x7f.1", "", "*.127.0.0.1"] {
            let judged = rules(&["*"], &[entry]).judge("example.org", 443);
            let origin = Box::new(Origin::of(Layer::User));
            assert_eq!(judged, Judged::Refused(Why::DeniedUnreadable { entry: entry.to_owned(), origin }), "{entry}");
        }
    }

    #[test]
    fn nobody_is_asked_where_unlisted_hosts_are_refused() {
        let rules = Rules::of(&Hosts { unlisted: Unlisted::Refused, ..Hosts::default() });
        assert_eq!(rules.judge("example.org", 443), Judged::Refused(Why::NotListed));
    }
}
