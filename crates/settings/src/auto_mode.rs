//! The lists of `autoMode`: what is built in, what is in force after `$defaults`, and what is doubtful about the
//! entries people wrote. Prose stays prose here: nothing in it is executed or matched against calls.

mod critique;

use mayi_core::policy::Origin;
use mayi_core::risk::{self, Category};
use serde::Serialize;

use crate::document::{Node, Value};
use crate::load::Loaded;

pub use critique::{Flaw, Remark, critique};

/// The word that keeps what is built in.
pub const DEFAULTS: &str = "$defaults";

/// A list of `autoMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum List {
    /// What is trusted here.
    Environment,
    /// Exceptions to what is blocked.
    #[serde(rename = "allow")]
    Exceptions,
    /// What is blocked unless the user asks for it.
    SoftDeny,
    /// What is blocked whatever the user says.
    HardDeny,
}

impl List {
    /// All, in the order in which they stand in settings.
    pub const ALL: [List; 4] = [List::Environment, List::Exceptions, List::SoftDeny, List::HardDeny];

    /// Its key below `autoMode`.
    pub fn key(self) -> &'static str {
        match self {
            List::Environment => "environment",
            List::Exceptions => "allow",
            List::SoftDeny => "soft_deny",
            List::HardDeny => "hard_deny",
        }
    }

    /// What it is for, in a line.
    pub fn purpose(self) -> &'static str {
        match self {
            List::Environment => "what is trusted here",
            List::Exceptions => "let through, as exceptions to what is blocked",
            List::SoftDeny => "blocked, unless the user's own words name the action and its specifics",
            List::HardDeny => "blocked, whatever the user says",
        }
    }

    /// The built-in entries, as they would stand in settings.
    pub fn built_in(self) -> Vec<String> {
        let prose = |category: &Category| format!("{}: {}", category.title, category.guidance);
        match self {
            List::Environment => risk::environment().iter().map(|entry| (*entry).to_owned()).collect(),
            List::Exceptions => risk::exceptions().iter().map(prose).collect(),
            List::SoftDeny => risk::categories().iter().map(prose).collect(),
            List::HardDeny => Vec::new(),
        }
    }
}

/// An entry that is in force.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Entry {
    /// Its words.
    pub text: String,
    /// Where it stands; `None` for a built-in one.
    pub origin: Option<Origin>,
}

/// The entries of a list that are in force, strongest layer first; built-in ones stand where `$defaults` does.
pub fn in_force(loaded: &Loaded, list: List) -> Vec<Entry> {
    let built_in = || list.built_in().into_iter().map(|text| Entry { text, origin: None });
    let own = written(loaded, list);
    if own.is_empty() && !is_set(loaded, list) {
        return built_in().collect();
    }
    let mut entries: Vec<Entry> = Vec::new();
    let mut has_defaults = false;
    for entry in own {
        if entry.text == DEFAULTS {
            // Layers concatenate, and the built-in entries count once.
            if !std::mem::replace(&mut has_defaults, true) {
                entries.extend(built_in());
            }
        } else {
            entries.push(entry);
        }
    }
    entries
}

fn is_set(loaded: &Loaded, list: List) -> bool {
    loaded.effective.setting(&format!("autoMode.{}", list.key())).is_some()
}

/// Every entry that settings which count give for a list, `$defaults` included.
fn written(loaded: &Loaded, list: List) -> Vec<Entry> {
    let Some(setting) = loaded.effective.setting(&format!("autoMode.{}", list.key())) else { return Vec::new() };
    let mut entries = Vec::new();
    for origin in &setting.origins {
        let nodes = loaded.read.iter().filter(|read| read.layer == origin.layer && read.file == origin.file);
        for node in nodes.filter_map(|read| read.document.root().member("autoMode")?.member(list.key())) {
            entries.extend(items(node).iter().filter_map(|item| {
                let (line, column) = (item.place.line, item.place.column);
                let origin = Origin { line, column, ..origin.clone() };
                Some(Entry { text: item.text()?.to_owned(), origin: Some(origin) })
            }));
        }
    }
    entries
}

fn items(node: &Node) -> &[Node] {
    match &node.value {
        Value::List(items) => items,
        Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::Object(_) => &[],
    }
}

#[cfg(test)]
mod tests {
    use mayi_core::call::Workspace;
    use mayi_core::policy::Layer;
    use serde_json::{Value as Json, json};

    use super::*;
    use crate::{Given, of_values};

    pub(super) fn loaded(layers: &[(Layer, Json)]) -> Loaded {
        let layers: Vec<_> = layers.iter().map(|(layer, value)| (*layer, value)).collect();
        of_values(&layers, &Workspace::at("/w"), &Given::default())
    }

    fn texts(loaded: &Loaded, list: List) -> Vec<String> {
        in_force(loaded, list).into_iter().map(|entry| entry.text).collect()
    }

    #[test]
    fn a_list_that_is_not_set_is_the_built_in_one() {
        let loaded = loaded(&[]);
        for list in List::ALL {
            assert_eq!(texts(&loaded, list), list.built_in(), "{list:?}");
        }
        assert_eq!(List::SoftDeny.built_in().len(), 22);
        assert_eq!(List::Exceptions.built_in().len(), 7);
    }

    #[test]
    fn a_list_that_is_set_replaces_the_built_in_one_unless_it_keeps_it() {
        let replaced = loaded(&[(Layer::User, json!({"autoMode": {"soft_deny": ["a"]}}))]);
        assert_eq!(texts(&replaced, List::SoftDeny), ["a"]);
        assert_eq!(texts(&replaced, List::Exceptions).len(), 7, "each list stands alone");
        let emptied = loaded(&[(Layer::User, json!({"autoMode": {"allow": []}}))]);
        assert!(texts(&emptied, List::Exceptions).is_empty());
        let kept = loaded(&[
            (Layer::Managed, json!({"autoMode": {"soft_deny": ["m", "$defaults"]}})),
            (Layer::User, json!({"autoMode": {"soft_deny": ["$defaults", "u"]}})),
        ]);
        let kept = texts(&kept, List::SoftDeny);
        assert_eq!((kept.len(), kept[0].as_str(), kept[23].as_str()), (24, "m", "u"));
    }

    #[test]
    fn a_repository_says_nothing_here() {
        let loaded = loaded(&[(Layer::Project, json!({"autoMode": {"allow": ["everything"]}}))]);
        assert_eq!(texts(&loaded, List::Exceptions).len(), 7);
    }
}
