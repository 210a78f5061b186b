//! Clients of large services: far too many commands and flags to list, all of them settings of a request. What
//! matters is the kind of request, which a verb among the words tells, and values that name local files.

use crate::knowledge::model::Deed;
use crate::knowledge::reading::{Cursor, subcommand};
use crate::knowledge::table::{CLOUD_LOOKING_VERBS, CLOUD_SECRET_PARTS};
use crate::word::Word;

pub(crate) fn read(cursor: &mut Cursor<'_>) {
    let words = cursor.line.words.get(cursor.at..).unwrap_or_default();
    if let Some(below) = words.first().and_then(Word::text).and_then(|name| subcommand(cursor.reading.spec, name)) {
        cursor.reading.spec = below;
        cursor.at += 1;
        return;
    }
    let span = cursor.line.words.first().map(|word| word.span).unwrap_or_default();
    cursor.at = cursor.line.words.len();
    // Only `aws` takes `help` after the name of a request, too.
    let manual = if cursor.reading.spec.path.starts_with("aws ") { 1 } else { 0 };
    if asks_for_help(words, manual) {
        return cursor.deed(Deed::Stop, span);
    }
    let names = || words.iter().filter_map(Word::text).take_while(|text| !text.starts_with('-'));
    let looks = names().any(|name| CLOUD_LOOKING_VERBS.iter().any(|verb| name.starts_with(&**verb)));
    let secret = names().any(|name| CLOUD_SECRET_PARTS.iter().any(|part| name.contains(&**part)));
    let local = words.iter().any(names_file_or_hole);
    cursor.deed(if looks && !local { Deed::Network } else { Deed::Sends }, span);
    if secret {
        cursor.deed(Deed::Secret, span);
    }
}

/// No words at all, `--version` alone, or a few plain names and then a request for help. Behind a flag `help` is a
/// value, behind `--` the words are for another program, and a word that is not known may be anything.
fn asks_for_help(words: &[Word], manual: usize) -> bool {
    let Some((last, names)) = words.split_last() else { return true };
    let plain = |word: &Word| {
        let known = word.text().unwrap_or_default();
        !known.is_empty()
            && known.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            && !known.starts_with('-')
    };
    match last.text() {
        Some("--version") => names.is_empty(),
        Some("--help") => names.iter().all(plain),
        // Any further on it is the name of something: `instances delete help`.
        Some("help") => names.len() <= manual && names.iter().all(plain),
        Some(_) | None => false,
    }
}

/// `file://x` and `@x` send what a file holds; so may a word whose content is not known.
fn names_file_or_hole(word: &Word) -> bool {
    let start = word.known_prefix();
    word.text().is_none() || start.contains("file://") || start.contains("fileb://") || start.contains('@')
}
