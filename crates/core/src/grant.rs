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
        (Kind::Powershell, Some(content)) => {
            grants(&content.to_lowercase(), data::RUNNERS).max(grants(&content.to_lowercase(), data::POWERSHELL))
        }
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
    if let Some(_runner) = granted_runner(content, always) {
        return SetAside::Always;
    }
    match granted_runner(content, data::STRICT) {
        Some(_) => SetAside::WhenStrict,
        None => SetAside::Never,
    }
}

/// The entry of `list` that a wildcard pattern grants.
fn granted_runner(content: &str, list: &'static [Listed]) -> Option<&'static Listed> {
    let pattern = TextPattern::command(content);
    list.iter().find(|listed| grants_program(&pattern, &listed.name.to_lowercase()))
}

/// Whether a pattern matches some command line of the program `name` with operands of the agent's choice.
fn grants_program(pattern: &TextPattern, name: &str) -> bool {
    let begins = |text: &str, start: &str| text == start || text.starts_with(&format!("{start} "));
    match pattern {
        // Spelled out to the end: it grants that one command and nothing else.
        TextPattern::Exact(_) => false,
        TextPattern::Prefix(prefix) => begins(prefix, name) || begins(name, prefix),
        TextPattern::Glob(glob) => {
            let program = format!("{name} ");
            glob.first.starts_with(&program) || program.starts_with(&glob.first)
        }
    }
}

/// Why a rule is dangerous to grant, for lint and for people: the list entry it grants.
pub fn danger(rule: &Rule, kind: Kind) -> Option<&'static Listed> {
    let content = rule.content.as_deref()?;
    if kind == Kind::Shell {
        return granted_runner(content, data::RUNNERS);
    }
    (kind == Kind::Powershell).then(|| granted_runner(&content.to_lowercase(), data::POWERSHELL)).flatten()
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
