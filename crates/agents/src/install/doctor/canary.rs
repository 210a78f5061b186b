//! Runs an installed hook as its agent would, with a made-up call, and reads the answer as the agent would. A hook that
//! hangs is ended with all it started.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use mayi_core::verdict::Verdict;
use mayi_settings::own_hook;
use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

use crate::install::facts::{Canary, Run};

/// The most that is read of what a hook says.
const MOST_BYTES: u64 = 1024 * 1024;

/// A hook to try, and the call to try it with.
pub(super) struct Trial<'a> {
    pub(super) canary: &'a Canary,
    pub(super) command: &'a str,
    pub(super) file: &'a Path,
    pub(super) call: &'a str,
    pub(super) folder: &'a Path,
    pub(super) deadline: Duration,
}

/// What a hook answered, and how long it took.
pub(super) struct Answered {
    pub(super) verdict: Verdict,
    /// What it wrote when it only refused by its exit code, as a program does that does not know what it was told.
    pub(super) bare_refusal: Option<String>,
    pub(super) took: Duration,
}

/// What a process left behind.
struct Said {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Tries a hook.
pub(super) fn tried(trial: &Trial<'_>) -> Result<Answered, String> {
    let message = trial.canary.message(trial.call, trial.folder)?.to_string();
    let words = own_hook::words(trial.command);
    let mut command = match (trial.canary.run, words.split_first()) {
        (Run::Shell(shell), _) => {
            let mut command = Command::new(shell);
            command.arg("-c").arg(trial.command);
            command
        }
        (Run::File, _) => Command::new(trial.file),
        (Run::Words, Some((program, arguments))) => {
            let mut command = Command::new(program);
            command.args(arguments);
            command
        }
        (Run::Words, None) => return Err("there is no command".to_owned()),
    };
    command.current_dir(trial.folder);
    // Whoever runs the doctor from an agent's shell may have a lead. The trial's session has none that could be found.
    command.env_remove("MAYI_LEAD").env_remove("MAYI_INHERIT");
    let start = Instant::now();
    let said = run(command, message.as_bytes(), trial.deadline)?;
    let took = start.elapsed();
    let is_bare = said.code == Some(2) && said.stdout.is_empty();
    let bare_refusal = is_bare.then(|| format!("exit code 2{}", first_line(&said.stderr)));
    let code = said.code.ok_or("it was ended by a signal")?;
    Ok(Answered { verdict: trial.canary.heard(code, &said.stdout, &said.stderr)?, bare_refusal, took })
}

/// What a program says to `--version`.
pub(super) fn version(program: &Path, deadline: Duration) -> Option<String> {
    let mut command = Command::new(program);
    command.arg("--version");
    let said = run(command, b"", deadline).ok()?;
    Some(said.stdout.trim().to_owned()).filter(|text| !text.is_empty())
}

impl Canary {
    /// The message for a shell command in a folder.
    pub fn message(&self, command: &str, folder: &Path) -> Result<Value, String> {
        let mut message: Value = serde_json::from_str(self.message).map_err(|error| error.to_string())?;
        fill(&mut message, &[("@COMMAND@", command), ("@FOLDER@", &folder.to_string_lossy())]);
        Ok(message)
    }

    /// What the agent makes of what a hook left behind.
    pub fn heard(&self, code: i32, stdout: &str, stderr: &str) -> Result<Verdict, String> {
        match code {
            code if self.codes.contains(&code) => {}
            2 => return Ok(Verdict::Deny),
            code => return Err(format!("it ended with exit code {code}{}", first_line(stderr))),
        }
        let silence = || self.silence.ok_or_else(|| "it said nothing".to_owned());
        if stdout.trim().is_empty() {
            return silence();
        }
        let value: Value = serde_json::from_str(stdout).map_err(|error| format!("its answer is not JSON: {error}"))?;
        let Some(word) = value.pointer(self.pointer) else { return silence() };
        let word = word.as_str().map_or_else(|| word.to_string(), str::to_owned);
        let known = self.words.iter().find(|(known, _)| *known == word);
        known.map(|(_, verdict)| *verdict).ok_or_else(|| format!("its answer `{word}` means nothing to the agent"))
    }
}

fn fill(value: &mut Value, blanks: &[(&str, &str)]) {
    match value {
        Value::String(text) => {
            for (blank, filled) in blanks {
                *text = text.replace(blank, filled);
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, blanks)),
        Value::Object(members) => members.iter_mut().for_each(|(_, member)| fill(member, blanks)),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().map(|line| format!(": {line}")).unwrap_or_default()
}

fn run(command: Command, input: &[u8], deadline: Duration) -> Result<Said, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| error.to_string())?.block_on(answered(command, input, deadline))
}

async fn answered(mut command: Command, input: &[u8], deadline: Duration) -> Result<Said, String> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| format!("it cannot be started: {error}"))?;
    let group = child.id();
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let feed = async {
        if let Some(mut stdin) = stdin {
            // A hook may answer without reading everything.
            let _ = stdin.write_all(input).await;
        }
    };
    let exchange = async {
        let ((), stdout, stderr) = tokio::join!(feed, read(stdout), read(stderr));
        let status = child.wait().await.map_err(|error| error.to_string())?;
        Ok(Said { code: status.code(), stdout, stderr })
    };
    let said = tokio::time::timeout(deadline, exchange).await;
    said.unwrap_or_else(|_| {
        end(group);
        Err(format!("it took longer than {} s", deadline.as_secs()))
    })
}

async fn read(stream: Option<impl AsyncReadExt + Unpin>) -> String {
    let mut bytes = Vec::new();
    if let Some(stream) = stream {
        // What was read before an error still counts.
        let _ = stream.take(MOST_BYTES).read_to_end(&mut bytes).await;
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Ends a process and whatever it started.
#[cfg(unix)]
fn end(group: Option<u32>) {
    let group = group.and_then(|id| i32::try_from(id).ok()).and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        // It may have ended by itself at last.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

#[cfg(not(unix))]
fn end(_group: Option<u32>) {}
