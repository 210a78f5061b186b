//! Rules: their text, their patterns, and the index that finds the ones that match.

pub mod domain;
pub mod grammar;
pub mod index;
pub(crate) mod meet;
pub mod path;
pub mod path_index;
pub mod text;

pub use grammar::{Rule, RuleError};
