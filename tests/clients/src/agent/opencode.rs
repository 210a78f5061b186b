//! opencode: `opencode run`, with its configuration in the person's home and mayi's plugin beside it.

use anyhow::{Context, Result};
use serde_json::json;

use super::Hook;
use crate::api::Api;
use crate::performance::{Launch, Performance};
use crate::script::{Script, Use};
use crate::stage::{Stage, companion, program};

/// A call of its shell tool.
pub fn bash(id: &str, command: &str) -> Use {
    Use::new(id, "bash", json!({"command": command, "description": "a step of the test"}))
}

/// Puts the plugin beside its configuration, with the package that the agent would otherwise fetch for it.
pub fn prepare(stage: &Stage, hook: Hook) -> Result<()> {
    let folder = stage.home().join(".config/opencode");
    std::fs::create_dir_all(&folder)?;
    let companion = companion()?;
    for file in ["package.json", "package-lock.json"] {
        std::fs::copy(companion.join(file), folder.join(file)).with_context(|| format!("`{file}` cannot be copied"))?;
    }
    std::os::unix::fs::symlink(companion.join("node_modules"), folder.join("node_modules"))?;
    hook.install(stage, "opencode", ".config/opencode/plugins/mayi.js")
}

/// Plays a script. The agent's own permissions are left as they are: it runs tools of a project without asking.
pub fn play(stage: &Stage, script: &Script) -> Result<Performance> {
    Performance::play(stage, Api::ChatCompletions, script, |url| {
        let options = json!({"baseURL": format!("{url}/v1"), "apiKey": "none"});
        let model = json!({"name": "m1", "tool_call": true, "limit": {"context": 100_000, "output": 4096}});
        let provider =
            json!({"npm": "@ai-sdk/openai-compatible", "name": "standin", "options": options, "models": {"m1": model}});
        let configuration = json!({
            "model": "standin/m1", "small_model": "standin/m1", "autoupdate": false, "share": "disabled",
            "provider": {"standin": provider},
        });
        stage.write(".config/opencode/opencode.json", &configuration.to_string())?;
        Ok(Launch {
            program: program("opencode")?,
            arguments: ["run", "--format", "json", "go on"].map(Into::into).into(),
            variables: vec![
                ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
                ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
                ("OPENCODE_DISABLE_LSP_DOWNLOAD", "1".to_owned()),
                ("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1".to_owned()),
            ],
        })
    })
}
