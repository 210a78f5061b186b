//! The agents, one file each.

use crate::adapter::Dialect;

/// Every dialect, in the order they are listed to people.
pub const ALL: &[Dialect] = &[];

/// The dialect of an agent, by its name on the command line.
pub fn named(name: &str) -> Option<&'static Dialect> {
    ALL.iter().find(|dialect| dialect.name == name)
}
