//! The client of a server, against one that plays the contract on loopback and is broken on purpose.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

#[path = "../counterpart/mod.rs"]
mod counterpart;

mod asking;
mod policy;
mod requests;
mod shipping;
mod world;
