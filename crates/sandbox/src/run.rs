//! Runs what a permit holds, confined, and tells how it went. The order of a run is [`Sandbox::spawn`] and
//! [`Running::wait`].
//!
//! Must never run anything but the permit's own call, and never unconfined: where a mechanism fails, nothing runs.

use std::ffi::OsString;
use std::os::fd::OwnedFd;
use std::path::PathBuf;

use mayi_core::verdict::Permit;

use crate::enforcement::{Enforcement, Lack, Mechanism};
use crate::host::{Host, Offer};
use crate::plan::{Nesting, Network, Plan};
use crate::report::Report;

/// The port inside at which the proxy is reached: HTTP and SOCKS5 alike.
pub const PROXY_PORT: u16 = 3128;

/// A plan, and what this host can enforce of it.
#[derive(Clone, Debug)]
pub struct Sandbox {
    pub(crate) plan: Plan,
    pub(crate) host: Host,
    mechanism: Mechanism,
    enforcement: Enforcement,
}

/// Why a plan cannot be enforced here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("this machine cannot confine the command: {missing}\nhelp: {help}")]
pub struct Refused {
    /// What is missing.
    pub missing: String,
    /// What would help.
    pub help: String,
}

/// What a command starts with.
#[derive(Debug, Default)]
pub struct Io {
    /// Standard input.
    pub stdin: Stream,
    /// Standard output.
    pub stdout: Stream,
    /// Standard error.
    pub stderr: Stream,
    /// The terminal that the command controls; its streams are this terminal wherever they are inherited.
    pub terminal: Option<OwnedFd>,
    /// All variables, before the plan takes some away.
    pub environment: Vec<(OsString, OsString)>,
    /// Folders whose changes go to a layer above them.
    pub overlays: Vec<Overlay>,
    /// Whether refusals are watched and told.
    pub watch: Watch,
    /// What was made ahead for it.
    pub ahead: Option<Ahead>,
}

/// What a confined command will need whatever it is, made while it is still being decided: namespaces with a network and a
/// `/dev` of their own. Nothing runs in them, and unused for a second they vanish; a command then gets others.
#[derive(Debug)]
pub struct Ahead(platform::Ahead);

impl Ahead {
    /// Begins, and does not wait; `None` where this host has no namespaces for it. A command that uses it has the user, the
    /// limits and all else that processes inherit as this thread has them now, and must be started by this thread: one that
    /// another thread starts gets others.
    pub fn begin() -> Option<Self> {
        platform::Ahead::begin().map(Self)
    }
}

/// Where a stream goes.
#[derive(Debug, Default)]
pub enum Stream {
    /// To the caller's own.
    #[default]
    Inherit,
    /// Nowhere.
    Null,
    /// To this descriptor.
    Fd(OwnedFd),
}

/// A folder whose changes go to a layer above it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overlay {
    /// The folder.
    pub lower: PathBuf,
    /// Takes the changes.
    pub upper: PathBuf,
    /// The kernel's own, on the same file system as `upper`.
    pub work: PathBuf,
}

/// Whether refusals are watched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Watch {
    /// Refused calls and writes are told, at a small cost for every file opened for writing.
    #[default]
    On,
    /// Everything is refused just the same, in silence.
    Off,
}

/// Why a command does not run.
#[derive(Debug, thiserror::Error)]
pub enum SpawnError {
    /// The permit is for something that is no command.
    #[error("the permit is for `{0}`, which is no shell command")]
    NotACommand(String),
    /// There is no such program.
    #[error("`{0}`: command not found")]
    NotFound(String),
    /// It cannot be executed.
    #[error("`{0}`: cannot be executed: {1}")]
    NotExecutable(String, String),
    /// The plan cannot be laid out here.
    #[error("{0}")]
    Layout(String),
    /// A stream cannot be passed on.
    #[error("standard {0} is a folder, and a folder passed on would lead outside\nhelp: redirect it to a file")]
    Folder(&'static str),
    /// A wall could not be built.
    #[error("the sandbox could not be built: {what}: {why}\nhelp: {help}")]
    Walls {
        /// At what.
        what: String,
        /// The system's word.
        why: String,
        /// What may help.
        help: String,
    },
}

impl SpawnError {
    /// A wall that could not be built, and the system's word for why.
    pub(crate) fn walls(what: &str, why: String) -> Self {
        let help = "run `mayi doctor` to see what this machine offers".into();
        SpawnError::Walls { what: what.into(), why, help }
    }

    /// The exit code that a shell would give.
    pub fn code(&self) -> i32 {
        match self {
            SpawnError::NotFound(_) => 127,
            SpawnError::NotExecutable(..) => 126,
            SpawnError::NotACommand(_) | SpawnError::Layout(_) | SpawnError::Folder(_) | SpawnError::Walls { .. } => 1,
        }
    }
}

impl Sandbox {
    /// The best mechanism of the host that can carry the plan.
    pub fn new(plan: Plan, host: &Host) -> Result<Self, Refused> {
        let mut first = None;
        for mechanism in Mechanism::ALL {
            match enforcement(&plan, host, mechanism) {
                Ok(enforcement) => return Ok(Self { plan, host: host.clone(), mechanism, enforcement }),
                Err(refused) => first = first.or(Some(refused)),
            }
        }
        Err(first.unwrap_or_else(|| Refused { missing: "no mechanism at all".into(), help: HELP.into() }))
    }

    /// Only this mechanism.
    pub fn with(plan: Plan, host: &Host, mechanism: Mechanism) -> Result<Self, Refused> {
        let enforcement = enforcement(&plan, host, mechanism)?;
        Ok(Self { plan, host: host.clone(), mechanism, enforcement })
    }

    /// How far the plan is enforced.
    pub fn enforcement(&self) -> &Enforcement {
        &self.enforcement
    }

    /// By what means.
    pub fn mechanism(&self) -> Mechanism {
        self.mechanism
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Runs what the permit holds, and nothing else.
    pub fn spawn(&self, permit: &Permit, io: Io) -> Result<Running, SpawnError> {
        self.spawn_beside(permit, io, || ())
    }

    /// The same, with something to do while the walls are built. Nothing waits for it; the command may start meanwhile.
    pub fn spawn_beside(&self, permit: &Permit, io: Io, meanwhile: impl FnOnce()) -> Result<Running, SpawnError> {
        let call = permit.call();
        let text = match (call.tool.as_str(), call.text("command")) {
            ("Bash", Some(text)) => text,
            _ => return Err(SpawnError::NotACommand(call.tool.clone())),
        };
        platform::spawn(self, text, io, meanwhile).map(Running)
    }
}

/// A command that runs confined. Dropped before its end, it is ended.
#[derive(Debug)]
pub struct Running(platform::Running);

impl Running {
    /// The first process of the sandbox, as the host numbers it.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Sends a signal to the command's process group.
    pub fn signal(&self, signal: i32) {
        self.0.signal(signal);
    }

    /// The listening socket inside the sandbox's network, for whoever filters it. Given once.
    pub fn listener(&mut self) -> Option<OwnedFd> {
        self.0.listener()
    }

    /// Waits for the end, cleans up, and tells.
    pub fn wait(self) -> Report {
        let (report, cleaning) = self.end();
        drop(cleaning);
        report
    }

    /// Waits for the end, and tells. The last of the cleaning up goes on beside the caller.
    pub fn end(self) -> (Report, Cleaning) {
        let (report, cleaning) = self.0.end();
        (report, Cleaning(cleaning))
    }
}

/// What is still being cleaned up after a command; waited for when this is dropped.
#[derive(Debug)]
pub struct Cleaning(#[expect(dead_code, reason = "held until it is dropped")] platform::Cleaning);

#[cfg(unix)]
impl std::os::fd::AsFd for Running {
    /// Readable when the command and everything it started has ended.
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.0.as_fd()
    }
}

/// What helps on most machines.
const HELP: &str = "permit user namespaces (`sysctl kernel.apparmor_restrict_unprivileged_userns=0` on Ubuntu, \
                    `sysctl user.max_user_namespaces=10000`), or install bubblewrap";

/// How far a mechanism enforces a plan on a host.
fn enforcement(plan: &Plan, host: &Host, mechanism: Mechanism) -> Result<Enforcement, Refused> {
    let lacks = match mechanism {
        Mechanism::Native => native_lacks(plan, host)?,
        Mechanism::Bubblewrap => bubblewrap_lacks(plan, host)?,
        Mechanism::Landlock => landlock_lacks(plan, host)?,
    };
    Ok(if lacks.is_empty() { Enforcement::Full } else { Enforcement::Partial(lacks) })
}

fn native_lacks(plan: &Plan, host: &Host) -> Result<Vec<Lack>, Refused> {
    let refused = |missing: String, help: &str| Refused { missing, help: help.into() };
    if let Offer::No(why) = &host.namespaces {
        return Err(refused(format!("user namespaces are refused ({why})"), HELP));
    }
    if let Offer::No(why) = &host.seccomp {
        return Err(refused(format!("system calls cannot be filtered ({why})"), "a kernel with seccomp is needed"));
    }
    let mut lacks = Vec::new();
    match (&host.fresh_proc, plan.nesting) {
        (Offer::Yes, _) => (),
        (Offer::No(_), Nesting::Possible) => lacks.push(Lack::Processes),
        (Offer::No(why), Nesting::Refused) => {
            let help = "in a container or another sandbox, set `sandbox.enableWeakerNestedSandbox`";
            return Err(refused(format!("a fresh /proc is refused ({why})"), help));
        }
    }
    if plan.nesting == Nesting::Possible || host.landlock < 6 {
        lacks.push(Lack::SecondWall);
    }
    Ok(lacks)
}

fn bubblewrap_lacks(plan: &Plan, host: &Host) -> Result<Vec<Lack>, Refused> {
    let refused = |missing: String| Refused { missing, help: HELP.into() };
    let program = host.bubblewrap.as_ref().ok_or_else(|| refused("bubblewrap is not installed".into()))?;
    if let Offer::No(why) = &host.seccomp {
        return Err(refused(format!("system calls cannot be filtered ({why})")));
    }
    platform::try_bubblewrap(program).map_err(|why| refused(format!("bubblewrap does not work ({why})")))?;
    let mut lacks = domains(plan);
    lacks.push(Lack::SecondWall);
    Ok(lacks)
}

fn landlock_lacks(plan: &Plan, host: &Host) -> Result<Vec<Lack>, Refused> {
    let refused = |missing: String| Refused { missing, help: HELP.into() };
    if host.landlock < 3 {
        return Err(refused("Landlock is missing or too old".into()));
    }
    if let Offer::No(why) = &host.seccomp {
        return Err(refused(format!("system calls cannot be filtered ({why})")));
    }
    // Landlock permits, and cannot take back: what lies inside a permitted folder is permitted.
    if let Some(path) = platform::beyond_landlock(plan).map_err(refused)? {
        let path = path.display();
        return Err(refused(format!("Landlock alone can neither hide nor protect `{path}`")));
    }
    let mut lacks = domains(plan);
    lacks.extend([Lack::Processes, Lack::Attributes]);
    Ok(lacks)
}

/// Without a way to hand a socket out, there is no network at all.
fn domains(plan: &Plan) -> Vec<Lack> {
    match plan.network {
        Network::None => Vec::new(),
        Network::Proxied(_) | Network::Own { .. } => vec![Lack::Domains],
    }
}

/// Ports that somebody outside must serve.
pub(crate) fn ports(network: &Network) -> Vec<u16> {
    match network {
        Network::None => Vec::new(),
        Network::Proxied(_) => vec![PROXY_PORT],
        Network::Own { http, socks } => http.iter().chain(socks).copied().collect(),
    }
}

#[cfg(target_os = "linux")]
#[path = "linux.rs"]
mod platform;

#[cfg(not(target_os = "linux"))]
#[path = "elsewhere.rs"]
mod platform;
