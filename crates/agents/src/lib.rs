//! Agents that ask mayi. Each agent CLI has one adapter, which translates its hook messages into calls and decisions
//! into its dialect; nothing is decided here.

pub mod adapter;
pub mod dialect;
pub mod gateway;
pub mod hook;
pub mod import;
pub mod install;
pub mod lead;
pub mod remedy;
pub mod translate;

pub use adapter::{Dialect, Event, Message, Reply, Told};
