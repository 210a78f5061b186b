//! The embedding API: looks at the machine, performs referrals, hands out permits.
//!
//! The decision itself is made by [`mayi_core`]; this crate brings it what it asks for. No runtime is assumed:
//! [`Engine::decide`] is a plain future that any executor can drive.
//!
//! ```
#![doc = include_str!("../examples/embed.rs")]
//! ```
//!
//! Further examples: `sans_io` drives the evaluation by hand, `custom_tool` declares a tool and keeps a session in a store
//! of its own, `agent` is a small agent with a person at the prompt.

pub mod audit;
pub mod batch;
pub mod classifier;
pub mod confine;
mod decide;
pub mod desk;
pub mod evaluate;
pub mod explain;
pub mod family;
pub mod hooks;
pub mod json;
pub mod limits;
pub mod observe;
pub mod remote;
pub mod settler;
pub mod stats;
pub mod store;
pub mod version;
pub mod waiting;

pub use decide::{Engine, Nobody, Outcome, Respond, observe_all};
