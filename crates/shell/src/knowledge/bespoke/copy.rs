//! `scp`, `rsync` and their kind: sources, then a target, each here or on another machine.

use crate::knowledge::model::Role;
use crate::knowledge::reading::{Cursor, Fault, Piece};

pub(crate) fn read(cursor: &mut Cursor<'_>) {
    while let Some(word) = cursor.line.words.get(cursor.at) {
        cursor.step(word);
    }
    let operands = std::mem::take(&mut cursor.operands);
    let Some((target, sources)) = operands.split_last() else { return };
    if sources.is_empty() {
        // One operand alone only lists.
        let role = if is_remote(target) { Role::Fetch } else { Role::List };
        return cursor.item(role, *target);
    }
    for source in sources {
        cursor.item(if is_remote(source) { Role::Fetch } else { Role::Read }, *source);
        if source.word.text().is_none() && source.word.known_prefix().is_empty() {
            cursor.fail(Fault::Surprise, source.word.span);
        }
    }
    cursor.item(if is_remote(target) { Role::Send } else { Role::Write }, *target);
}

/// `host:path` and `scheme://host`, but not `./a:b`.
fn is_remote(piece: &Piece<'_>) -> bool {
    let text = piece.word.known_prefix();
    text.find(':').is_some_and(|at| !text.get(..at).unwrap_or_default().contains('/'))
}
