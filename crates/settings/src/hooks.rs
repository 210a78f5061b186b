//! Hooks as settings name them: which event, for which tools, and what to run or call. Nothing is run here.

use std::collections::BTreeMap;

use mayi_core::policy::Origin;
use mayi_core::verdict::Verdict;

use crate::document::{Node, Value};
use crate::nearest::nearest;
use crate::own_hook;
use crate::problem::{Code, Page, Problem};

/// The events mayi runs hooks for.
pub const EVENTS: [&str; 4] = ["PreToolUse", "PermissionRequest", "PermissionDenied", "PostToolUse"];

/// A hook of settings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hook {
    /// When it runs.
    pub event: String,
    /// Which tools it is for; `None` is all of them.
    pub matcher: Option<String>,
    /// A rule that the call must match as well.
    pub condition: Option<String>,
    /// What to do.
    pub action: Action,
    /// Seconds after which it has failed.
    pub timeout: Option<u64>,
    /// What its failure means, where settings say so.
    pub on_failure: Option<Verdict>,
    /// Where it stands.
    pub origin: Origin,
}

/// What a hook does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Runs a program.
    Command {
        /// The command line; the program alone when there are arguments.
        command: String,
        /// Arguments: then no shell is involved.
        args: Option<Vec<String>>,
    },
    /// Calls an address.
    Http {
        /// The address.
        url: String,
        /// Headers to send.
        headers: BTreeMap<String, String>,
        /// Variables that headers may hold.
        allowed_env_vars: Vec<String>,
    },
}

impl Hook {
    /// Whether it is mayi itself, as an agent runs it. Asking ourselves once more would tell us nothing new.
    pub fn is_own(&self) -> bool {
        match &self.action {
            Action::Command { command, args: None } => own_hook::agent_of(command).is_some(),
            Action::Command { command, args: Some(args) } => {
                let words: Vec<String> = [command].into_iter().chain(args).map(|word| own_hook::quoted(word)).collect();
                own_hook::agent_of(&words.join(" ")).is_some()
            }
            Action::Http { .. } => false,
        }
    }

    /// Whether both do the same, wherever they stand.
    pub fn is_same(&self, other: &Hook) -> bool {
        Hook { origin: other.origin.clone(), ..self.clone() } == *other
    }
}

/// Reads `hooks`. A bad entry is reported and left out; its neighbours stay.
pub(crate) fn read(node: &Node, page: &Page, problems: &mut Vec<Problem>) -> Vec<Hook> {
    let mut reader = Reader { page, problems };
    let Some(events) = node.members() else {
        reader.wrong(node, format!("`hooks` is an object with events, not {}", node.value));
        return Vec::new();
    };
    let mut hooks = Vec::new();
    for (name, entries) in events {
        if let (false, Some(near)) = (EVENTS.contains(&name.text.as_str()), nearest(&name.text, EVENTS)) {
            // `PostToolUseFailure` and other events of the agent itself are far enough from ours to be no mistake.
            let problem = page.problem(Code::UnknownKey, name.place, format!("`{}` is no hook event", name.text));
            reader.problems.push(problem.fix(format!("did you mean `{near}`?")));
        }
        for entry in reader.items(entries, &name.text) {
            hooks.extend(reader.entry(&name.text, entry));
        }
    }
    hooks
}

struct Reader<'a> {
    page: &'a Page,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    fn wrong(&mut self, node: &Node, message: String) {
        self.problems.push(self.page.problem(Code::WrongType, node.place, message));
    }

    fn items<'n>(&mut self, node: &'n Node, name: &str) -> &'n [Node] {
        match &node.value {
            Value::List(items) => items,
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::Object(_) => {
                self.wrong(node, format!("`{name}` is a list, not {}", node.value));
                &[]
            }
        }
    }

    fn entry(&mut self, event: &str, entry: &Node) -> Vec<Hook> {
        let (matcher, Some(handlers)) = (entry.member("matcher"), entry.member("hooks")) else {
            self.wrong(entry, format!("an entry of `hooks.{event}` is an object with `matcher` and `hooks`"));
            return Vec::new();
        };
        // A matcher that cannot be read may have meant any tool, so the hook runs for all.
        if let Some(matcher) = matcher.filter(|matcher| matcher.text().is_none() && matcher.value != Value::Null) {
            self.wrong(matcher, format!("`matcher` is a text, not {}; the hook runs for every tool", matcher.value));
        }
        let matcher = matcher.and_then(Node::text).map(str::to_owned);
        let handlers = self.items(handlers, "hooks");
        handlers.iter().filter_map(|handler| self.handler(event, matcher.clone(), handler)).collect()
    }

    fn handler(&mut self, event: &str, matcher: Option<String>, node: &Node) -> Option<Hook> {
        let action = match node.member("type").and_then(Node::text) {
            Some("command") => Action::Command {
                command: self.required(node, "command")?,
                args: node.member("args").map(|args| self.texts(args, "args")),
            },
            Some("http") => Action::Http {
                url: self.required(node, "url")?,
                headers: headers(node),
                allowed_env_vars: node
                    .member("allowedEnvVars")
                    .map(|vars| self.texts(vars, "allowedEnvVars"))
                    .unwrap_or_default(),
            },
            // Hooks of these types are the agent's own to run.
            Some("mcp_tool" | "prompt" | "agent") => return None,
            _ => {
                self.wrong(node, "a hook has a `type`: command or http".to_owned());
                return None;
            }
        };
        Some(Hook {
            event: event.to_owned(),
            matcher,
            condition: node.member("if").and_then(Node::text).map(str::to_owned),
            action,
            timeout: self.timeout(node),
            on_failure: self.on_failure(node),
            origin: self.page.origin(node.place),
        })
    }

    fn required(&mut self, node: &Node, name: &str) -> Option<String> {
        let text = node.member(name).and_then(Node::text).filter(|text| !text.trim().is_empty());
        if text.is_none() {
            self.wrong(node, format!("this hook needs `{name}`, a text"));
        }
        text.map(str::to_owned)
    }

    fn texts(&mut self, node: &Node, name: &str) -> Vec<String> {
        let items = self.items(node, name);
        items.iter().filter_map(Node::text).map(str::to_owned).collect()
    }

    fn timeout(&mut self, node: &Node) -> Option<u64> {
        let timeout = node.member("timeout")?;
        let seconds = match &timeout.value {
            Value::Number(number) => number.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0),
            Value::Null | Value::Flag(_) | Value::Text(_) | Value::List(_) | Value::Object(_) => None,
        };
        if seconds.is_none() {
            self.wrong(timeout, "`timeout` is a number of seconds, at most a day".to_owned());
        }
        // Bounded above, so the conversion cannot overflow.
        seconds.map(|seconds| seconds.ceil() as u64)
    }

    fn on_failure(&mut self, node: &Node) -> Option<Verdict> {
        let on_failure = node.member("onFailure")?;
        match on_failure.text() {
            Some("allow" | "continue") => Some(Verdict::Allow),
            Some("ask") => Some(Verdict::Ask),
            Some("deny" | "block") => Some(Verdict::Deny),
            _ => {
                self.wrong(on_failure, "`onFailure` is allow, ask or deny".to_owned());
                None
            }
        }
    }
}

fn headers(node: &Node) -> BTreeMap<String, String> {
    let members = node.member("headers").and_then(Node::members).unwrap_or_default();
    members.iter().filter_map(|(name, value)| Some((name.text.clone(), value.text()?.to_owned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;
    use mayi_core::policy::Layer;

    fn check(text: &str) -> (Vec<Hook>, Vec<Problem>) {
        let document = Document::parse(text).unwrap();
        let page = Page { layer: Layer::User, file: None, text: document.text.clone() };
        let mut problems = Vec::new();
        (read(&document.root, &page, &mut problems), problems)
    }

    #[test]
    fn the_widespread_shape_is_read() {
        let (hooks, problems) = check(
            r#"{"PreToolUse": [{"matcher": "Bash", "hooks": [
                {"type": "command", "command": "check", "args": ["-x"], "if": "Bash(git *)", "timeout": 5, "onFailure": "block"},
                {"type": "http", "url": "http://localhost/x", "headers": {"a": "b"}},
                {"type": "prompt", "prompt": "?"}]}], "Stop": []}"#,
        );
        assert_eq!(problems, []);
        assert_eq!(hooks.len(), 2);
        assert_eq!((hooks[0].timeout, hooks[0].on_failure), (Some(5), Some(Verdict::Deny)));
        assert_eq!(hooks[0].origin.line, 2);
    }

    #[test]
    fn one_bad_entry_leaves_its_neighbours() {
        let (hooks, problems) = check(
            r#"{"PreToolUse": [{"hooks": [{"type": "command"}, {"type": "command", "command": "ok"}]}, 5],
                "PreToolUs": [], "PostToolUse": {}}"#,
        );
        assert_eq!(hooks.len(), 1);
        let codes: Vec<_> = problems.iter().map(|problem| problem.code).collect();
        assert_eq!(codes, [Code::WrongType, Code::WrongType, Code::UnknownKey, Code::WrongType]);
    }
}
