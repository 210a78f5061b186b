//! Reads the tasks of mise's configuration. Settings that change where or how a task runs leave it the project's code.

use std::collections::BTreeMap;

use crate::effect::task::expansion::{Expansion, Extent, order};
use crate::effect::task::toml::{Value, entries};

/// Further files that mise reads in a directory.
pub(super) const OTHERS: [&str; 7] = [
    "mise.local.toml",
    ".mise.local.toml",
    "mise/config.toml",
    ".mise/config.toml",
    ".config/mise.toml",
    ".config/mise/config.toml",
    ".tool-versions",
];

/// Where the script of a task may lie.
pub(super) fn scripts(name: &str) -> Vec<String> {
    let is_plain = !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || "_-:".contains(char));
    let folders = ["mise-tasks", ".mise-tasks", "mise/tasks", ".mise/tasks", ".config/mise/tasks"];
    let path = |folder: &str| format!("{folder}/{}", name.replace(':', "/"));
    if is_plain { folders.into_iter().map(path).collect() } else { Vec::new() }
}

/// A task that is a script. Comments in it may set what else runs.
pub(super) fn script(text: String) -> Expansion {
    let extent = if text.contains("MISE") || text.contains("USAGE") { Extent::Part } else { Extent::Whole };
    Expansion { texts: vec![text], extent }
}

/// A task: its scripts and what it needs.
struct Script {
    needs: Vec<String>,
    texts: Vec<String>,
    extent: Extent,
}

/// What a task and the tasks it needs run.
pub(super) fn task(text: &str, name: &str) -> Option<Expansion> {
    let (tasks, extent) = tasks(text)?;
    tasks.get(name)?;
    let order = order(name, &|name| tasks.get(name).map(|task| task.needs.clone()));
    let mut all = Expansion { texts: Vec::new(), extent: extent.max(order.extent) };
    for task in order.names.iter().filter_map(|name| tasks.get(name)) {
        all.texts.extend(task.texts.iter().cloned());
        all.extent = all.extent.max(task.extent);
    }
    Some(all)
}

/// Every task, and whether the file says nothing else that could run something or change what a name means.
fn tasks(text: &str) -> Option<(BTreeMap<String, Script>, Extent)> {
    let mut tasks: BTreeMap<String, Script> = BTreeMap::new();
    let mut extent = Extent::Whole;
    for (names, value) in entries(text)? {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        match names.as_slice() {
            ["tasks"] | ["min_version"] => {}
            ["tasks", name] => named(&mut tasks, name).whole(value),
            ["tasks", name, field] => named(&mut tasks, name).field(field, value),
            ["tasks", name, ..] => named(&mut tasks, name).extent = Extent::Part,
            _ => extent = Extent::Part,
        }
    }
    Some((tasks, extent))
}

fn named<'m>(tasks: &'m mut BTreeMap<String, Script>, name: &str) -> &'m mut Script {
    let empty = || Script { needs: Vec::new(), texts: Vec::new(), extent: Extent::Whole };
    tasks.entry(name.to_string()).or_insert_with(empty)
}

impl Script {
    /// The task as one value.
    fn whole(&mut self, value: Value) {
        match value {
            Value::Table(entries) => {
                for (field, value) in entries {
                    self.field(&field, value);
                }
            }
            Value::Text(_) | Value::List(_) | Value::Other => self.field("run", value),
        }
    }

    fn field(&mut self, field: &str, value: Value) {
        let texts = match value {
            Value::Text(text) => vec![text],
            Value::List(texts) => texts,
            Value::Table(_) | Value::Other => Vec::new(),
        };
        match field {
            "description" | "alias" | "quiet" | "silent" | "hide" | "raw" => {}
            "depends" | "depends_post" if !texts.is_empty() => self.needs.extend(texts),
            "run" if !texts.is_empty() => {
                for text in texts {
                    self.run(text);
                }
            }
            _ => self.extent = Extent::Part,
        }
    }

    /// A template is filled in by mise, and a script with an interpreter may be in any language.
    fn run(&mut self, text: String) {
        let clever = ["{{", "{%", "{#"].iter().any(|mark| text.contains(mark));
        if clever || text.starts_with("#!") {
            self.extent = Extent::Part;
        }
        if !text.starts_with("#!") {
            self.texts.push(text);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::task;
    use crate::effect::task::expansion::{Expansion, Extent};

    fn found(texts: &[&str], extent: Extent) -> Option<Expansion> {
        Some(Expansion { texts: texts.iter().map(ToString::to_string).collect(), extent })
    }

    #[test]
    fn plain_tasks_are_read() {
        let text = "[tasks]\nlist = 'ls'\n\"a:b\" = { run = ['pwd', 'date'], depends = 'list' }\n\
                    [tasks.all]\ndepends = ['a:b']\nrun = '''\necho 1\necho 2\n'''\n";
        assert_eq!(task(text, "list"), found(&["ls"], Extent::Whole));
        assert_eq!(task(text, "all"), found(&["ls", "pwd", "date", "echo 1\necho 2\n"], Extent::Whole));
        assert_eq!(task(text, "none"), None);
    }

    #[test]
    fn clever_ones_stay_the_projects_code() {
        for text in [
            "[env]\nPATH = 'x'\n[tasks]\na = 'ls'",
            "[tools]\nnode = '20'\n[tasks]\na = 'ls'",
            "[hooks]\nenter = 'x'\n[tasks]\na = 'ls'",
            "[tasks.a]\nrun = 'ls'\ndir = '/x'",
            "[tasks.a]\nrun = 'ls'\nshell = 'x -c'",
            "[tasks.a]\nrun = 'ls'\n[tasks.a.env]\nPATH = 'x'",
            "[tasks.a]\nrun = 'ls'\ndepends = ['missing']",
        ] {
            assert_eq!(task(text, "a"), found(&["ls"], Extent::Part), "{text}");
        }
        assert_eq!(task("[tasks]\na = '#!/usr/bin/env node'", "a"), found(&[], Extent::Part));
        assert_eq!(task("[tasks]\na = 'ls {{x}}'", "a"), found(&["ls {{x}}"], Extent::Part));
    }
}
