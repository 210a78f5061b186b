//! Variables that mean something to the shell or to the programs it starts, and how often names occur.

use super::Walker;
use super::source::Source;
use std::collections::HashMap;

/// The variables, with what each changes.
const SPECIAL: &str = include_str!("special_variables.txt");

/// The variable means something beyond the text.
pub(super) fn is_special(name: &str) -> bool {
    is_listed(SPECIAL, name) || crate::knowledge::variables::is_special(name)
}

/// The name stands in a list of names with reasons, one per line; `#` opens a comment, a trailing `*` stands for
/// any ending.
pub(super) fn is_listed(list: &str, name: &str) -> bool {
    let entries = list.lines().filter(|line| !line.starts_with('#'));
    entries.filter_map(|line| line.split_whitespace().next()).any(|entry| match entry.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == entry,
    })
}

impl Walker<'_> {
    /// How often a name stands in the script without a `$` before it, which is where it could be assigned.
    pub(super) fn mentions(&mut self, source: &Source, name: &str) -> usize {
        let counts = self.mentions.entry(source.script).or_insert_with(|| count(&source.text));
        counts.get(name).copied().unwrap_or(0)
    }
}

fn count(text: &str) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    let mut before = ' ';
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if !is_part(c) {
            // `${x`, `${#x` and `${!x` only read.
            before = if before == '$' && matches!(c, '{' | '#' | '!') { '$' } else { c };
            rest = rest.get(c.len_utf8()..).unwrap_or("");
            continue;
        }
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let (name, after) = rest.split_at(end);
        if before != '$' || after.starts_with(['=', ':']) {
            *counts.entry(name.to_owned()).or_insert(0) += 1;
        }
        before = ' ';
        rest = after;
    }
    counts
}
