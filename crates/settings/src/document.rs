//! A settings document: JSON with comments and trailing commas, and the place of every value in it.
//!
//! Says what stands where and nothing about what it means. Must never panic on any bytes, and never guess: what is
//! not JSON is an error with its place.

mod file;
mod plain;

use std::fmt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Number, Value as Json};

use crate::problem::Excerpt;

pub use file::{SIZE_LIMIT, open_at_once, read_text, read_to};

/// No more than this many characters of a value are underlined.
const WIDEST: usize = 200;

/// A place in a text: line and column from 1, the column in characters; all zero where there is no text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
    /// How many characters, on that line at least one.
    pub width: u32,
}

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where it stands.
    pub place: Place,
    /// What stands there.
    pub value: Value,
}

/// What stands in a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Flag(bool),
    /// A number.
    Number(Number),
    /// A text.
    Text(String),
    /// A list.
    List(Vec<Node>),
    /// An object, in the order of the text. A key that is written twice is there twice.
    Object(Vec<(Name, Node)>),
}

/// A key of an object, and its place.
#[derive(Clone, Debug, PartialEq)]
pub struct Name {
    /// Where it stands.
    pub place: Place,
    /// The key.
    pub text: String,
}

/// A whole document.
#[derive(Clone, Debug, PartialEq)]
pub struct Document {
    /// The text, for showing a line of it. Empty for a value that never was a text.
    pub text: Arc<str>,
    /// The outermost value.
    pub root: Node,
}

/// Why a document cannot be read at all.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unreadable {
    /// Not JSON.
    #[error("this is not JSON: {what}")]
    NotJson {
        /// What the parser found.
        what: String,
        /// Where.
        place: Place,
        /// The whole text.
        text: Arc<str>,
    },
    /// Nothing in it. It may have been cut off, so what it denied is not known.
    #[error("the file is empty")]
    Empty,
    /// Bytes that are no text.
    #[error("the file is not UTF-8 text: byte {at} is out of place")]
    NotText {
        /// How many good bytes come before.
        at: usize,
    },
    /// Too large.
    #[error("the file has more than {} MiB", SIZE_LIMIT / 1024 / 1024)]
    TooLarge,
    /// A directory, a socket, a pipe.
    #[error("this is not a file")]
    NotFile,
    /// The system refuses.
    #[error("the file cannot be read: {0}")]
    Refused(String),
}

impl Unreadable {
    /// What is wrong with a file, where in it, and the line with the part underlined.
    pub fn located(&self, file: &Path) -> String {
        match self {
            Unreadable::NotJson { place, text, .. } => {
                let excerpt = Excerpt::at(text, *place).map(|excerpt| excerpt.underlined(place.line));
                let lines = excerpt.map(|lines| format!("\n{lines}")).unwrap_or_default();
                format!("{self}\n  --> {}:{}:{}{lines}", file.display(), place.line, place.column)
            }
            Unreadable::Empty
            | Unreadable::NotText { .. }
            | Unreadable::TooLarge
            | Unreadable::NotFile
            | Unreadable::Refused(_) => format!("{self}\n  --> {}", file.display()),
        }
    }
}

impl Document {
    /// Reads a file; `None` when there is none.
    pub fn open(path: &Path) -> Result<Option<Self>, Unreadable> {
        match read_text(path)? {
            Some(text) => Self::parse(&text).map(Some),
            None => Ok(None),
        }
    }

    /// Reads a text.
    pub fn parse(text: &str) -> Result<Self, Unreadable> {
        if text.len() as u64 > SIZE_LIMIT {
            return Err(Unreadable::TooLarge);
        }
        // An editor's byte order mark is no part of the text.
        let text: Arc<str> = text.strip_prefix('\u{feff}').unwrap_or(text).into();
        match plain::read(&text) {
            Some(root) => Ok(Self { text, root }),
            None => parsed(&text),
        }
    }

    /// Takes a value that never was a text. Nothing in it has a place.
    pub fn of_value(value: &Json) -> Self {
        Self { text: "".into(), root: Node::of_value(value) }
    }
}

/// What is kept of a document whose values were taken out of it: enough to read it again. Most of those who load settings want
/// the policy alone.
#[derive(Clone, Debug)]
pub(crate) struct Kept {
    pub(crate) text: Arc<str>,
    root: OnceLock<Node>,
}

impl Kept {
    /// Of a document. One that never was a text is kept whole.
    pub(crate) fn of(Document { text, root }: &Document) -> Self {
        let root = if text.is_empty() { OnceLock::from(root.clone()) } else { OnceLock::new() };
        Self { text: Arc::clone(text), root }
    }

    /// The outermost value.
    pub(crate) fn root(&self) -> &Node {
        let read = || Document::parse(&self.text).map(|document| document.root);
        self.root.get_or_init(|| read().unwrap_or_else(|_| Node::of_value(&Json::Null)))
    }

    /// The whole document.
    pub(crate) fn document(&self) -> Document {
        Document { text: Arc::clone(&self.text), root: self.root().clone() }
    }
}

/// What the parser reads in a text.
fn parsed(text: &Arc<str>) -> Result<Document, Unreadable> {
    let parsed = parse_to_ast(text, &CollectOptions::default(), &leniency()).map_err(|error| {
        let range = error.range();
        let mut cursor = Cursor::new(text);
        let place = cursor.place(range.start, range.end);
        Unreadable::NotJson { what: lower_first(&error.kind().to_string()), place, text: Arc::clone(text) }
    })?;
    let value = parsed.value.ok_or(Unreadable::Empty)?;
    let root = Cursor::new(text).node(value);
    Ok(Document { text: Arc::clone(text), root })
}

/// Comments and trailing commas, and nothing else beyond JSON.
pub fn leniency() -> ParseOptions {
    ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
        allow_bare_decimal_point_numbers: false,
        allow_non_finite_numbers: false,
        allow_extended_string_escapes: false,
    }
}

fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Walks a text from front to back and turns offsets into places. It never goes back, so a file of one long line
/// costs no more than any other.
struct Cursor<'a> {
    text: &'a str,
    /// In such a text letters need not be counted.
    ascii: bool,
    offset: usize,
    line: u32,
    column: u32,
    /// Where the line ends that the offset is on.
    end: usize,
}

impl<'a> Cursor<'a> {
    fn new(text: &'a str) -> Self {
        let end = end_of_line(text, 0);
        Self { text, ascii: text.is_ascii(), offset: 0, line: 1, column: 1, end }
    }

    fn place(&mut self, start: usize, end: usize) -> Place {
        let start = start.min(self.text.len());
        while start > self.end {
            (self.offset, self.line, self.column) = (self.end + 1, self.line.saturating_add(1), 1);
            self.end = end_of_line(self.text, self.offset);
        }
        self.column = self.column.saturating_add(self.letters(self.offset, start));
        self.offset = start.max(self.offset);
        // A letter has four bytes at the most.
        let width = self.letters(start, end.min(self.end).min(start + 4 * WIDEST));
        Place { line: self.line, column: self.column, width: width.clamp(1, WIDEST as u32) }
    }

    /// How many letters begin in a part of the text: all bytes of UTF-8 but those that go on with one.
    fn letters(&self, from: usize, to: usize) -> u32 {
        if self.ascii {
            return count(to.saturating_sub(from));
        }
        let part = self.text.as_bytes().get(from..to).unwrap_or_default();
        count(part.iter().filter(|byte| **byte & 0b1100_0000 != 0b1000_0000).count())
    }

    fn node(&mut self, value: ast::Value<'_>) -> Node {
        let range = value.range();
        let place = self.place(range.start, range.end);
        let value = match value {
            ast::Value::NullKeyword(_) => Value::Null,
            ast::Value::BooleanLit(flag) => Value::Flag(flag.value),
            ast::Value::NumberLit(number) => Value::Number(number_of(number.value)),
            ast::Value::StringLit(text) => Value::Text(text.value.into_owned()),
            ast::Value::Array(list) => Value::List(list.elements.into_iter().map(|item| self.node(item)).collect()),
            ast::Value::Object(object) => {
                Value::Object(object.properties.into_iter().map(|property| self.property(property)).collect())
            }
        };
        Node { place, value }
    }

    fn property(&mut self, property: ast::ObjectProp<'_>) -> (Name, Node) {
        let range = property.name.range();
        let place = self.place(range.start, range.end);
        (Name { place, text: property.name.into_string() }, self.node(property.value))
    }
}

/// Where the line ends that a place is on: at the next break, or with the text.
fn end_of_line(text: &str, from: usize) -> usize {
    let rest = text.get(from..).unwrap_or_default();
    rest.find('\n').map_or(text.len(), |length| from + length)
}

/// A count as places have it. No document is as long as that.
fn count(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// A number as JSON knows it. The grammar was checked before; a number beyond the range of a double is as good as 0
/// for every setting there is, because each states its own bounds.
fn number_of(text: &str) -> Number {
    text.parse().unwrap_or_else(|_| Number::from(0))
}

impl Node {
    fn of_value(value: &Json) -> Self {
        let value = match value {
            Json::Null => Value::Null,
            Json::Bool(flag) => Value::Flag(*flag),
            Json::Number(number) => Value::Number(number.clone()),
            Json::String(text) => Value::Text(text.clone()),
            Json::Array(items) => Value::List(items.iter().map(Node::of_value).collect()),
            Json::Object(members) => {
                let name = |text: &String| Name { place: Place::default(), text: text.clone() };
                Value::Object(members.iter().map(|(key, value)| (name(key), Node::of_value(value))).collect())
            }
        };
        Self { place: Place::default(), value }
    }

    /// The same without places.
    pub fn to_value(&self) -> Json {
        match &self.value {
            Value::Null => Json::Null,
            Value::Flag(flag) => Json::Bool(*flag),
            Value::Number(number) => Json::Number(number.clone()),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => Json::Array(items.iter().map(Node::to_value).collect()),
            Value::Object(members) => Json::Object(
                members.iter().map(|(name, node)| (name.text.clone(), node.to_value())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::List(_) | Value::Object(_) => None,
        }
    }

    /// The members, if it is an object.
    pub fn members(&self) -> Option<&[(Name, Node)]> {
        match &self.value {
            Value::Object(members) => Some(members),
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => None,
        }
    }

    /// A member of an object: the last one of that name, as every JSON reader has it.
    pub fn member(&self, name: &str) -> Option<&Node> {
        self.members()?.iter().rev().find(|(key, _)| key.text == name).map(|(_, node)| node)
    }
}

impl fmt::Display for Value {
    /// What kind of value it is, for messages.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Value::Null => "null",
            Value::Flag(_) => "true or false",
            Value::Number(_) => "a number",
            Value::Text(_) => "a text",
            Value::List(_) => "a list",
            Value::Object(_) => "an object",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(document: &Document, path: &[&str]) -> (u32, u32) {
        let node = path.iter().fold(&document.root, |node, key| node.member(key).unwrap());
        (node.place.line, node.place.column)
    }

    /// Whoever wants a document again gets the same one.
    #[test]
    fn what_is_kept_of_a_document_is_enough() {
        let texts = ["{\"a\": [\"x\", 1, true]}", "\u{feff}// why\n{\"a\": {\"ü\": null,}}", " [] "];
        let read = texts.map(|text| Document::parse(text).unwrap());
        let values = [serde_json::json!({"a": ["x"]}), serde_json::json!(null)];
        for document in read.into_iter().chain(values.iter().map(Document::of_value)) {
            let kept = Kept::of(&document);
            assert_eq!(kept.root(), &document.root);
            assert_eq!(kept.document(), document);
        }
    }

    #[test]
    fn comments_and_trailing_commas_are_read_and_places_kept() {
        let text = "// why\n{\n  \"a\": /* ä */ [1, \"ü\", {\"b\": true,},],\n  \"c\": null,\n}\n";
        let document = Document::parse(text).unwrap();
        assert_eq!(place_of(&document, &["a"]), (3, 16));
        assert_eq!(place_of(&document, &["c"]), (4, 8));
        let Value::List(items) = &document.root.member("a").unwrap().value else { panic!() };
        assert_eq!((items[2].place.line, items[2].place.column), (3, 25), "columns are characters");
    }

    #[test]
    fn places_are_those_of_a_walk_letter_by_letter() {
        let long = "ü".repeat(2 * WIDEST);
        for text in ["", "\n", "ab\n\nc", "\r\nä\nöö ü\n", "no break", &long] {
            let mut cursor = Cursor::new(text);
            let ends: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            for (number, &start) in ends.iter().enumerate() {
                let (before, behind) = text.split_at(start);
                let line = before.rsplit('\n').next().unwrap_or_default();
                let seen = ends.get(number + 3).map_or(behind, |&end| &text[start..end]).split('\n').next().unwrap();
                let wanted = Place {
                    line: 1 + before.matches('\n').count() as u32,
                    column: 1 + line.chars().count() as u32,
                    width: seen.chars().count().clamp(1, WIDEST) as u32,
                };
                let end = ends.get(number + 3).copied().unwrap_or(text.len());
                assert_eq!(cursor.place(start, end), wanted, "{start} in {text:?}");
            }
            assert_eq!(cursor.place(text.len() + 5, text.len() + 9).width, 1, "beyond its end");
        }
    }

    #[test]
    fn what_is_not_json_says_where() {
        for (text, line, column) in [("{\n  \"a\": ]\n}", 2, 8), ("{'a': 1}", 1, 2), ("{\"a\": 1 \"b\": 2}", 1, 8)] {
            match Document::parse(text) {
                Err(Unreadable::NotJson { place, .. }) => {
                    assert_eq!((place.line, place.column), (line, column), "{text}")
                }
                other => panic!("{text}: {other:?}"),
            }
        }
        assert_eq!(Document::parse("  // nothing\n"), Err(Unreadable::Empty));
    }

    #[test]
    fn deep_nesting_is_an_error_and_not_a_crash() {
        let deep = "[".repeat(100_000);
        assert!(matches!(Document::parse(&deep), Err(Unreadable::NotJson { .. })));
        let objects = "{\"a\":".repeat(100_000);
        assert!(matches!(Document::parse(&objects), Err(Unreadable::NotJson { .. })));
    }

    #[test]
    fn one_line_of_ten_megabytes_is_read_in_linear_time() {
        let rules: Vec<String> = (0..300_000).map(|number| format!("\"Bash(tool-{number} run:*)\"")).collect();
        let document = Document::parse(&format!("[{}]", rules.join(","))).unwrap();
        let Value::List(items) = &document.root.value else { panic!() };
        assert_eq!(items.len(), 300_000);
        assert_eq!(items[1].place.column, 2 + "\"Bash(tool-0 run:*)\"".len() as u32 + 1);
    }

    #[test]
    fn a_byte_order_mark_is_no_part_of_the_text() {
        assert!(Document::parse("\u{feff}{}").is_ok());
    }
}
