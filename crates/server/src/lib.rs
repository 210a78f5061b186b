//! `mayi serve`: decisions, approvals, audit and shared state over HTTP, and a page for people.
//!
//! Everything that is decided is decided by the engine. What is answered is in the audit before it leaves.

pub mod principal;
pub mod store;
