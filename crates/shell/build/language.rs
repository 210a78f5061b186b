//! The small notation for flags, operands and deeds, turned into what the crate knows.
//!
//! A flag is its names, what it takes, and what it does: `-n,--lines:number`, `--color?data`, `-o:write`,
//! `-i,--in-place?data!operands=edit`. `:` takes a value, `::` a name and a value, `?` may have one attached, `!` adds a deed.
//! A colon that belongs to the name has a backslash before it: `-c\:v:data`.
//! An operand is a role and how often it stands: `data`, `read*`, `read+`, `change?`.

use std::collections::BTreeMap;

use crate::model::{Count, Deed, Flag, Form, Grammar, Language, Operand, Reader, Role, Takes};
use crate::pool::text;

/// The flags of a table by name.
pub(crate) fn flags(text: &str) -> Result<BTreeMap<String, Flag>, String> {
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

fn flag(token: &str, found: &mut BTreeMap<String, Flag>) -> Result<(), String> {
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
        ("", _) => Takes::Nothing,
        (":", value) if value.starts_with(':') => Takes::Pair(role(value.trim_start_matches(':'))?),
        (":", value) => Takes::Value(role(value)?),
        (_, value) => Takes::Optional(role(value)?),
    };
    let does = deeds.leak();
    for name in names.split(',') {
        if !name.starts_with(['-', '+']) || name.len() < 2 {
            return Err(format!("`{token}`: `{name}` is no flag"));
        }
        let flag = Flag { name: text(name), takes, does };
        if found.get(name).is_some_and(|before| *before != flag) {
            return Err(format!("flag `{name}` stands twice, with two meanings"));
        }
        found.insert(name.to_string(), flag);
    }
    Ok(())
}

/// The operands of a table.
pub(crate) fn operands(text: &str) -> Result<Vec<Operand>, String> {
    text.split_whitespace().map(operand).collect()
}

fn operand(token: &str) -> Result<Operand, String> {
    let (name, count) = match token.chars().last() {
        Some('?') => (token.trim_end_matches('?'), Count::Optional),
        Some('*') => (token.trim_end_matches('*'), Count::Any),
        Some('+') => (token.trim_end_matches('+'), Count::Some),
        Some(_) | None => (token, Count::One),
    };
    Ok(Operand { role: role(name)?, count })
}

/// A role.
pub(crate) fn role(name: &str) -> Result<Role, String> {
    if let Some(choices) = name.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
        return Ok(Role::Choice(choices.split('|').map(text).collect::<Vec<_>>().leak()));
    }
    Ok(match name {
        "data" => Role::Data,
        "number" => Role::Number,
        "name" => Role::Name,
        "read" => Role::Read,
        "file" => Role::File,
        "list" => Role::List,
        "write" => Role::Write,
        "edit" => Role::Edit,
        "remove" => Role::Remove,
        "directory" => Role::Directory,
        "fetch" => Role::Fetch,
        "send" => Role::Send,
        "script" => Role::Script,
        "command" => Role::Command,
        "remote" => Role::Remote,
        "source" => Role::Source,
        "load" => Role::Load,
        "run" => Role::Run,
        "variable" => Role::Variable,
        "environment" => Role::Environment,
        "change" => Role::Change,
        "system" => Role::System,
        "task" => Role::Task,
        "pathspec" => Role::Pathspec,
        "refuse" => Role::Refuse,
        other => Role::Code(language(other)?),
    })
}

fn language(name: &str) -> Result<Language, String> {
    Ok(match name {
        "sed" => Language::Sed,
        "awk" => Language::Awk,
        "jq" => Language::Jq,
        "yq" => Language::Yq,
        "postgres" => Language::Postgres,
        "mysql" => Language::Mysql,
        "sqlite" => Language::Sqlite,
        "duckdb" => Language::Duckdb,
        "python" => Language::Python,
        "node" => Language::Node,
        "perl" => Language::Perl,
        "ruby" => Language::Ruby,
        "php" => Language::Php,
        "dc" => Language::Dc,
        "code" => Language::Other,
        other => return Err(format!("unknown role `{other}`")),
    })
}

/// Deeds.
pub(crate) fn deeds(names: &[String]) -> Result<Vec<Deed>, String> {
    names.iter().map(|name| deed(name)).collect()
}

/// A deed.
fn deed(name: &str) -> Result<Deed, String> {
    if let Some(wanted) = name.strip_prefix("operands=") {
        return Ok(Deed::Operands(role(wanted)?));
    }
    if let Some(path) = name.strip_prefix("home=") {
        return Ok(Deed::Home(text(path)));
    }
    if let Some(path) = name.strip_prefix("place=") {
        return Ok(Deed::Place(text(path)));
    }
    if let Some(wanted) = name.strip_prefix("default=") {
        return Ok(Deed::Default(role(wanted)?));
    }
    Ok(match name {
        "lists" => Deed::Lists,
        "reads" => Deed::Reads,
        "writes" => Deed::Writes,
        "project" => Deed::Project,
        "task" => Deed::Task,
        "runs" => Deed::Runs,
        "code" => Deed::Code,
        "network" => Deed::Network,
        "sends" => Deed::Sends,
        "system" => Deed::System,
        "input" => Deed::Input,
        "unknown" => Deed::Unknown,
        "secret" => Deed::Secret,
        "stop" => Deed::Stop,
        "alone" => Deed::Alone,
        "given" => Deed::Given,
        "recursive" => Deed::Recursive,
        "stdout" => Deed::Stdout,
        "instead" => Deed::Instead,
        "rest" => Deed::Rest,
        other => return Err(format!("unknown deed `{other}`")),
    })
}

/// A grammar.
pub(crate) fn grammar(name: &str) -> Result<Grammar, String> {
    Ok(match name {
        "" | "gnu" => Grammar::Gnu,
        "posix" => Grammar::Posix,
        "words" => Grammar::Words,
        "words-first" => Grammar::WordsFirst,
        "plain" => Grammar::Plain,
        other => return Err(format!("unknown grammar `{other}`")),
    })
}

/// A reader.
pub(crate) fn reader(name: &str) -> Result<Reader, String> {
    Ok(match name {
        "" => Reader::Described,
        "find" => Reader::Find,
        "test" => Reader::Test,
        "dd" => Reader::Dd,
        "tar" => Reader::Tar,
        "ps" => Reader::Ps,
        "env" => Reader::Env,
        "copy" => Reader::Copy,
        "cloud" => Reader::Cloud,
        other => return Err(format!("unknown reader `{other}`")),
    })
}

/// A form.
pub(crate) fn form(name: &str) -> Result<Form, String> {
    Ok(match name {
        "number" => Form::Number,
        "plus" => Form::Plus,
        "plus-acts" => Form::PlusActs,
        "plus-number" => Form::PlusNumber,
        "repository" => Form::Repository,
        "no-help" => Form::NoHelp,
        "at-home" => Form::AtHome,
        other => return Err(format!("unknown form `{other}`")),
    })
}
