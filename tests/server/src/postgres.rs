//! A PostgreSQL of the test's own: a new cluster in a folder of its own, on loopback, that can be stopped, crashed and
//! started again. It is stopped when it is dropped.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// Names the folder with `initdb` and `pg_ctl`; without it Debian's own place is looked at.
const PROGRAMS: &str = "MAYI_POSTGRES_BIN";
/// The password of the only user.
const PASSWORD: &str = "correct-horse";
/// PostgreSQL refuses to run as root; then it runs as this user (`nobody`).
const ORDINARY: u32 = 65534;

/// A cluster with one database, `mayi`, and one user of that name.
#[derive(Debug)]
pub struct Postgres {
    programs: PathBuf,
    folder: TempDir,
    port: u16,
}

impl Postgres {
    /// Makes a cluster and starts it.
    pub fn start() -> Result<Self> {
        let folder = tempfile::Builder::new().prefix("mayi-postgres").tempdir()?;
        let made = Self { programs: programs()?, folder, port: free_port()? };
        if is_root() {
            chown(made.folder.path(), Some(ORDINARY), Some(ORDINARY))?;
        }
        made.make()?;
        made.start_again()?;
        made.sql_in("postgres", "create database mayi")?;
        Ok(made)
    }

    /// What `--store` takes.
    pub fn url(&self) -> String {
        self.url_of("mayi")
    }

    fn url_of(&self, database: &str) -> String {
        format!("postgres://mayi:{PASSWORD}@127.0.0.1:{}/{database}", self.port)
    }

    /// Makes another database, and returns what `--store` takes for it.
    pub fn database(&self, name: &str) -> Result<String> {
        self.sql_in("postgres", &format!("create database {name}"))?;
        Ok(self.url_of(name))
    }

    /// Ends it in order: whoever is connected is thrown out.
    pub fn stop(&self) -> Result<()> {
        self.control(&["-m", "fast", "stop"])
    }

    /// Ends it as a crash would: nothing is written that is not written yet.
    pub fn crash(&self) -> Result<()> {
        self.control(&["-m", "immediate", "stop"])
    }

    /// Starts it again, at the same address.
    pub fn start_again(&self) -> Result<()> {
        let log = self.folder.path().join("log");
        let log = log.to_str().context("the folder has a strange name")?;
        self.control(&["-l", log, "-t", "60", "start"])
    }

    /// Runs statements in its database, as its owner, and returns what they print. The server's tables are in the schema
    /// `mayi`.
    pub fn sql(&self, statements: &str) -> Result<String> {
        self.sql_in("mayi", statements)
    }

    /// Lets every process of it hang, or go on: connections stay, and nobody answers.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let file = fs::read_to_string(self.data().join("postmaster.pid"))?;
        let lead: i32 = file.lines().next().unwrap_or_default().trim().parse()?;
        for id in children(lead)?.into_iter().chain([lead]) {
            // One may have ended meanwhile.
            let _ = kill_process(Pid::from_raw(id).context("no process has this number")?, signal);
        }
        Ok(())
    }

    /// Adds lines to its configuration; they hold from the next start.
    pub fn configure(&self, lines: &str) -> Result<()> {
        let file = self.data().join("postgresql.auto.conf");
        let mut text = fs::read_to_string(&file)?;
        text.push_str(lines);
        Ok(fs::write(file, text)?)
    }

    /// The folder of the cluster's data, where certificates are looked for.
    pub fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// A command of PostgreSQL that runs as the user whose cluster it is.
    pub fn command(&self, program: &str) -> Command {
        as_ordinary(&self.programs.join(program), self.folder.path())
    }

    fn make(&self) -> Result<()> {
        let password = self.folder.path().join("password");
        fs::write(&password, PASSWORD)?;
        let mut command = self.command("initdb");
        command.arg("-D").arg(self.data()).arg("--pwfile").arg(&password);
        command.args(["-U", "mayi", "-A", "scram-sha-256", "-E", "UTF8", "--locale=C"]);
        run(command)?;
        let folder = self.folder.path().display();
        self.configure(&format!(
            "listen_addresses = '127.0.0.1'\nport = {}\nunix_socket_directories = '{folder}'\nmax_connections = 200\n",
            self.port
        ))
    }

    fn control(&self, order: &[&str]) -> Result<()> {
        let mut command = self.command("pg_ctl");
        command.arg("-D").arg(self.data()).arg("-w").args(order);
        // The server inherits what `pg_ctl` writes to; a pipe would stay open for as long as it runs.
        let said = fs::File::create(self.folder.path().join("said"))?;
        command.stdout(said.try_clone()?).stderr(said);
        let status = command.status().context("cannot run `pg_ctl`")?;
        let said = || fs::read_to_string(self.folder.path().join("said")).unwrap_or_default();
        let log = || fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        ensure!(status.success(), "`pg_ctl {}` failed: {}{}", order.join(" "), said(), log());
        Ok(())
    }

    /// Runs statements in one of its databases.
    pub fn sql_in(&self, database: &str, statements: &str) -> Result<String> {
        let mut command = self.command("psql");
        command.args(["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-h", "127.0.0.1", "-U", "mayi"]);
        command.args(["-p", &self.port.to_string(), "-d", database, "-c", statements]).env("PGPASSWORD", PASSWORD);
        let output = run(command)?;
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        // It may be stopped already, or hang.
        let _ = self.signal(Signal::CONT);
        let _ = self.crash();
    }
}

fn run(mut command: Command) -> Result<Output> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    Ok(output)
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

fn as_ordinary(program: &Path, home: &Path) -> Command {
    let mut command = if is_root() {
        let mut command = Command::new("setpriv");
        command.args([&format!("--reuid={ORDINARY}"), &format!("--regid={ORDINARY}"), "--clear-groups", "--"]);
        command.arg(program);
        command
    } else {
        Command::new(program)
    };
    command.current_dir(home).env("HOME", home);
    command
}

/// The newest one's folder.
fn programs() -> Result<PathBuf> {
    if let Some(named) = std::env::var_os(PROGRAMS) {
        return Ok(named.into());
    }
    let found =
        fs::read_dir("/usr/lib/postgresql").into_iter().flatten().flatten().map(|entry| entry.path().join("bin"));
    let found = found.filter(|folder| folder.join("initdb").exists()).max();
    found.with_context(|| format!("there is no PostgreSQL\nhelp: install it, or name its folder in `{PROGRAMS}`"))
}

/// The processes that a process started.
fn children(lead: i32) -> Result<Vec<i32>> {
    let text = fs::read_to_string(format!("/proc/{lead}/task/{lead}/children"))?;
    Ok(text.split_whitespace().filter_map(|id| id.parse().ok()).collect())
}

fn free_port() -> Result<u16> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?.port())
}
