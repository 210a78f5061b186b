//! Hooks as settings name them: which event, for which tools, and what to run or call. Nothing is run here.

use std::collections::BTreeMap;
use std::time::Duration;

use mayi_core::policy::Origin;
use mayi_core::verdict::Verdict;

use crate::document::{Name, Node, Value};
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
    /// The time after which it has failed.
    pub timeout: Option<Duration>,
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
    /// Nothing: it cannot be read, for this reason. A guard that settings meant to post is not passed by for that; whoever asks
    /// it finds that it fails.
    Unusable(String),
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
            Action::Http { .. } | Action::Unusable(_) => false,
        }
    }

    /// Whether both do the same, wherever they stand.
    pub fn is_same(&self, other: &Hook) -> bool {
        Hook { origin: other.origin.clone(), ..self.clone() } == *other
    }
}

/// Reads `hooks`. What cannot be read is reported, and is there as a hook that fails; its neighbours stay.
pub(crate) fn read(node: &Node, page: &Page, problems: &mut Vec<Problem>) -> Vec<Hook> {
    let mut reader = Reader { page, problems };
    let Some(events) = node.members() else {
        let why = reader.wrong(node, format!("`hooks` is an object with events, not {}", node.value));
        return EVENTS.iter().map(|event| reader.unusable(event, None, (node, why.clone()))).collect();
    };
    let mut hooks = Vec::new();
    for (name, entries) in events.iter().filter(|(_, entries)| entries.value != Value::Null) {
        if let (false, Some(near)) = (EVENTS.contains(&name.text.as_str()), nearest(&name.text, EVENTS)) {
            // `PostToolUseFailure` and other events of the agent itself are far enough from ours to be no mistake.
            let problem = page.problem(Code::UnknownKey, name.place, format!("`{}` is no hook event", name.text));
            reader.problems.push(problem.fix(format!("did you mean `{near}`?")));
        }
        match reader.items(entries, &name.text) {
            Ok(entries) => hooks.extend(entries.iter().flat_map(|entry| reader.entry(&name.text, entry))),
            Err(why) => hooks.push(reader.unusable(&name.text, None, (entries, why))),
        }
    }
    hooks
}

struct Reader<'a> {
    page: &'a Page,
    problems: &'a mut Vec<Problem>,
}

impl Reader<'_> {
    /// Reports what is wrong with a value, and hands the words back.
    fn wrong(&mut self, node: &Node, message: String) -> String {
        self.problems.push(self.page.problem(Code::WrongType, node.place, message.clone()));
        message
    }

    fn items<'n>(&mut self, node: &'n Node, name: &str) -> Result<&'n [Node], String> {
        match &node.value {
            Value::List(items) => Ok(items),
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::Object(_) => {
                Err(self.wrong(node, format!("`{name}` is a list, not {}", node.value)))
            }
        }
    }

    fn entry(&mut self, event: &str, entry: &Node) -> Vec<Hook> {
        let matcher = self.matcher(entry);
        let handlers = match entry.member("hooks") {
            Some(handlers) => self.items(handlers, "hooks"),
            None => {
                let message = format!("an entry of `hooks.{event}` is an object with `matcher` and `hooks`");
                Err(self.wrong(entry, message))
            }
        };
        match handlers {
            Ok(handlers) => handlers.iter().filter_map(|node| self.handler(event, matcher.clone(), node)).collect(),
            Err(why) => vec![self.unusable(event, matcher, (entry, why))],
        }
    }

    /// A matcher that cannot be read may have meant any tool, so the hook runs for all.
    fn matcher(&mut self, entry: &Node) -> Option<String> {
        let matcher = given(entry, "matcher")?;
        if matcher.text().is_none() {
            self.wrong(matcher, format!("`matcher` is a text, not {}; the hook runs for every tool", matcher.value));
        }
        matcher.text().map(str::to_owned)
    }

    /// Whether an agent reads this file as well. Settings that are no file are somebody's who knows.
    fn is_read_by_the_agent(&self) -> bool {
        let file = self.page.file.as_deref();
        file.is_none_or(|file| file.starts_with('<') || own_hook::is_of_claude_code(file))
    }

    /// The hook that stands for what cannot be read.
    fn unusable(&mut self, event: &str, matcher: Option<String>, (node, why): (&Node, String)) -> Hook {
        self.hook(event, matcher, (node, Action::Unusable(why)))
    }

    fn handler(&mut self, event: &str, matcher: Option<String>, node: &Node) -> Option<Hook> {
        let action =
            match node.member("type").and_then(Node::text) {
                Some("command") => self.program(node),
                Some("http") => self.address(node),
                // Hooks of these types are the agent's own to run, where it reads the same file.
                Some("mcp_tool" | "prompt" | "agent") if self.is_read_by_the_agent() => return None,
                Some(kind @ ("mcp_tool" | "prompt" | "agent")) => Err(self
                    .wrong(node, format!("nobody runs a hook of type `{kind}` that stands here: use command or http"))),
                _ => Err(self.wrong(node, "a hook has a `type`: command or http".to_owned())),
            };
        let action = action.unwrap_or_else(Action::Unusable);
        Some(self.hook(event, matcher, (node, action)))
    }

    fn hook(&mut self, event: &str, matcher: Option<String>, (node, action): (&Node, Action)) -> Hook {
        Hook {
            event: event.to_owned(),
            matcher,
            condition: self.condition(node),
            action,
            timeout: self.timeout(node),
            on_failure: self.on_failure(node),
            origin: self.page.origin(node.place),
        }
    }

    /// A condition that cannot be read may have held, so the hook runs.
    fn condition(&mut self, node: &Node) -> Option<String> {
        let condition = given(node, "if")?;
        if condition.text().is_none() {
            self.wrong(condition, format!("`if` is a rule, not {}; the hook runs for every call", condition.value));
        }
        condition.text().map(str::to_owned)
    }

    fn program(&mut self, node: &Node) -> Result<Action, String> {
        let command = self.required(node, "command")?;
        let args = given(node, "args").map(|args| self.texts(args, "args")).transpose()?;
        Ok(Action::Command { command, args })
    }

    fn address(&mut self, node: &Node) -> Result<Action, String> {
        let url = self.required(node, "url")?;
        let headers = given(node, "headers").map(|headers| self.headers(headers)).transpose()?;
        let variables = given(node, "allowedEnvVars").map(|names| self.texts(names, "allowedEnvVars")).transpose()?;
        let (headers, allowed_env_vars) = (headers.unwrap_or_default(), variables.unwrap_or_default());
        Ok(Action::Http { url, headers, allowed_env_vars })
    }

    fn required(&mut self, node: &Node, name: &str) -> Result<String, String> {
        let text = node.member(name).and_then(Node::text).filter(|text| !text.trim().is_empty());
        text.map(str::to_owned).ok_or_else(|| self.wrong(node, format!("this hook needs `{name}`, a text")))
    }

    fn texts(&mut self, node: &Node, name: &str) -> Result<Vec<String>, String> {
        let items = self.items(node, name)?.iter();
        let mut text = |item: &Node| {
            let wrong = || format!("`{name}` is a list of texts, and one of them is {}", item.value);
            item.text().map(str::to_owned).ok_or_else(|| self.wrong(item, wrong()))
        };
        items.map(&mut text).collect()
    }

    fn headers(&mut self, node: &Node) -> Result<BTreeMap<String, String>, String> {
        let Some(members) = node.members() else {
            return Err(self.wrong(node, format!("`headers` is an object with texts, not {}", node.value)));
        };
        let header = |(name, value): &(Name, Node)| {
            let wrong = || format!("the header `{}` is a text, not {}", name.text, value.value);
            let text = value.text().ok_or_else(|| self.wrong(value, wrong()))?;
            Ok((name.text.clone(), text.to_owned()))
        };
        members.iter().map(header).collect()
    }

    fn timeout(&mut self, node: &Node) -> Option<Duration> {
        let timeout = node.member("timeout")?;
        let seconds = match &timeout.value {
            Value::Number(number) => number.as_f64().filter(|seconds| *seconds > 0.0 && *seconds <= 86_400.0),
            Value::Null | Value::Flag(_) | Value::Text(_) | Value::List(_) | Value::Object(_) => None,
        };
        if seconds.is_none() {
            self.wrong(timeout, "`timeout` is a number of seconds, at most a day".to_owned());
        }
        seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
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

/// A member that says anything.
fn given<'n>(node: &'n Node, name: &str) -> Option<&'n Node> {
    node.member(name).filter(|member| member.value != Value::Null)
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
        assert_eq!((hooks[0].timeout, hooks[0].on_failure), (Some(Duration::from_secs(5)), Some(Verdict::Deny)));
        assert_eq!(hooks[0].origin.line, 2);
    }

    #[test]
    fn a_part_of_a_second_is_a_time_too_and_an_if_that_is_no_text_is_reported() {
        let hook = |more: &str| {
            let hook = format!(r#"{{"type": "command", "command": "x", {more}}}"#);
            let (hooks, problems) = check(&format!(r#"{{"PreToolUse": [{{"hooks": [{hook}]}}]}}"#));
            (hooks[0].clone(), problems.iter().map(|problem| problem.message.clone()).collect::<Vec<_>>())
        };
        assert_eq!(hook(r#""timeout": 0.5"#).0.timeout, Some(Duration::from_millis(500)));
        for bad in ["0", "-1", "1e9", "\"5\""] {
            let (hook, problems) = hook(&format!("\"timeout\": {bad}"));
            assert_eq!((hook.timeout, problems.len()), (None, 1), "{bad}");
        }
        let (read, problems) = hook(r#""if": 5"#);
        assert_eq!(
            (read.condition, problems),
            (None, vec!["`if` is a rule, not a number; the hook runs for every call".to_owned()])
        );
        assert_eq!(hook(r#""if": null"#).1, Vec::<String>::new());
    }

    /// What an agent would run in a file that it reads, nobody runs in one that it does not.
    #[test]
    fn a_hook_that_nobody_runs_is_no_hook_that_says_yes() {
        let text = r#"{"PreToolUse": [{"hooks": [{"type": "prompt", "prompt": "Is this fine?"}]}]}"#;
        let document = Document::parse(text).unwrap();
        for (file, count) in [
            ("~/.claude/settings.json", 0),
            (".claude/settings.json", 0),
            ("~/.config/mayi/settings.json", 1),
            (".mayi/settings.json", 1),
        ] {
            let page = Page { layer: Layer::User, file: Some(file.into()), text: document.text.clone() };
            let mut problems = Vec::new();
            let hooks = read(&document.root, &page, &mut problems);
            assert_eq!((hooks.len(), problems.len()), (count, count), "{file}");
            assert!(hooks.iter().all(|hook| matches!(hook.action, Action::Unusable(_))), "{file}");
        }
    }

    #[test]
    fn one_bad_entry_leaves_its_neighbours() {
        let (hooks, problems) = check(
            r#"{"PreToolUse": [{"hooks": [{"type": "command"}, {"type": "command", "command": "ok"}]}, 5],
                "PreToolUs": [], "PostToolUse": {}}"#,
        );
        assert_eq!(hooks.iter().filter(|hook| !matches!(hook.action, Action::Unusable(_))).count(), 1);
        let codes: Vec<_> = problems.iter().map(|problem| problem.code).collect();
        assert_eq!(codes, [Code::WrongType, Code::WrongType, Code::UnknownKey, Code::WrongType]);
    }

    /// Settings that name a guard nobody can run do not go without it.
    #[test]
    fn what_cannot_be_read_is_a_hook_that_fails() {
        let handler = |handler: &str| format!(r#"{{"PreToolUse": [{{"matcher": "Bash", "hooks": [{handler}]}}]}}"#);
        let tables = [
            (handler(r#"{"type": "command"}"#), "needs `command`"),
            (handler(r#"{"type": "command", "command": 5}"#), "needs `command`"),
            (handler(r#"{"type": "command", "command": " "}"#), "needs `command`"),
            (handler(r#"{"type": "command", "command": "x", "args": ["a", 5]}"#), "one of them is a number"),
            (handler(r#"{"type": "command", "command": "x", "args": "a"}"#), "`args` is a list"),
            (handler(r#"{"type": "http"}"#), "needs `url`"),
            (handler(r#"{"type": "http", "url": "http://h/", "headers": {"a": 5}}"#), "the header `a`"),
            (handler(r#"{"type": "http", "url": "http://h/", "headers": []}"#), "`headers` is an object"),
            (handler(r#"{"type": "http", "url": "http://h/", "allowedEnvVars": [5]}"#), "one of them is a number"),
            (handler(r#"{"type": "comand", "command": "x"}"#), "has a `type`"),
            (handler(r#"{"command": "x"}"#), "has a `type`"),
            (handler(r#""x""#), "has a `type`"),
            (r#"{"PreToolUse": [{"matcher": "Bash"}]}"#.to_owned(), "with `matcher` and `hooks`"),
            (r#"{"PreToolUse": [{"matcher": "Bash", "hooks": {}}]}"#.to_owned(), "`hooks` is a list"),
            (r#"{"PreToolUse": [5]}"#.to_owned(), "with `matcher` and `hooks`"),
            (r#"{"PreToolUse": {}}"#.to_owned(), "`PreToolUse` is a list"),
            ("[]".to_owned(), "an object with events"),
        ];
        for (text, expected) in tables {
            let (hooks, problems) = check(&text);
            let Some(Hook { event, matcher, action: Action::Unusable(why), .. }) = hooks.first() else {
                panic!("{text}: {hooks:?}");
            };
            assert!(why.contains(expected) && problems.iter().any(|problem| problem.message == *why), "{text}: {why}");
            assert_eq!((event.as_str(), matcher.is_some()), ("PreToolUse", text.contains("matcher")), "{text}");
        }
        let (hooks, problems) = check(&handler(r#"{"type": "agent"}, {"type": "prompt"}, {"type": "mcp_tool"}"#));
        assert_eq!((hooks, problems), (vec![], vec![]), "the agent runs these itself");
        let (hooks, _) = check(&handler(r#"{"type": "command", "onFailure": "deny", "if": "Bash(git *)"}"#));
        assert_eq!(hooks[0].on_failure, Some(Verdict::Deny));
        assert_eq!(hooks[0].condition.as_deref(), Some("Bash(git *)"));
        let (hooks, problems) = check(&handler(r#"{"type": "command", "command": "x", "args": null}"#));
        assert_eq!((&hooks[0].action, problems), (&Action::Command { command: "x".to_owned(), args: None }, vec![]));
    }
}
