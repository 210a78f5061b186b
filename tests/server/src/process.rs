//! `mayi serve` as a process: what it prints at its start, how it ends, how it starts again.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::{Client, PATIENCE, told};

/// What comes before the address on standard output.
const READY: &str = "mayi serves at ";

/// The tokens of a store, by role. They are shown once, so whoever starts a server again must have them.
pub type Tokens = BTreeMap<String, String>;

/// How a server is started.
#[derive(Clone, Debug)]
pub struct Options {
    /// The home that its settings and its state are in.
    pub home: PathBuf,
    /// Where it keeps things: what `--store` gets.
    pub store: String,
    /// Where it listens; port 0 is any free one.
    pub listen: String,
    /// Further arguments.
    pub arguments: Vec<String>,
    /// What stands before the program, such as a way into another namespace.
    pub before: Vec<String>,
    /// The tokens of the store, where it is not new.
    pub tokens: Tokens,
}

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    child: Child,
    options: Options,
    address: SocketAddr,
    said: Arc<Mutex<String>>,
}

impl Options {
    /// A server of its own, with SQLite.
    pub fn sqlite(name: &str) -> Result<Self> {
        let options = Self::new(name, String::new())?;
        let store = format!("sqlite:{}", options.home.join("mayi.db").display());
        Ok(Self { store, ..options })
    }

    /// One server of several on a PostgreSQL.
    pub fn postgres(name: &str, url: &str) -> Result<Self> {
        Self::new(name, url.to_owned())
    }

    fn new(name: &str, store: String) -> Result<Self> {
        let home = told("MAYI_SERVER_SCRATCH")?.join(name);
        if home.exists() {
            fs::remove_dir_all(&home)?;
        }
        fs::create_dir_all(&home)?;
        let options = Self {
            home,
            store,
            listen: "127.0.0.1:0".to_owned(),
            arguments: Vec::new(),
            before: Vec::new(),
            tokens: Tokens::new(),
        };
        options.settings(&json!({}))?;
        Ok(options)
    }

    /// Writes the settings of the server's user, which are its policy. Nobody is slowed down but where a test wants it.
    pub fn settings(&self, settings: &Value) -> Result<()> {
        let mut settings = settings.clone();
        let server = settings.as_object_mut().context("settings are an object")?.entry("server").or_insert(json!({}));
        if let Some(server) = server.as_object_mut() {
            server.entry("requestsPerSecond").or_insert(json!(1_000_000));
        }
        let file = self.home.join(".config/mayi/settings.json");
        fs::create_dir_all(file.parent().context("no folder")?)?;
        Ok(fs::write(file, settings.to_string())?)
    }

    /// mayi, with nothing of the machine's environment.
    pub fn command(&self, arguments: &[&str]) -> Result<Command> {
        let words = self.before.iter().cloned().chain([told("MAYI_BINARY")?.display().to_string()]);
        let words: Vec<String> = words.chain(arguments.iter().map(ToString::to_string)).collect();
        let (program, rest) = words.split_first().context("nothing to run")?;
        let mut command = Command::new(program);
        command.args(rest).env_clear().env("HOME", &self.home).env("PATH", "/usr/sbin:/usr/bin:/bin");
        command.current_dir(&self.home).stdin(Stdio::null());
        Ok(command)
    }
}

impl Server {
    /// Starts a server and waits until it is ready.
    pub fn start(options: Options) -> Result<Self> {
        Self::launch(options)?.ready()
    }

    /// Starts a server and does not wait.
    pub fn launch(options: Options) -> Result<Launched> {
        let mut command = options.command(&["serve", "--listen", &options.listen, "--store", &options.store])?;
        command.args(&options.arguments).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().context("cannot run mayi")?;
        let out = child.stdout.take().context("no standard output")?;
        let mut err = child.stderr.take().context("no standard error")?;
        let said = Arc::new(Mutex::new(String::new()));
        let heard = Arc::clone(&said);
        std::thread::spawn(move || {
            let mut piece = [0; 4096];
            while let Some(bytes) = err.read(&mut piece).ok().and_then(|length| piece.get(..length)) {
                if bytes.is_empty() {
                    return;
                }
                heard.lock().unwrap_or_else(PoisonError::into_inner).push_str(&String::from_utf8_lossy(bytes));
            }
        });
        let (lines, first) = mpsc::channel();
        std::thread::spawn(move || {
            for line in BufReader::new(out).lines().map_while(Result::ok) {
                let _ = lines.send(line);
            }
        });
        Ok(Launched { child, options, said, first })
    }

    /// Its address.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Its address for clients.
    pub fn base(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Its number.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// How it was started, with the tokens that it made.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// A client with the token of a role.
    pub fn client(&self, role: &str) -> Result<Client> {
        let token = self.options.tokens.get(role).with_context(|| format!("no token for `{role}`: {}", self.said()))?;
        Ok(Client::stranger(&self.base())?.with(token))
    }

    /// Everything that it said on standard error.
    pub fn said(&self) -> String {
        self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The link that signs a person in.
    pub fn sign_in_link(&self) -> Result<String> {
        let said = self.said();
        let link = said.split_whitespace().find(|word| word.contains("#sign-in="));
        link.map(str::to_owned).with_context(|| format!("no link: {said}"))
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        Ok(kill_process(Pid::from_raw(self.child.id().cast_signed()).context("it has no number")?, signal)?)
    }

    /// Kills it at once, as a loss of power would end the process.
    pub fn kill(mut self) -> Result<Options> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(self.again())
    }

    /// Asks it to end and waits until it has.
    pub fn end(mut self) -> Result<(Options, ExitStatus)> {
        self.signal(Signal::TERM)?;
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            if let Some(status) = self.child.try_wait()? {
                return Ok((self.again(), status));
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        bail!("it does not end: {}", self.said())
    }

    /// How it is started again: with the same store, tokens and address.
    fn again(&self) -> Options {
        Options { listen: self.address.to_string(), ..self.options.clone() }
    }

    /// A figure of its memory from the kernel, in kilobytes: `VmRSS`, `VmHWM`.
    pub fn memory(&self, name: &str) -> Result<u64> {
        let text = fs::read_to_string(Path::new("/proc").join(self.id().to_string()).join("status"))?;
        let line =
            text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':')).context("no such figure")?;
        Ok(line.trim().trim_end_matches("kB").trim().parse()?)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A server that was started and may not be ready yet.
#[derive(Debug)]
pub struct Launched {
    child: Child,
    options: Options,
    said: Arc<Mutex<String>>,
    first: Receiver<String>,
}

impl Launched {
    /// Waits until it is ready.
    pub fn ready(mut self) -> Result<Server> {
        let said = || self.said.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let line = match self.first.recv_timeout(PATIENCE) {
            Ok(line) => line,
            Err(RecvTimeoutError::Timeout) => {
                let _ = self.child.kill();
                bail!("it is not ready after {PATIENCE:?}: {}", said());
            }
            Err(RecvTimeoutError::Disconnected) => bail!("it ended with {}: {}", self.child.wait()?, said()),
        };
        let address = line.strip_prefix(READY).with_context(|| format!("not what a ready server says: `{line}`"))?;
        let address = address.trim_start_matches("http://").trim_start_matches("https://").parse()?;
        // What is for people was written before, but somebody else reads it here.
        let begun = Instant::now();
        while !said().contains("#sign-in=") && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(5));
        }
        let found = tokens(&said());
        let mut options = self.options;
        options.tokens.extend(found);
        Ok(Server { child: self.child, options, address, said: self.said })
    }

    /// Waits until it ends, for one that must not become ready.
    pub fn refused(mut self) -> Result<(ExitStatus, String)> {
        match self.first.recv_timeout(PATIENCE) {
            Err(RecvTimeoutError::Disconnected) => (),
            Err(RecvTimeoutError::Timeout) => bail!("it neither starts nor ends"),
            Ok(line) => {
                let _ = self.child.kill();
                bail!("it started: `{line}`");
            }
        }
        let status = self.child.wait()?;
        Ok((status, self.said.lock().unwrap_or_else(PoisonError::into_inner).clone()))
    }
}

/// The tokens on standard error: a line names the role and shows the token.
fn tokens(said: &str) -> Tokens {
    let mut found = Tokens::new();
    for line in said.lines() {
        let words = || line.split(|c: char| c.is_whitespace() || "`:,;()".contains(c));
        let token = words().find(|word| word.starts_with("mayi_"));
        let role = words().find(|word| ["agent", "approver", "admin", "auditor"].contains(word));
        if let (Some(token), Some(role)) = (token, role) {
            found.insert(role.to_owned(), token.to_owned());
        }
    }
    found
}
