//! Reads the tasks of a `deno.json`.

use crate::effect::task::expansion::{Expansion, Extent, order};
use crate::effect::task::json;

/// Stands for dependencies that do not read: no task can have this name.
const UNREAD: &str = "\0";

/// What a task and the tasks it depends on run.
pub(super) fn task(text: &str, name: &str) -> Option<Expansion> {
    json::member(text, &["tasks", name])?;
    let needs = |name: &str| {
        json::member(text, &["tasks", name])?;
        let needs =
            json::member(text, &["tasks", name, "dependencies"]).map_or_else(|| Some(Vec::new()), json::strings);
        Some(needs.unwrap_or_else(|| vec![UNREAD.to_string()]))
    };
    let order = order(name, &needs);
    let mut all = Expansion { texts: Vec::new(), extent: order.extent };
    for name in &order.names {
        match command(text, name) {
            Some(command) => all.texts.push(command),
            None => all.extent = Extent::Part,
        }
    }
    Some(all)
}

/// A task is its command, or an object that holds it.
fn command(text: &str, name: &str) -> Option<String> {
    let plain = json::member(text, &["tasks", name]).and_then(json::string);
    plain.or_else(|| json::member(text, &["tasks", name, "command"]).and_then(json::string))
}

#[cfg(test)]
mod tests {
    use super::task;
    use crate::effect::task::expansion::{Expansion, Extent};

    fn found(texts: &[&str], extent: Extent) -> Option<Expansion> {
        Some(Expansion { texts: texts.iter().map(ToString::to_string).collect(), extent })
    }

    #[test]
    fn commands_and_dependencies_are_read() {
        let text = r#"{ // ours
            "tasks": {"a": {"command": "ls", "dependencies": ["b"]}, "b": "pwd", "c": {"dependencies": ["d"]}}}"#;
        assert_eq!(task(text, "a"), found(&["pwd", "ls"], Extent::Whole));
        assert_eq!(task(text, "c"), found(&[], Extent::Part));
        assert_eq!(task(text, "none"), None);
    }
}
