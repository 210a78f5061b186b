//! Hooks with real programs and a real server on this machine: what they are told, what their answers mean, and that
//! none of them can hang, flood or outlive a decision, or learn what is not for it.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod answers;
mod pipeline;
mod processes;
mod requests;
mod support;
mod told;
mod web;
