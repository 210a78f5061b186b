//! Real agent programs on a stage: a model server of ours scripts their tool calls, and mayi is their hook.
//!
//! `cargo xtask clients` installs the programs and runs the tests of this crate. Nothing here looks inside an agent;
//! what is known about one is its published documentation and what it does before our eyes.

pub mod agent;
pub mod api;
pub mod performance;
pub mod script;
pub mod settings;
pub mod stage;
pub mod standin;

pub use agent::Hook;
pub use performance::{Performance, Runs};
pub use script::{Script, Use};
pub use stage::Stage;
