//! Characters that hide what will run.
//!
//! A control, bidirectional or invisible character makes the text opaque wherever it stands: what a person is
//! shown would not be what the shell reads. Blanks outside ASCII are data to the shell but look like a gap;
//! they are refused by the word reader where they stand unquoted, and are fine inside quotes.

use crate::command::{Opaque, Why};
use crate::word::Span;

/// Looks for an odd character anywhere.
pub(super) fn check(text: &str) -> Result<(), Opaque> {
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~' | b'\t' | b'\n')) {
        return Ok(());
    }
    let mut before = ' ';
    for (start, c) in text.char_indices() {
        if is_odd(c, before) {
            let span = Span { start, end: start + c.len_utf8() };
            return Err(Opaque { why: Why::OddCharacter(c), span });
        }
        before = c;
    }
    Ok(())
}

/// Hides something, given the character before it.
fn is_odd(c: char, before: char) -> bool {
    match c {
        '\t' | '\n' => false,
        // A joiner or variation selector after a character outside ASCII shapes an emoji or a letter.
        '\u{200d}' | '\u{fe00}'..='\u{fe0f}' => before.is_ascii(),
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' => true,
        '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}' | '\u{fff9}'..='\u{fffc}' => true,
        '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}' => true,
        _ => c.is_control(),
    }
}

/// Looks like a gap, but is part of a word to the shell.
pub(super) fn is_foreign_blank(c: char) -> bool {
    !c.is_ascii() && (c.is_whitespace() || c == '\u{2800}')
}
