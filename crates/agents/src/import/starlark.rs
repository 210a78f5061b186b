//! The little of Starlark that rule files are written in: calls with named arguments of texts and lists. Whoever writes
//! more than that is told the line; nothing is evaluated.

use super::{Unreadable, line_of};

/// A call at the top of a file: `name(argument = value, …)`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Invocation {
    pub(super) name: String,
    pub(super) arguments: Vec<(String, Literal)>,
    pub(super) line: usize,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Literal {
    Text(String),
    List(Vec<Literal>),
}

impl Invocation {
    pub(super) fn argument(&self, name: &str) -> Option<&Literal> {
        self.arguments.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }
}

/// Lists in lists deeper than this are refused.
const DEPTH: usize = 8;

/// Reads the calls of a file.
pub(super) fn read(text: &str) -> Result<Vec<Invocation>, Unreadable> {
    let mut reader = Reader { text, at: 0 };
    let mut calls = Vec::new();
    loop {
        reader.skip();
        if reader.rest().is_empty() {
            return Ok(calls);
        }
        calls.push(reader.invocation()?);
    }
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Passes over blanks, comments, and what separates statements.
    fn skip(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start_matches([' ', '\t', '\r', '\n', ';', '\\']);
            self.at += rest.len() - trimmed.len();
            match trimmed.strip_prefix('#') {
                Some(comment) => self.at += 1 + comment.find('\n').unwrap_or(comment.len()),
                None => return,
            }
        }
    }

    fn wrong<T>(&self, problem: &str) -> Result<T, Unreadable> {
        let line = line_of(self.text, self.at);
        Err(Unreadable { line, problem: format!("{problem}\nhelp: only calls with texts and lists are read") })
    }

    fn take(&mut self, sign: char) -> bool {
        self.skip();
        let found = self.rest().starts_with(sign);
        self.at += if found { sign.len_utf8() } else { 0 };
        found
    }

    fn name(&mut self) -> Option<&'a str> {
        self.skip();
        let rest = self.rest();
        let end = rest.find(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_')).unwrap_or(rest.len());
        let name = rest.get(..end).filter(|name| name.starts_with(|first: char| !first.is_ascii_digit()))?;
        self.at += end;
        Some(name)
    }

    fn invocation(&mut self) -> Result<Invocation, Unreadable> {
        let line = line_of(self.text, self.at);
        let Some(name) = self.name() else { return self.wrong("a call is missing here") };
        if !self.take('(') {
            return self.wrong(&format!("`{name}` is no call"));
        }
        let mut arguments = Vec::new();
        while !self.take(')') {
            let Some(argument) = self.name() else { return self.wrong("the name of an argument is missing here") };
            if !self.take('=') {
                return self.wrong(&format!("`{argument}` has no value"));
            }
            arguments.push((argument.to_owned(), self.literal(0)?));
            if !self.take(',') {
                if self.take(')') {
                    break;
                }
                return self.wrong("a comma or a closing parenthesis is missing here");
            }
        }
        Ok(Invocation { name: name.to_owned(), arguments, line })
    }

    fn literal(&mut self, depth: usize) -> Result<Literal, Unreadable> {
        if depth > DEPTH {
            return self.wrong("lists stand too deep in lists");
        }
        if !self.take('[') {
            return self.text_literal().map(Literal::Text);
        }
        let mut items = Vec::new();
        while !self.take(']') {
            items.push(self.literal(depth + 1)?);
            if !self.take(',') {
                if self.take(']') {
                    break;
                }
                return self.wrong("a comma or a closing bracket is missing here");
            }
        }
        Ok(Literal::List(items))
    }

    /// A text in single, double or triple quotes.
    fn text_literal(&mut self) -> Result<String, Unreadable> {
        self.skip();
        let quotes = ["\"\"\"", "'''", "\"", "'"];
        let Some(quote) = quotes.into_iter().find(|quote| self.rest().starts_with(quote)) else {
            return self.wrong("a text or a list is missing here");
        };
        self.at += quote.len();
        let mut text = String::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(quote) {
                self.at += quote.len();
                return Ok(text);
            }
            let mut letters = rest.chars();
            match letters.next() {
                None => return self.wrong("a text does not end"),
                Some('\n') if quote.len() == 1 => return self.wrong("a text does not end on its line"),
                Some('\\') => text.push(self.escaped(letters.next())?),
                Some(letter) => text.push(letter),
            }
            self.at += rest.chars().next().map_or(0, char::len_utf8);
        }
    }

    /// The letter that an escape stands for. Leaves the reader on the letter after the backslash.
    fn escaped(&mut self, letter: Option<char>) -> Result<char, Unreadable> {
        self.at += 1;
        match letter {
            Some('n') => Ok('\n'),
            Some('t') => Ok('\t'),
            Some('r') => Ok('\r'),
            Some(same @ ('\\' | '"' | '\'')) => Ok(same),
            _ => self.wrong("an escape is not understood"),
        }
    }
}
