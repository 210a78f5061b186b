//! Grants that auto mode sets aside: allow rules that would let a call slip past the classifier.
//!
//! Whether a rule is set aside is a property of the rule, not state: leaving auto mode restores every rule exactly,
//! in its place, because nothing was ever taken out.

use crate::catalogue::Kind;
use crate::listed::Listed;
use crate::rule::Rule;
use crate::rule::text::TextPattern;

mod data {
    use crate::listed::Listed;
    include!(concat!(env!("OUT_DIR"), "/grants.rs"));
}

/// Whether auto mode sets a rule aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SetAside {
    /// Never.
    Never,
    /// When the stricter list is switched on.
    WhenStrict,
    /// Always.
    Always,
}

/// Whether auto mode sets this allow rule aside.
pub fn set_aside(rule: &Rule, kind: Kind) -> SetAside {
    match (kind, &rule.content) {
        (Kind::Agent, _) => SetAside::Always,
        (Kind::Shell | Kind::Powershell, None) => SetAside::Always,
        (Kind::Shell, Some(content)) => grants(content, data::RUNNERS),
        (Kind::Powershell, Some(content)) => grants(content, data::RUNNERS).max(grants(content, data::POWERSHELL)),
        _ if rule.tool == "REPL" => SetAside::Always,
        _ => SetAside::Never,
    }
}

impl SetAside {
    fn max(self, other: Self) -> Self {
        match (self, other) {
            (SetAside::Always, _) | (_, SetAside::Always) => SetAside::Always,
            (SetAside::WhenStrict, _) | (_, SetAside::WhenStrict) => SetAside::WhenStrict,
            (SetAside::Never, SetAside::Never) => SetAside::Never,
        }
    }
}

fn grants(content: &str, always: &'static [Listed]) -> SetAside {
    let pattern = TextPattern::command(content);
    match (granted_runner(&pattern, always), granted_runner(&pattern, data::STRICT)) {
        (Some(_), _) => SetAside::Always,
        (None, Some(_)) => SetAside::WhenStrict,
        (None, None) => SetAside::Never,
    }
}

/// The entry of `list` that a wildcard pattern grants.
fn granted_runner(pattern: &TextPattern, list: &'static [Listed]) -> Option<&'static Listed> {
    list.iter().find(|listed| grants_program(pattern, listed.name))
}

/// Whether a pattern matches some command line of the program `name` with operands of the agent's choice. Asked of
/// every allow rule at every start, so nothing is allocated here.
fn grants_program(pattern: &TextPattern, name: &str) -> bool {
    match pattern {
        // Spelled out to the end: it grants that one command and nothing else.
        TextPattern::Exact(_) => false,
        TextPattern::Prefix(prefix) => {
            let is_whole = |rest: &[u8]| matches!(rest.first(), None | Some(b' '));
            after(prefix, name).is_some_and(is_whole) || after(name, prefix).is_some_and(is_whole)
        }
        TextPattern::Glob(glob) => {
            after(&glob.first, name).is_some_and(|rest| rest.first() == Some(&b' '))
                || after(name, &glob.first).is_some()
        }
    }
}

/// What follows `start` in `text`, letters compared without case; `None` when the text begins otherwise.
fn after<'t>(text: &'t str, start: &str) -> Option<&'t [u8]> {
    let (head, rest) = text.as_bytes().split_at_checked(start.len())?;
    head.eq_ignore_ascii_case(start.as_bytes()).then_some(rest)
}

/// Why a rule is dangerous to grant, for lint and for people: the list entry it grants.
pub fn danger(rule: &Rule, kind: Kind) -> Option<&'static Listed> {
    let content = rule.content.as_deref()?;
    let pattern = TextPattern::command(content);
    if kind == Kind::Shell {
        return granted_runner(&pattern, data::RUNNERS);
    }
    (kind == Kind::Powershell).then(|| granted_runner(&pattern, data::POWERSHELL)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(rule: &str, kind: Kind, expected: SetAside) {
        assert_eq!(set_aside(&rule.parse().unwrap(), kind), expected, "{rule}");
    }

    #[test]
    fn rules_that_slip_past_a_classifier_are_set_aside() {
        for rule in
            ["Bash", "Bash(*)", "Bash(python:*)", "Bash(python3 *)", "Bash(npm run *)", "Bash(npm *)", "Bash(sudo:*)"]
        {
            check(rule, Kind::Shell, SetAside::Always);
        }
        for rule in ["Bash(* --version)", "Bash(p*)", "Bash(python -m pytest *)"] {
            check(rule, Kind::Shell, SetAside::Always);
        }
        check("Agent(Explore)", Kind::Agent, SetAside::Always);
        check("REPL", Kind::Plain, SetAside::Always);
        check("PowerShell(IEX *)", Kind::Powershell, SetAside::Always);
    }

    #[test]
    fn narrow_rules_stay() {
        for rule in ["Bash(npm run build)", "Bash(pythonx *)", "Bash(cargo test *)"] {
            check(rule, Kind::Shell, SetAside::Never);
        }
        check("Bash(npm test:*)", Kind::Shell, SetAside::WhenStrict);
        check("Bash(git *)", Kind::Shell, SetAside::WhenStrict);
        check("Read", Kind::Read, SetAside::Never);
    }
}
