//! `mayi serve` with real parts: PostgreSQL, a browser, processes that are killed, clients that misbehave; all on loopback.
//!
//! `cargo xtask server` installs the parts and runs the tests of this crate. What a test knows of mayi is what a person
//! or a client sees: what it prints, its exit codes, its answers; and what the database holds.

pub mod audit;
pub mod balancer;
pub mod client;
pub mod events;
pub mod ledger;
pub mod load;
pub mod page;
pub mod postgres;
pub mod process;
pub mod raw;

pub use balancer::Balancer;
pub use client::{Client, Reply};
pub use events::Events;
pub use ledger::Ledger;
pub use postgres::Postgres;
pub use process::{Options, Server};

use std::future::Future;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long anything may take. Generous: a busy machine is no failure of ours.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A variable that `cargo xtask server` sets.
pub fn told(name: &str) -> Result<PathBuf> {
    let value = std::env::var_os(name);
    value.map(PathBuf::from).with_context(|| format!("`{name}` is not set\nhelp: run this by `cargo xtask server`"))
}

/// Waits until something is there.
pub async fn until<T, F: Future<Output = Result<Option<T>>>>(what: &str, mut look: impl FnMut() -> F) -> Result<T> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(found) = look().await? {
            return Ok(found);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    bail!("{what} did not come within {PATIENCE:?}")
}
