//! `mayi serve`: decisions, approvals, audit and shared state over HTTP, and a page for people.
//!
//! Everything that is decided is decided by the engine. What is answered is in the audit before it leaves.

pub mod access;
pub mod api;
pub mod app;
pub mod approvals;
pub mod deciding;
pub mod herald;
pub mod http;
pub mod insights;
pub mod notify;
pub mod page;
pub mod principal;
pub mod problem;
pub mod record;
pub mod serve;
pub mod store;
pub mod telemetry;
mod work;

pub use reqwest::Url;
