//! A folder to work in, settings with hooks, and a look at which processes are left.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use mayi_core::call::{Call, Workspace};
use mayi_core::mode::Mode;
use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict;
use mayi_engine::hooks::{Before, Occasion, Runner};
use mayi_settings::{Given, Loaded, of_values};
use serde_json::{Value, json};

/// A folder, gone with the test.
pub(crate) struct Stage {
    folder: tempfile::TempDir,
}

impl Stage {
    pub(crate) fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap_or_default()
    }

    pub(crate) fn occasion(&self) -> Occasion {
        Occasion {
            session: "s-1".to_owned(),
            directory: self.folder.path().to_owned(),
            mode: Mode::Default,
            ..Occasion::default()
        }
    }

    pub(crate) fn loaded(&self, layers: &[(Layer, Value)]) -> Loaded {
        let layers: Vec<(Layer, &Value)> = layers.iter().map(|(layer, value)| (*layer, value)).collect();
        of_values(&layers, &Workspace::at(self.folder.path().to_str().unwrap()), &Given::default())
    }

    pub(crate) fn runner(&self, settings: Value) -> Runner {
        let loaded = self.loaded(&[(Layer::User, settings)]);
        assert_eq!(loaded.problems(), [], "the settings of a test are in order");
        Runner::new(&loaded, environment())
    }

    /// What these hooks say before `ls`.
    pub(crate) async fn before(&self, hooks: &[Value]) -> Before {
        let runner = self.runner(on("PreToolUse", hooks));
        runner.before(&Call::shell("ls"), &self.occasion()).await.expect("a hook is for every call")
    }
}

/// Enough to find programs, and something that no hook may see.
pub(crate) fn environment() -> Vec<(OsString, OsString)> {
    let path = std::env::var_os("PATH").unwrap();
    let others = [("HOME", "/home/nobody"), ("LC_ALL", "C"), ("SECRET_TOKEN", "hush"), ("ANTHROPIC_API_KEY", "hush")];
    let others = others.map(|(name, value)| (name.into(), value.into()));
    others.into_iter().chain([("PATH".into(), path)]).collect()
}

/// Settings with hooks for every tool.
pub(crate) fn on(event: &str, hooks: &[Value]) -> Value {
    json!({"hooks": {event: [{"hooks": hooks}]}})
}

/// A hook that runs a command line, with ten seconds for it.
pub(crate) fn command(line: &str) -> Value {
    json!({"type": "command", "command": line, "timeout": 10})
}

/// The same with further members.
pub(crate) fn with(mut hook: Value, members: Value) -> Value {
    hook.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    hook
}

/// A command line that prints a value.
pub(crate) fn prints(value: &Value) -> String {
    let text = value.to_string();
    assert!(!text.contains('\''), "the shell keeps it as it is");
    format!("printf '%s' '{text}'")
}

/// The answer of a PreToolUse hook.
pub(crate) fn decides(decision: &str) -> Value {
    let reason = format!("reason to {decision}");
    let own =
        json!({"hookEventName": "PreToolUse", "permissionDecision": decision, "permissionDecisionReason": reason});
    json!({ "hookSpecificOutput": own })
}

pub(crate) fn verdict(before: &Before) -> Option<Verdict> {
    before.said.as_ref().map(|said| said.verdict)
}

pub(crate) fn message(before: &Before) -> &str {
    before.said.as_ref().map_or("", |said| said.message.as_str())
}

/// The process whose number a hook has left in a file.
pub(crate) fn process(file: &Path) -> i32 {
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

/// Whether a process still runs. What is dead and only waits to be buried does not.
pub(crate) fn runs(process: i32) -> bool {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !matches!(rest.trim().chars().next(), None | Some('Z' | 'X')))
}

/// Waits until a process is gone: a kill is quick, but not instant.
pub(crate) async fn gone(process: i32) -> bool {
    for _ in 0..1000 {
        if !runs(process) {
            return true;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    false
}
