//! One run of an agent: started alone in its environment, stopped with all it started when it takes too long.

use std::ffi::OsString;
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use rustix::process::{Pid, Signal, kill_process_group};

use crate::api::{Api, ToolResult};
use crate::script::Script;
use crate::stage::Stage;
use crate::standin::{Heard, StandIn};

/// How long a run may take before it is stopped and the test fails.
const PATIENCE: Duration = Duration::from_secs(90);

/// Whether a call is expected to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runs {
    /// It does.
    Yes,
    /// It does not.
    No,
}

/// How an agent is started.
#[derive(Debug)]
pub struct Launch {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<OsString>,
    /// Its variables, beside those every agent has.
    pub variables: Vec<(&'static str, String)>,
}

/// What was seen of a run.
#[derive(Debug)]
pub struct Performance {
    /// What the model was told.
    pub heard: Heard,
    /// How the agent ended; `None` when it was stopped.
    pub status: Option<ExitStatus>,
    /// Its standard output.
    pub stdout: String,
    /// Its standard error.
    pub stderr: String,
}

impl Performance {
    /// Plays a script with an agent. `launch` makes it ready for the server at the address.
    pub fn play(stage: &Stage, api: Api, script: &Script, launch: impl FnOnce(&str) -> Result<Launch>) -> Result<Self> {
        let server = StandIn::open(api, script.clone())?;
        let launch = launch(&server.url())?;
        let (stdout, stderr) = (stage.home().join("stdout.txt"), stage.home().join("stderr.txt"));
        let mut child = command(stage, &launch)?
            .stdout(File::create(&stdout)?)
            .stderr(File::create(&stderr)?)
            .spawn()
            .with_context(|| format!("cannot run `{}`", launch.program.display()))?;
        let status = wait(&mut child)?;
        let heard = server.close();
        Ok(Self { heard, status, stdout: text(&stdout)?, stderr: text(&stderr)? })
    }

    /// The result of a call, as the model was told; an error that shows the whole run when there was none.
    pub fn result(&self, id: &str) -> Result<&ToolResult> {
        self.heard.results.get(id).with_context(|| format!("the model heard nothing of `{id}`: {self:#?}"))
    }

    /// Whether the agent ended by itself.
    pub fn ended(&self) -> bool {
        self.status.is_some()
    }
}

/// An agent in an environment of its own. Proxies lead nowhere, so that a request beyond loopback fails even where
/// the test is not confined.
fn command(stage: &Stage, launch: &Launch) -> Result<Command> {
    let node = which("node").context("`node` is not there")?;
    let path = [node.parent().unwrap_or(Path::new("/usr/bin")), Path::new("/usr/bin"), Path::new("/bin")];
    let mut command = Command::new(&launch.program);
    command
        .args(&launch.arguments)
        .current_dir(stage.project())
        .stdin(Stdio::null())
        .process_group(0)
        .env_clear()
        .env("HOME", stage.home())
        .env("PATH", std::env::join_paths(path)?)
        .envs([("LANG", "C.UTF-8"), ("TERM", "dumb"), ("SHELL", "/bin/sh"), ("USER", "tester")])
        .envs(["HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"].map(|name| (name, "http://127.0.0.1:9")))
        .envs(["NO_PROXY", "no_proxy"].map(|name| (name, "127.0.0.1,localhost")))
        .envs(launch.variables.iter().map(|(name, value)| (*name, value)));
    Ok(command)
}

fn which(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

/// Waits for the agent, then ends whatever it left behind in its group.
fn wait(child: &mut Child) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut status = child.try_wait()?;
    while status.is_none() && start.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(20));
        status = child.try_wait()?;
    }
    if let Some(group) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) {
        // An empty group is as good as an ended one.
        let _ = kill_process_group(group, Signal::KILL);
    }
    if status.is_none() {
        child.wait()?;
    }
    Ok(status)
}

fn text(path: &Path) -> Result<String> {
    Ok(String::from_utf8_lossy(&std::fs::read(path)?).into_owned())
}
