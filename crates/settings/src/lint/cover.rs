//! Coverage: whether every call that one rule matches is matched by rules of another list as well.
//!
//! A pattern is asked about by a *specimen* of it: the pattern's own text with a letter no command holds in place of
//! each wildcard. A rule that matches the specimen swallows that letter with a wildcard of its own, so it matches
//! whatever stands there. Sound; what it does not see is left to the automata.

use std::sync::Arc;

use mayi_core::catalogue::Kind;
use mayi_core::policy::{Entry, Grants, Policy, Status, Text};
use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::text::{Ending, Glob, TextPattern};
use mayi_core::verdict::Verdict;

/// In place of a wildcard: a letter that Unicode keeps out of every text.
const ANYTHING: &str = "\u{10ffff}";

/// The rules of `list` that together match every call that `entry` matches; `None` when that is not certain.
pub(super) fn covering(policy: &Policy, entry: &Entry, list: Verdict) -> Option<Vec<Arc<Entry>>> {
    if entry.status != Status::Live {
        return None;
    }
    let kind = policy.tool(&entry.rule.tool).kind;
    if let Some(whole) = whole_tool(policy, entry, kind, list) {
        return Some(vec![whole]);
    }
    let content = entry.rule.content.as_deref()?;
    match kind {
        Kind::Shell | Kind::Powershell | Kind::Agent | Kind::Skill => texts(policy, entry, content, list),
        Kind::Fetch => host(policy, content, list).map(|found| vec![found]),
        Kind::Read | Kind::Edit | Kind::Search => path(policy, entry, list).map(|found| vec![found]),
        Kind::Books | Kind::Person | Kind::Plain => None,
    }
}

/// A rule of the list for the whole tool. Path rules speak for several tools, so only a rule for every tool covers
/// one.
fn whole_tool(policy: &Policy, entry: &Entry, kind: Kind, list: Verdict) -> Option<Arc<Entry>> {
    let many = matches!(kind, Kind::Read | Kind::Edit | Kind::Search) && entry.rule.content.is_some();
    let tool = if many { ANYTHING.to_owned() } else { specimen_tool(&entry.rule.tool) };
    policy.whole_tool(list, &tool, Grants::All).cloned()
}

/// `mcp__server` is every tool of the server.
fn specimen_tool(tool: &str) -> String {
    let is_server = tool.strip_prefix("mcp__").is_some_and(|server| !server.contains("__") && !server.contains('*'));
    if is_server { format!("{tool}__{ANYTHING}") } else { tool.replace('*', ANYTHING) }
}

fn texts(policy: &Policy, entry: &Entry, content: &str, list: Verdict) -> Option<Vec<Arc<Entry>>> {
    let tool = policy.tool(&entry.rule.tool);
    if entry.verdict != Verdict::Allow && is_parameter(content, tool.params) {
        return None;
    }
    let folds_case = tool.kind == Kind::Powershell;
    let pattern = |content: &str| {
        if folds_case { TextPattern::command(&content.to_lowercase()) } else { TextPattern::command(content) }
    };
    let specimens = specimens(&pattern(content));
    let mut covering: Vec<Arc<Entry>> = Vec::new();
    for specimen in &specimens {
        let found = policy.text(list, &entry.rule.tool, Text::every(specimen))?;
        if !covering.iter().any(|known| Arc::ptr_eq(known, found)) {
            covering.push(Arc::clone(found));
        }
    }
    // One rule that does it alone is the better explanation.
    let alone = |rule: &&Arc<Entry>| {
        let pattern = rule.rule.content.as_deref().map(pattern);
        pattern.is_some_and(|pattern| specimens.iter().all(|specimen| pattern.matches(specimen)))
    };
    let covering = covering.iter().find(alone).map_or(covering.clone(), |rule| vec![Arc::clone(rule)]);
    (!covering.is_empty()).then_some(covering)
}

/// `param:value`: about a field of the input, not about its text.
fn is_parameter(content: &str, params: &[&str]) -> bool {
    content.split_once(':').is_some_and(|(name, _)| params.contains(&name.trim()))
}

/// Texts that stand for everything a pattern matches.
fn specimens(pattern: &TextPattern) -> Vec<String> {
    let words = |start: &str| {
        let mut all = vec![start.to_owned()];
        all.extend([' ', '\t', '\n'].map(|blank| format!("{start}{blank}{ANYTHING}")));
        all
    };
    match pattern {
        TextPattern::Exact(text) => vec![text.clone()],
        TextPattern::Prefix(prefix) => words(prefix),
        TextPattern::Glob(Glob { first, middle, last }) => {
            let mut start = format!("{first}{ANYTHING}");
            for piece in middle {
                start = format!("{start}{piece}{ANYTHING}");
            }
            match last {
                Ending::Text(text) => vec![format!("{start}{text}")],
                Ending::Word(word) => words(&format!("{start}{word}")),
            }
        }
    }
}

fn host(policy: &Policy, content: &str, list: Verdict) -> Option<Arc<Entry>> {
    let pattern = |content: &str| content.strip_prefix("domain:").and_then(DomainPattern::new);
    let own = pattern(content)?;
    if let DomainPattern::Host(host) = &own {
        return policy.host(list, host).cloned();
    }
    let covers = |other: &DomainPattern| match (&own, other) {
        (_, DomainPattern::Any) => true,
        (DomainPattern::Below(own), DomainPattern::Below(other)) => {
            own == other || own.strip_suffix(other.as_str()).is_some_and(|rest| rest.ends_with('.'))
        }
        (own, other) => own == other,
    };
    let live = policy.entries().iter().filter(|entry| entry.verdict == list && entry.status == Status::Live);
    let mut hosts = live.filter(|entry| policy.tool(&entry.rule.tool).kind == Kind::Fetch);
    hosts.find(|entry| entry.rule.content.as_deref().and_then(pattern).is_some_and(|other| covers(&other))).cloned()
}

/// A path rule of the list with the same pattern, or with a directory above it. A read deny also stops writing.
fn path(policy: &Policy, entry: &Entry, list: Verdict) -> Option<Arc<Entry>> {
    let content = entry.rule.content.as_deref()?;
    if content.starts_with('!') || content.split('/').any(|segment| segment == "..") {
        return None;
    }
    let live = policy.entries().iter().filter(|other| other.verdict == list && other.status == Status::Live);
    let mut candidates = live.filter(|other| {
        let same_tool = other.rule.tool == entry.rule.tool;
        let read_stops_edit = list == Verdict::Deny && other.rule.tool == "Read" && entry.rule.tool == "Edit";
        // `/p` starts somewhere else in every source.
        let same_start = !is_sourced(content) || other.origin.file == entry.origin.file;
        (same_tool || read_stops_edit)
            && same_start
            && other.rule.content.as_deref().is_some_and(|above| is_above(above, content))
    });
    candidates.find(|other| !is_reopened(policy, other)).cloned()
}

fn is_sourced(content: &str) -> bool {
    content.starts_with('/') && !content.starts_with("//")
}

/// Whether everything that `below` matches is matched by `above`, both read from one start.
fn is_above(above: &str, below: &str) -> bool {
    if above == below || above == "//**" {
        return true;
    }
    let directory = above.strip_suffix("/**").unwrap_or(above).trim_end_matches('/');
    let is_literal = !directory.is_empty() && !directory.contains(['*', '?', '[', '\\', '!']);
    is_literal && below.strip_prefix(directory).is_some_and(|rest| rest.starts_with('/') && rest.len() > 1)
}

/// Whether a `!pattern` of the same list and source may take some of it back.
fn is_reopened(policy: &Policy, rule: &Entry) -> bool {
    let takes_back = |other: &&Arc<Entry>| {
        other.verdict == rule.verdict
            && other.origin.file == rule.origin.file
            && other.rule.content.as_deref().is_some_and(|content| content.starts_with('!'))
    };
    policy.entries().iter().any(|other| takes_back(&other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayi_core::call::Workspace;
    use mayi_core::policy::{Layer, Options, Source, Written};
    use proptest::prelude::*;

    fn covered(deny: &[&str], allow: &str) -> Option<Vec<String>> {
        let mut rules: Vec<Written> = deny.iter().map(|rule| Written::new(Verdict::Deny, rule)).collect();
        rules.push(Written::new(Verdict::Allow, allow));
        let policy = Policy::build(
            Workspace::at("/w").with_home("/h"),
            vec![Source::of(Layer::User, "/w", rules)],
            Options::default(),
        );
        let entry = policy.entries().iter().find(|entry| entry.verdict == Verdict::Allow).unwrap();
        let found = covering(&policy, entry, Verdict::Deny)?;
        Some(found.iter().map(|entry| entry.text.clone()).collect())
    }

    #[test]
    fn what_is_certainly_covered() {
        for (deny, allow) in [
            ("Bash", "Bash(ls)"),
            ("*", "Edit(src/**)"),
            ("mcp__*", "mcp__x__read"),
            ("mcp__x", "mcp__x__*"),
            ("mcp__x__*", "mcp__x"),
            ("Bash(git:*)", "Bash(git push --force)"),
            ("Bash(git *)", "Bash(git push:*)"),
            ("Bash(git*)", "Bash(git push * main)"),
            ("Bash(* --force*)", "Bash(git push --force *)"),
            ("PowerShell(remove-item *)", "PowerShell(Remove-Item x)"),
            ("WebFetch(domain:*.x.org)", "WebFetch(domain:a.b.x.org)"),
            ("WebFetch(domain:*)", "WebFetch(domain:*.x.org)"),
            ("Read(src/**)", "Read(src/a/b.rs)"),
            ("Read(secrets)", "Edit(secrets/**)"),
            ("Edit(//etc/**)", "Edit(//etc/hosts)"),
            ("Agent(Explore)", "Agent(Explore)"),
        ] {
            assert_eq!(covered(&[deny], allow).as_deref(), Some([deny.to_owned()].as_slice()), "{deny} over {allow}");
        }
        assert_eq!(covered(&["Bash(npm)", "Bash(npm *)"], "Bash(npm:*)").unwrap().len(), 1);
    }

    #[test]
    fn what_is_not() {
        for (deny, allow) in [
            ("Bash(git push)", "Bash(git push:*)"),
            ("Bash(git:*)", "Bash(git*)"),
            ("Bash(run_in_background:true)", "Bash(run_in_background:true)"),
            ("Edit", "Edit(src/**)"),
            ("Read(src/*)", "Read(src/a/b)"),
            ("Edit(secrets)", "Read(secrets/x)"),
            ("WebFetch(domain:*.x.org)", "WebFetch(domain:x.org)"),
            ("mcp__x", "mcp__x2__read"),
            ("Read(src)", "Read(src/../other)"),
        ] {
            assert_eq!(covered(&[deny], allow), None, "{deny} over {allow}");
        }
        assert_eq!(covered(&["Read(*.env)", "Read(!a.env)"], "Read(*.env)"), None, "part of it may be open again");
    }

    proptest! {
        /// A covered pattern matches nothing that the covering one does not.
        #[test]
        fn coverage_is_sound(deny in "[ab *]{1,6}(:\\*)?", allow in "[ab *]{1,6}(:\\*)?", text in "[ab ]{1,8}") {
            let (deny, allow) = (format!("Bash({deny})"), format!("Bash({allow})"));
            let content = |rule: &str| rule.parse::<mayi_core::rule::Rule>().unwrap().content;
            let (Some(own), Some(over)) = (content(&allow), content(&deny)) else { return Ok(()) };
            if covered(&[&deny], &allow).is_some() && TextPattern::command(&own).matches(&text) {
                prop_assert!(TextPattern::command(&over).matches(&text), "{} over {}: {}", deny, allow, text);
            }
        }
    }
}
