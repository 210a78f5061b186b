//! Attempts to break out of the sandbox, for real: every attempt runs through the built `mayi run`, under settings that
//! allow everything, so that only the kernel and the proxy can stop it.
//!
//! The attempts are Python functions in `attempts/`, one each, and tell how they ended. Whether that is true is looked
//! at from outside: a ground of canaries must be as it was, servers of the host must not have been reached, no process
//! may be left. An attempt that gets through where the report names that very lack was foretold; any other is a failure.

pub mod attempt;
pub mod ground;
pub mod level;
pub mod snapshot;
pub mod trial;
pub mod world;

pub use attempt::Attempt;
pub use ground::Ground;
pub use level::{Level, Person};
pub use trial::try_all;
pub use world::World;
