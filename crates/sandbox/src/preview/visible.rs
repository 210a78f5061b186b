//! Text and names from outside, written so that every character shows and none commands a terminal.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// A line of text. Tabs stay; whatever else would not show, or would change how the rest shows, is written out.
pub(super) fn line(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter == '\t' { shown.push(letter) } else { push(&mut shown, letter) }
    }
    shown
}

/// A file name or path. Bytes that are no text are written as `\xNN`, and so is nothing else: a backslash is doubled.
pub(super) fn name(name: &OsStr) -> String {
    let mut shown = String::new();
    for chunk in name.as_bytes().utf8_chunks() {
        for letter in chunk.valid().chars() {
            if letter == '\\' { shown.push_str("\\\\") } else { push(&mut shown, letter) }
        }
        for byte in chunk.invalid() {
            shown.push_str(&format!("\\x{byte:02x}"));
        }
    }
    shown
}

fn push(shown: &mut String, letter: char) {
    match letter {
        '\n' => shown.push_str("\\n"),
        '\r' => shown.push_str("\\r"),
        '\t' => shown.push_str("\\t"),
        _ if letter.is_control() || is_unseen(letter) => shown.extend(letter.escape_unicode()),
        _ => shown.push(letter),
    }
}

/// Zero-width, bidirectional and tag characters, and line separators.
fn is_unseen(letter: char) -> bool {
    matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_that_commands_a_terminal_gets_through() {
        for (given, shown) in [
            ("plain\ttext", "plain\ttext"),
            ("\u{1b}[2J", "\\u{1b}[2J"),
            ("a\rb", "a\\rb"),
            ("\u{9b}31m", "\\u{9b}31m"),
            ("x\u{202e}y", "x\\u{202e}y"),
            ("für 日本", "für 日本"),
        ] {
            assert_eq!(line(given), shown);
        }
    }

    #[test]
    fn a_name_is_one_line_and_two_names_never_look_the_same() {
        for (given, shown) in [
            (&b"a\nb"[..], "a\\nb"),
            (b"a\\nb", "a\\\\nb"),
            (b"\xff\x1b", "\\xff\\u{1b}"),
            (b"\\xff", "\\\\xff"),
            (b"t\tt", "t\\tt"),
        ] {
            assert_eq!(name(OsStr::from_bytes(given)), shown);
        }
    }
}
