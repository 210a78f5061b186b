//! `tar`: the first word may be a bundle without a dash, whose values follow in order; and what the archive file is
//! depends on the mode.

use crate::knowledge::model::{Deed, Role, Takes};
use crate::knowledge::reading::{Cursor, Fault, Piece};
use crate::word::Word;

pub(crate) fn read(cursor: &mut Cursor<'_>) {
    if let Some(word) = cursor.line.words.get(1)
        && word.text().is_some_and(|text| !text.starts_with('-'))
    {
        old_style(cursor, word);
    }
    while let Some(word) = cursor.line.words.get(cursor.at) {
        cursor.step(word);
    }
    let has = |wanted: Deed| cursor.reading.deeds.iter().any(|(deed, _)| *deed == wanted);
    let (writes, any) = (has(Deed::Instead), has(Deed::Stop) || cursor.reading.deeds.iter().any(is_mode));
    if writes {
        for item in &mut cursor.reading.items {
            if item.role == Role::File {
                item.role = Role::Write;
            }
        }
    }
    if !any {
        cursor.fail(
            Fault::Form("tar without a mode"),
            cursor.line.words.first().map(|word| word.span).unwrap_or_default(),
        );
    }
}

fn is_mode(deed: &(Deed, crate::word::Span)) -> bool {
    matches!(deed.0, Deed::Operands(_))
}

fn old_style<'w>(cursor: &mut Cursor<'w>, word: &'w Word) {
    let text = word.text().unwrap_or_default();
    cursor.at = 2;
    for letter in text.chars() {
        let flags = &cursor.reading.spec.flags;
        let Some(flag) =
            flags.iter().find(|flag| flag.name.strip_prefix('-').is_some_and(|rest| rest.chars().eq([letter])))
        else {
            return cursor.fail(Fault::Flag(letter.to_string()), word.span);
        };
        for deed in flag.does.iter() {
            cursor.deed(*deed, word.span);
        }
        if let Takes::Value(role) = flag.takes {
            match cursor.line.words.get(cursor.at) {
                Some(value) => cursor.item(role, Piece { word: value, index: cursor.at, from: 0 }),
                None => cursor.fail(Fault::Value(letter.to_string()), word.span),
            }
            cursor.at += 1;
        }
    }
}
