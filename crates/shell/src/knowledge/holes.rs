//! What the unknown parts of a word could do to the words around it.

use crate::knowledge::pool::{List, Text};
use crate::knowledge::table::{ABSOLUTE_OUTPUTS, SINGLE_WORD_OUTPUTS};
use crate::word::{Hole, HoleKind, Part, Value, Word};

/// Whether the word could come out starting with a dash (or a plus), and so be taken for a flag.
pub(crate) fn can_be_flag(word: &Word) -> bool {
    let parts = match &word.value {
        Value::Literal(_) => return false,
        Value::Template(parts) => parts,
    };
    match parts.first() {
        None | Some(Part::Text(_)) => false,
        Some(Part::Hole(hole)) => can_start_with_dash(hole),
    }
}

fn can_start_with_dash(hole: &Hole) -> bool {
    match &hole.kind {
        HoleKind::Variable { name, .. } => !is_absolute_by_nature(name),
        HoleKind::Output(text) => !is_one_of(SINGLE_WORD_OUTPUTS, text) && !is_one_of(ABSOLUTE_OUTPUTS, text),
        HoleKind::Prompt | HoleKind::Indirect | HoleKind::Inserted => true,
        HoleKind::Glob(pattern) => pattern.starts_with(['*', '?', '[', '@', '+', '!', '-']),
        HoleKind::Process | HoleKind::Tilde(_) | HoleKind::Arithmetic => false,
        HoleKind::Brace(text) => text.contains('-'),
    }
}

fn is_one_of(list: List<Text>, text: &str) -> bool {
    list.has(text.trim())
}

/// Variables that always hold an absolute path or a plain number.
fn is_absolute_by_nature(name: &str) -> bool {
    matches!(name, "HOME" | "PWD" | "OLDPWD" | "UID" | "EUID" | "PPID" | "RANDOM" | "SECONDS" | "$" | "?" | "#" | "!")
}

/// Whether the word could come out as several words.
pub(crate) fn can_split(word: &Word) -> bool {
    word.holes().any(|hole| match &hole.kind {
        HoleKind::Variable { name, .. } if name == "@" => true,
        HoleKind::Variable { name, .. } => !hole.quoted && !is_absolute_by_nature(name),
        HoleKind::Output(text) => !hole.quoted && !is_one_of(SINGLE_WORD_OUTPUTS, text),
        HoleKind::Prompt | HoleKind::Indirect => !hole.quoted,
        HoleKind::Glob(_) | HoleKind::Brace(_) | HoleKind::Process | HoleKind::Tilde(_) | HoleKind::Arithmetic => false,
        HoleKind::Inserted => !hole.quoted,
    })
}

/// Whether the word could come out as several words, or none.
pub(crate) fn can_multiply(word: &Word) -> bool {
    can_split(word) || word.holes().any(|hole| matches!(hole.kind, HoleKind::Glob(_) | HoleKind::Brace(_)))
}
