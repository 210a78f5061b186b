//! opencode: `permission` in `opencode.json`. The last rule that matches wins there; `*` is any text, also a slash.

use std::path::{Path, PathBuf};

use mayi_core::verdict::Verdict;
use mayi_settings::document::{self, Document, Name, Node, Place, Value};

use super::{Draft, Effect, Importer, Subject, Unreadable};
use crate::translate::catalogue::{OPENCODE, find};

pub(super) const IMPORTER: Importer = Importer { agent: "opencode", files, read };

fn files(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let folders = home.map(|home| home.join(".config/opencode")).into_iter().chain([directory.to_owned()]);
    folders.flat_map(|folder| ["opencode.json", "opencode.jsonc"].map(|name| folder.join(name))).collect()
}

fn read(text: &str) -> Result<Draft, Unreadable> {
    let document = Document::parse(text).map_err(|error| {
        let line = match &error {
            document::Unreadable::NotJson { place, .. } => line(*place),
            document::Unreadable::Empty
            | document::Unreadable::NotText { .. }
            | document::Unreadable::TooLarge
            | document::Unreadable::NotFile
            | document::Unreadable::Refused(_) => 1,
        };
        Unreadable { line, problem: error.to_string() }
    })?;
    let mut draft = Draft::default();
    for (name, agent) in members(document.root.member("agent")) {
        if agent.member("permission").is_some() {
            let message = format!("rules for the agent `{}` alone are left out", name.text);
            draft.remark(Effect::Lost, line(name.place), message);
        }
    }
    for (name, switched) in members(document.root.member("tools")) {
        // A tool that is switched off stays off, whatever is said of it elsewhere.
        if switched.value == Value::Flag(false) {
            whole(&mut draft, name, (Verdict::Deny, 1));
        }
    }
    let Some(permission) = document.root.member("permission") else { return Ok(draft) };
    match &permission.value {
        Value::Null => {}
        Value::Text(_) => draft.say(verdict(permission)?, Subject::All, (0, line(permission.place))),
        Value::Object(tools) => tools.iter().try_for_each(|(name, rules)| tool(&mut draft, name, rules))?,
        Value::Flag(_) | Value::Number(_) | Value::List(_) => {
            return Err(wrong(permission, "`permission` is neither a word nor an object"));
        }
    }
    Ok(draft)
}

fn line(place: Place) -> usize {
    usize::try_from(place.line).unwrap_or(1)
}

fn wrong(node: &Node, problem: impl Into<String>) -> Unreadable {
    Unreadable { line: line(node.place), problem: problem.into() }
}

fn members(node: Option<&Node>) -> &[(Name, Node)] {
    node.and_then(Node::members).unwrap_or_default()
}

fn verdict(node: &Node) -> Result<Verdict, Unreadable> {
    let found = Verdict::ALL.into_iter().find(|verdict| Some(verdict.word()) == node.text());
    found.ok_or_else(|| wrong(node, "this is none of allow, ask and deny"))
}

fn tool(draft: &mut Draft, name: &Name, rules: &Node) -> Result<(), Unreadable> {
    let Some(patterns) = rules.members() else {
        let verdict = verdict(rules)?;
        match name.text.as_str() {
            "*" => draft.say(verdict, Subject::All, (0, line(name.place))),
            _ => whole(draft, name, (verdict, 0)),
        }
        return Ok(());
    };
    for (pattern, word) in patterns {
        let verdict = verdict(word)?;
        if pattern.text == "*" {
            whole(draft, &Name { place: pattern.place, ..name.clone() }, (verdict, 0));
        } else {
            part(draft, (&name.text, pattern), verdict);
        }
    }
    Ok(())
}

fn whole(draft: &mut Draft, tool: &Name, (verdict, strength): (Verdict, i64)) {
    match ours(&tool.text) {
        Some(name) => draft.say(verdict, Subject::Tool(name.to_owned()), (strength, line(tool.place))),
        None => draft.lose(verdict, line(tool.place), &format!("for `{}`, which has no words here", tool.text)),
    }
}

/// What is said of one pattern of a tool.
fn part(draft: &mut Draft, (tool, pattern): (&str, &Name), verdict: Verdict) {
    let text = &pattern.text;
    let content = match ours(tool) {
        Some("Bash") => command(text, verdict),
        Some("Edit" | "Read") => path(text, verdict),
        Some("WebFetch") => host(text),
        Some(_) | None => None,
    };
    let (Some(content), Some(name)) = (content, ours(tool)) else {
        return draft.lose(verdict, line(pattern.place), &format!("for `{text}` of `{tool}`, which has no words here"));
    };
    let subject = Subject::Content { tool: name.to_owned(), content, pattern: text.clone() };
    draft.say(verdict, subject, (0, line(pattern.place)));
}

/// Our name for a tool. Writing is asked about under one name there as well.
fn ours(tool: &str) -> Option<&'static str> {
    find(OPENCODE, tool).map(|named| named.is)
}

/// A single letter has no sign here. An allow is not widened for it; a deny is.
fn command(pattern: &str, verdict: Verdict) -> Option<String> {
    let escaped = pattern.replace('\\', "\\\\");
    match verdict {
        Verdict::Allow => (!pattern.contains('?')).then_some(escaped),
        Verdict::Ask | Verdict::Deny => Some(escaped.replace('?', "*")),
    }
}

/// A star there goes on over slashes. An allow is kept within its folder; a deny holds for everything below.
fn path(pattern: &str, verdict: Verdict) -> Option<String> {
    let pattern = pattern.replace("$HOME", "~");
    let anchored = match pattern.strip_prefix('/') {
        Some(_) => format!("/{pattern}"),
        None if pattern.starts_with("~/") || !pattern.contains('/') => pattern.clone(),
        None => format!("./{pattern}"),
    };
    if verdict == Verdict::Allow || !pattern.contains('/') {
        return Some(anchored);
    }
    let folder = match anchored.find(['*', '?']) {
        Some(at) => anchored.get(..at).and_then(|before| before.rsplit_once('/')).map(|(folder, _)| folder.to_owned()),
        None => return Some(anchored),
    };
    folder.filter(|folder| !folder.is_empty() && folder != "/").map(|folder| format!("{folder}/**"))
}

/// `https://HOST/*`.
fn host(pattern: &str) -> Option<String> {
    let (host, rest) = pattern.strip_prefix("https://")?.split_once('/')?;
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-.".contains(letter);
    (rest == "*" && !host.is_empty() && host.chars().all(plain)).then(|| format!("domain:{host}"))
}
