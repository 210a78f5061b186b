//! Rules as they are written in a settings document: a text, or an object with a tool and content.

use mayi_core::policy::Written;
use mayi_core::rule::{Rule, RuleError};
use mayi_core::verdict::Verdict;

use crate::document::{Node, Value};
use crate::secret;

/// The rule at a node, whatever stands there. A text is moved out of the node. What the rule keeps as its text is for showing, in
/// traces and messages, so a secret is hidden in it; what it matches is not touched.
pub(crate) fn written(verdict: Verdict, node: &mut Node) -> Written {
    let mut written = as_written(verdict, node);
    if secret::find(&written.text).is_some() {
        written.reading = Some(Box::new(written.rule()));
        secret::redact(&mut written.text);
    }
    written
}

fn as_written(verdict: Verdict, node: &mut Node) -> Written {
    match &mut node.value {
        Value::Text(text) => {
            let text = std::mem::take(text);
            at(node, verdict, text)
        }
        Value::Object(_) => object(verdict, node),
        Value::Null | Value::Flag(_) | Value::Number(_) | Value::List(_) => unreadable(verdict, node),
    }
}

/// A text that stands at a node.
fn at(node: &Node, verdict: Verdict, text: String) -> Written {
    let Node { place, .. } = node;
    Written { verdict, text, reading: None, line: place.line, column: place.column }
}

/// `{"tool": …, "content": …}`.
fn object(verdict: Verdict, node: &Node) -> Written {
    let Some(tool) = node.member("tool").and_then(Node::text) else { return unreadable(verdict, node) };
    let content = match node.member("content") {
        None => None,
        Some(content) => match content.text() {
            Some(content) => Some(content),
            None => return wrong(verdict, node, format!("{tool}({})", content.to_value())),
        },
    };
    // Something else in an allow rule may have been meant to narrow it; a deny is safe without it.
    let others =
        node.members().unwrap_or_default().iter().any(|(name, _)| !matches!(name.text.as_str(), "tool" | "content"));
    if others && verdict == Verdict::Allow {
        return wrong(verdict, node, format!("{tool}({})", content.unwrap_or_default()));
    }
    let rule = content.map_or_else(|| Rule::tool(tool), |content| Rule::content(tool, content));
    let text = rule.to_string();
    match text.parse::<Rule>() {
        Ok(read) if read != rule => wrong(verdict, node, text),
        Ok(_) | Err(_) => at(node, verdict, text),
    }
}

/// Something that is no rule at all and names no tool. Its text holds a blank, which no tool's name does: as a deny
/// or ask it concerns every tool until it is mended.
pub(crate) fn unreadable(verdict: Verdict, node: &Node) -> Written {
    let json: String = node.to_value().to_string().chars().take(80).collect();
    wrong(verdict, node, format!("{} {json}", node.value))
}

fn wrong(verdict: Verdict, node: &Node, text: String) -> Written {
    Written { reading: Some(Box::new(Err(RuleError::WrongType))), ..at(node, verdict, text) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::Document;

    fn read(verdict: Verdict, text: &str) -> Written {
        written(verdict, &mut Document::parse(text).unwrap().root)
    }

    #[test]
    fn the_object_form_means_the_same_without_escapes() {
        let object = read(Verdict::Deny, r#"{"tool": "Bash", "content": "rm -rf:*"}"#);
        assert_eq!(object.rule(), "Bash(rm -rf:*)".parse());
        assert_eq!(object.text, "Bash(rm -rf:*)");
        let odd = read(Verdict::Deny, r#"{"tool": "Bash", "content": "echo ) \\("}"#);
        assert_eq!(odd.rule().unwrap().content.as_deref(), Some("echo ) \\("));
        assert_eq!(read(Verdict::Allow, r#"{"tool": "Read"}"#).rule(), "Read".parse());
        assert_eq!(read(Verdict::Allow, r#"{"tool": "Task", "content": "x"}"#).text, "Agent(x)");
    }

    #[test]
    fn a_secret_is_matched_and_not_shown() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let rule = read(Verdict::Deny, &format!("\"Bash(curl -H {token}:*)\""));
        assert_eq!(rule.text, "Bash(curl -H [secret]:*)");
        assert_eq!(rule.rule().unwrap().content, Some(format!("curl -H {token}:*")));
    }

    #[test]
    fn what_is_no_rule_is_malformed() {
        for text in
            ["42", "null", "[]", r#"{"content": "x"}"#, r#"{"tool": 5}"#, r#"{"tool": "Bash(ls)"}"#, r#"{"tool": ""}"#]
        {
            assert!(read(Verdict::Deny, text).rule().is_err(), "{text}");
        }
        let known = read(Verdict::Deny, r#"{"tool": "Bash", "content": 5}"#);
        assert_eq!(Rule::tool_of(&known.text), "Bash", "the tool is still known");
        assert!(unreadable(Verdict::Deny, &Document::parse("42").unwrap().root).text.contains(' '));
    }

    #[test]
    fn an_allow_with_something_more_to_say_grants_nothing() {
        let text = r#"{"tool": "Bash", "content": "ls", "expires": "tomorrow"}"#;
        assert!(read(Verdict::Allow, text).rule().is_err());
        assert!(read(Verdict::Deny, text).rule().is_ok());
    }
}
