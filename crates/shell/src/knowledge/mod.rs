//! What is known about programs, and how their words are read by it.
//!
//! The data lives in `knowledge/*.toml`. An entry says what is known to be harmless or what exactly is done;
//! everything that no entry mentions counts as not known.

mod assign;
mod bespoke;
pub(crate) mod code;
#[cfg(test)]
mod examples;
mod holes;
mod inner;
pub(crate) mod model;
mod pool;
pub(crate) mod reading;
mod table;
pub(crate) mod variables;

pub(crate) use inner::inner;

use crate::knowledge::model::{Entry, Spec};

/// How many wrappers may stand around a command.
pub(crate) const WRAPPERS: usize = 16;

/// The base name, if the program is named plainly or by a path in a system folder.
pub(crate) fn system_name(name: &str) -> Option<&str> {
    if !name.contains('/') {
        return Some(name);
    }
    table::SYSTEM_FOLDERS.iter().find_map(|folder| name.strip_prefix(&**folder)).filter(|rest| !rest.contains('/'))
}

/// What is known about a program, by its base name. It is asked twice for every command, so only the usual programs and those
/// with the same first letter are searched.
pub(crate) fn program(name: &str) -> Option<&'static Spec> {
    named(name, &table::USUAL_PROGRAMS).or_else(|| {
        let first = usize::from(*name.as_bytes().first()?);
        let (start, end) = (*table::INITIALS.get(first)?, *table::INITIALS.get(first + 1)?);
        named(name, table::PROGRAMS.get(usize::from(start)..usize::from(end))?)
    })
}

fn named(name: &str, entries: &[Entry]) -> Option<&'static Spec> {
    let found = entries.binary_search_by(|entry| (*entry.name).cmp(name)).ok();
    found.and_then(|at| entries.get(at)).and_then(Entry::spec)
}
