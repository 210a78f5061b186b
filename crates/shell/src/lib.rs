//! Shell text to facts: which commands a script may run, and what each of them does.
//!
//! Total: any text in, never a panic, never a hang, and an honest [`command::Opaque`] where it does not
//! understand. Knows nothing of permissions and does no I/O.

mod analyse;
pub mod command;
pub mod effect;
mod knowledge;
pub mod observe;
mod parse;
mod show;
pub mod walk;
pub mod word;

pub use analyse::analyse;
pub use walk::Context;
