//! `dd`: every operand is `key=value`.

use crate::knowledge::holes;
use crate::knowledge::model::Role;
use crate::knowledge::reading::{Cursor, Fault, Piece};
use crate::knowledge::table::DD_SETTINGS;

pub(crate) fn read(cursor: &mut Cursor<'_>) {
    while let Some(word) = cursor.line.words.get(cursor.at) {
        let index = cursor.at;
        match word.known_prefix().split_once('=') {
            Some(("if", _)) => cursor.item(Role::Read, Piece { word, index, from: 3 }),
            Some(("of", _)) => cursor.item(Role::Write, Piece { word, index, from: 3 }),
            Some((key, _)) if DD_SETTINGS.has(key) && holes::can_split(word) => {
                cursor.fail(Fault::Surprise, word.span);
            }
            Some((key, _)) if DD_SETTINGS.has(key) => {}
            Some(_) | None if word.text().is_some_and(|text| text.starts_with("--")) => {
                cursor.step(word);
                continue;
            }
            Some(_) | None => cursor.fail(Fault::Operands, word.span),
        }
        cursor.at += 1;
    }
}
