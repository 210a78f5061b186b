//! Confinement: from a decision to a confined run, and what is told after it.
//!
//! Nothing here decides. A run starts from a permit; what it may touch is the sandbox's plan; what it did is written
//! to the audit. Nothing runs unconfined here unless settings name the command or a person said so.

mod bridge;
pub mod errand;
pub mod health;
mod known;
#[cfg(target_os = "linux")]
pub mod previewed;
pub mod rewrite;
pub mod run;
#[cfg_attr(not(target_os = "linux"), path = "screen_elsewhere.rs")]
mod screen;
pub mod slip;
pub mod temporary;
pub mod unconfined;
pub mod words;

pub use known::known;
use mayi_sandbox::plan::{Confined, Environment, Files, Limits, Nesting, Network, Plan, Sockets};
use mayi_settings::Loaded;
use mayi_settings::settings::Sandbox;

/// Whether settings let nothing run unconfined that should be confined.
pub fn is_required(sandbox: &Sandbox) -> bool {
    sandbox.fail_if_unavailable || sandbox.allow_unsandboxed_commands == Some(false)
}

/// Whether this host can confine commands as these settings want; if not, why.
pub fn available(loaded: &Loaded) -> Result<(), String> {
    let nesting = match loaded.settings.sandbox.enable_weaker_nested_sandbox {
        true => Nesting::Possible,
        false => Nesting::Refused,
    };
    let plan = Plan {
        directory: "/".into(),
        files: Files::Confined(Confined::default()),
        network: Network::None,
        sockets: Sockets::None,
        environment: Environment::default(),
        limits: Limits::default(),
        nesting,
        gaps: Vec::new(),
    };
    errand::sandbox(plan, &errand::host(loaded), None).map(drop).map_err(|refused| refused.to_string())
}
