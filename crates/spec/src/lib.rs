//! Runs the living specification; holds the oracle and the generators.
//!
//! Nothing here decides for anybody: it is what the decision core is measured against.

pub mod book;
mod matrix;
pub mod oracle;

pub use matrix::matrix;
/// Pages whose tables are tests: the same that `mayi test` reads.
pub use mayi_analysis::policy_test::pages;
