//! The sandbox: runs what was allowed, confined by the kernel.
//!
//! [`plan::Plan`] is pure: settings, rules and a permit become what is readable, writable and reachable. The rest
//! enforces that plan as far as the host can, says honestly how far that is, and reports what was refused.
//! Nothing here decides whether a command may run: only a permit can be run.

pub mod enforcement;
pub mod plan;
pub mod proxy;
pub mod report;
pub mod seatbelt;
pub mod show;
