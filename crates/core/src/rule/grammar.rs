//! The grammar of a rule: `Tool` or `Tool(content)`. Parsing and printing are inverse.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

use crate::catalogue;

/// A rule as written: a tool, or a tool and the content it is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Rule {
    /// The tool's present name, or a glob over names.
    pub tool: String,
    /// What the rule is about; `None` is the whole tool.
    pub content: Option<String>,
}

/// Why a rule cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RuleError {
    /// Nothing there.
    #[error("the rule is empty")]
    Empty,
    /// `Tool(content` without an end.
    #[error("`(` is never closed")]
    Unclosed,
    /// Text after the closing parenthesis.
    #[error("`{0}` stands after the closing `)`")]
    Trailing(String),
    /// `)` without `(`.
    #[error("`)` without a `(` before it")]
    Unopened,
    /// `(content)` without a tool.
    #[error("there is no tool name before `(`")]
    NoTool,
    /// A blank or control character in the tool's name.
    #[error("the tool name `{0}` holds a blank")]
    BlankInName(String),
    /// Not a text and not a rule object.
    #[error("a rule is text such as `Bash(npm test:*)`, or {{\"tool\": …, \"content\": …}}")]
    WrongType,
    /// An MCP tool's rule with content.
    #[error("a rule for an MCP tool takes no content")]
    McpContent,
    /// A glob in an allow rule that is wider than one MCP server's tools.
    #[error("an allow rule takes `*` in a tool name only after a literal `mcp__SERVER__`")]
    WideAllow,
}

impl Rule {
    /// The whole tool.
    pub fn tool(name: &str) -> Self {
        Self::with(name, None)
    }

    /// A tool and content. Empty content and `*` mean the whole tool.
    pub fn content(name: &str, content: &str) -> Self {
        Self::with(name, Some(content))
    }

    fn with(name: &str, content: Option<&str>) -> Self {
        let content = content.filter(|content| !matches!(content.trim(), "" | "*"));
        Self { tool: catalogue::present_name(name).to_owned(), content: content.map(str::to_owned) }
    }

    /// Whether the tool part is a glob.
    pub fn names_many(&self) -> bool {
        self.tool.contains('*')
    }

    /// The tool that a text is about, however broken the rest of it is: what stands before the first `(`.
    pub fn tool_of(text: &str) -> &str {
        let end = text.find(['(', ')']).unwrap_or(text.len());
        catalogue::present_name(text.get(..end).unwrap_or(text).trim())
    }
}

impl FromStr for Rule {
    type Err = RuleError;

    fn from_str(text: &str) -> Result<Self, RuleError> {
        let text = text.trim();
        let Some(open) = find_unescaped(text, b'(') else {
            return if text.contains(')') { Err(RuleError::Unopened) } else { named(text).map(Rule::tool) };
        };
        let (name, rest) = text.split_at(open);
        let inside = rest.strip_prefix('(').unwrap_or(rest);
        let close = rfind_unescaped(inside, b')').ok_or(RuleError::Unclosed)?;
        let (content, end) = inside.split_at(close);
        match end.strip_prefix(')') {
            Some("") | None => {}
            Some(trailing) => return Err(RuleError::Trailing(trailing.to_owned())),
        }
        match named(name) {
            Err(RuleError::Empty) => Err(RuleError::NoTool),
            Err(other) => Err(other),
            Ok(name) => Ok(match content.as_bytes().contains(&b'\\') {
                true => Rule::content(name, &unescape(content)),
                false => Rule::content(name, content),
            }),
        }
    }
}

fn named(name: &str) -> Result<&str, RuleError> {
    if name.is_empty() {
        return Err(RuleError::Empty);
    }
    if name.bytes().all(|byte| byte.is_ascii_graphic() && byte != b')') {
        return Ok(name);
    }
    if name.contains(')') {
        return Err(RuleError::Unopened);
    }
    if name.contains(|letter: char| letter.is_whitespace() || letter.is_control()) {
        return Err(RuleError::BlankInName(name.to_owned()));
    }
    Ok(name)
}

/// The place of the first `wanted` that an odd run of backslashes does not stand before.
fn find_unescaped(text: &str, wanted: u8) -> Option<usize> {
    let mut bytes = text.bytes().enumerate();
    bytes.find(|&(at, byte)| byte == wanted && !is_escaped(text, at)).map(|(at, _)| at)
}

fn rfind_unescaped(text: &str, wanted: u8) -> Option<usize> {
    let mut bytes = text.bytes().enumerate().rev();
    bytes.find(|&(at, byte)| byte == wanted && !is_escaped(text, at)).map(|(at, _)| at)
}

fn is_escaped(text: &str, at: usize) -> bool {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    before.iter().rev().take_while(|&&byte| byte == b'\\').count() % 2 == 1
}

/// `\(`, `\)` and `\\` lose their backslash; every other backslash stays (`\*` belongs to the pattern).
fn unescape(content: &str) -> String {
    let mut plain = String::with_capacity(content.len());
    let mut letters = content.chars().peekable();
    while let Some(letter) = letters.next() {
        match (letter, letters.peek()) {
            ('\\', Some('(' | ')' | '\\')) => plain.extend(letters.next()),
            _ => plain.push(letter),
        }
    }
    plain
}

/// The inverse of [`unescape`], with as few backslashes as will do: plain parentheses need none.
fn escape(content: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let mut letters = content.chars().peekable();
    while let Some(letter) = letters.next() {
        if letter == '\\' && matches!(letters.peek(), Some('(' | ')' | '\\') | None) {
            f.write_str("\\")?;
        }
        write!(f, "{letter}")?;
    }
    Ok(())
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.tool)?;
        let Some(content) = &self.content else { return Ok(()) };
        f.write_str("(")?;
        escape(content, f)?;
        f.write_str(")")
    }
}

impl Serialize for Rule {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(text: &str) -> Result<Rule, RuleError> {
        text.parse()
    }

    #[test]
    fn parentheses_inside_content_are_plain() {
        let rule = parse("Edit(./Finance (2024)/**)").unwrap();
        assert_eq!(rule, Rule::content("Edit", "./Finance (2024)/**"));
        assert_eq!(rule.to_string(), "Edit(./Finance (2024)/**)");
    }

    #[test]
    fn escapes_are_undone_once() {
        assert_eq!(parse(r"Bash(echo \) \\)").unwrap().content.as_deref(), Some(r"echo ) \"));
        assert_eq!(parse(r"Bash(a\*b)").unwrap().content.as_deref(), Some(r"a\*b"));
    }

    #[test]
    fn whole_tool_spellings() {
        for text in ["Bash", "Bash()", "Bash(*)", " Bash "] {
            assert_eq!(parse(text).unwrap(), Rule::tool("Bash"), "{text}");
        }
    }

    #[test]
    fn old_names_are_rewritten() {
        assert_eq!(parse("Task(Explore)").unwrap(), Rule::content("Agent", "Explore"));
        assert_eq!(parse("KillShell").unwrap(), Rule::tool("TaskStop"));
    }

    #[test]
    fn broken_rules_say_what_is_wrong() {
        assert_eq!(parse(""), Err(RuleError::Empty));
        assert_eq!(parse("Bash("), Err(RuleError::Unclosed));
        assert_eq!(parse(r"Bash(x\)"), Err(RuleError::Unclosed));
        assert_eq!(parse("Bash(x)y"), Err(RuleError::Trailing("y".into())));
        assert_eq!(parse("Bash)"), Err(RuleError::Unopened));
        assert_eq!(parse(")x()"), Err(RuleError::Unopened));
        assert_eq!(parse("(x)"), Err(RuleError::NoTool));
        assert_eq!(parse("Bash (x)"), Err(RuleError::BlankInName("Bash ".into())));
        assert_eq!(Rule::tool_of("Bash(x"), "Bash");
    }

    proptest! {
        #[test]
        fn parse_and_print_are_inverse(tool in "[A-Z][a-zA-Z_]{0,8}", content in r"[ab()\\* :/.~\n]{0,12}") {
            let rule = Rule::content(&tool, &content);
            prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
        }

        #[test]
        fn any_text_is_read_or_refused(text in ".{0,40}") {
            if let Ok(rule) = text.parse::<Rule>() {
                prop_assert_eq!(rule.to_string().parse::<Rule>(), Ok(rule));
            }
        }
    }
}
