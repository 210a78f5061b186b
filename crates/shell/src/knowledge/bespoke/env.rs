//! `env`: flags, assignments, then a command.

use crate::knowledge::model::Role;
use crate::knowledge::reading::{Cursor, Piece};

pub(crate) fn read(cursor: &mut Cursor<'_>) {
    while let Some(word) = cursor.line.words.get(cursor.at) {
        let start = word.known_prefix();
        if start.starts_with('-') && start.len() > 1 && !cursor.ended {
            cursor.step(word);
            continue;
        }
        let piece = Piece { word, index: cursor.at, from: 0 };
        if !start.contains('=') {
            return cursor.item(Role::Command, piece);
        }
        cursor.ended = true;
        cursor.item(Role::Environment, piece);
        cursor.at += 1;
    }
}
