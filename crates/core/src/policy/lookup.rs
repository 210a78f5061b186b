//! Looking rules up: every question a step or an inspection asks of the policy.

use std::sync::Arc;

use crate::call::Call;
use crate::catalogue::{self, Tool};
use crate::grant::SetAside;
use crate::policy::{Entry, Policy};
use crate::rule::index::{Reach, RuleId};
use crate::verdict::Verdict;

/// What a call does to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Reads it.
    Read,
    /// Writes, creates or removes it.
    Write,
}

/// Which allow rules count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grants {
    /// All of them.
    All,
    /// Those that auto mode leaves in force.
    NotSetAside,
}

impl Policy {
    /// The tool of that name: declared by the user, built in, or unknown.
    pub fn tool<'a>(&'a self, name: &'a str) -> Tool<'a> {
        let declared = self.options.tools.iter().find(|tool| tool.name == name);
        match (catalogue::built_in(name), declared) {
            (Some(built_in), _) => *built_in,
            (None, Some(declared)) => declared.as_tool(),
            (None, None) => Tool::unknown(name),
        }
    }

    fn counts(&self, id: RuleId, grants: Grants) -> bool {
        match grants {
            Grants::All => true,
            Grants::NotSetAside => self.entry(id).is_some_and(|entry| match entry.set_aside() {
                SetAside::Never => true,
                SetAside::WhenStrict => !self.options.strict_grants,
                SetAside::Always => false,
            }),
        }
    }

    /// The rule of this list that names the whole tool.
    pub fn whole_tool(&self, list: Verdict, tool: &str, grants: Grants) -> Option<&Arc<Entry>> {
        let found = self.tools.of(list).first(tool, Reach::Every, &|id| self.counts(id, grants));
        found.and_then(|id| self.entry(id))
    }

    /// A deny or ask rule that cannot be read and may have been about this tool.
    pub fn malformed(&self, tool: &str) -> Option<&Arc<Entry>> {
        self.malformed.first(tool, Reach::Every, &|_| true).and_then(|id| self.entry(id))
    }

    /// The rule of this list whose text pattern matches: a command, an agent, a skill.
    pub fn text(&self, list: Verdict, tool: &str, query: Text<'_>) -> Option<&Arc<Entry>> {
        let rules = self.texts.get(tool)?.of(list);
        let found = rules.index(self).first(query.text, query.reach, &|id| self.counts(id, query.grants));
        found.and_then(|id| self.entry(id))
    }

    /// Some content rule of this list for a tool, to name when one might match something unknown.
    pub fn some_text_rule(&self, list: Verdict, tool: &str) -> Option<&Arc<Entry>> {
        self.texts.get(tool)?.of(list).first().and_then(|id| self.entry(id))
    }

    /// The rule of this list whose path pattern matches an absolute, clean path.
    pub fn path(&self, list: Verdict, access: Access, path: &str) -> Option<&Arc<Entry>> {
        let lists = match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        };
        lists.of(list).first(path, &|_| true).and_then(|id| self.entry(id))
    }

    /// The rule of this list that a shell pattern below an absolute directory may run into.
    pub fn path_meeting(&self, list: Verdict, access: Access, pattern: (&str, &str)) -> Option<&Arc<Entry>> {
        let lists = match access {
            Access::Read => &self.reads,
            Access::Write => &self.writes,
        };
        let (below, globs) = pattern;
        lists.of(list).meeting(below, globs).and_then(|id| self.entry(id))
    }

    /// The rule of this list whose host pattern matches a normal host.
    pub fn host(&self, list: Verdict, host: &str) -> Option<&Arc<Entry>> {
        self.hosts.of(list).first(host, &|_| true).and_then(|id| self.entry(id))
    }

    /// The deny or ask rule that one of the call's parameters matches.
    pub fn parameter(&self, list: Verdict, call: &Call) -> Option<(&Arc<Entry>, String)> {
        let parameters = self.parameters.get(call.tool.as_str())?.of(list);
        parameters.iter().find_map(|parameter| {
            let value = call.scalar(&parameter.name)?;
            let entry = parameter.value.matches(&value).then(|| self.entry(parameter.id))??;
            Some((entry, format!("{}:{value}", parameter.name)))
        })
    }

    /// Whether settings let this command run outside the sandbox.
    pub fn is_excluded_from_sandbox(&self, command: &str) -> bool {
        self.excluded.first(command, Reach::Every, &|_| true).is_some()
    }
}

/// A question to the text rules.
#[derive(Clone, Copy, Debug)]
pub struct Text<'a> {
    /// The command, agent or skill.
    pub text: &'a str,
    /// Which patterns may speak.
    pub reach: Reach,
    /// Which allow rules count.
    pub grants: Grants,
}

impl<'a> Text<'a> {
    /// A question to every pattern of every rule.
    pub fn every(text: &'a str) -> Self {
        Self { text, reach: Reach::Every, grants: Grants::All }
    }
}
