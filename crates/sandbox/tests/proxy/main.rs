//! The proxy as programs meet it: real sockets on loopback, real programs, hostile bytes.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]
#![allow(clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

mod asking;
mod hostile;
mod plain;
mod programs;
mod stage;
mod tunnels;
