//! Mending rules where they stand: single entries of a list are taken out or replaced, found by their place in the
//! text. Everything else in the file stays.

use std::path::Path;

use jsonc_parser::cst::{CstNode, CstRootNode};
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;

use super::{SaveError, edit};
use crate::document::{self, Document, Node, Unreadable, Value};

/// One entry of a list of rules that is wanted otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mending {
    /// The list.
    pub list: Verdict,
    /// The line of the entry, from 1.
    pub line: u32,
    /// Its column, from 1.
    pub column: u32,
    /// What stands there instead; `None` takes it out.
    pub instead: Option<Rule>,
}

/// The text of the file at `path` after the mendings. One that is about no entry is an error: the text is another one
/// than the places were found in.
pub fn mended(text: &str, mendings: &[Mending], path: &Path) -> Result<String, SaveError> {
    let unreadable = |error| SaveError::Unreadable { path: path.to_owned(), error };
    let (mark, body) = match text.strip_prefix('\u{feff}') {
        Some(body) => ("\u{feff}", body),
        None => ("", text),
    };
    let document = Document::parse(text).map_err(unreadable)?;
    let root = CstRootNode::parse(body, &document::leniency()).map_err(|_| unreadable(Unreadable::Empty))?;
    let settings = root.object_value().ok_or(SaveError::Shape("settings"))?;
    // Entries are found first and changed last, so that no change moves another one.
    let mut wanted: Vec<(CstNode, Option<&Rule>)> = Vec::new();
    for mending in mendings {
        let name = mending.list.word();
        let places = entries(&document.root, name);
        let number =
            places.iter().position(|node| (node.place.line, node.place.column) == (mending.line, mending.column));
        let mut elements = edit::arrays(&settings, name)?.into_iter().flat_map(|array| array.elements());
        let found = number.and_then(|number| elements.nth(number));
        wanted.push((found.ok_or_else(|| SaveError::Changed(path.to_owned()))?, mending.instead.as_ref()));
    }
    for (node, instead) in wanted {
        match instead {
            None => node.remove(),
            Some(rule) => replace(&node, rule)?,
        }
    }
    let mended = format!("{mark}{root}");
    Document::parse(&mended).map_err(unreadable)?;
    Ok(mended)
}

fn replace(node: &CstNode, rule: &Rule) -> Result<(), SaveError> {
    let text = serde_json::Value::from(rule.to_string()).to_string();
    match node.as_string_lit() {
        Some(literal) => {
            literal.set_raw_value(text);
            Ok(())
        }
        None => Err(SaveError::Shape("permissions")),
    }
}

/// The entries of a list, from every place where it is written, in the order of the text.
fn entries<'a>(root: &'a Node, list: &str) -> Vec<&'a Node> {
    let named = |node: &'a Node, name: &str| -> Vec<&'a Node> {
        let members = node.members().unwrap_or_default().iter();
        members.filter(|(member, _)| member.text == name).map(|(_, value)| value).collect()
    };
    let lists = named(root, "permissions").into_iter().flat_map(|permissions| named(permissions, list));
    lists
        .flat_map(|list| match &list.value {
            Value::List(items) => items.iter().collect(),
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::Object(_) => Vec::new(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = r#"// Ours.
{
    "permissions": {
        "allow": [
            "Bash(ls)", // looking
            "Bash(ls)",
            {"tool": "Bash", "content": "ls"}
        ],
        "deny": ["Write(x)" /* never */, "Read(y)"]
    }
}
"#;

    fn taken(list: Verdict, line: u32, column: u32) -> Mending {
        Mending { list, line, column, instead: None }
    }

    #[test]
    fn one_entry_of_two_equal_ones_is_taken_out_and_comments_stay() {
        let after = mended(TEXT, &[taken(Verdict::Allow, 6, 13)], Path::new("x")).unwrap();
        assert_eq!(after, TEXT.replacen("            \"Bash(ls)\",\n            {", "            {", 1), "{after}");
        let both = [taken(Verdict::Allow, 6, 13), taken(Verdict::Allow, 7, 13)];
        let after = mended(TEXT, &both, Path::new("x")).unwrap();
        assert!(after.contains("\"Bash(ls)\" // looking") || after.contains("\"Bash(ls)\", // looking"), "{after}");
        assert_eq!(after.matches("ls").count(), 1, "{after}");
    }

    #[test]
    fn an_entry_is_replaced_where_it_stands() {
        let instead = Some("Edit(x)".parse().unwrap());
        let mending = Mending { instead, ..taken(Verdict::Deny, 9, 18) };
        let after = mended(TEXT, &[mending], Path::new("x")).unwrap();
        assert_eq!(after, TEXT.replace("Write(x)", "Edit(x)"));
    }

    #[test]
    fn a_text_that_changed_meanwhile_is_left_alone() {
        let result = mended(TEXT, &[taken(Verdict::Allow, 3, 1)], Path::new("x"));
        assert!(matches!(result, Err(SaveError::Changed(_))), "{result:?}");
    }
}
