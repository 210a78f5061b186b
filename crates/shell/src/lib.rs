//! Shell text to facts: which commands a script may run, and what each of them does.
//!
//! Total: any text in, never a panic, never a hang, and an honest [`command::Opaque`] where it does not
//! understand. Knows nothing of permissions and does no I/O.

pub mod command;
pub mod effect;
pub mod observe;
pub mod word;
