//! Signing in with real parts: a certified OpenID provider, a browser and a Secret Service, all on loopback.
//!
//! `cargo xtask identity` installs the parts and runs the tests of this crate. What a test knows of mayi is what a person
//! sees: what it prints, its exit codes, its files; and what the provider was asked.

pub mod browser;
pub mod companion;
pub mod parts;
pub mod provider;
pub mod secret_service;
pub mod stage;

pub use browser::Browser;
pub use companion::Companion;
pub use parts::Parts;
pub use provider::{Provider, Request};
pub use secret_service::SecretService;
pub use stage::{Running, Said, Stage};

use std::path::PathBuf;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// How long anything may take. Generous: a busy machine is no failure of ours.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A variable that `cargo xtask identity` sets, and for its own tests `cargo xtask server`.
fn told(name: &str) -> Result<PathBuf> {
    let value = std::env::var_os(name);
    value.map(PathBuf::from).with_context(|| {
        format!("`{name}` is not set\nhelp: run this by `cargo xtask identity`, or `cargo xtask server`")
    })
}

/// Waits until something is there.
pub fn until<T>(what: &str, mut look: impl FnMut() -> Result<Option<T>>) -> Result<T> {
    let begun = Instant::now();
    while begun.elapsed() < PATIENCE {
        if let Some(found) = look()? {
            return Ok(found);
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    bail!("{what} did not come within {PATIENCE:?}")
}
