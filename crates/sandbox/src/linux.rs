//! A run on Linux: prepares everything, launches, and cleans up after.

use std::collections::BTreeMap;
use std::ffi::{CString, OsStr, OsString};
use std::io::{Seek, Write};
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::process::{Resource, Rlimit};

use super::{Io, Overlay, Sandbox, SpawnError, Watch, ports};
use crate::bubblewrap;
use crate::enforcement::{Enforcement, Mechanism};
use crate::host::Offer;
use crate::layout::{Cover, Layout};
use crate::native::{self, Processes, Rendering, Rights, Steps};
use crate::plan::{Files, Limits, Nesting, Plan};
use crate::report::{Ending, Report};
use crate::scrub::Scrub;
use crate::streams::Streams;
use crate::sys::filter::{self, Internet};
use crate::sys::inside::Stage;
use crate::sys::keeper::{ANCHOR, Anchor, Form, Hold, Placeholder, Places};
use crate::sys::launch::{Broken, Launched, launch};
use crate::sys::raw::Listen;
use crate::sys::script::{Command, Identity, Script, Strings, Waiting, Walls};
use crate::sys::vacancy::Vacancy;
use crate::sys::wall;
use crate::variables::variables;
use crate::watch::Watcher;
use crate::words::{self, Missing, Words};

/// Configurations of a repository, which git reads at every start: it gives up where one is a folder.
const CONFIGURATIONS: [&str; 2] = ["config", "config.worktree"];
/// The user's own configuration, which git reads in home alone. In a project a folder holds its place like any other's:
/// a file would be committed.
const OWN_CONFIGURATION: &str = ".gitconfig";

/// A run that goes on.
pub(super) struct Running {
    launched: Launched,
    scrub: Scrub,
    watcher: Option<Watcher>,
    mechanism: Mechanism,
    enforcement: Enforcement,
    leaving: Leaving,
}

/// Whether the kernel's work after the end of a run is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Leaving {
    /// Nobody notices it.
    Alone,
    /// Layers are read next, which must have been let go of.
    Awaited,
}

/// Namespaces that are being made.
#[derive(Debug)]
pub(super) struct Ahead(Vacancy);

impl Ahead {
    pub(super) fn begin() -> Option<Self> {
        Vacancy::begin(native::ground()).ok().map(Self)
    }
}

/// What is still being cleaned up; waited for when this is dropped.
pub(super) struct Cleaning {
    _launched: Launched,
}

impl std::fmt::Debug for Cleaning {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Cleaning").finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Running {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Running").field("id", &self.launched.id).finish_non_exhaustive()
    }
}

/// From a text to a command that runs.
pub(super) fn spawn(sandbox: &Sandbox, text: &str, io: Io, meanwhile: impl FnOnce()) -> Result<Running, SpawnError> {
    let plan = &sandbox.plan;
    let leaving = if io.overlays.is_empty() { Leaving::Alone } else { Leaving::Awaited };
    let vacancy = match leaving {
        Leaving::Alone => vacancy(sandbox, io.ahead),
        Leaving::Awaited => None,
    };
    let layout = Layout::of(plan).map_err(|error| SpawnError::Layout(error.to_string()))?;
    let environment = variables(io.environment, plan, temporary(sandbox.mechanism(), &layout));
    let home = environment.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    let words = words::of(text, &plan.directory, &environment).map_err(missing)?;
    let streams = Streams::of([io.stdin, io.stdout, io.stderr], io.terminal)?;
    let built = build(sandbox, &layout, &Wanted { words: &words, overlays: &io.overlays, watch: io.watch })?;
    let is_told = built.telling.is_some();
    let command = Command {
        program: text_of(built.words.program.into_os_string())?,
        words: strings(built.words.words)?,
        environment: strings(environment.into_iter().map(joined))?,
        directory: text_of(plan.directory.clone().into_os_string())?,
        streams: streams.numbers,
        reopened: streams.reopened.clone(),
        file_rights: built.rights.file,
        terminal: streams.terminal.as_ref().map(AsRawFd::as_raw_fd),
        limits: limits(plan.limits),
        landlock: built.landlock,
        telling: built.telling,
        silent: built.silent,
        passed: built.passed,
    };
    let places = match sandbox.mechanism() {
        Mechanism::Native | Mechanism::Bubblewrap => places(&layout, home.as_deref())?,
        Mechanism::Landlock => Vec::new(),
    };
    let script = Script {
        walls: built.walls,
        ports: built.ports,
        ground: built.steps.ground,
        steps: built.steps.steps,
        veils: built.steps.veils,
        slots: built.steps.slots,
        command,
        placeholders: match (places.is_empty(), leaving) {
            (true, _) => Waiting::Never,
            (false, Leaving::Awaited) => Waiting::First,
            (false, Leaving::Alone) => Waiting::Last,
        },
    };
    let scrub = Scrub::before(&layout);
    let mut watcher = None;
    let launched = launch(script, places, vacancy, || {
        watcher = is_told.then(|| Watcher::ready(plan, Arc::new(layout))).flatten();
        meanwhile();
    });
    let mut launched = launched.map_err(|broken| explain(broken, &words, plan))?;
    if let (Some(watcher), Some(filter)) = (&watcher, launched.notifications.take()) {
        watcher.watch(filter);
    }
    let (mechanism, enforcement) = (sandbox.mechanism(), sandbox.enforcement().clone());
    Ok(Running { launched, scrub, watcher, mechanism, enforcement, leaving })
}

/// The namespaces that were made ahead, or else now, beside all that is still to be prepared. Another mechanism has
/// none, one in which sandboxes are possible gives root another name, and open files leave `/dev` as it is.
fn vacancy(sandbox: &Sandbox, ahead: Option<super::Ahead>) -> Option<Vacancy> {
    match (sandbox.mechanism(), sandbox.plan.nesting, &sandbox.plan.files) {
        (Mechanism::Native, Nesting::Refused, Files::Confined(_)) => {
            ahead.or_else(|| Ahead::begin().map(super::Ahead)).map(|ahead| ahead.0.0)
        }
        (Mechanism::Native, Nesting::Possible, _)
        | (Mechanism::Native, Nesting::Refused, Files::Open)
        | (Mechanism::Bubblewrap | Mechanism::Landlock, _, _) => None,
    }
}

/// What a mechanism needs to know beside plan and layout.
struct Wanted<'a> {
    words: &'a Words,
    overlays: &'a [Overlay],
    watch: Watch,
}

/// What a mechanism makes of a layout.
struct Built {
    walls: Walls,
    words: Words,
    ports: Vec<u16>,
    steps: Steps,
    landlock: Option<OwnedFd>,
    rights: Rights,
    telling: Option<Vec<libc::sock_filter>>,
    silent: Vec<libc::sock_filter>,
    passed: Vec<OwnedFd>,
}

fn build(sandbox: &Sandbox, layout: &Layout, wanted: &Wanted<'_>) -> Result<Built, SpawnError> {
    match sandbox.mechanism() {
        Mechanism::Native => build_native(sandbox, layout, wanted),
        Mechanism::Bubblewrap | Mechanism::Landlock if !wanted.overlays.is_empty() => {
            Err(SpawnError::walls("a layer over the folder", "only namespaces of our own can have one".into()))
        }
        Mechanism::Bubblewrap => build_bubblewrap(sandbox, layout, wanted),
        Mechanism::Landlock => build_landlock(sandbox, layout, wanted),
    }
}

fn build_native(sandbox: &Sandbox, layout: &Layout, wanted: &Wanted<'_>) -> Result<Built, SpawnError> {
    let plan = &sandbox.plan;
    let (landlock, rights) = second_wall(sandbox, layout)?;
    let processes = match sandbox.host.fresh_proc {
        Offer::Yes => Processes::Fresh,
        Offer::No(_) => Processes::Existing,
    };
    let rendering = Rendering { plan, layout, overlays: wanted.overlays, rights, processes };
    // A sandbox inside has mounts of its own, by which paths cannot be judged.
    let telling = (wanted.watch == Watch::On && plan.nesting == Nesting::Refused)
        .then(|| filter::program(plan, Internet::Elsewhere, Listen::Yes));
    Ok(Built {
        walls: Walls::Own(Identity::own(plan.nesting)),
        words: wanted.words.clone(),
        ports: ports(&plan.network),
        steps: native::steps(&rendering).map_err(|error| SpawnError::Layout(error.to_string()))?,
        landlock,
        rights,
        telling,
        silent: filter::program(plan, Internet::Elsewhere, Listen::No),
        passed: Vec::new(),
    })
}

fn build_bubblewrap(sandbox: &Sandbox, layout: &Layout, wanted: &Wanted<'_>) -> Result<Built, SpawnError> {
    let plan = &sandbox.plan;
    if let Some(link) = bubblewrap::loose_links(layout).first() {
        let what = format!("holding the link `{}`", link.display());
        return Err(SpawnError::walls(&what, "bubblewrap cannot do that".into()));
    }
    let program = sandbox.host.bubblewrap.clone().unwrap_or_default();
    let filter = in_memory(&filter::program(plan, Internet::Elsewhere, Listen::No))?;
    let mut words = vec![OsString::from("bwrap")];
    words.extend(bubblewrap::arguments(plan, layout, filter.as_raw_fd()));
    words.push(wanted.words.program.clone().into_os_string());
    words.extend(wanted.words.words.iter().skip(1).cloned());
    Ok(Built {
        walls: Walls::Theirs,
        words: Words { program, words },
        ports: Vec::new(),
        steps: Steps { ground: Vec::new(), steps: Vec::new(), veils: Vec::new(), slots: 0 },
        landlock: None,
        rights: Rights { folder: 0, file: 0 },
        telling: None,
        silent: Vec::new(),
        passed: vec![filter],
    })
}

fn build_landlock(sandbox: &Sandbox, layout: &Layout, wanted: &Wanted<'_>) -> Result<Built, SpawnError> {
    let plan = &sandbox.plan;
    let (landlock, rights) = second_wall(sandbox, layout)?;
    Ok(Built {
        walls: Walls::None,
        words: wanted.words.clone(),
        ports: Vec::new(),
        steps: native::permits(layout, rights).map_err(|error| SpawnError::Layout(error.to_string()))?,
        landlock,
        rights,
        telling: None,
        silent: filter::program(plan, Internet::Refused, Listen::No),
        passed: Vec::new(),
    })
}

/// Where temporary files go, as the command sees it.
fn temporary(mechanism: Mechanism, layout: &Layout) -> Option<&Path> {
    let seen = layout.temporary.as_deref()?;
    match (mechanism, layout.covers.get(seen)) {
        // Without mounts the private folder is where it is.
        (Mechanism::Landlock, Some(Cover::Temporary(folder))) => folder.as_deref(),
        (Mechanism::Native | Mechanism::Bubblewrap | Mechanism::Landlock, _) => Some(seen),
    }
}

/// A program for the kernel as a file in memory.
fn in_memory(program: &[libc::sock_filter]) -> Result<OwnedFd, SpawnError> {
    let failed = |error: std::io::Error| SpawnError::walls("preparing the filter", error.to_string());
    let bytes: Vec<u8> = program.iter().flat_map(filter::bytes).collect();
    let made =
        rustix::fs::memfd_create("filter", rustix::fs::MemfdFlags::CLOEXEC).map_err(|error| failed(error.into()))?;
    let mut file = std::fs::File::from(made);
    file.write_all(&bytes).and_then(|()| file.rewind()).map_err(failed)?;
    Ok(file.into())
}

/// Whether bubblewrap works here.
pub(super) fn try_bubblewrap(program: &Path) -> Result<(), String> {
    bubblewrap::works(program)
}

/// Something in a plan that Landlock alone cannot do on this machine.
pub(super) fn beyond_landlock(plan: &Plan) -> Result<Option<PathBuf>, String> {
    let layout = Layout::of(plan).map_err(|error| error.to_string())?;
    let beyond = layout.covers.into_iter().find(|(_, cover)| match cover {
        Cover::Writable | Cover::Temporary(_) => false,
        Cover::Pinned | Cover::ReadOnly | Cover::HiddenFolder | Cover::HiddenFile | Cover::Emptied => true,
    });
    Ok(beyond.map(|(path, _)| path))
}

impl Running {
    pub(super) fn id(&self) -> u32 {
        self.launched.id
    }

    pub(super) fn signal(&self, signal: i32) {
        self.launched.signal(signal);
    }

    pub(super) fn listener(&mut self) -> Option<OwnedFd> {
        self.launched.listeners.pop().map(|(_, socket)| socket)
    }

    pub(super) fn as_fd(&self) -> BorrowedFd<'_> {
        self.launched.ended()
    }

    pub(super) fn end(mut self) -> (Report, Cleaning) {
        // Without a word from the first process, something outside killed it.
        let ending = self.launched.wait().unwrap_or_else(|| {
            self.launched.finish();
            Ending::Signal(libc::SIGKILL)
        });
        if self.leaving == Leaving::Awaited {
            self.launched.see_off();
        }
        let seen = self.watcher.map(Watcher::end).unwrap_or_default();
        let report = Report {
            ending,
            mechanism: self.mechanism,
            enforcement: self.enforcement,
            violations: seen.violations,
            more: seen.more,
            scrubbed: self.scrub.after(),
        };
        (report, Cleaning { _launched: self.launched })
    }
}

/// Landlock's ruleset, where it stands, and what it permits on a writable folder or file.
fn second_wall(sandbox: &Sandbox, layout: &Layout) -> Result<(Option<OwnedFd>, Rights), SpawnError> {
    let version = sandbox.host.landlock;
    let plan = &sandbox.plan;
    let open = plan.files == Files::Open || layout.covers.contains(Path::new("/"));
    if version == 0 || plan.nesting == Nesting::Possible || open {
        return Ok((None, Rights { folder: 0, file: 0 }));
    }
    let ruleset = wall::ruleset(version).map_err(|error| SpawnError::walls("Landlock", error.to_string()))?;
    Ok((ruleset, Rights { folder: wall::writing(version), file: wall::writing_a_file(version) }))
}

fn limits(limits: Limits) -> Vec<(Resource, Rlimit)> {
    [(Resource::Core, limits.core), (Resource::Nproc, limits.processes), (Resource::Nofile, limits.files)]
        .into_iter()
        .filter_map(|(resource, most)| {
            // Never more than the caller has.
            let own = rustix::process::getrlimit(resource).maximum;
            let most = own.map_or(most, |own| most.map(|most| most.min(own)));
            most.map(|most| (resource, Rlimit { current: Some(most), maximum: Some(most) }))
        })
        .collect()
}

/// Absent names that are to be held, folder by folder.
fn places(layout: &Layout, home: Option<&Path>) -> Result<Vec<Places>, SpawnError> {
    // By whatever links it is reached.
    let is_home = |folder: &Path| {
        let identity = |path: &Path| path.metadata().ok().map(|found| (found.dev(), found.ino()));
        home.is_some_and(|home| identity(home).is_some_and(|home| identity(folder) == Some(home)))
    };
    let is_read_by_git = |folder: &Path, name: &OsStr| {
        CONFIGURATIONS.iter().any(|known| name == *known) || name == OWN_CONFIGURATION && is_home(folder)
    };
    let mut folders: BTreeMap<&Path, Vec<Placeholder>> = BTreeMap::new();
    for (folder, name) in layout.placeholders.iter().filter_map(|path| Some((path.parent()?, path.file_name()?))) {
        let form = if is_read_by_git(folder, name) { Form::File } else { Form::Folder };
        let placeholder = Placeholder { name: text_of(name.to_owned())?, form, hold: Hold::None };
        folders.entry(folder).or_default().push(placeholder);
    }
    folders
        .into_iter()
        .map(|(folder, mut names)| {
            names.sort_by_key(|placeholder| placeholder.name.as_c_str() != ANCHOR);
            let folder = text_of(folder.as_os_str().to_owned())?;
            Ok(Places { folder, names, opened: None, anchor: Anchor::None })
        })
        .collect()
}

fn text_of(text: OsString) -> Result<CString, SpawnError> {
    CString::new(text.into_vec())
        .map_err(|error| SpawnError::Layout(format!("`{error}`: a word or path holds a NUL byte")))
}

fn strings(texts: impl IntoIterator<Item = OsString>) -> Result<Strings, SpawnError> {
    texts.into_iter().map(text_of).collect::<Result<Vec<_>, _>>().map(Strings::new)
}

fn joined((mut name, value): (OsString, OsString)) -> OsString {
    name.push("=");
    name.push(value);
    name
}

fn missing(missing: Missing) -> SpawnError {
    match missing {
        Missing::NotFound(program) => SpawnError::NotFound(program),
        Missing::NotExecutable(program) => SpawnError::NotExecutable(program, "permission denied".into()),
        Missing::NoShell => SpawnError::NotFound("bash".into()),
    }
}

/// Why nothing runs, in words.
fn explain(broken: Broken, words: &Words, plan: &Plan) -> SpawnError {
    let word = |error: rustix::io::Errno| std::io::Error::from(error).to_string();
    let program = words.program.display().to_string();
    match broken {
        Broken::Stage(Stage::Execute, rustix::io::Errno::NOENT) => SpawnError::NotFound(program),
        Broken::Stage(Stage::Execute, error) => SpawnError::NotExecutable(program, word(error)),
        Broken::Stage(Stage::Directory, error) => SpawnError::Walls {
            what: format!("starting in `{}`", plan.directory.display()),
            why: word(error),
            help: "start in a folder that exists and is not hidden".into(),
        },
        Broken::Stage(stage, error) => SpawnError::walls(stage.doing(), word(error)),
        Broken::Step(what, error) => SpawnError::walls(&what, word(error)),
        Broken::Namespaces(error) => SpawnError::walls("making namespaces", word(error)),
        Broken::Lines(error) => SpawnError::walls("preparing", word(error)),
        Broken::Silent => SpawnError::walls("preparing", "the first process ended without a word".into()),
    }
}
