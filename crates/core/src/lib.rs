//! Decides whether a tool call may run: **allow**, **ask** or **deny**, with the reason and every step on the way.
//!
//! Pure and synchronous: no I/O, no clock, no environment, no unsafe, and `decide` cannot fail. What the machine
//! knows (links, repository configuration, task files) comes in as plain data; whoever must answer a question is
//! named, never called.

pub mod call;
pub mod catalogue;
pub mod evaluation;
pub mod grant;
pub mod inspect;
pub mod lineage;
pub mod listed;
pub mod locations;
pub mod mode;
pub mod path;
pub mod pipeline;
pub mod policy;
pub mod powershell;
pub mod reason;
pub mod referral;
pub mod risk;
pub mod rule;
pub mod session;
pub mod step;
pub mod trace;
pub mod verdict;
