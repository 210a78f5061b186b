//! Here-documents: delimiters now, bodies after the next newline.

use super::cursor::{Parsed, Parser};
use super::tree::{Fragment, HereBody, HereDocument, Target};
use crate::word::Span;
use std::mem;

/// A here-document whose body has not come yet.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Its place in the list of here-documents.
    index: usize,
    delimiter: String,
    /// Any part of the delimiter was quoted: the body is data.
    expansion: Expansion,
    tabs: Tabs,
}

/// What happens to a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expansion {
    Expanded,
    Data,
}

/// What happens to leading tabs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tabs {
    /// `<<`.
    Kept,
    /// `<<-`.
    Stripped,
}

impl Parser<'_> {
    /// The delimiter after `<<`; the body is read at the next newline.
    pub(super) fn here_document(&mut self, tabs: Tabs) -> Parsed<Target> {
        self.skip_blanks();
        let start = self.position;
        let mut delimiter = Vec::new();
        let mut expansion = Expansion::Expanded;
        while let Some(byte) = self.peek().filter(|&byte| !super::classes::ends_word(byte)) {
            self.position += 1;
            match byte {
                b'\'' | b'"' => {
                    expansion = Expansion::Data;
                    self.quoted_delimiter(byte, &mut delimiter)?;
                }
                b'\\' => {
                    expansion = Expansion::Data;
                    let quoted = self.byte(self.position);
                    delimiter.extend(quoted);
                    self.position += usize::from(quoted.is_some());
                }
                b'$' if matches!(self.peek(), Some(b'(' | b'{' | b'[' | b'\'' | b'"')) => {
                    return Err(self.syntax_from(start, "a plain delimiter"));
                }
                b'`' => return Err(self.syntax_from(start, "a plain delimiter")),
                _ => delimiter.push(byte),
            }
        }
        let delimiter = String::from_utf8(delimiter).map_err(|_| self.syntax("a delimiter"))?;
        if start == self.position {
            return Err(self.syntax("the delimiter of a here-document"));
        }
        self.refuse_foreign_blanks(self.span_from(start))?;
        let index = self.here.len();
        self.here.push(HereDocument { span: Span::default(), body: HereBody::Data(String::new()) });
        self.pending.push(Pending { index, delimiter, expansion, tabs });
        Ok(Target::Here(index))
    }

    fn quoted_delimiter(&mut self, quote: u8, delimiter: &mut Vec<u8>) -> Parsed<()> {
        while let Some(byte) = self.byte(self.position) {
            self.position += 1;
            match byte {
                _ if byte == quote => return Ok(()),
                b'\n' => break,
                b'\\' if quote == b'"' => match self.byte(self.position) {
                    Some(next @ (b'"' | b'\\' | b'$' | b'`')) => {
                        delimiter.push(next);
                        self.position += 1;
                    }
                    Some(_) | None => delimiter.push(byte),
                },
                _ => delimiter.push(byte),
            }
        }
        Err(self.syntax("a closing quote on the same line"))
    }

    /// Steps over a newline and reads the bodies that start after it.
    pub(super) fn newline(&mut self) -> Parsed<()> {
        self.bump();
        self.here_documents()
    }

    /// Reads the bodies of all pending here-documents; the head stands at the start of a line.
    pub(super) fn here_documents(&mut self) -> Parsed<()> {
        for pending in mem::take(&mut self.pending) {
            let (span, after) = self.body_lines(&pending);
            let body = self.here_body(&pending, span)?;
            if let Some(slot) = self.here.get_mut(pending.index) {
                *slot = HereDocument { span, body };
            }
            self.position = after;
        }
        Ok(())
    }

    /// Where the body ends, and where the text goes on after the delimiter's line.
    fn body_lines(&self, pending: &Pending) -> (Span, usize) {
        let start = self.position.min(self.end);
        let mut line = start;
        while line < self.end {
            let (end, next) = self.logical_line(line, pending.expansion);
            if self.is_delimiter(Span { start: line, end }, pending) {
                return (Span { start, end: line }, next);
            }
            line = next;
        }
        (Span { start, end: self.end }, self.end)
    }

    /// End of the line at `start` and start of the next; an expanded body joins lines at a backslash.
    fn logical_line(&self, start: usize, expansion: Expansion) -> (usize, usize) {
        let mut at = start;
        while let Some(byte) = self.byte(at) {
            match byte {
                b'\n' => return (at, at + 1),
                b'\\' if expansion == Expansion::Expanded => at += 2,
                _ => at += 1,
            }
        }
        (self.end, self.end)
    }

    fn is_delimiter(&self, line: Span, pending: &Pending) -> bool {
        let mut at = line.start;
        while pending.tabs == Tabs::Stripped && at < line.end && self.byte(at) == Some(b'\t') {
            at += 1;
        }
        for &expected in pending.delimiter.as_bytes() {
            if pending.expansion == Expansion::Expanded {
                at = self.past_continuations(at);
            }
            if at >= line.end || self.byte(at) != Some(expected) {
                return false;
            }
            at += 1;
        }
        if pending.expansion == Expansion::Expanded {
            at = self.past_continuations(at);
        }
        at >= line.end
    }

    fn here_body(&mut self, pending: &Pending, span: Span) -> Parsed<HereBody> {
        let text = self.slice(span);
        let stripped = match pending.tabs {
            Tabs::Kept => None,
            Tabs::Stripped => strip_tabs(text),
        };
        match (pending.expansion, stripped) {
            (Expansion::Data, stripped) => Ok(HereBody::Data(stripped.unwrap_or_else(|| text.to_owned()))),
            (Expansion::Expanded, None) => {
                Ok(HereBody::Expanded(self.deeper(|parser| parser.within(span, Self::here_text))?))
            }
            // Bash joins lines before it strips; what a joined line's tabs become is not worth guessing.
            (Expansion::Expanded, Some(_)) if text.contains("\\\n\t") => {
                Err(self.syntax_from(span.start, "no tab after a joined line of `<<-`"))
            }
            (Expansion::Expanded, Some(text)) => {
                let (content, here) = self.deeper(|parser| parser.reread(&text, span, Parser::here_text))?;
                Ok(HereBody::Rewritten(Fragment { text: text.into(), content, here: here.into() }))
            }
        }
    }
}

/// The text with the tabs at the start of each line removed; `None` when there are none.
fn strip_tabs(text: &str) -> Option<String> {
    let starts_with_tab = |line: &str| line.starts_with('\t');
    if !text.split_inclusive('\n').any(starts_with_tab) {
        return None;
    }
    Some(text.split_inclusive('\n').map(|line| line.trim_start_matches('\t')).collect())
}
