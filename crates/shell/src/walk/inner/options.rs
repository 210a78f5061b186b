//! Options before a command's operands.

use super::Inner;
use crate::word::Word;

/// A wrapper: its options with a value, and the operands before the command.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// Letters of short options that take a value.
    pub(super) valued: &'static str,
    /// Letters of short options that take none.
    pub(super) flags: &'static str,
    /// Long options that take a value as the next word, when not attached by `=`.
    pub(super) long_valued: &'static [&'static str],
    /// Operands before the command.
    pub(super) operands: usize,
}

/// Where the operands of a command start, and what was met on the way.
pub(super) struct Options {
    /// Index of the first operand.
    pub(super) first: usize,
    /// Indices of options that stand alone or hold their value.
    pub(super) seen: Vec<usize>,
    pub(super) unsure: bool,
}

/// Steps over options. A word with holes may be an option too.
pub(super) fn options(wrapper: &Wrapper, words: &[Word]) -> Options {
    let mut result = Options { first: 1, seen: Vec::new(), unsure: false };
    while let Some(word) = words.get(result.first) {
        let prefix = word.known_prefix();
        if prefix == "--" {
            result.first += 1;
            return result;
        }
        if word.text().is_none() && (prefix.is_empty() || prefix.starts_with('-')) {
            result.unsure = true;
        }
        if !prefix.starts_with('-') || prefix == "-" {
            return result;
        }
        result.seen.push(result.first);
        result.first += 1;
        let (takes_next, known) = option_shape(wrapper, prefix);
        result.unsure |= !known;
        if takes_next {
            result.first += 1;
        }
    }
    result
}

/// Whether an option takes the next word, and whether it is known at all.
pub(super) fn option_shape(wrapper: &Wrapper, option: &str) -> (bool, bool) {
    if option.starts_with("--") {
        let takes_next = wrapper.long_valued.contains(&option);
        // A long option with a value attached, or one that only switches, moves nothing.
        return (takes_next, true);
    }
    let letters = option.get(1..).unwrap_or("");
    for (at, letter) in letters.char_indices() {
        if wrapper.valued.contains(letter) {
            return (at + letter.len_utf8() == letters.len(), true);
        }
        if !wrapper.flags.contains(letter) {
            return (false, false);
        }
    }
    (false, true)
}

pub(super) fn unsure(name: &str) -> Inner {
    Inner::Unsure { reason: format!("an option of `{name}` is not known") }
}
