//! The Secret Service of a desktop: gnome-keyring on a bus of its own, which can be locked, killed and started again.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, ensure};
use rustix::process::{Pid, Signal, kill_process};

use crate::until;

/// What the keyring is locked with.
const PASSWORD: &[u8] = b"correct horse battery staple";
/// The only collection.
const COLLECTION: &str = "/org/freedesktop/secrets/collection/login";

/// A bus and the keyring on it, until they are dropped.
#[derive(Debug)]
pub struct SecretService {
    folder: PathBuf,
    bus: Child,
    keyring: Option<Child>,
}

impl SecretService {
    /// Starts both in a folder that must be short: the name of a socket is.
    pub fn start(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder.join("home"))?;
        let configuration = folder.join("bus.conf");
        fs::write(&configuration, bus_configuration(&folder.join("bus")))?;
        let mut command = Command::new("dbus-daemon");
        command.arg("--nofork").arg("--nopidfile").arg("--config-file").arg(&configuration).stderr(Stdio::null());
        let bus = command.spawn().context("cannot run `dbus-daemon`")?;
        let mut service = Self { folder: folder.to_owned(), bus, keyring: None };
        until("the bus", || Ok(folder.join("bus").exists().then_some(())))?;
        service.start_keyring()?;
        Ok(service)
    }

    /// What programs find the bus by.
    pub fn address(&self) -> String {
        format!("unix:path={}", self.folder.join("bus").display())
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().envs(std::env::var_os("PATH").map(|search| ("PATH", search)));
        command.env("HOME", self.folder.join("home")).env("XDG_RUNTIME_DIR", &self.folder);
        command.env("DBUS_SESSION_BUS_ADDRESS", self.address()).stderr(Stdio::null());
        command
    }

    /// Starts the keyring, unlocked.
    pub fn start_keyring(&mut self) -> Result<()> {
        let mut command = self.command("gnome-keyring-daemon");
        command.args(["--foreground", "--components=secrets", "--unlock", "--control-directory"]);
        command.arg(self.folder.join("control")).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut keyring = command.spawn().context("cannot run `gnome-keyring-daemon`")?;
        keyring.stdin.take().context("no way to unlock it")?.write_all(PASSWORD)?;
        self.keyring = Some(keyring);
        until("the keyring", || Ok(self.is_there()?.then_some(())))
    }

    fn is_there(&self) -> Result<bool> {
        let asked = ["/", "org.freedesktop.DBus.NameHasOwner", "string:org.freedesktop.secrets"];
        Ok(self.sent("org.freedesktop.DBus", &asked)?.contains("true"))
    }

    fn sent(&self, to: &str, message: &[&str]) -> Result<String> {
        let mut command = self.command("dbus-send");
        command.args(["--session", "--print-reply", &format!("--dest={to}")]).args(message);
        let output = command.output().context("cannot run `dbus-send`")?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Locks the keyring; nobody is there to unlock it.
    pub fn lock(&self) -> Result<()> {
        let order = ["/org/freedesktop/secrets", "org.freedesktop.Secret.Service.Lock"];
        let which = format!("array:objpath:{COLLECTION}");
        let answer = self.sent("org.freedesktop.secrets", &[order[0], order[1], &which])?;
        ensure!(answer.contains(COLLECTION), "it does not lock: {answer}");
        Ok(())
    }

    /// Kills the keyring. What it kept is on its disk.
    pub fn kill_keyring(&mut self) -> Result<()> {
        if let Some(mut keyring) = self.keyring.take() {
            keyring.kill()?;
            keyring.wait()?;
        }
        until("the end of the keyring", || Ok((!self.is_there()?).then_some(())))
    }

    /// Lets the keyring hang, or go on.
    pub fn signal(&self, signal: Signal) -> Result<()> {
        let id = self.keyring.as_ref().and_then(|child| Pid::from_raw(child.id().cast_signed()));
        Ok(kill_process(id.context("there is no keyring")?, signal)?)
    }
}

impl Drop for SecretService {
    fn drop(&mut self) {
        for child in self.keyring.iter_mut().chain([&mut self.bus]) {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// A bus that starts nothing by itself: a keyring that was killed stays dead until it is started again.
fn bus_configuration(socket: &Path) -> String {
    let address = socket.display();
    format!(
        "<busconfig><type>session</type><listen>unix:path={address}</listen><auth>EXTERNAL</auth>\
         <policy context=\"default\"><allow send_destination=\"*\"/><allow receive_sender=\"*\"/>\
         <allow own=\"*\"/></policy></busconfig>"
    )
}
