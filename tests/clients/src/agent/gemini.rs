//! Gemini CLI: prompt mode, with its settings in the person's home.

use anyhow::Result;
use serde_json::json;

use super::Hook;
use crate::api::Api;
use crate::performance::{Launch, Performance};
use crate::script::{Script, Use};
use crate::stage::{Stage, program};

/// A call of its shell tool.
pub fn shell(id: &str, command: &str) -> Use {
    Use::new(id, "run_shell_command", json!({"command": command, "description": "a step of the test"}))
}

/// Says in its settings that nobody is to be called, and puts the hook into them.
pub fn prepare(stage: &Stage, hook: Hook) -> Result<()> {
    let settings = json!({
        "security": {"auth": {"selectedType": "gemini-api-key"}},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
    });
    stage.write(".gemini/settings.json", &settings.to_string())?;
    hook.install(stage, "gemini", ".gemini/settings.json")
}

/// Plays a script, with more arguments for the agent.
pub fn play(stage: &Stage, script: &Script, more: &[&str]) -> Result<Performance> {
    Performance::play(stage, Api::GenerateContent, script, |url| {
        let fixed = ["-p", "go on", "-o", "stream-json", "--skip-trust", "-m", "gemini-2.5-flash"];
        let variables = vec![
            ("GEMINI_API_KEY", "none".to_owned()),
            ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
            ("GEMINI_CLI_NO_RELAUNCH", "true".to_owned()),
        ];
        Ok(Launch {
            program: program("gemini")?,
            arguments: fixed.iter().chain(more).map(Into::into).collect(),
            variables,
        })
    })
}
