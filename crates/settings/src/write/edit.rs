//! Edits of a settings text that leave everything else as it is: comments, order, indentation, line ends.

use std::path::Path;

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use mayi_core::mode::Mode;
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;

use super::SaveError;
use crate::document::{self, Document, Unreadable};
use crate::update::{PermissionUpdate, Rules};

/// The text of the file at `path` after the updates. An empty text is a new document.
pub(super) fn edited(text: &str, updates: &[PermissionUpdate], path: &Path) -> Result<String, SaveError> {
    let unreadable = |error| SaveError::Unreadable { path: path.to_owned(), error };
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let body = if body.is_empty() { "{}\n" } else { body };
    // The reader's own errors are the better ones, so it looks first.
    Document::parse(body).map_err(unreadable)?;
    let root = CstRootNode::parse(body, &document::leniency()).map_err(|_| unreadable(Unreadable::Empty))?;
    let settings = root.object_value().ok_or(SaveError::Shape("settings"))?;
    for update in updates {
        apply(&settings, update)?;
    }
    let edited = format!("{mark}{root}");
    // What we write must be what we can read.
    Document::parse(&edited).map_err(unreadable)?;
    Ok(edited)
}

fn apply(settings: &CstObject, update: &PermissionUpdate) -> Result<(), SaveError> {
    match update {
        PermissionUpdate::AddRules(rules) => add_rules(settings, rules),
        PermissionUpdate::ReplaceRules(rules) => {
            let kept = parsed(rules);
            remove(settings, list(rules.behavior), &|node| !rule_at(node).is_some_and(|rule| kept.contains(&rule)))?;
            add_rules(settings, rules)
        }
        PermissionUpdate::RemoveRules(rules) => {
            let named = parsed(rules);
            remove(settings, list(rules.behavior), &|node| rule_at(node).is_some_and(|rule| named.contains(&rule)))
        }
        PermissionUpdate::SetMode { mode, .. } => set_mode(settings, *mode),
        PermissionUpdate::AddDirectories(added) => {
            let array = array(settings, "additionalDirectories")?;
            let present: Vec<String> = array.elements().iter().filter_map(text_at).collect();
            let new = added.directories.iter().filter(|directory| !present.contains(directory));
            append(&array, new.cloned());
            Ok(())
        }
        PermissionUpdate::RemoveDirectories(removed) => remove(settings, "additionalDirectories", &|node| {
            text_at(node).is_some_and(|text| removed.directories.contains(&text))
        }),
    }
}

fn list(behavior: Verdict) -> &'static str {
    behavior.word()
}

fn parsed(rules: &Rules) -> Vec<Rule> {
    rules.rules.iter().map(|value| value.rule()).collect()
}

fn add_rules(settings: &CstObject, rules: &Rules) -> Result<(), SaveError> {
    let mut present: Vec<Rule> = Vec::new();
    for array in arrays(settings, list(rules.behavior))? {
        present.extend(array.elements().iter().filter_map(rule_at));
    }
    let mut new = Vec::new();
    for rule in parsed(rules) {
        if !present.contains(&rule) {
            new.push(rule.to_string());
            present.push(rule);
        }
    }
    append(&array(settings, list(rules.behavior))?, new.into_iter());
    Ok(())
}

/// Appends texts. A list that was empty goes over several lines from now on.
fn append(array: &CstArray, texts: impl Iterator<Item = String>) {
    for (number, text) in texts.enumerate() {
        if number == 0 && array.elements().is_empty() {
            array.ensure_multiline();
        }
        array.append(CstInputValue::String(text));
    }
}

fn set_mode(settings: &CstObject, mode: Mode) -> Result<(), SaveError> {
    let permissions = object(settings)?;
    let value = CstInputValue::String(mode.word().to_owned());
    match named(&permissions, "defaultMode").last() {
        Some(property) => property.set_value(value),
        None => {
            permissions.append("defaultMode", value);
        }
    }
    Ok(())
}

/// Removes the elements of a list that are wanted gone, from every place where the list is written.
fn remove(settings: &CstObject, name: &'static str, gone: &dyn Fn(&CstNode) -> bool) -> Result<(), SaveError> {
    for array in arrays(settings, name)? {
        for node in array.elements().into_iter().filter(|node| gone(node)) {
            node.remove();
        }
    }
    Ok(())
}

/// Properties of that name. JSON lets a name stand twice, and the reader takes lists from both.
fn named(object: &CstObject, name: &str) -> Vec<CstObjectProp> {
    let is_it = |property: &CstObjectProp| property.decoded_name().as_deref() == Some(name);
    object.properties().into_iter().filter(is_it).collect()
}

fn object(settings: &CstObject) -> Result<CstObject, SaveError> {
    match named(settings, "permissions").last() {
        Some(property) => property.object_value().ok_or(SaveError::Shape("permissions")),
        None => settings.object_value_or_create("permissions").ok_or(SaveError::Shape("permissions")),
    }
}

/// Every array where a list is written.
pub(super) fn arrays(settings: &CstObject, name: &'static str) -> Result<Vec<CstArray>, SaveError> {
    let mut arrays = Vec::new();
    for permissions in named(settings, "permissions") {
        let permissions = permissions.object_value().ok_or(SaveError::Shape("permissions"))?;
        for property in named(&permissions, name) {
            arrays.push(property.array_value().ok_or(SaveError::Shape(name))?);
        }
    }
    Ok(arrays)
}

fn array(settings: &CstObject, name: &'static str) -> Result<CstArray, SaveError> {
    match arrays(settings, name)?.pop() {
        Some(array) => Ok(array),
        None => object(settings)?.array_value_or_create(name).ok_or(SaveError::Shape(name)),
    }
}

fn text_at(node: &CstNode) -> Option<String> {
    node.as_string_lit()?.decoded_value().ok()
}

/// The rule that an element of a list means, as text or as object.
fn rule_at(node: &CstNode) -> Option<Rule> {
    if let Some(object) = node.as_object() {
        let member = |name: &str| object.get(name)?.value()?.as_string_lit()?.decoded_value().ok();
        let tool = member("tool")?;
        return Some(member("content").map_or_else(|| Rule::tool(&tool), |content| Rule::content(&tool, &content)));
    }
    text_at(node)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::update::{Destination, Directories, RuleValue};

    fn edited(text: &str, updates: &[PermissionUpdate]) -> Result<String, SaveError> {
        super::edited(text, updates, Path::new("settings.json"))
    }

    fn rules(behavior: Verdict, texts: &[&str]) -> Rules {
        let rules = texts.iter().map(|text| RuleValue::from(&text.parse::<Rule>().unwrap())).collect();
        Rules { rules, behavior, destination: Destination::LocalSettings }
    }

    fn add(texts: &[&str]) -> PermissionUpdate {
        PermissionUpdate::AddRules(rules(Verdict::Allow, texts))
    }

    const COMMENTED: &str = r#"// Ours.
{
    // Why these.
    "permissions": {
        "allow": [
            "Bash(npm test:*)", // daily
            {"tool": "Bash", "content": "ls"},
        ],
        "deny": ["Read(.env)"] /* never */
    },
    "model": "x"
}
"#;

    #[test]
    fn a_rule_is_added_and_nothing_else_changes() {
        let after = edited(COMMENTED, &[add(&["Bash(cargo test:*)", "Bash(ls)"])]).unwrap();
        let line = "            \"Bash(cargo test:*)\",\n";
        assert_eq!(after.replace(line, ""), COMMENTED, "{after}");
        assert!(after.contains(line), "{after}");
    }

    #[test]
    fn a_new_document_is_pleasant_to_read() {
        let after = edited(
            "",
            &[
                add(&["Bash(npm test:*)"]),
                PermissionUpdate::SetMode { mode: Mode::Plan, destination: Destination::UserSettings },
            ],
        )
        .unwrap();
        let expected = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(npm test:*)\"\n    ],\n    \"defaultMode\": \"plan\"\n  }\n}\n";
        assert_eq!(after, expected);
    }

    #[test]
    fn rules_are_removed_in_either_form_and_comments_of_others_stay() {
        let gone = PermissionUpdate::RemoveRules(rules(Verdict::Allow, &["Bash(ls)"]));
        let after = edited(COMMENTED, &[gone]).unwrap();
        assert!(!after.contains("\"ls\"") && after.contains("// daily") && after.contains("/* never */"), "{after}");
        let replaced = PermissionUpdate::ReplaceRules(rules(Verdict::Allow, &["Bash(ls)", "Read"]));
        let after = edited(COMMENTED, &[replaced]).unwrap();
        assert!(after.contains("\"ls\"") && after.contains("\"Read\"") && !after.contains("npm test"), "{after}");
    }

    #[test]
    fn directories_and_modes() {
        let directories = |names: &[&str]| Directories {
            directories: names.iter().map(|name| (*name).to_owned()).collect(),
            destination: Destination::UserSettings,
        };
        let text = r#"{"permissions": {"additionalDirectories": ["/a"], "defaultMode": "plan"}}"#;
        let updates = [
            PermissionUpdate::AddDirectories(directories(&["/a", "/b"])),
            PermissionUpdate::RemoveDirectories(directories(&["/a"])),
            PermissionUpdate::SetMode { mode: Mode::AcceptEdits, destination: Destination::UserSettings },
        ];
        let after: serde_json::Value = serde_json::from_str(&edited(text, &updates).unwrap()).unwrap();
        assert_eq!(
            after["permissions"],
            serde_json::json!({"additionalDirectories": ["/b"], "defaultMode": "acceptEdits"})
        );
    }

    #[test]
    fn a_rule_with_odd_characters_comes_back_as_it_was() {
        let odd = Rule::content("Bash", "echo \"a\\b\" ) \u{e9}\n");
        let update =
            PermissionUpdate::AddRules(Rules { rules: vec![RuleValue::from(&odd)], ..rules(Verdict::Deny, &[]) });
        let after: serde_json::Value = serde_json::from_str(&edited("{}", &[update]).unwrap()).unwrap();
        assert_eq!(after["permissions"]["deny"][0].as_str().unwrap().parse::<Rule>().unwrap(), odd);
    }

    #[test]
    fn a_document_of_the_wrong_shape_is_left_alone() {
        for text in ["[]", "{\"permissions\": 5}", "{\"permissions\": {\"allow\": \"Bash\"}}", "{"] {
            assert!(edited(text, &[add(&["Read"])]).is_err(), "{text}");
        }
    }

    #[test]
    fn line_ends_and_byte_order_marks_stay() {
        let after = edited(
            "\u{feff}{\r\n\t\"permissions\": {\r\n\t\t\"allow\": [\r\n\t\t\t\"Read\"\r\n\t\t]\r\n\t}\r\n}\r\n",
            &[add(&["Bash(a)"])],
        )
        .unwrap();
        assert!(after.starts_with('\u{feff}') && after.contains("\"Read\",\r\n\t\t\t\"Bash(a)\"\r\n"), "{after:?}");
    }
}
