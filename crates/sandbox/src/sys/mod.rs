//! Where the kernel is spoken to: the only unsafe code of the project.
//!
//! What runs between `clone` and `exec` is prepared beforehand ([`script`]) and then only performed ([`inside`],
//! [`command`], [`keeper`]): raw system calls on memory that exists, no allocation, no lock, no unwinding. Whoever
//! embeds this may have threads.

pub(crate) mod calls;
pub(crate) mod command;
#[cfg(all(target_arch = "x86_64", feature = "memory", any(target_env = "musl", test)))]
mod direct;
pub(crate) mod filter;
pub(crate) mod heap;
pub(crate) mod inside;
pub(crate) mod keeper;
pub(crate) mod launch;
#[cfg(all(target_arch = "x86_64", feature = "memory"))]
mod memory;
pub(crate) mod mounts;
pub(crate) mod notices;
#[cfg(all(target_env = "gnu", feature = "power"))]
mod power;
pub(crate) mod probe;
pub(crate) mod raw;
pub(crate) mod script;
mod service;
pub(crate) mod signals;
pub(crate) mod start;
pub(crate) mod vacancy;
pub(crate) mod wall;
