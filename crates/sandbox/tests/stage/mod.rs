//! A stage for confined runs: a workspace with secrets and a repository, a plan for it, and a way to run a text and see
//! what came of it. Every scene is played twice where that is possible: as root and as an ordinary user.

#![allow(dead_code, reason = "each test uses its part of the stage")]

use std::ffi::OsString;
use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use mayi_core::call::Call;
use mayi_core::policy::{Layer, Origin};
use mayi_core::reason::Reason;
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Permit, Terms, Verdict};
use mayi_sandbox::enforcement::Mechanism;
use mayi_sandbox::host::Host;
use mayi_sandbox::plan::{Access, Confined, Environment, Files, Limits, Nesting, Network, Place, Plan, Sockets, Why};
use mayi_sandbox::report::Report;
use mayi_sandbox::run::{Io, Overlay, Sandbox, SpawnError, Stream};

/// The ordinary user.
const NOBODY: u32 = 65534;
/// Says to a test that it is the second of two.
const SECOND: &str = "MAYI_STAGE_SECOND";

/// Plays a scene; as root, also as an ordinary user, in a process of its own.
pub(crate) fn twice(name: &str, scene: fn()) {
    scene();
    let root = fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0);
    if !root || std::env::var_os(SECOND).is_some() {
        return;
    }
    // The program may lie in a folder that only root can enter. Another process copies it: a file that a thread of this
    // one had open for writing could not be executed.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    open(folder.path());
    let program = folder.path().join("scene");
    assert!(Command::new("cp").arg(std::env::current_exe().unwrap()).arg(&program).status().unwrap().success());
    open(&program);
    let played = Command::new(&program)
        .args([name, "--exact", "--nocapture", "--test-threads=1"])
        .env(SECOND, "1")
        .env("HOME", folder.path())
        .current_dir("/")
        .uid(NOBODY)
        .gid(NOBODY)
        .output()
        .unwrap();
    let shown = String::from_utf8_lossy(&played.stdout);
    assert!(
        played.status.success() && shown.contains("1 passed"),
        "as an ordinary user:\n{shown}{}",
        String::from_utf8_lossy(&played.stderr)
    );
}

fn open(path: &Path) {
    fs::set_permissions(path, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
}

/// A workspace.
pub(crate) struct Stage {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) plan: Plan,
    pub(crate) mechanism: Mechanism,
    pub(crate) environment: Vec<(OsString, OsString)>,
}

impl Stage {
    /// `work` is writable, with `.git` protected in part; `work/secret`, `work/.env` and `vault` are hidden; `outside`
    /// is only readable.
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in
            ["work/.git/hooks", "work/.git/objects", "work/.git/refs", "work/secret", "vault/deep/open", "outside"]
        {
            fs::create_dir_all(root.join(name)).unwrap();
        }
        for (name, text) in [
            ("work/.git/config", "[core]\n"),
            ("work/.git/HEAD", "ref: refs/heads/main\n"),
            ("work/file", "plain\n"),
            ("work/secret/key", "canary\n"),
            ("work/.env", "canary\n"),
            ("vault/key", "canary\n"),
            ("vault/deep/open/note", "opened\n"),
            ("outside/file", "outside\n"),
        ] {
            fs::write(root.join(name), text).unwrap();
        }
        let mut stage = Self {
            plan: plan(&root.join("work")),
            folder,
            mechanism: Mechanism::Native,
            environment: vec![("PATH".into(), std::env::var_os("PATH").unwrap()), ("HOME".into(), "/".into())],
        };
        stage.place("work", Access::Writable, Why::WorkingDirectory);
        for name in ["work/.git/hooks", "work/.git/config", "work/.mcp.json", "work/.claude/settings.json"] {
            stage.place(name, Access::ReadOnly, Why::Protected("a test".into()));
        }
        for name in ["work/secret", "work/.env", "vault"] {
            stage.place(name, Access::Hidden, said());
        }
        stage
    }

    /// A plan that opens nothing.
    pub(crate) fn empty_plan(directory: &Path) -> Plan {
        plan(directory)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn place(&mut self, name: &str, access: Access, why: Why) {
        let path = self.path(name);
        let confined = self.confined();
        confined.places.push(Place { path, access, why });
        confined.places.sort_by(|one, other| one.path.cmp(&other.path));
    }

    pub(crate) fn confined(&mut self) -> &mut Confined {
        match &mut self.plan.files {
            Files::Confined(confined) => confined,
            Files::Open => panic!("the plan is open"),
        }
    }

    pub(crate) fn sandbox(&self) -> Sandbox {
        Sandbox::with(self.plan.clone(), &Host::probe(), self.mechanism).unwrap()
    }

    pub(crate) fn try_run(&self, text: &str) -> Result<Seen, SpawnError> {
        self.run_over(text, Vec::new())
    }

    /// Runs a text with layers over some folders.
    pub(crate) fn run_over(&self, text: &str, overlays: Vec<Overlay>) -> Result<Seen, SpawnError> {
        let (output, input) = std::io::pipe().unwrap();
        let again = OwnedFd::from(input.try_clone().unwrap());
        let io = Io {
            stdin: Stream::Null,
            stdout: Stream::Fd(input.into()),
            stderr: Stream::Fd(again),
            environment: self.environment.clone(),
            overlays,
            ..Io::default()
        };
        let running = self.sandbox().spawn(&permit(text), io)?;
        let mut said = Vec::new();
        let mut output = output;
        output.read_to_end(&mut said).unwrap();
        Ok(Seen { said: String::from_utf8_lossy(&said).into_owned(), report: running.wait() })
    }

    pub(crate) fn run(&self, text: &str) -> Seen {
        self.try_run(text).unwrap()
    }
}

/// What came of a run.
#[derive(Debug)]
pub(crate) struct Seen {
    pub(crate) said: String,
    pub(crate) report: Report,
}

pub(crate) fn said() -> Why {
    Why::Said(Box::new(Origin::of(Layer::User)))
}

pub(crate) fn permit(text: &str) -> Permit {
    let decision = Decision {
        verdict: Verdict::Allow,
        step: Step::Human,
        reason: Reason::Confined,
        terms: Terms { confined: true, ..Terms::default() },
        trace: Trace::default(),
    };
    decision.permit(Call::shell(text)).unwrap()
}

fn plan(directory: &Path) -> Plan {
    Plan {
        directory: directory.to_owned(),
        files: Files::Confined(Confined::default()),
        network: Network::None,
        sockets: Sockets::None,
        environment: Environment::default(),
        limits: Limits { core: Some(0), ..Limits::default() },
        nesting: Nesting::Refused,
        gaps: Vec::new(),
    }
}
