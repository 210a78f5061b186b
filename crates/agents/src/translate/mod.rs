//! Translation of an agent's calls into ours, and of a changed call back into its words.
//!
//! What cannot be read for certain keeps the agent's own name: nothing is known of such a tool, so it asks. A name
//! that would be mistaken for one of ours is marked with the agent's.

pub mod catalogue;
mod patch;
mod shell_patch;
pub(crate) mod words;

use mayi_core::call::Call;
use mayi_core::{catalogue as ours, path};
use serde_json::{Map, Value, json};

use catalogue::{Named, Shape, find};

/// How an agent names the tools of MCP servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum McpNames {
    /// As we do: `mcp__SERVER__TOOL`.
    AsOurs,
    /// In a way of its own.
    ItsOwn,
}

/// The tools of one agent.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tongue {
    /// The agent's name on the command line.
    pub(crate) agent: &'static str,
    /// Its table.
    pub(crate) tools: &'static [Named],
    /// How it names the tools of MCP servers.
    pub(crate) mcp: McpNames,
}

impl Tongue {
    /// The calls that the agent's call amounts to: at least one. `base` is the directory the agent works in.
    pub(crate) fn calls(&self, original: &Call, base: Option<&str>) -> Vec<Call> {
        let read = self.named(original).and_then(|named| read(named, &original.input, base));
        read.unwrap_or_else(|| vec![self.unknown(original)])
    }

    /// The call under the agent's own name for its tool.
    pub(crate) fn unknown(&self, original: &Call) -> Call {
        let name = &original.tool;
        let is_mcp = name.starts_with("mcp__") && self.mcp == McpNames::ItsOwn;
        let is_ours = ours::built_in(ours::present_name(name)).is_some();
        let tool = if is_mcp || is_ours { format!("{}:{name}", self.agent) } else { name.clone() };
        Call { tool, input: original.input.clone() }
    }

    /// The changed input in the agent's words; `None` if it cannot be put in them, and the agent must be told no.
    ///
    /// `judged` are the calls that `original` was read as.
    pub(crate) fn given_back(&self, original: &Call, judged: &[Call], changed: &Call) -> Option<Value> {
        let [judged] = judged else { return None };
        if changed.tool != judged.tool {
            return None;
        }
        match self.named(original) {
            Some(named) if judged.tool == named.is => back(named, &original.input, judged, changed),
            Some(_) | None => Some(changed.input.clone()),
        }
    }

    fn named(&self, original: &Call) -> Option<&'static Named> {
        let named = find(self.tools, &original.tool)?;
        let is_else = named.unless.iter().any(|field| original.input.get(field).is_some());
        (!is_else).then_some(named)
    }
}

/// `mcp__SERVER__TOOL`, unless the server's name would be cut at another place.
pub(crate) fn mcp_name(server: &str, tool: &str) -> Option<String> {
    let is_plain = !server.is_empty() && !tool.is_empty() && !server.contains("__") && !server.ends_with('_');
    is_plain.then(|| format!("mcp__{server}__{tool}"))
}

fn read(named: &Named, input: &Value, base: Option<&str>) -> Option<Vec<Call>> {
    if named.shape == Shape::Patch {
        return read_patch(named, input);
    }
    let input = input.as_object()?;
    let mut fields = renamed(named, input)?;
    let mut beside = Vec::new();
    match named.shape {
        Shape::Plain | Shape::Patch => {}
        Shape::Words => {
            if let Some(Value::Array(list)) = fields.get("command") {
                let command = words::command(list)?;
                fields.insert("command".to_owned(), command.into());
            }
            let command = fields.get("command").and_then(Value::as_str).unwrap_or_default();
            beside = shell_patch::calls(command, directory(named, input)?);
        }
        Shape::Urls => return Some(fetches(named, &fields)),
    }
    if let Some(entering) = entering(named, input, base)? {
        let command = fields.get("command")?.as_str()?;
        let there = format!("{entering}{command}");
        fields.insert("command".to_owned(), there.into());
    }
    let call = Call::new(named.is, Value::Object(fields));
    Some(std::iter::once(call).chain(beside).collect())
}

fn read_patch(named: &Named, input: &Value) -> Option<Vec<Call>> {
    if let Value::String(text) = input {
        return patch::calls(text, None);
    }
    let input = input.as_object()?;
    let (_, names) = named.fields.iter().find(|(field, _)| *field == "patch")?;
    let text = one_of(input, names)?.and_then(Value::as_str)?;
    patch::calls(text, directory(named, input)?)
}

/// One call for every URL, and a call without one where there is none: that asks.
fn fetches(named: &Named, fields: &Map<String, Value>) -> Vec<Call> {
    let named_url = fields.get("url").and_then(Value::as_str);
    let prose = fields.get("text").and_then(Value::as_str).unwrap_or_default();
    let found: Vec<&str> = named_url.into_iter().chain(urls(prose)).collect();
    if found.is_empty() {
        return vec![Call::new(named.is, json!({ "prompt": prose }))];
    }
    found.iter().map(|url| Call::new(named.is, json!({ "url": url, "prompt": prose }))).collect()
}

/// Every word of a text that something might take for a URL. Only blanks part words: any other letter may be part of
/// a URL's user name, and what looks like the host before it is none.
fn urls(text: &str) -> impl Iterator<Item = &str> {
    text.split_whitespace().filter(|word| word.contains("://"))
}

/// The input under our names. What is named like one of ours without being it is left out.
fn renamed(named: &Named, input: &Map<String, Value>) -> Option<Map<String, Value>> {
    let mut fields = Map::new();
    for (field, names) in named.fields {
        if let Some(value) = one_of(input, names)? {
            fields.insert((*field).to_owned(), value.clone());
        }
    }
    for (name, value) in input {
        let is_taken = named.fields.iter().any(|(field, names)| field == name || names.contains(&name.as_str()));
        if !is_taken {
            fields.insert(name.clone(), value.clone());
        }
    }
    Some(fields)
}

/// The value under one of several names: `None` if two of them differ.
fn one_of<'a>(input: &'a Map<String, Value>, names: &[&str]) -> Option<Option<&'a Value>> {
    let mut found = names.iter().filter_map(|name| input.get(*name)).filter(|value| !value.is_null());
    let first = found.next();
    found.all(|other| Some(other) == first).then_some(first)
}

/// The call's own directory: `None` if it is no text.
fn directory<'a>(named: &Named, input: &'a Map<String, Value>) -> Option<Option<&'a str>> {
    match one_of(input, named.directory)? {
        None => Some(None),
        Some(Value::String(directory)) => Some(Some(directory.as_str()).filter(|text| !text.is_empty())),
        Some(_) => None,
    }
}

/// What has to come before the command for it to be judged in its own directory. The session's project stays where
/// it is, because settings and working directories are the session's; only the command moves.
fn entering(named: &Named, input: &Map<String, Value>, base: Option<&str>) -> Option<Option<String>> {
    let Some(directory) = directory(named, input)? else { return Some(None) };
    let is_base = base.is_some_and(|base| path::join(base, directory) == path::clean(base));
    Some((!is_base).then(|| words::entering(directory)))
}

fn back(named: &Named, original: &Value, judged: &Call, changed: &Call) -> Option<Value> {
    let (before, after) = (original.as_object()?, changed.input.as_object()?);
    if matches!(named.shape, Shape::Patch | Shape::Urls) {
        return None;
    }
    let moved = named.directory.iter().any(|field| before.get(*field) != after.get(*field));
    if moved {
        return None;
    }
    let mut fields = Map::new();
    for (name, value) in after {
        let value = if name == "command" { command_back(named, before, judged, value)? } else { value.clone() };
        fields.insert(their_name(named, before, name).to_owned(), value);
    }
    Some(Value::Object(fields))
}

/// The agent's name for a field of ours: the one it used, else the first.
fn their_name<'a>(named: &Named, before: &Map<String, Value>, ours: &'a str) -> &'a str {
    let Some((_, names)) = named.fields.iter().find(|(field, _)| *field == ours) else { return ours };
    let used = names.iter().find(|name| before.contains_key(**name));
    used.or_else(|| names.first()).copied().unwrap_or(ours)
}

/// A changed command as the agent writes commands: without the directory that was put before it, and as the script
/// of a list where it came as one.
fn command_back(named: &Named, before: &Map<String, Value>, judged: &Call, changed: &Value) -> Option<Value> {
    let mut command = changed.as_str()?;
    if let Some(directory) = directory(named, before)? {
        let entering = words::entering(directory);
        if judged.text("command").is_some_and(|judged| judged.starts_with(&entering)) {
            command = command.strip_prefix(&entering)?;
        }
    }
    match before.get(their_name(named, before, "command")) {
        Some(Value::Array(list)) => {
            words::script(list)?;
            let mut list = list.clone();
            *list.last_mut()? = command.into();
            Some(Value::Array(list))
        }
        Some(Value::String(_)) => Some(command.into()),
        Some(_) | None => None,
    }
}
