//! The small notation for flags, operands and deeds, turned into Rust expressions.
//!
//! A flag is its names, what it takes, and what it does: `-n,--lines:number`, `--color?data`, `-o:write`,
//! `-i,--in-place?data!operands=edit`. `:` takes a value, `::` a name and a value, `?` may have one attached, `!` adds a deed.
//! A colon that belongs to the name has a backslash before it: `-c\:v:data`.
//! An operand is a role and how often it stands: `data`, `read*`, `read+`, `change?`.

use std::collections::BTreeMap;

/// The flags of a table, each name once, as expressions by name.
pub(crate) fn flags(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut found = BTreeMap::new();
    for line in text.lines() {
        let line = line.split(" #").next().unwrap_or_default().trim();
        if line.starts_with('#') {
            continue;
        }
        for token in line.split_whitespace() {
            flag(token, &mut found)?;
        }
    }
    Ok(found)
}

fn flag(token: &str, found: &mut BTreeMap<String, String>) -> Result<(), String> {
    let (head, deeds) = match token.split_once('!') {
        Some((head, deeds)) => (head, deeds.split('!').map(deed).collect::<Result<Vec<_>, _>>()?),
        None => (token, Vec::new()),
    };
    let is_end = |(at, c): &(usize, char)| {
        matches!(c, ':' | '?') && *at > 1 && !head.get(..*at).is_some_and(|before| before.ends_with('\\'))
    };
    let end = head.char_indices().find(is_end).map_or(head.len(), |(at, _)| at);
    let (names, rest) = head.split_at(end);
    let names = names.replace('\\', "");
    let takes = match rest.split_at(rest.len().min(1)) {
        ("", _) => "Takes::Nothing".to_string(),
        (":", value) if value.starts_with(':') => format!("Takes::Pair({})", role(value.trim_start_matches(':'))?),
        (":", value) => format!("Takes::Value({})", role(value)?),
        (_, value) => format!("Takes::Optional({})", role(value)?),
    };
    for name in names.split(',') {
        if !name.starts_with(['-', '+']) || name.len() < 2 {
            return Err(format!("`{token}`: `{name}` is no flag"));
        }
        let code = format!("Flag {{ name: {name:?}, takes: {takes}, does: &[{}] }}", deeds.join(", "));
        if found.get(name).is_some_and(|before| *before != code) {
            return Err(format!("flag `{name}` stands twice, with two meanings"));
        }
        found.insert(name.to_string(), code);
    }
    Ok(())
}

/// The operands of a table.
pub(crate) fn operands(text: &str) -> Result<Vec<String>, String> {
    text.split_whitespace().map(operand).collect()
}

fn operand(token: &str) -> Result<String, String> {
    let (name, count) = match token.chars().last() {
        Some('?') => (token.trim_end_matches('?'), "Optional"),
        Some('*') => (token.trim_end_matches('*'), "Any"),
        Some('+') => (token.trim_end_matches('+'), "Some"),
        Some(_) | None => (token, "One"),
    };
    Ok(format!("Operand {{ role: {}, count: Count::{count} }}", role(name)?))
}

/// A role.
pub(crate) fn role(name: &str) -> Result<String, String> {
    if let Some(choices) = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        let choices: Vec<&str> = choices.split('|').collect();
        return Ok(format!("Role::Choice(&{choices:?})"));
    }
    let plain = match name {
        "data" => "Data",
        "number" => "Number",
        "name" => "Name",
        "read" => "Read",
        "file" => "File",
        "list" => "List",
        "write" => "Write",
        "edit" => "Edit",
        "remove" => "Remove",
        "directory" => "Directory",
        "fetch" => "Fetch",
        "send" => "Send",
        "script" => "Script",
        "command" => "Command",
        "remote" => "Remote",
        "source" => "Source",
        "load" => "Load",
        "run" => "Run",
        "variable" => "Variable",
        "environment" => "Environment",
        "change" => "Change",
        "system" => "System",
        "task" => "Task",
        "pathspec" => "Pathspec",
        "refuse" => "Refuse",
        other => return language(other).map(|language| format!("Role::Code(Language::{language})")),
    };
    Ok(format!("Role::{plain}"))
}

fn language(name: &str) -> Result<&'static str, String> {
    Ok(match name {
        "sed" => "Sed",
        "awk" => "Awk",
        "jq" => "Jq",
        "yq" => "Yq",
        "postgres" => "Postgres",
        "mysql" => "Mysql",
        "sqlite" => "Sqlite",
        "duckdb" => "Duckdb",
        "python" => "Python",
        "node" => "Node",
        "perl" => "Perl",
        "ruby" => "Ruby",
        "php" => "Php",
        "dc" => "Dc",
        "code" => "Other",
        other => return Err(format!("unknown role `{other}`")),
    })
}

/// A deed.
pub(crate) fn deed(name: &str) -> Result<String, String> {
    if let Some(wanted) = name.strip_prefix("operands=") {
        return Ok(format!("Deed::Operands({})", role(wanted)?));
    }
    if let Some(path) = name.strip_prefix("home=") {
        return Ok(format!("Deed::Home({path:?})"));
    }
    if let Some(path) = name.strip_prefix("place=") {
        return Ok(format!("Deed::Place({path:?})"));
    }
    if let Some(wanted) = name.strip_prefix("default=") {
        return Ok(format!("Deed::Default({})", role(wanted)?));
    }
    let plain = match name {
        "lists" => "Lists",
        "reads" => "Reads",
        "writes" => "Writes",
        "project" => "Project",
        "task" => "Task",
        "runs" => "Runs",
        "code" => "Code",
        "network" => "Network",
        "sends" => "Sends",
        "system" => "System",
        "input" => "Input",
        "unknown" => "Unknown",
        "secret" => "Secret",
        "stop" => "Stop",
        "alone" => "Alone",
        "given" => "Given",
        "recursive" => "Recursive",
        "stdout" => "Stdout",
        "instead" => "Instead",
        "rest" => "Rest",
        other => return Err(format!("unknown deed `{other}`")),
    };
    Ok(format!("Deed::{plain}"))
}

/// A grammar.
pub(crate) fn grammar(name: &str) -> Result<&'static str, String> {
    Ok(match name {
        "" | "gnu" => "Gnu",
        "posix" => "Posix",
        "words" => "Words",
        "words-first" => "WordsFirst",
        "plain" => "Plain",
        other => return Err(format!("unknown grammar `{other}`")),
    })
}

/// A reader.
pub(crate) fn reader(name: &str) -> Result<&'static str, String> {
    Ok(match name {
        "" => "Described",
        "find" => "Find",
        "test" => "Test",
        "dd" => "Dd",
        "tar" => "Tar",
        "ps" => "Ps",
        "env" => "Env",
        "copy" => "Copy",
        "cloud" => "Cloud",
        other => return Err(format!("unknown reader `{other}`")),
    })
}

/// A form.
pub(crate) fn form(name: &str) -> Result<&'static str, String> {
    Ok(match name {
        "number" => "Form::Number",
        "plus" => "Form::Plus",
        "plus-acts" => "Form::PlusActs",
        "plus-number" => "Form::PlusNumber",
        "repository" => "Form::Repository",
        "no-help" => "Form::NoHelp",
        "at-home" => "Form::AtHome",
        other => return Err(format!("unknown form `{other}`")),
    })
}
