//! Claude Code: print mode, with its settings in the person's home.

use anyhow::Result;
use serde_json::json;

use super::Hook;
use crate::api::Api;
use crate::performance::{Launch, Performance};
use crate::script::{Script, Use};
use crate::stage::{Stage, program};

/// A call of its shell tool.
pub fn bash(id: &str, command: &str) -> Use {
    Use::new(id, "Bash", json!({"command": command, "description": "a step of the test"}))
}

/// Makes the agent ready: first questions answered, the project trusted, the hook in its settings.
pub fn prepare(stage: &Stage, hook: Hook) -> Result<()> {
    let project = stage.project().display().to_string();
    let state = json!({"hasCompletedOnboarding": true, "projects": {project: {"hasTrustDialogAccepted": true}}});
    stage.write(".claude.json", &state.to_string())?;
    hook.install(stage, "claude-code", ".claude/settings.json")
}

/// Plays a script, with more arguments for the agent.
pub fn play(stage: &Stage, script: &Script, more: &[&str]) -> Result<Performance> {
    Performance::play(stage, Api::Messages, script, |url| {
        let fixed = ["-p", "go on", "--output-format", "stream-json", "--verbose", "--strict-mcp-config"];
        let quiet = [
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
            "DISABLE_TELEMETRY",
            "DISABLE_ERROR_REPORTING",
            "DISABLE_AUTOUPDATER",
        ];
        let mut variables = vec![("ANTHROPIC_BASE_URL", url.to_owned()), ("ANTHROPIC_API_KEY", "none".to_owned())];
        variables.extend(quiet.map(|name| (name, "1".to_owned())));
        variables.push(("CLAUDE_CODE_MAX_RETRIES", "1".to_owned()));
        Ok(Launch {
            program: program("claude")?,
            arguments: fixed.iter().chain(more).map(Into::into).collect(),
            variables,
        })
    })
}

/// Plays a script with a permission prompt: a program, and the answer it gives to every question.
pub fn with_prompt(stage: &Stage, script: &Script, prompt: &[&str; 2]) -> Result<Performance> {
    let [program, answer] = prompt;
    let log = stage.home().join("prompt.jsonl");
    let server = json!({"command": program, "args": [log, answer]});
    let servers = stage.write("servers.json", &json!({"mcpServers": {"prompt": server}}).to_string())?;
    let servers = servers.display().to_string();
    play(stage, script, &["--mcp-config", &servers, "--permission-prompt-tool", "mcp__prompt__ask"])
}
