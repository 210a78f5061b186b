//! The stage of one test: a home of its own with mayi's settings in it, and everything mayi ever said there.

use std::cell::RefCell;
use std::fs;
use std::io::{ErrorKind, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{Provider, told, until};

/// A home with a project in it.
#[derive(Debug)]
pub struct Stage {
    folder: PathBuf,
    variables: Vec<(String, String)>,
    /// Everything that was printed here, to be searched for what must not be in it.
    heard: RefCell<String>,
}

/// What a run said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Said {
    /// Its exit code; -1 when a signal ended it.
    pub code: i32,
    /// Standard output.
    pub out: String,
    /// Standard error.
    pub err: String,
}

impl Said {
    /// Standard output as JSON.
    pub fn json(&self) -> Result<Value> {
        serde_json::from_str(&self.out).with_context(|| format!("no JSON: {self:?}"))
    }

    /// Whether a member of the JSON on standard output has a value.
    pub fn says(&self, member: &str, value: impl Into<Value>) -> Result<bool> {
        Ok(self.json()?.get(member) == Some(&value.into()))
    }
}

/// A run that is not over yet.
#[derive(Debug)]
pub struct Running {
    child: Child,
    err: Arc<Mutex<String>>,
    listener: JoinHandle<()>,
}

impl Stage {
    /// Sets an empty stage.
    pub fn set(name: &str) -> Result<Self> {
        let folder = told("MAYI_IDENTITY_SCRATCH")?.join(name);
        if folder.exists() {
            fs::remove_dir_all(&folder)?;
        }
        fs::create_dir_all(folder.join("home/project"))?;
        fs::create_dir_all(folder.join("bin"))?;
        Ok(Self { folder, variables: Vec::new(), heard: RefCell::default() })
    }

    /// A stage whose settings name a provider, and its model behind the provider's tokens.
    pub fn with(name: &str, provider: &Provider) -> Result<Self> {
        let stage = Self::set(name)?;
        stage.settings(&Self::settings_for(provider))?;
        Ok(stage)
    }

    /// The settings of such a stage.
    pub fn settings_for(provider: &Provider) -> Value {
        json!({
            "identity": {
                "issuer": provider.issuer(), "clientId": "mayi", "scopes": ["openid", "offline_access", "model"],
                "forModels": true, "store": "file",
            },
            "classifier": {
                "provider": "openai", "model": "m", "baseUrl": format!("{}/model", provider.issuer()), "retries": 0,
            },
        })
    }

    /// Settings for a provider, where credentials go to the best store that takes them.
    pub fn settings_for_any_store(provider: &Provider) -> Value {
        let mut settings = Self::settings_for(provider);
        settings.pointer_mut("/identity").and_then(Value::as_object_mut).map(|identity| identity.remove("store"));
        settings
    }

    /// Writes the person's mayi settings.
    pub fn settings(&self, settings: &Value) -> Result<()> {
        let file = self.home().join(".config/mayi/settings.json");
        fs::create_dir_all(file.parent().context("no folder")?)?;
        Ok(fs::write(file, settings.to_string())?)
    }

    /// A variable that every run on this stage has from now on.
    pub fn variable(&mut self, name: &str, value: impl Into<String>) {
        self.variables.retain(|(own, _)| own != name);
        self.variables.push((name.to_owned(), value.into()));
    }

    /// The folder of everything.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The home.
    pub fn home(&self) -> PathBuf {
        self.folder.join("home")
    }

    /// Where mayi keeps its state.
    pub fn state(&self) -> PathBuf {
        self.home().join(".local/state/mayi")
    }

    /// Where the file store keeps secrets.
    pub fn secrets(&self) -> PathBuf {
        self.state().join("identity/secrets")
    }

    /// Makes the tokens that are kept in the file so many seconds older.
    pub fn age(&self, seconds: u64) -> Result<()> {
        let mut aged = 0;
        for entry in fs::read_dir(self.secrets())? {
            let path = entry?.path();
            let Ok(mut tokens) = serde_json::from_slice::<Value>(&fs::read(&path)?) else { continue };
            for name in ["obtained", "expires"] {
                let Some(time) = tokens.get_mut(name).filter(|time| time.is_u64()) else { continue };
                *time = time.as_u64().unwrap_or_default().saturating_sub(seconds).into();
                aged += 1;
            }
            fs::write(path, tokens.to_string())?;
        }
        ensure!(aged == 2, "{aged} times were found");
        Ok(())
    }

    /// What `whoami` knows of the credential for the model.
    pub fn standing(&self) -> Result<Value> {
        let said = self.mayi(&["whoami", "--json"])?;
        let standing = said.json()?.pointer("/credentials/0").cloned();
        standing.with_context(|| format!("no standing: {said:#?}"))
    }

    /// A program on the search path of every run, before all others.
    pub fn program(&self, name: &str, script: &str) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let path = self.folder.join("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n"))?;
        Ok(fs::set_permissions(path, fs::Permissions::from_mode(0o755))?)
    }

    /// mayi, with nothing of the machine's environment.
    pub fn command(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = Command::new(told("MAYI_BINARY")?);
        let search = format!("{}:/usr/bin:/bin", self.folder.join("bin").display());
        command.args(arguments).env_clear().env("HOME", self.home()).env("PATH", search);
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.current_dir(self.home().join("project")).stdin(Stdio::null());
        Ok(command)
    }

    /// Runs mayi.
    pub fn mayi(&self, arguments: &[&str]) -> Result<Said> {
        let output = self.command(arguments)?.output().context("cannot run mayi")?;
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let code = output.status.code().unwrap_or(-1);
        Ok(self.hear(Said { code, out: text(&output.stdout), err: text(&output.stderr) }))
    }

    /// Runs mayi, which must succeed.
    pub fn well(&self, arguments: &[&str]) -> Result<Said> {
        let said = self.mayi(arguments)?;
        ensure!(said.code == 0, "{arguments:?}: {said:#?}");
        Ok(said)
    }

    /// Runs mayi with something on standard input.
    pub fn fed(&self, arguments: &[&str], input: &str) -> Result<Said> {
        let mut running = self.begin(self.command(arguments)?.stdin(Stdio::piped()))?;
        let fed = running.child.stdin.take().context("no standard input")?.write_all(input.as_bytes());
        // Whoever has heard enough does not listen to the end.
        fed.or_else(|error| if error.kind() == ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })?;
        self.end(running)
    }

    /// Starts mayi.
    pub fn start(&self, arguments: &[&str]) -> Result<Running> {
        self.begin(&mut self.command(arguments)?)
    }

    /// Starts a line of shell at a terminal of its own; what the terminal shows is on standard error.
    pub fn at_a_terminal(&self, line: &str) -> Result<Running> {
        let mayi = self.command(&[])?;
        let mut command = Command::new("sh");
        // The words of `script` itself are not wanted, and neither is its record.
        command.args(["-c", "exec script --quiet --return --command \"$0\" /dev/null >&2", line]).env_clear();
        command.envs(mayi.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env("MAYI", mayi.get_program()).current_dir(self.home()).stdin(Stdio::piped());
        self.begin(&mut command)
    }

    fn begin(&self, command: &mut Command) -> Result<Running> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot run mayi")?;
        let err = Arc::new(Mutex::new(String::new()));
        let (heard, mut stderr) = (Arc::clone(&err), child.stderr.take().context("no standard error")?);
        let listener = std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Some(said) = stderr.read(&mut piece).ok().and_then(|length| piece.get(..length)) {
                if said.is_empty() {
                    return;
                }
                let mut heard = heard.lock().unwrap_or_else(PoisonError::into_inner);
                heard.push_str(&String::from_utf8_lossy(said));
            }
        });
        Ok(Running { child, err, listener })
    }

    /// Waits until a run is over.
    pub fn end(&self, mut running: Running) -> Result<Said> {
        let mut out = String::new();
        running.child.stdout.take().context("no standard output")?.read_to_string(&mut out)?;
        let code = running.child.wait()?.code().unwrap_or(-1);
        let _ = running.listener.join();
        let err = running.err.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(self.hear(Said { code, out, err }))
    }

    fn hear(&self, said: Said) -> Said {
        let mut heard = self.heard.borrow_mut();
        heard.push_str(&said.out);
        heard.push_str(&said.err);
        drop(heard);
        said
    }

    /// Everything that was printed on this stage.
    pub fn heard(&self) -> String {
        self.heard.borrow().clone()
    }
}

impl Running {
    /// Waits for a line on standard error that has this beginning, and returns the rest of it.
    pub fn line(&mut self, beginning: &str) -> Result<String> {
        until(&format!("`{beginning}`"), || {
            let err = self.err.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let whole = err.rsplit_once('\n').map_or("", |(whole, _)| whole);
            if let Some(rest) = whole.lines().find_map(|line| line.trim().strip_prefix(beginning)) {
                return Ok(Some(rest.to_owned()));
            }
            ensure!(self.child.try_wait()?.is_none(), "it ended instead: {err}");
            Ok(None)
        })
    }

    /// Waits until it asks for something, and types that.
    pub fn type_at(&mut self, prompt: &str, typed: &str) -> Result<()> {
        until(&format!("`{prompt}`"), || {
            let err = self.err.lock().unwrap_or_else(PoisonError::into_inner);
            Ok(err.contains(prompt).then_some(()))
        })?;
        let stdin = self.child.stdin.as_mut().context("no standard input")?;
        stdin.write_all(typed.as_bytes())?;
        Ok(stdin.flush()?)
    }

    /// The address that a person is to open.
    pub fn address(&mut self) -> Result<String> {
        Ok(format!("http://{}", self.line("http://")?))
    }

    /// Its number.
    pub fn id(&self) -> Result<Pid> {
        Pid::from_raw(self.child.id().cast_signed()).context("it has no number")
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(self.id()?, signal)?)
    }
}
