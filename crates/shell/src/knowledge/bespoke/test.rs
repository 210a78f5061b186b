//! `test`, `[` and `[[`: comparisons and questions about files. Operators that evaluate their operand as code
//! (`-v`, arithmetic inside `[[`) are followed only where the operand cannot hold any.

use crate::knowledge::model::Role;
use crate::knowledge::reading::{Cursor, Fault, Piece};
use crate::knowledge::table::{TEST_FILE_OPERATORS, TEST_NUMBER_OPERATORS, TEST_TEXT_OPERATORS};
use crate::knowledge::variables;
use crate::word::{HoleKind, Word};

pub(crate) fn read(cursor: &mut Cursor<'_>) {
    let name = cursor.line.words.first().and_then(Word::text).unwrap_or_default();
    let closing = match name {
        "[" => Some("]"),
        "[[" => Some("]]"),
        _ => None,
    };
    let words = cursor.line.words;
    let mut end = words.len();
    if let Some(mark) = closing {
        if words.last().and_then(Word::text) == Some(mark) {
            end -= 1;
        } else if mark == "]" {
            cursor.fail(
                Fault::Form("a test without its closing bracket"),
                words.first().map(|w| w.span).unwrap_or_default(),
            );
        }
    }
    while cursor.at < end {
        let Some(word) = words.get(cursor.at) else { break };
        operator(cursor, word, if name == "[[" { Numbers::Evaluated } else { Numbers::Compared });
        cursor.at += 1;
    }
}

/// What happens to the operands of a comparison of numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Numbers {
    Compared,
    Evaluated,
}

fn operator<'w>(cursor: &mut Cursor<'w>, word: &'w Word, numbers: Numbers) {
    let Some(text) = word.text() else {
        // Outside `[[` the output of a command may come out as several words, and so as `-v 'a[$(id)]'`.
        if numbers == Numbers::Compared && can_become_operator(word) {
            cursor.fail(Fault::Surprise, word.span);
        }
        return;
    };
    let next = cursor.line.words.get(cursor.at + 1);
    if TEST_FILE_OPERATORS.has(text) && text.len() == 2 {
        if let Some(file) = next {
            cursor.item(Role::List, Piece { word: file, index: cursor.at + 1, from: 0 });
        }
    } else if TEST_NUMBER_OPERATORS.has(text) && numbers == Numbers::Evaluated {
        let before = cursor.at.checked_sub(1).and_then(|at| cursor.line.words.get(at));
        for side in [before, next].into_iter().flatten() {
            if can_evaluate(side) {
                cursor.fail(Fault::Form("arithmetic that can run code"), side.span);
            }
        }
    } else if matches!(text, "-v" | "-R" | "-o") {
        let plain = next.is_none_or(|word| word.text().is_some_and(variables::is_plain_name));
        if text != "-o" && !plain {
            cursor.fail(Fault::Form("a variable name that can run code"), word.span);
        }
    } else if text.len() > 1 && text.starts_with('-') && !is_known(text) && !is_operand(cursor, text) {
        cursor.fail(Fault::Flag(text.to_string()), word.span);
    }
}

fn is_known(text: &str) -> bool {
    TEST_FILE_OPERATORS.has(text) || TEST_TEXT_OPERATORS.has(text) || TEST_NUMBER_OPERATORS.has(text)
}

/// A word behind a comparison is compared, whatever it looks like.
fn is_operand(cursor: &Cursor<'_>, text: &str) -> bool {
    let before = cursor.at.checked_sub(1).and_then(|at| cursor.line.words.get(at)).and_then(Word::text);
    let number = text.trim_start_matches('-').bytes().all(|byte| byte.is_ascii_digit());
    number || before.is_some_and(|before| matches!(before, "=" | "==" | "!=" | "-n" | "-z" | "=~"))
}

/// Text from elsewhere, unquoted.
fn can_become_operator(word: &Word) -> bool {
    word.holes().any(|hole| match &hole.kind {
        HoleKind::Output(text) => !hole.quoted && !prints_number(text),
        HoleKind::Prompt | HoleKind::Indirect => !hole.quoted,
        HoleKind::Variable { assigned_from, .. } => {
            !hole.quoted && assigned_from.as_deref().is_some_and(|text| !prints_number(text))
        }
        HoleKind::Process
        | HoleKind::Glob(_)
        | HoleKind::Brace(_)
        | HoleKind::Tilde(_)
        | HoleKind::Arithmetic
        | HoleKind::Inserted => false,
    })
}

/// Whether the text of a substitution is one pipeline that ends in a command which prints a number and nothing else.
fn prints_number(text: &str) -> bool {
    if text.contains([';', '&', '\n', '`', '(', '{']) || text.contains("||") {
        return false;
    }
    let last: Vec<&str> = text.rsplit('|').next().unwrap_or_default().split_whitespace().collect();
    matches!(last.as_slice(), ["wc", "-l" | "-c" | "-w" | "-m"] | ["wc", "-l" | "-c" | "-w" | "-m", "<", _])
        || matches!(text.trim(), "id -u" | "id -g" | "nproc" | "date +%s")
}

/// Arithmetic evaluates names and subscripts; numbers and a plain variable stay numbers.
fn can_evaluate(word: &Word) -> bool {
    match word.text() {
        Some(text) => !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-_".contains(&byte)),
        None => {
            let odd = word.holes().any(|hole| match &hole.kind {
                HoleKind::Variable { assigned_from, .. } => assigned_from.is_some(),
                HoleKind::Arithmetic => false,
                HoleKind::Output(_)
                | HoleKind::Process
                | HoleKind::Glob(_)
                | HoleKind::Brace(_)
                | HoleKind::Tilde(_)
                | HoleKind::Prompt
                | HoleKind::Indirect
                | HoleKind::Inserted => true,
            });
            odd || word.known_prefix().contains('[')
        }
    }
}
