//! Quotes: `'…'`, `$'…'`, `"…"`, and the text of here-documents.

use super::cursor::{Parsed, Parser};
use super::tree::Piece;
use super::word::Place;
use crate::word::Span;

impl Parser<'_> {
    /// `'…'`.
    pub(super) fn single_quoted(&mut self) -> Parsed<Piece> {
        Ok(Piece::Single(self.single_quoted_span()?))
    }

    /// The text between single quotes; the head stands on the first of them.
    fn single_quoted_span(&mut self) -> Parsed<Span> {
        let start = self.position;
        self.position += 1;
        while let Some(byte) = self.byte(self.position) {
            self.position += 1;
            if byte == b'\'' {
                return Ok(Span { start: start + 1, end: self.position - 1 });
            }
        }
        Err(self.syntax_from(start, "closing `'`"))
    }

    /// Single quotes where bash pairs them but expands what they hold: `"${x:-'$(cmd)'}"`, `$(( '$x' ))`.
    pub(super) fn transparent_quotes(&mut self, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let inner = self.single_quoted_span()?;
        let after = self.position;
        pieces.push(Piece::Bare(Span { start: inner.start - 1, end: inner.start }));
        let inside = self.within(inner, Self::here_text)?;
        pieces.extend(inside);
        pieces.push(Piece::Bare(Span { start: inner.end, end: inner.end + 1 }));
        self.position = after;
        Ok(())
    }

    /// `"…"`.
    pub(super) fn double_quoted(&mut self) -> Parsed<Piece> {
        let start = self.position;
        self.bump();
        let mut pieces = Vec::new();
        while let Some(byte) = self.peek() {
            if byte == b'"' {
                self.bump();
                return Ok(Piece::Double(pieces));
            }
            self.quoted_piece(byte, Place::Double, &mut pieces)?;
        }
        Err(self.syntax_from(start, "closing `\"`"))
    }

    /// Everything up to the limit, read like the body of an unquoted here-document.
    pub(super) fn here_text(&mut self) -> Parsed<Vec<Piece>> {
        let mut pieces = Vec::new();
        while let Some(byte) = self.peek() {
            self.quoted_piece(byte, Place::Here, &mut pieces)?;
        }
        Ok(pieces)
    }

    /// One piece inside double quotes or a here-document; never called at the byte that ends them.
    pub(super) fn quoted_piece(&mut self, byte: u8, place: Place, pieces: &mut Vec<Piece>) -> Parsed<()> {
        let piece = match byte {
            b'$' => self.dollar(place)?,
            b'`' => self.backquoted(place)?,
            b'\\' => self.quoted_backslash(place),
            _ => self.quoted_run(),
        };
        pieces.push(piece);
        Ok(())
    }

    /// A backslash inside double quotes quotes only what would otherwise mean something.
    fn quoted_backslash(&mut self, place: Place) -> Piece {
        let escapes = match self.byte(self.position + 1) {
            Some(b'$' | b'`' | b'\\') => true,
            Some(b'"') => place == Place::Double,
            Some(_) | None => false,
        };
        if escapes {
            return self.escaped();
        }
        let start = self.position;
        self.position += 1;
        Piece::Bare(self.span_from(start))
    }

    fn quoted_run(&mut self) -> Piece {
        let start = self.position;
        self.position += 1;
        while !matches!(self.byte(self.position), None | Some(b'"' | b'\\' | b'$' | b'`' | b'}' | b'\'')) {
            self.position += 1;
        }
        Piece::Bare(self.span_from(start))
    }

    /// `$'…'`; the head stands on the quote.
    pub(super) fn ansi_quoted(&mut self) -> Parsed<Piece> {
        let start = self.position;
        self.position += 1;
        let mut value = Vec::new();
        while let Some(byte) = self.byte(self.position) {
            self.position += 1;
            match byte {
                b'\'' => return Ok(Piece::Ansi(decoded(value))),
                b'\\' => self.ansi_escape(&mut value),
                _ => value.push(byte),
            }
        }
        Err(self.syntax_from(start, "closing `'`"))
    }

    /// What follows a backslash inside `$'…'`.
    fn ansi_escape(&mut self, value: &mut Vec<u8>) {
        let Some(byte) = self.byte(self.position) else { return value.push(b'\\') };
        self.position += 1;
        match byte {
            b'a' => value.push(7),
            b'b' => value.push(8),
            b'e' | b'E' => value.push(27),
            b'f' => value.push(12),
            b'n' => value.push(b'\n'),
            b'r' => value.push(b'\r'),
            b't' => value.push(b'\t'),
            b'v' => value.push(11),
            b'\\' | b'\'' | b'"' | b'?' => value.push(byte),
            b'0'..=b'7' => {
                self.position -= 1;
                let (code, _) = self.digits(8, 3);
                value.push((code & 0xff) as u8);
            }
            b'x' => self.ansi_hexadecimal(value),
            b'u' => self.ansi_unicode(4, value),
            b'U' => self.ansi_unicode(8, value),
            b'c' => {
                if let Some(control) = self.byte(self.position) {
                    self.position += 1;
                    value.push(control & 0x1f);
                }
            }
            _ => value.extend([b'\\', byte]),
        }
    }

    fn ansi_hexadecimal(&mut self, value: &mut Vec<u8>) {
        match self.digits(16, 2) {
            (_, 0) => value.extend(*b"\\x"),
            (code, _) => value.push((code & 0xff) as u8),
        }
    }

    fn ansi_unicode(&mut self, most: usize, value: &mut Vec<u8>) {
        let (code, read) = self.digits(16, most);
        match char::from_u32(code) {
            _ if read == 0 => value.extend([b'\\', if most == 4 { b'u' } else { b'U' }]),
            Some(c) => value.extend(c.encode_utf8(&mut [0; 4]).bytes()),
            // No character: an invalid byte makes the whole string unknown.
            None => value.push(0xff),
        }
    }

    /// Up to `most` digits of base `radix`: their value, and how many there were.
    fn digits(&mut self, radix: u32, most: usize) -> (u32, usize) {
        let (mut code, mut read) = (0_u32, 0);
        while read < most {
            let Some(digit) = self.byte(self.position).and_then(|byte| char::from(byte).to_digit(radix)) else { break };
            code = code.wrapping_mul(radix).wrapping_add(digit);
            self.position += 1;
            read += 1;
        }
        (code, read)
    }
}

/// The text of decoded bytes. A NUL ends the string in bash, and bytes that are no UTF-8 are no text: both are
/// reported as unknown rather than guessed.
fn decoded(value: Vec<u8>) -> Option<String> {
    if value.contains(&0) {
        return None;
    }
    String::from_utf8(value).ok()
}
