//! An allow rule that grants more than it seems to.

use mayi_core::catalogue::Kind;
use mayi_core::grant::{self, SetAside};
use mayi_core::policy::{Entry, Status};
use mayi_core::rule::text::{Glob, TextPattern};
use mayi_core::verdict::Verdict;

use super::about;
use crate::load::Loaded;
use crate::problem::{Code, Problem};

/// Programs that carry data anywhere, though they run nothing. Auto mode leaves them in force.
const REACHING: [(&str, &str); 6] = [
    ("curl", "sends and fetches anything, anywhere"),
    ("wget", "sends and fetches anything, anywhere"),
    ("nc", "talks to any host"),
    ("ncat", "talks to any host"),
    ("socat", "talks to any host"),
    ("scp", "copies anything anywhere"),
];

pub(super) fn check(loaded: &Loaded, found: &mut Vec<Problem>) {
    let allows = loaded.policy.entries().iter().filter(|entry| entry.verdict == Verdict::Allow);
    for entry in allows.filter(|entry| entry.status == Status::Live) {
        let Some(why) = danger(entry, loaded.policy.tool(&entry.rule.tool).kind) else { continue };
        let message = format!("`{}` grants more than it seems to: {why}", entry.text);
        let fix = "name the subcommand and flags, and leave only the operands open";
        found.push(about(entry, Code::DangerousAllow, message).fix(fix));
    }
}

fn danger(entry: &Entry, kind: Kind) -> Option<String> {
    if let Some(listed) = grant::danger(&entry.rule, kind) {
        return Some(format!("`{}` {}", listed.name, listed.why));
    }
    let is_shell = matches!(kind, Kind::Shell | Kind::Powershell);
    let pattern = entry.rule.content.as_deref().filter(|_| is_shell).map(TextPattern::command);
    let of_pattern = pattern.and_then(|pattern| reaching(&pattern).or_else(|| early_wildcard(&pattern)));
    of_pattern.or_else(|| match (entry.set_aside(), is_shell) {
        (SetAside::Always, true) => Some("every command runs without a question".to_owned()),
        (SetAside::Always, false) => Some(format!("{} acts on its own without a question", entry.rule.tool)),
        (SetAside::WhenStrict | SetAside::Never, _) => None,
    })
}

fn reaching(pattern: &TextPattern) -> Option<String> {
    let start = match pattern {
        TextPattern::Exact(_) => return None,
        TextPattern::Prefix(prefix) => prefix.as_str(),
        TextPattern::Glob(glob) => glob.first.as_str(),
    };
    let program = start.split(' ').next()?;
    let (name, why) = REACHING.into_iter().find(|(name, _)| *name == program)?;
    Some(format!("`{name}` {why}"))
}

/// A wildcard in front, or right behind the program with something more to come.
fn early_wildcard(pattern: &TextPattern) -> Option<String> {
    let TextPattern::Glob(Glob { first, .. }) = pattern else { return None };
    let words = first.split_whitespace().count();
    match words {
        0 => Some("its wildcard stands for the program itself".to_owned()),
        1 => Some("its wildcard stands where options and the subcommand do".to_owned()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Given, of_values};
    use mayi_core::call::Workspace;
    use mayi_core::policy::Layer;
    use serde_json::json;

    fn reported(rule: &str) -> bool {
        let settings = json!({"permissions": {"allow": [rule]}});
        let loaded = of_values(&[(Layer::User, &settings)], &Workspace::at("/w"), &Given::default());
        let mut found = Vec::new();
        check(&loaded, &mut found);
        !found.is_empty()
    }

    #[test]
    fn broad_grants_are_reported_and_narrow_ones_are_not() {
        for rule in [
            "Bash",
            "Bash(python3 *)",
            "Bash(npx *)",
            "Bash(env *)",
            "Bash(find *)",
            "Bash(xargs:*)",
            "Bash(curl *)",
            "Bash(curl -s *)",
            "Bash(* --version)",
            "Bash(git * main)",
            "Bash(sudo:*)",
            "Agent(Explore)",
            "PowerShell",
        ] {
            assert!(reported(rule), "{rule}");
        }
        for rule in [
            "Bash(ls)",
            "Bash(cargo test:*)",
            "Bash(git status *)",
            "Bash(curl https://x.org)",
            "Read",
            "Bash(git log * -p)",
        ] {
            assert!(!reported(rule), "{rule}");
        }
    }
}
