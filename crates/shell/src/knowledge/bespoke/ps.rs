//! `ps`: flags with a dash are described; without one they are BSD letters, of which `e` prints the environment of
//! every process and is therefore not followed.

use crate::knowledge::reading::{Cursor, Fault};

/// BSD letters that choose or format.
const LETTERS: &str = "aAcfghHjlLmnrsSTuvVwxXZ";
/// BSD letters whose value is the rest of the word or the next one.
const WITH_VALUE: &str = "okOpqtUN";

pub(crate) fn read(cursor: &mut Cursor<'_>) {
    // As a column: `-o environ`.
    if let Some(word) = cursor.line.words.iter().find(|word| word.known_prefix().contains("environ")) {
        cursor.fail(Fault::Value("environ".to_string()), word.span);
    }
    while let Some(word) = cursor.line.words.get(cursor.at) {
        let Some(text) = word.text() else {
            cursor.at += 1;
            continue;
        };
        if text.starts_with('-') && falls_back(text) {
            cursor.fail(Fault::Flag(text.to_string()), word.span);
        }
        if text.starts_with('-') {
            cursor.step(word);
            continue;
        }
        cursor.at += 1;
        if text.bytes().all(|byte| byte.is_ascii_digit() || byte == b',') {
            continue;
        }
        let odd = text.find(|letter| !LETTERS.contains(letter));
        let rest = odd.and_then(|at| text.get(at..)).unwrap_or_default();
        match rest.chars().next() {
            None => {}
            Some(letter) if WITH_VALUE.contains(letter) && rest.len() == 1 => cursor.at += 1,
            Some(letter) if WITH_VALUE.contains(letter) => {}
            Some(_) => cursor.fail(Fault::Flag(text.to_string()), word.span),
        }
    }
}

/// Where a bundle behind a dash makes no sense (`-axe`, `-auxe`), `ps` reads it as BSD letters instead.
fn falls_back(text: &str) -> bool {
    let letters = text.split(['o', 'O', 'p', 'q', 't', 'C', 'G', 'g', 's', 'N']).next().unwrap_or_default();
    !letters.starts_with("--") && letters.contains('e') && letters.contains(['x', 'u', 'U'])
}
