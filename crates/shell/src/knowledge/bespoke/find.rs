//! `find`: paths first, then an expression. The primaries and what they take are data; only the command behind
//! `-exec` and the two values of `-fprintf` need reading here.

use crate::knowledge::model::{Deed, Role};
use crate::knowledge::reading::{Cursor, Fault, Piece};
use crate::word::Word;

pub(crate) fn read(cursor: &mut Cursor<'_>) {
    while let Some(word) = cursor.line.words.get(cursor.at) {
        match word.text() {
            Some("-H" | "-L" | "-P") if cursor.operands.is_empty() => cursor.at += 1,
            Some("-D") if cursor.operands.is_empty() => cursor.at += 2,
            Some(text) if starts_expression(text) => break,
            Some(_) | None => {
                cursor.check_surprise(word);
                cursor.operands.push(Piece { word, index: cursor.at, from: 0 });
                cursor.at += 1;
            }
        }
    }
    while let Some(word) = cursor.line.words.get(cursor.at) {
        match word.text() {
            Some("(" | ")" | "!" | ",") => cursor.at += 1,
            Some(name @ ("-exec" | "-execdir" | "-ok" | "-okdir")) => command(cursor, word, name),
            Some("-fprintf") => {
                let target = cursor.line.words.get(cursor.at + 1);
                match target {
                    Some(file) => cursor.item(Role::Write, Piece { word: file, index: cursor.at + 1, from: 0 }),
                    None => cursor.fail(Fault::Operands, word.span),
                }
                cursor.at += 3;
            }
            Some(text) if text.starts_with('-') => cursor.step(word),
            // A word of the expression that is no primary: find itself would stop with an error.
            Some(_) | None => {
                cursor.fail(Fault::Operands, word.span);
                cursor.at += 1;
            }
        }
    }
    let removes = cursor.reading.deeds.iter().any(|(deed, _)| *deed == Deed::Recursive);
    let role = if removes { Role::Remove } else { Role::List };
    if cursor.operands.is_empty() && removes {
        cursor.deed(Deed::Default(Role::Remove), cursor.line.words.first().map(|word| word.span).unwrap_or_default());
    }
    cursor.deed(Deed::Operands(role), Default::default());
}

fn starts_expression(text: &str) -> bool {
    text.starts_with('-') && text.len() > 1 || matches!(text, "(" | ")" | "!" | ",")
}

/// The words up to `;` or `{} +` are a command of their own, which is reported by itself.
fn command<'w>(cursor: &mut Cursor<'w>, word: &'w Word, name: &str) {
    let first = cursor.at + 1;
    let rest = cursor.line.words.get(first..).unwrap_or_default();
    let end = rest.iter().enumerate().position(|(at, word)| match word.text() {
        Some(";") => true,
        Some("+") => at > 0 && rest.get(at - 1).and_then(Word::text) == Some("{}"),
        Some(_) | None => false,
    });
    match end {
        Some(length) if length > 0 => cursor.at = first + length + 1,
        Some(_) | None => {
            cursor.fail(Fault::Form("a command of find without an end"), word.span);
            cursor.at = cursor.line.words.len();
        }
    }
    if matches!(name, "-execdir" | "-okdir") {
        cursor.fail(Fault::Form("a command in directories that are not known"), word.span);
    }
}
