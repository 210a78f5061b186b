//! Runs the living specification; holds the oracle and the generators.
//!
//! Nothing here decides for anybody: it is what the decision core is measured against.

mod matrix;
pub mod oracle;
pub mod pages;

pub use matrix::matrix;
