//! Rules that feed the plan: `Edit` and `Read` paths and `WebFetch` hosts, each with its origin. Rules of the project
//! that a lock takes away are gaps, so that nobody wonders.

use mayi_core::policy::{Entry, Layer, Options, Origin, Policy, Source, Status};
use mayi_core::rule::path::{Anchors, PathPattern};
use mayi_core::verdict::Verdict;

use super::hosts::{self, List};
use super::{Gap, HostPattern, Wanted};

/// What rules say about files and hosts.
#[derive(Debug, Default)]
pub(super) struct Grants {
    /// `Edit(…)` in allow.
    pub(super) write: Vec<Ruled>,
    /// `Edit(…)` in deny.
    pub(super) no_write: Vec<Ruled>,
    /// `Read(…)` in deny.
    pub(super) no_read: Vec<Ruled>,
    /// `WebFetch(domain:…)` in allow.
    pub(super) hosts: Vec<HostPattern>,
    /// `WebFetch(domain:…)` in deny.
    pub(super) no_hosts: Vec<HostPattern>,
}

/// A path rule.
#[derive(Debug)]
pub(super) struct Ruled {
    /// As it was written.
    pub(super) text: String,
    pub(super) what: What,
    pub(super) origin: Origin,
}

/// What a path rule is about.
#[derive(Debug)]
pub(super) enum What {
    /// The whole tool.
    Everything,
    /// What this matches.
    Pattern(PathPattern),
}

/// The tools whose rules feed a plan.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Feeding {
    Edit,
    Read,
    Fetch,
}

impl Feeding {
    fn of(tool: &str) -> Option<Self> {
        match tool {
            "Edit" => Some(Feeding::Edit),
            "Read" => Some(Feeding::Read),
            "WebFetch" => Some(Feeding::Fetch),
            _ => None,
        }
    }
}

impl Grants {
    pub(super) fn of(wanted: &Wanted<'_>, gaps: &mut Vec<Gap>) -> Self {
        let mut reader = Reader { wanted, grants: Self::default(), gaps };
        for (root, entry) in wanted.loaded.policy.rooted() {
            reader.entry(entry, root);
        }
        let answered = wanted.session.written();
        // A policy that knows only the organisation's rules takes no others.
        if !answered.is_empty() && !wanted.loaded.settings.allow_managed_permission_rules_only {
            let root = &wanted.workspace().directory;
            let source = Source::of(Layer::Session, root, answered);
            let session = Policy::build(wanted.workspace().clone(), vec![source], Options::default());
            session.entries().iter().for_each(|entry| reader.entry(entry, root));
        }
        reader.grants
    }
}

struct Reader<'a, 'b> {
    wanted: &'a Wanted<'a>,
    grants: Grants,
    gaps: &'b mut Vec<Gap>,
}

impl Reader<'_, '_> {
    fn entry(&mut self, entry: &Entry, root: &str) {
        let Some(feeding) = Feeding::of(&entry.rule.tool).filter(|_| entry.verdict != Verdict::Ask) else { return };
        match (feeding, &entry.status) {
            (Feeding::Fetch, _) => self.host(entry),
            (Feeding::Edit | Feeding::Read, Status::Live) => self.path(feeding, entry, root),
            (Feeding::Edit | Feeding::Read, Status::Idle(_)) => {}
            (Feeding::Edit | Feeding::Read, Status::Malformed(error)) => {
                if entry.verdict == Verdict::Deny {
                    self.gap(entry, &format!("closes nothing here: {error}"));
                }
            }
        }
    }

    fn gap(&mut self, entry: &Entry, what: &str) {
        self.gaps.push(Gap::at(format!("`{}` {what}", entry.text), &entry.origin));
    }

    fn path(&mut self, feeding: Feeding, entry: &Entry, root: &str) {
        let Entry { rule, verdict, origin, .. } = entry;
        let allows = *verdict == Verdict::Allow;
        // What may be read is everything; and a whole tool says nothing of where.
        if allows && (feeding == Feeding::Read || rule.content.is_none()) {
            return;
        }
        if allows && !self.wanted.loaded.effective.locks.counts_writes(origin.layer) {
            return self.gap(entry, "opens nothing for commands: the organisation requires the sandbox");
        }
        let workspace = self.wanted.workspace();
        let anchors = Anchors { directory: &workspace.directory, home: workspace.home.as_deref(), source: root };
        let what = match &rule.content {
            None => What::Everything,
            Some(content) => match PathPattern::new(content, *verdict, &anchors) {
                Some(pattern) => What::Pattern(pattern),
                None => return,
            },
        };
        let list = match (feeding, allows) {
            (Feeding::Edit, true) => &mut self.grants.write,
            (Feeding::Edit, false) => &mut self.grants.no_write,
            (Feeding::Read | Feeding::Fetch, _) => &mut self.grants.no_read,
        };
        list.push(Ruled { text: entry.text.clone(), what, origin: origin.clone() });
    }

    fn host(&mut self, entry: &Entry) {
        let Entry { rule, verdict, origin, .. } = entry;
        // Without content the tool itself is meant; the list of hosts is untouched.
        let Some(content) = rule.content.as_deref() else { return };
        let host = content.strip_prefix("domain:").unwrap_or(content);
        if *verdict == Verdict::Deny {
            return hosts::deny(host, origin, (&mut self.grants.no_hosts, self.gaps));
        }
        if !self.wanted.loaded.effective.locks.counts_hosts(origin.layer) {
            return self.gap(entry, "opens nothing for commands: the list of hosts is closed");
        }
        match hosts::read(host, List::Allowed) {
            Ok(read) => self.grants.hosts.extend(read.into_iter().map(|host| host.at(origin))),
            Err(error) => self.gap(entry, &format!("has no effect on commands: {error}")),
        }
    }
}
