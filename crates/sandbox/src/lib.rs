//! The sandbox: runs what was allowed, confined by the kernel.
//!
//! [`plan::Plan`] is pure: settings, rules and a permit become what is readable, writable and reachable. The rest
//! enforces that plan as far as the host can, says honestly how far that is, and reports what was refused.
//! Nothing here decides whether a command may run: only a permit can be run.

#[cfg(target_os = "linux")]
mod bubblewrap;
pub mod enforcement;
pub mod host;
#[cfg(target_os = "linux")]
mod layout;
#[cfg(target_os = "linux")]
mod native;
pub mod plan;
#[cfg(target_os = "linux")]
pub mod preview;
pub mod proxy;
pub mod report;
pub mod run;
#[cfg(target_os = "linux")]
mod scoped;
#[cfg(target_os = "linux")]
mod scrub;
pub mod seatbelt;
pub mod show;
#[cfg(target_os = "linux")]
mod streams;
#[cfg(target_os = "linux")]
mod sys;
#[cfg(target_os = "linux")]
pub mod terminal;
#[cfg(target_os = "linux")]
mod variables;
#[cfg(target_os = "linux")]
mod watch;
#[cfg(target_os = "linux")]
mod words;

#[cfg(target_os = "linux")]
pub use sys::heap::Brief;
#[cfg(target_os = "linux")]
pub use sys::signals::outlive_file_limit;
#[cfg(target_os = "linux")]
pub use sys::start::{Words, begin};
