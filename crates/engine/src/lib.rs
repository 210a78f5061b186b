//! The embedding API: looks at the machine, performs referrals, hands out permits.
//!
//! The decision itself is made by [`mayi_core`]; this crate brings it what it asks for. No runtime is assumed:
//! [`Engine::decide`] is a plain future that any executor can drive.
//!
//! ```
#![doc = include_str!("../examples/embed.rs")]
//! ```
//!
//! Further examples: `sans_io` drives the evaluation by hand, `custom_tool` declares a tool, `custom_store` keeps sessions and
//! records in a store of one's own, `agent` is a small agent with a person at the prompt.
//!
//! Without the feature `desk` (on by default) there are decisions alone: no runtime, network or database comes along, and
//! every verdict is the same.

mod decide;
pub mod explain;
pub mod family;
pub mod observe;
pub mod settler;

#[cfg(feature = "desk")]
pub mod audit;
#[cfg(feature = "desk")]
pub mod batch;
#[cfg(feature = "desk")]
pub mod classifier;
#[cfg(feature = "desk")]
pub mod confine;
#[cfg(feature = "desk")]
pub mod desk;
#[cfg(feature = "desk")]
mod digits;
#[cfg(feature = "desk")]
pub mod evaluate;
#[cfg(feature = "desk")]
pub mod hooks;
#[cfg(feature = "desk")]
pub mod json;
#[cfg(feature = "desk")]
pub mod limits;
#[cfg(feature = "desk")]
pub mod remote;
#[cfg(feature = "desk")]
pub mod stats;
#[cfg(feature = "desk")]
pub mod store;
#[cfg(feature = "desk")]
pub mod version;
#[cfg(feature = "desk")]
pub mod waiting;

pub use decide::{Engine, Nobody, Outcome, Respond, observe_all};
