//! Rules that feed the plan: `Edit` and `Read` paths and `WebFetch` hosts, each with its origin. Rules of the project
//! that a lock takes away are gaps, so that nobody wonders.

use std::borrow::Cow;

use mayi_core::policy::{Layer, Origin, Source, Written};
use mayi_core::rule::path::{Anchors, PathPattern};
use mayi_core::rule::{Rule, RuleError};
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
        for source in sources(wanted).iter() {
            for written in &source.rules {
                reader.rule(source, written);
            }
        }
        reader.grants
    }
}

/// The rules of settings, then those of the session; a policy that knows only the organisation's takes no others.
fn sources<'a>(wanted: &Wanted<'a>) -> Cow<'a, [Source]> {
    let rules = wanted.session.written();
    if rules.is_empty() || wanted.loaded.settings.allow_managed_permission_rules_only {
        return Cow::Borrowed(&wanted.loaded.sources);
    }
    let session = Source::of(Layer::Session, &wanted.workspace().directory, rules);
    Cow::Owned(wanted.loaded.sources.iter().cloned().chain([session]).collect())
}

struct Reader<'a, 'b> {
    wanted: &'a Wanted<'a>,
    grants: Grants,
    gaps: &'b mut Vec<Gap>,
}

impl Reader<'_, '_> {
    fn rule(&mut self, source: &Source, written: &Written) {
        let tool = match &written.rule {
            Ok(rule) => rule.tool.as_str(),
            Err(_) => Rule::tool_of(&written.text),
        };
        let Some(feeding) = Feeding::of(tool).filter(|_| written.verdict != Verdict::Ask) else { return };
        let Written { line, column, .. } = *written;
        let origin = Origin { layer: source.layer, file: source.file.clone(), line, column };
        match &written.rule {
            Err(error) => self.unreadable(written, error, &origin),
            Ok(rule) => match feeding {
                Feeding::Edit | Feeding::Read => self.path(feeding, (rule, written), (source, origin)),
                Feeding::Fetch => self.host((rule, written), origin),
            },
        }
    }

    fn unreadable(&mut self, written: &Written, error: &RuleError, origin: &Origin) {
        if written.verdict == Verdict::Deny {
            self.gaps.push(Gap::at(format!("`{}` closes nothing here: {error}", written.text), origin));
        }
    }

    fn path(&mut self, feeding: Feeding, (rule, written): (&Rule, &Written), (source, origin): (&Source, Origin)) {
        let allows = written.verdict == Verdict::Allow;
        // What may be read is everything; and a whole tool says nothing of where.
        if allows && (feeding == Feeding::Read || rule.content.is_none()) {
            return;
        }
        if allows && !self.wanted.loaded.effective.locks.counts_writes(origin.layer) {
            let what = format!("`{}` opens nothing for commands: the organisation requires the sandbox", written.text);
            return self.gaps.push(Gap::at(what, &origin));
        }
        let workspace = self.wanted.workspace();
        let anchors =
            Anchors { directory: &workspace.directory, home: workspace.home.as_deref(), source: &source.root };
        let what = match &rule.content {
            None => What::Everything,
            Some(content) => match PathPattern::new(content, written.verdict, &anchors) {
                Some(pattern) => What::Pattern(pattern),
                None => return,
            },
        };
        let list = match (feeding, allows) {
            (Feeding::Edit, true) => &mut self.grants.write,
            (Feeding::Edit, false) => &mut self.grants.no_write,
            (Feeding::Read | Feeding::Fetch, _) => &mut self.grants.no_read,
        };
        list.push(Ruled { text: written.text.clone(), what, origin });
    }

    fn host(&mut self, (rule, written): (&Rule, &Written), origin: Origin) {
        // Without a host the tool itself is meant; the list of hosts is untouched.
        let Some(host) = rule.content.as_deref().and_then(|content| content.strip_prefix("domain:")) else { return };
        let allows = written.verdict == Verdict::Allow;
        if allows && !self.wanted.loaded.effective.locks.counts_hosts(origin.layer) {
            let what = format!("`{}` opens nothing for commands: the list of hosts is closed", written.text);
            return self.gaps.push(Gap::at(what, &origin));
        }
        let list = if allows { List::Allowed } else { List::Denied };
        match hosts::read(host, list) {
            Ok(read) => {
                let patterns = read.into_iter().map(|host| host.at(&origin));
                if allows { self.grants.hosts.extend(patterns) } else { self.grants.no_hosts.extend(patterns) }
            }
            Err(error) => {
                self.gaps.push(Gap::at(format!("`{}` has no effect on commands: {error}", written.text), &origin))
            }
        }
    }
}
