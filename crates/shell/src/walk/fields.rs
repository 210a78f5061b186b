//! Fields: the words an expansion makes, collected piece by piece.
//!
//! Quoted text is taken as it is, unquoted text may hold patterns, and the value of an unquoted variable is
//! split and may hold patterns too.

use crate::word::{Hole, HoleKind, Part, Value};

/// Bytes one word may expand to.
const ROOM: usize = 256 * 1024;

/// Whether values split into fields and patterns count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Splitting {
    /// As for the words of a command.
    Fields,
    /// As on the right of `=`, in a redirection's here-string, in `[[ … ]]`: exactly one word.
    Whole,
}

/// Inside double quotes or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quotes {
    Outside,
    Inside,
}

/// Whether more of the word follows a piece of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rest {
    /// Nothing.
    End,
    /// Something, which may close a bracket.
    More,
}

/// Fields under construction.
pub(super) struct Fields {
    splitting: Splitting,
    values: Vec<Value>,
    parts: Vec<Part>,
    text: String,
    /// The pattern being collected; everything after its first special character belongs to it.
    pattern: Option<String>,
    /// The current field exists, be it empty: `""`.
    present: bool,
    room: usize,
}

impl Fields {
    pub(super) fn new(splitting: Splitting) -> Self {
        Self {
            splitting,
            values: Vec::new(),
            parts: Vec::new(),
            text: String::new(),
            pattern: None,
            present: false,
            room: ROOM,
        }
    }

    /// Room for `bytes` more.
    fn take(&mut self, bytes: usize) -> bool {
        let fits = bytes <= self.room;
        self.room = self.room.saturating_sub(bytes);
        fits
    }

    /// Quoted text.
    pub(super) fn quoted(&mut self, text: &str) {
        self.present = true;
        if !self.take(text.len()) {
            return;
        }
        match &mut self.pattern {
            None => self.text.push_str(text),
            Some(pattern) => {
                for c in text.chars() {
                    if matches!(c, '*' | '?' | '[' | '\\') {
                        pattern.push('\\');
                    }
                    pattern.push(c);
                }
            }
        }
    }

    /// Unquoted text as written, which may hold patterns.
    pub(super) fn bare(&mut self, text: &str, rest: Rest) {
        if text.is_empty() || !self.take(text.len()) {
            return;
        }
        self.present = true;
        if let Some(pattern) = &mut self.pattern {
            return pattern.push_str(text);
        }
        match pattern_start(text, rest) {
            Some(start) if self.splitting == Splitting::Fields => {
                let (before, after) = text.split_at(start);
                self.text.push_str(before);
                self.flush_text();
                self.pattern = Some(after.to_owned());
            }
            Some(_) | None => self.text.push_str(text),
        }
    }

    /// A whole pattern piece such as `@(a|b)`.
    pub(super) fn pattern(&mut self, text: &str) {
        self.present = true;
        if self.splitting == Splitting::Whole {
            return self.text.push_str(text);
        }
        match &mut self.pattern {
            Some(pattern) => pattern.push_str(text),
            None => {
                self.flush_text();
                self.pattern = Some(text.to_owned());
            }
        }
    }

    /// The value of an unquoted variable.
    pub(super) fn split(&mut self, value: &str) {
        if self.splitting == Splitting::Whole {
            return self.quoted(value);
        }
        let is_blank = |c: char| matches!(c, ' ' | '\t' | '\n');
        let mut rest = value;
        while !rest.is_empty() {
            let end = rest.find(is_blank).unwrap_or(rest.len());
            let (chunk, after) = rest.split_at(end);
            self.bare(chunk, Rest::End);
            rest = after.trim_start_matches(is_blank);
            if after.len() > rest.len() {
                self.end_field();
            }
        }
    }

    /// An unknown part.
    pub(super) fn hole(&mut self, kind: HoleKind, quotes: Quotes) {
        self.present = true;
        self.flush_text();
        self.flush_pattern();
        self.parts.push(Part::Hole(Hole { kind, quoted: quotes == Quotes::Inside }));
    }

    /// The next text starts a new field.
    pub(super) fn end_field(&mut self) {
        if self.splitting == Splitting::Whole {
            return self.quoted(" ");
        }
        if !std::mem::take(&mut self.present) {
            return;
        }
        if self.parts.is_empty() && self.pattern.is_none() {
            self.values.push(Value::Literal(std::mem::take(&mut self.text)));
            return;
        }
        self.flush_text();
        self.flush_pattern();
        self.values.push(Value::Template(std::mem::take(&mut self.parts)));
    }

    /// All fields; `None` when they grew beyond the room.
    pub(super) fn finish(mut self) -> Option<Vec<Value>> {
        if self.splitting == Splitting::Whole {
            self.splitting = Splitting::Fields;
            self.present = true;
        }
        self.end_field();
        (self.room > 0).then_some(self.values)
    }

    fn flush_text(&mut self) {
        if !self.text.is_empty() {
            self.parts.push(Part::Text(std::mem::take(&mut self.text)));
        }
    }

    fn flush_pattern(&mut self) {
        if let Some(pattern) = self.pattern.take() {
            self.parts.push(Part::Hole(Hole { kind: HoleKind::Glob(pattern), quoted: false }));
        }
    }
}

/// The first character of a pattern. A `[` counts only when a `]` follows somewhere: alone it is a command.
fn pattern_start(text: &str, rest: Rest) -> Option<usize> {
    text.char_indices()
        .find(|&(at, c)| match c {
            '*' | '?' => true,
            '[' => rest == Rest::More || text.get(at + 1..).is_some_and(|rest| rest.contains(']')),
            _ => false,
        })
        .map(|(at, _)| at)
}
