//! Codex: `codex exec`, with its configuration in the person's home.

use anyhow::Result;
use serde_json::json;

use super::Hook;
use crate::api::Api;
use crate::performance::{Launch, Performance};
use crate::script::{Script, Use};
use crate::stage::{Stage, program};

/// A call of its shell tool.
pub fn shell(id: &str, command: &str) -> Use {
    Use::new(id, "exec_command", json!({"cmd": command}))
}

/// Puts the hook into its configuration.
pub fn prepare(stage: &Stage, hook: Hook) -> Result<()> {
    hook.install(stage, "codex", ".codex/hooks.json")
}

/// The provider that leads to the stand-in. The agent's own sandbox is off: the test stands in one.
fn configuration(url: &str) -> [String; 8] {
    [
        "model=\"standin\"".to_owned(),
        "model_provider=\"standin\"".to_owned(),
        "model_providers.standin.name=\"standin\"".to_owned(),
        format!("model_providers.standin.base_url=\"{url}/v1\""),
        "model_providers.standin.wire_api=\"responses\"".to_owned(),
        "model_providers.standin.env_key=\"STANDIN_KEY\"".to_owned(),
        "analytics.enabled=false".to_owned(),
        "check_for_update_on_startup=false".to_owned(),
    ]
}

/// Plays a script, with more arguments for the agent.
pub fn play(stage: &Stage, script: &Script, more: &[&str]) -> Result<Performance> {
    Performance::play(stage, Api::Responses, script, |url| {
        let mut arguments: Vec<_> = ["exec", "--json", "--sandbox", "danger-full-access"].map(Into::into).into();
        // New hooks wait for a review on the agent's own screen, which a run without a person does not have.
        arguments.push("--dangerously-bypass-hook-trust".into());
        for line in configuration(url) {
            arguments.extend(["-c".into(), line.into()]);
        }
        arguments.extend(more.iter().map(Into::into));
        arguments.push("go on".into());
        Ok(Launch { program: program("codex")?, arguments, variables: vec![("STANDIN_KEY", "none".to_owned())] })
    })
}
