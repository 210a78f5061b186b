//! A rule that is well written and that nothing can match.

use mayi_core::catalogue::{self, Kind};
use mayi_core::policy::{Entry, Idle, Status};
use mayi_core::verdict::Verdict;

use super::about;
use crate::load::Loaded;
use crate::nearest::nearest;
use crate::problem::{Code, Problem};

pub(super) fn check(loaded: &Loaded, found: &mut Vec<Problem>) {
    for entry in loaded.policy.entries() {
        let (message, fix) = match &entry.status {
            // Reading has said already that there is no such tool; advice about its content would mislead.
            Status::Idle(_) if is_unknown(loaded, entry) && entry.verdict != Verdict::Allow => continue,
            Status::Idle(_) if is_unknown(loaded, entry) => unknown_words(entry),
            Status::Idle(idle) => idle_words(entry, *idle),
            Status::Live if joins_commands(loaded, entry) => (
                format!("`{}` joins commands, and a rule sees one at a time", entry.text),
                "allow each command with a rule of its own".to_owned(),
            ),
            Status::Live | Status::Malformed(_) => continue,
        };
        found.push(about(entry, Code::NeverMatches, message).fix(fix));
    }
}

fn is_unknown(loaded: &Loaded, entry: &Entry) -> bool {
    let tool = &entry.rule.tool;
    let is_declared = loaded.policy.options.tools.iter().any(|declared| declared.name == *tool);
    catalogue::built_in(tool).is_none() && !tool.starts_with("mcp__") && !is_declared
}

fn unknown_words(entry: &Entry) -> (String, String) {
    let tool = &entry.rule.tool;
    let fix = match nearest(tool, catalogue::all().iter().map(|tool| tool.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("write `{tool}` alone, or declare it under `tools`"),
    };
    (format!("no tool is called `{tool}`, so nothing is known of its content"), fix)
}

fn idle_words(entry: &Entry, idle: Idle) -> (String, String) {
    let content = entry.rule.content.as_deref().unwrap_or_default();
    let tool = &entry.rule.tool;
    match idle {
        Idle::OtherSpelling { use_instead } => {
            (format!("`{tool}(…)` is never compared with a path"), format!("write `{use_instead}({content})`"))
        }
        Idle::NoContent => {
            (format!("`{tool}` takes no content, so `{}` matches nothing", entry.text), format!("write `{tool}` alone"))
        }
        Idle::PrimaryField => (
            format!("`{}` names the field that the content itself is about", entry.text),
            "write the content without the field's name".to_owned(),
        ),
        Idle::MatchesNothing => (
            format!("nothing can match `{}`", entry.text),
            match tool.as_str() {
                "WebFetch" => "write `WebFetch(domain:example.com)`".to_owned(),
                _ => "write a pattern that something can match, or remove the rule".to_owned(),
            },
        ),
    }
}

/// An allow rule whose literal text holds an operator between commands outside quotes. A deny or ask may still match
/// such a text inside quotes, so only allow rules are reported.
fn joins_commands(loaded: &Loaded, entry: &Entry) -> bool {
    let is_shell = loaded.policy.tool(&entry.rule.tool).kind == Kind::Shell;
    let content = entry.rule.content.as_deref().unwrap_or_default();
    let is_plain = !content.contains(['\'', '"', '\\', '*'])
        || content.strip_suffix(":*").is_some_and(|rest| !rest.contains(['\'', '"', '\\', '*']));
    let words = || content.split_whitespace();
    entry.verdict == Verdict::Allow
        && is_shell
        && is_plain
        && words().any(|word| matches!(word, "&&" | "||" | "|" | ";"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Given, of_values};
    use mayi_core::call::Workspace;
    use mayi_core::policy::Layer;
    use serde_json::json;

    #[test]
    fn a_misspelt_tool_is_named_and_its_content_left_alone() {
        let settings = json!({"permissions": {"allow": ["Bsh(ls)", "Frobnicator(x)"], "deny": ["Reed(.env)"]}});
        let loaded = of_values(&[(Layer::User, &settings)], &Workspace::at("/w"), &Given::default());
        let fixes: Vec<String> = super::super::report(&loaded, super::super::checks(&loaded))
            .into_iter()
            .filter_map(|problem| problem.fix)
            .collect();
        let alone = "write `Frobnicator` alone, or declare it under `tools`";
        assert_eq!(fixes, ["did you mean `Read`?", "did you mean `Bash`?", alone]);
    }

    #[test]
    fn each_way_of_never_matching_comes_with_its_fix() {
        let settings = json!({"permissions": {"allow": ["Glob(src/**)", "TodoWrite(x)", "Bash(cd x && npm test)", "Bash(:*)",
            "WebFetch(https://x.org)", "Bash(echo 'a && b')", "Bash(ls)"]}});
        let loaded = of_values(&[(Layer::User, &settings)], &Workspace::at("/w"), &Given::default());
        let mut found = Vec::new();
        check(&loaded, &mut found);
        let fixes: Vec<&str> = found.iter().filter_map(|problem| problem.fix.as_deref()).collect();
        assert_eq!(
            fixes,
            [
                "write `Read(src/**)`",
                "write `TodoWrite` alone",
                "allow each command with a rule of its own",
                "write a pattern that something can match, or remove the rule",
                "write `WebFetch(domain:example.com)`",
            ]
        );
    }
}
