//! The `if` of a hook: one permission rule, read as a deny rule is read, so that any command the text can denote
//! counts. Whatever cannot be told makes the hook run.

use std::ffi::OsStr;
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::catalogue::Kind;
use mayi_core::evaluation::Evaluation;
use mayi_core::inspect::Inspection;
use mayi_core::policy::{Entry, Grants, Layer, Options, Policy, Source, Status, Written};
use mayi_core::reason::Reason;
use mayi_core::session::Session;
use mayi_core::verdict::Verdict;
use mayi_shell::command::{Analysis, Command, RedirectTarget};
use mayi_shell::observe::Observations;
use mayi_shell::word::{HoleKind, Word};
use mayi_shell::{Context, analyse};

use crate::decide::observe_all;
use crate::observe::Machine;

/// Whether a call fulfils a condition. `Err` says why nobody can tell.
pub(super) fn holds(condition: &str, call: &Call, (policy, search): (&Policy, &OsStr)) -> Result<bool, String> {
    let policy = Arc::new(of_one_rule(condition, policy));
    let Some(entry) = policy.entries().first() else { return Ok(true) };
    match &entry.status {
        Status::Live => {}
        Status::Malformed(error) => {
            return Err(format!("the `if` `{condition}` is no rule ({error}), so it holds for every call"));
        }
        Status::Idle(_) if entry.rule.tool != call.tool => return Ok(false),
        Status::Idle(_) => {
            return Err(format!("the `if` `{condition}` could never match, so it holds for every call of its tool"));
        }
    }
    if policy.whole_tool(Verdict::Deny, &call.tool, Grants::All).is_some() {
        return Ok(true);
    }
    let Ok(mut evaluation) = Evaluation::begin(call.clone(), policy.clone(), Session::default()) else {
        return Ok(true);
    };
    let machine = Machine::new(policy.workspace.directories().map(str::to_owned).collect(), search);
    observe_all(&mut evaluation, &machine);
    Ok(matches(evaluation.inspection(), concerns(entry, call, &policy)) || may_hide(entry, call, &policy))
}

/// A policy with nothing but the rule. Links, tasks and declared tools count as they do for any rule.
fn of_one_rule(condition: &str, policy: &Policy) -> Policy {
    let rule = Written::new(Verdict::Deny, condition);
    let source = Source::of(Layer::Session, &policy.workspace.directory, vec![rule]);
    let options = Options { tools: policy.options.tools.clone(), case: policy.options.case, ..Options::default() };
    Policy::build(policy.workspace.clone(), vec![source], options)
}

/// Whether a rule is about a tool at all.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Concern {
    Own,
    Other,
}

fn concerns(entry: &Entry, call: &Call, policy: &Policy) -> Concern {
    let (tool, kind) = (entry.rule.tool.as_str(), policy.tool(&call.tool).kind);
    let by_kind = match kind {
        Kind::Shell => tool == "Bash",
        Kind::Read | Kind::Search => tool == "Read",
        Kind::Edit => tool == "Edit",
        Kind::Powershell | Kind::Fetch | Kind::Agent | Kind::Skill | Kind::Books | Kind::Person | Kind::Plain => false,
    };
    if by_kind || tool == call.tool { Concern::Own } else { Concern::Other }
}

/// The rule matches, might match, or the input is such that nobody knows.
fn matches(inspection: &Inspection, concern: Concern) -> bool {
    let by_rule = |reason: &Reason| matches!(reason, Reason::Rule { .. } | Reason::MightMatch { .. });
    let found = inspection.deny.iter().chain(&inspection.ask).any(by_rule);
    found || concern == Concern::Own && inspection.deny.is_some()
}

/// A rule that says more than a command's name cannot be told from words that are only known when they run.
fn may_hide(entry: &Entry, call: &Call, policy: &Policy) -> bool {
    let tool = policy.tool(&call.tool);
    let is_about_shell = tool.kind == Kind::Shell && concerns(entry, call, policy) == Concern::Own;
    let content = entry.rule.content.as_deref().unwrap_or_default();
    let pattern = content.strip_suffix(":*").or_else(|| content.strip_suffix(" *")).unwrap_or(content);
    if !is_about_shell || !pattern.trim().contains(char::is_whitespace) {
        return false;
    }
    let Some(text) = tool.field.and_then(|field| call.text(field)) else { return true };
    let context = Context { directory: policy.workspace.directory.clone(), home: policy.workspace.home.clone() };
    has_open_words(&analyse(text, &context, &Observations::default()))
}

fn has_open_words(analysis: &Analysis) -> bool {
    analysis.opaque.is_some() || analysis.commands.iter().flat_map(words).any(is_open)
}

/// Every word of a command, wherever it stands.
fn words(command: &Command) -> impl Iterator<Item = &Word> {
    let assigned = command.assignments.iter().filter_map(|assignment| assignment.value.as_ref());
    let redirected = command.redirects.iter().filter_map(|redirect| match &redirect.target {
        RedirectTarget::File(word) | RedirectTarget::Here(word) => Some(word),
        RedirectTarget::Descriptor(_) => None,
    });
    command.words.iter().chain(assigned).chain(redirected)
}

/// A substitution or a variable that the text does not settle.
fn is_open(word: &Word) -> bool {
    word.holes().any(|hole| match hole.kind {
        HoleKind::Variable { .. } | HoleKind::Output(_) | HoleKind::Prompt | HoleKind::Indirect => true,
        HoleKind::Process
        | HoleKind::Glob(_)
        | HoleKind::Brace(_)
        | HoleKind::Tilde(_)
        | HoleKind::Arithmetic
        | HoleKind::Inserted => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayi_core::call::Workspace;
    use serde_json::json;

    fn check(condition: &str, call: &Call) -> Result<bool, String> {
        let policy = Policy::build(Workspace::at("/w").with_home("/home/me"), Vec::new(), Options::default());
        holds(condition, call, (&policy, OsStr::new("/usr/bin:/bin")))
    }

    #[test]
    fn every_command_of_a_text_is_tested() {
        let table = [
            ("Bash(git *)", "FOO=bar git push", true),
            ("Bash(git *)", "npm test && git push", true),
            ("Bash(git *)", "npm test", false),
            ("Bash(rm *)", "echo $(rm -rf /)", true),
            ("Bash(rm *)", "echo `rm -rf /`", true),
            ("Bash(rm *)", "echo $(date)", false),
            ("Bash(rm:*)", "echo $(date)", false),
            ("Bash(git push *)", "echo $(date)", true),
            ("Bash(git push:*)", "echo `date`", true),
            ("Bash(git push *)", "git $WHAT", true),
            ("Bash(git push *)", "echo $HOME_OF_MINE", true),
            ("Bash(git push *)", "X=$(date)", true),
            ("Bash(git push *)", "cat > \"$OUT\"", true),
            ("Bash(git push *)", "echo '$(date)'", false),
            ("Bash(git push *)", "git status", false),
            ("Bash(git push *)", "X=push; git $X", true),
            ("Bash(rm *)", "$CMD x", true),
            ("Bash(rm *)", "sh -c 'rm x'", true),
            ("Bash(rm *)", "timeout 5 rm x", true),
            ("Bash(rm *)", "echo 'never closed", true),
            ("Bash", "anything", true),
            ("Bash(*)", "anything", true),
            ("Write", "anything", false),
            ("Bash(run_in_background:true)", "ls", false),
        ];
        for (condition, command, expected) in table {
            assert_eq!(check(condition, &Call::shell(command)), Ok(expected), "{condition} {command}");
        }
    }

    #[test]
    fn paths_hosts_and_parameters_are_tested() {
        let edit = |path| Call::new("Edit", json!({"file_path": path, "old_string": "a", "new_string": "b"}));
        let background = Call::new("Bash", json!({"command": "ls", "run_in_background": true}));
        let table = [
            ("Edit(src/**)", edit("/w/src/a.rs"), true),
            ("Edit(src/**)", edit("src/a.rs"), true),
            ("Edit(src/**)", edit("/elsewhere/src/a.rs"), false),
            ("Edit(src/**)", Call::new("Write", json!({"file_path": "/w/src/a.rs", "content": ""})), true),
            ("Edit(src/**)", Call::new("Read", json!({"file_path": "/w/src/a.rs"})), false),
            ("Edit(src/**)", Call::shell("echo x > src/a"), true),
            ("WebFetch(domain:example.com)", Call::new("WebFetch", json!({"url": "https://example.com/x"})), true),
            ("WebFetch(domain:example.com)", Call::new("WebFetch", json!({"url": "https://example.org/x"})), false),
            ("WebFetch(domain:example.com)", Call::new("WebFetch", json!({"url": 5})), true),
            ("Bash(git *)", Call::new("WebFetch", json!({"url": 5})), false),
            ("Bash(git *)", Call::new("Bash", json!({"command": 5})), true),
            ("mcp__gh__*", Call::new("mcp__gh__read", json!({})), true),
            ("mcp__gh", Call::new("mcp__gh__read", json!({})), true),
            ("mcp__gh", Call::new("mcp__other__read", json!({})), false),
            ("Bash(run_in_background:true)", background, true),
        ];
        for (condition, call, expected) in table {
            assert_eq!(check(condition, &call), Ok(expected), "{condition} {call:?}");
        }
    }

    #[test]
    fn a_condition_that_cannot_be_read_or_can_never_match_says_so() {
        assert!(check("Bash(git", &Call::shell("ls")).is_err());
        assert!(check("", &Call::shell("ls")).is_err());
        let write = Call::new("Write", json!({"file_path": "/w/x", "content": ""}));
        assert!(check("Write(src/**)", &write).is_err());
        assert_eq!(check("Write(src/**)", &Call::shell("ls")), Ok(false));
    }

    #[test]
    fn links_are_followed() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("src")).unwrap();
        std::os::unix::fs::symlink(root.join("src"), root.join("other")).unwrap();
        let policy = Policy::build(Workspace::at(root.to_str().unwrap()), Vec::new(), Options::default());
        let call = Call::new("Write", json!({"file_path": "other/a", "content": ""}));
        assert_eq!(holds("Edit(src/**)", &call, (&policy, OsStr::new(""))), Ok(true));
    }
}
