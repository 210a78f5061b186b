//! Where peers run: a scratch home and project, no network, and nothing of the person's home. Programs of others are never
//! started outside it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::json;

use super::table::{FILES, HOME};
use crate::bench::hook::LIBRARIES;
use crate::real::{confinement, target};

/// What runs on a stage.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Scene {
    /// Programs that only answer.
    Hooks,
    /// Programs that make walls of their own, which not every wall around them allows.
    Sandboxes,
}

/// A scratch home and project.
pub(super) struct Stage {
    folder: PathBuf,
    scene: Scene,
}

impl Stage {
    /// Makes it anew. Not below /tmp, which is private inside.
    pub(super) fn set(scene: Scene) -> Result<Self> {
        let folder = target().join("peers/stage");
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        let stage = Self { folder, scene };
        for name in ["home/.config/mayi", "home/.claude", "project/src", "project/.git/objects", "project/.git/refs"] {
            fs::create_dir_all(stage.folder.join(name))?;
        }
        for (name, text) in FILES {
            fs::write(stage.home().join(name), text)?;
        }
        let project = [
            (".git/HEAD", "ref: refs/heads/main\n"),
            (".git/config", "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
            ("README.md", "# A project\n"),
            ("src/main.rs", "fn main() {}\n"),
        ];
        for (name, text) in project {
            fs::write(stage.project().join(name), text)?;
        }
        if scene == Scene::Sandboxes {
            // Only the walls are measured, and nobody is there to be asked.
            let settings = json!({
                "permissions": { "defaultMode": "bypassPermissions" },
                "sandbox": { "network": { "allowedDomains": [], "strictAllowlist": true } },
            });
            fs::write(stage.home().join(".config/mayi/settings.json"), settings.to_string())?;
        }
        Ok(stage)
    }

    pub(super) fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    pub(super) fn project(&self) -> PathBuf {
        self.folder.join("project")
    }

    /// A file beside home and project.
    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A program on this stage.
    pub(super) fn command(&self, program: &Path) -> Result<Command> {
        let words = match self.scene {
            Scene::Hooks => confinement::bubblewrap(&self.folder, &target()),
            Scene::Sandboxes => self.around_walls(),
        };
        let (bubblewrap, walls) = words.split_first().context("no walls")?;
        let mut command = Command::new(bubblewrap);
        command.args(walls).arg("--setenv").arg("HOME").arg(self.home()).arg("--chdir").arg(self.project());
        for name in ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "CLAUDE_CONFIG_DIR", "CODEX_HOME", "MAYI_LEAD", LIBRARIES] {
            command.env_remove(name);
        }
        command.arg("--").arg(program);
        Ok(command)
    }

    /// Walls that leave room for others inside: /proc stays the machine's own, because a fresh one is partly covered,
    /// and then the kernel refuses a second one inside.
    fn around_walls(&self) -> Vec<String> {
        let mut words: Vec<String> =
            ["bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--bind", "/proc", "/proc"]
                .map(String::from)
                .into();
        words.extend(["--tmpfs", "/tmp", "--unshare-net", "--die-with-parent"].map(String::from));
        let folder = self.folder.display().to_string();
        words.extend(["--bind".to_owned(), folder.clone(), folder]);
        words
    }

    /// Arguments with the scratch home in place of its placeholder.
    pub(super) fn filled(&self, arguments: &[&str]) -> Vec<String> {
        let home = self.home().display().to_string();
        arguments.iter().map(|argument| argument.replace(HOME, &home)).collect()
    }

    /// Writes the message of a hook about a command.
    pub(super) fn message(&self, command: &str) -> Result<PathBuf> {
        let file = self.file("message.json");
        let message = json!({
            "session_id": "7c0ffee0-1111-4222-8333-944455556666",
            "transcript_path": "/nonexistent/transcript.jsonl",
            "cwd": self.project(),
            "permission_mode": "default",
            "hook_event_name": "PreToolUse",
            "tool_name": "Bash",
            "tool_input": { "command": command, "description": "A step of the task" },
            "tool_use_id": "toolu_01BenchBenchBenchBench",
        });
        fs::write(&file, message.to_string())?;
        Ok(file)
    }
}

/// Fails where there is no bubblewrap: nobody's program is run without walls.
pub(super) fn can_be_set() -> Result<()> {
    let stage = Stage::set(Scene::Hooks)?;
    let works = stage.command(Path::new("/bin/true"))?.status().is_ok_and(|status| status.success());
    ensure!(works, "peers run confined or not at all, and bubblewrap cannot be used here");
    Ok(())
}
