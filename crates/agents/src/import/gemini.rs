//! Gemini CLI: `[[rule]]` tables in `policies/*.toml`. The rule with the highest priority wins there.

use std::path::{Path, PathBuf};

use mayi_core::rule::text::escape;
use mayi_core::verdict::Verdict;
use serde::Deserialize;

use super::{Draft, Effect, Importer, Subject, Unreadable, files_in, line_of, word};
use crate::translate::catalogue::{GEMINI, find};
use crate::translate::mcp_name;

pub(super) const IMPORTER: Importer = Importer { agent: "gemini", files, read };

fn files(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let folders = home.into_iter().chain([directory]).map(|base| base.join(".gemini/policies"));
    folders.flat_map(|folder| files_in(&folder, "toml")).collect()
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    rule: Vec<toml::Spanned<Rule>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Rule {
    tool_name: Option<Words>,
    mcp_name: Option<String>,
    command_prefix: Option<Words>,
    command_regex: Option<String>,
    args_pattern: Option<String>,
    tool_annotations: Option<toml::Table>,
    subagent: Option<String>,
    interactive: Option<bool>,
    #[serde(default)]
    modes: Vec<String>,
    decision: String,
    #[serde(default)]
    priority: i64,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    One(String),
    Many(Vec<String>),
}

impl Words {
    fn all(&self) -> Vec<&str> {
        match self {
            Words::One(word) => vec![word],
            Words::Many(words) => words.iter().map(String::as_str).collect(),
        }
    }
}

fn read(text: &str) -> Result<Draft, Unreadable> {
    let file: File = toml::from_str(text).map_err(|error| Unreadable {
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        problem: error.message().to_owned(),
    })?;
    let mut draft = Draft::default();
    for rule in &file.rule {
        say(rule.get_ref(), line_of(text, rule.span().start), &mut draft)?;
    }
    Ok(draft)
}

fn say(rule: &Rule, line: usize, draft: &mut Draft) -> Result<(), Unreadable> {
    let verdict = match rule.decision.as_str() {
        "allow" => Verdict::Allow,
        "ask_user" => Verdict::Ask,
        "deny" => Verdict::Deny,
        other => return Err(Unreadable { line, problem: format!("`{other}` is no decision") }),
    };
    if rule.command_regex.is_some() || rule.args_pattern.is_some() {
        draft.lose(verdict, line, "by a regular expression");
        return Ok(());
    }
    if rule.tool_annotations.is_some() {
        draft.lose(verdict, line, "by what a server says of its own tools");
        return Ok(());
    }
    if rule.subagent.is_some() || rule.interactive.is_some() || !rule.modes.is_empty() {
        if verdict == Verdict::Allow {
            draft.lose(verdict, line, "for some agents or modes alone");
            return Ok(());
        }
        let message = format!("{} for some agents or modes alone holds for all of them here", word(verdict));
        draft.remark(Effect::Stricter, line, message);
    }
    for subject in subjects(rule, verdict) {
        match subject {
            Ok(subject) => draft.say(verdict, subject, (rule.priority, line)),
            Err(what) => draft.lose(verdict, line, &what),
        }
    }
    Ok(())
}

fn subjects(rule: &Rule, verdict: Verdict) -> Vec<Result<Subject, String>> {
    if let Some(prefixes) = &rule.command_prefix {
        return prefixes.all().into_iter().map(|prefix| Ok(command(prefix, verdict))).collect();
    }
    let Some(names) = &rule.tool_name else {
        let server = rule.mcp_name.as_deref();
        return vec![server.map_or(Ok(Subject::All), |server| server_tool(server, "*"))];
    };
    let tool = |name: &str| match &rule.mcp_name {
        Some(server) => server_tool(server, name),
        None if name == "*" => Ok(Subject::All),
        None if name == "mcp_*" => Ok(Subject::Tool("mcp__*".to_owned())),
        None => match find(GEMINI, name) {
            Some(named) => Ok(Subject::Tool(named.is.to_owned())),
            None => Err(format!("for `{name}`, which is not known here")),
        },
    };
    names.all().into_iter().map(tool).collect()
}

/// A prefix there may end within a word. An allow is kept to whole words.
fn command(prefix: &str, verdict: Verdict) -> Subject {
    let prefix = prefix.trim_end();
    let content = match verdict {
        Verdict::Allow => format!("{}:*", escape(prefix)),
        Verdict::Ask | Verdict::Deny => format!("{}*", escape(prefix)),
    };
    Subject::command(content, format!("{prefix}*"))
}

fn server_tool(server: &str, tool: &str) -> Result<Subject, String> {
    let name = if tool == "*" { Some(format!("mcp__{server}")) } else { mcp_name(server, tool) };
    name.filter(|_| server != "*").map(Subject::Tool).ok_or_else(|| format!("for `{tool}` of every server"))
}
