//! A layout as a script of the native launcher: which trees are held, what covers what, what Landlock permits.
//! Prepares only; [`crate::sys`] performs.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use crate::layout::{Cover, Layout};
use crate::plan::{Files, Nesting, Plan};
use crate::run::Overlay;
use crate::sys::raw::attribute::{NO_DEVICES, NO_EXEC, NO_SUID, READ_ONLY};
use crate::sys::script::{SCRATCH, Step, Trail, VEIL_SOCKET};

/// Devices that every program may use.
const DEVICES: [&str; 6] = ["full", "null", "random", "tty", "urandom", "zero"];
/// Names in `/dev` that lead to a process's own.
const DEVICE_LINKS: [(&str, &str); 5] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
    ("ptmx", "pts/ptmx"),
];
/// Parts of `/proc` through which the machine's owner changes the machine. Covered where `/proc` is writable.
const MACHINE: [&str; 8] = ["acpi", "bus", "driver", "fs", "irq", "scsi", "sys", "sysrq-trigger"];

/// Flags of what is empty and stays so.
const SEALED: u64 = READ_ONLY | NO_EXEC | NO_SUID | NO_DEVICES;

/// Where what covers other things is kept in the private file system.
const VEILS: &str = "veils";

/// What Landlock permits, as the kernel counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rights {
    /// Beneath a writable folder.
    pub(crate) folder: u64,
    /// On a writable file.
    pub(crate) file: u64,
}

/// How `/proc` looks inside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Processes {
    /// Those inside alone.
    Fresh,
    /// The host's too, because the host refuses a fresh view.
    Existing,
}

/// The steps, and how many trees they hold.
pub(crate) struct Steps {
    pub(crate) steps: Vec<Step>,
    /// Those that need placeholders.
    pub(crate) veils: Vec<Step>,
    pub(crate) slots: usize,
}

/// Everything that a layout is rendered with.
pub(crate) struct Rendering<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) layout: &'a Layout,
    pub(crate) overlays: &'a [Overlay],
    pub(crate) rights: Rights,
    pub(crate) processes: Processes,
}

/// A path of a plan holds a byte that no path can hold.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no path: it holds a NUL byte")]
pub(crate) struct NoPath(PathBuf);

/// Where a private folder is kept, so that mount points can be made in it.
#[derive(Clone)]
struct Backing {
    slot: usize,
    below: PathBuf,
}

struct Draft<'a> {
    rendering: &'a Rendering<'a>,
    taken: Vec<Step>,
    made: Vec<Step>,
    attached: Vec<Step>,
    veils: Vec<Step>,
    slots: usize,
    backings: BTreeMap<PathBuf, Backing>,
    /// Names that are absent.
    absent: BTreeSet<&'a Path>,
    /// Folders with such names, and the slots that hold them.
    veiled: BTreeMap<PathBuf, usize>,
    devices: Option<Devices>,
}

/// The slots of folders with devices.
#[derive(Clone, Copy)]
struct Devices {
    /// The host's.
    host: usize,
    /// The sandbox's own, when it is in its place.
    own: usize,
}

/// Renders a layout.
pub(crate) fn steps(rendering: &Rendering<'_>) -> Result<Steps, NoPath> {
    let mut draft = Draft {
        rendering,
        taken: Vec::new(),
        made: Vec::new(),
        attached: Vec::new(),
        veils: Vec::new(),
        slots: 1,
        backings: BTreeMap::new(),
        absent: rendering.layout.placeholders.iter().map(PathBuf::as_path).collect(),
        veiled: BTreeMap::new(),
        devices: None,
    };
    let confined = match rendering.plan.files {
        Files::Open => false,
        Files::Confined(_) => true,
    };
    let root = Path::new("/");
    let writable_root = rendering.layout.covers.contains_key(root);
    if confined {
        draft.covers()?;
        draft.devices()?;
        for (path, cover) in rendering.layout.covers.iter().filter(|(path, _)| *path != root) {
            draft.cover(path, cover)?;
        }
    }
    draft.processes()?;
    let mut steps = vec![Step::PartRoot];
    steps.append(&mut draft.taken);
    if confined {
        if !writable_root {
            steps.push(Step::FreezeRoot);
        }
        steps.push(Step::Scratch { slot: SCRATCH });
    }
    steps.append(&mut draft.made);
    steps.append(&mut draft.attached);
    Ok(Steps { steps, veils: draft.veils, slots: draft.slots })
}

/// What Landlock permits where there are no mounts: writing in the writable places and to the usual devices.
pub(crate) fn permits(layout: &Layout, rights: Rights) -> Result<Steps, NoPath> {
    let devices = DEVICES.iter().map(|name| Path::new("/dev").join(name));
    let terminals = ["/dev/ptmx", "/dev/pts", "/dev/shm"].map(PathBuf::from);
    let places = layout.covers.iter().filter_map(|(path, cover)| match cover {
        Cover::Writable => Some(path.clone()),
        Cover::Temporary(folder) => folder.clone(),
        Cover::Pinned | Cover::ReadOnly | Cover::HiddenFolder | Cover::HiddenFile | Cover::Emptied => None,
    });
    let mut steps = Vec::new();
    let mut slots = 0;
    for path in devices.chain(terminals).chain(places).filter(|path| path.exists() && !path.is_symlink()) {
        let rights = if path.is_dir() { rights.folder } else { rights.file };
        steps.push(Step::Hold { path: text(&path)?, slot: slots });
        steps.push(Step::Permit { slot: slots, rights });
        slots += 1;
    }
    Ok(Steps { steps, veils: Vec::new(), slots })
}

/// What of `/proc` is the machine's own, where it is there.
pub(crate) fn machine() -> impl Iterator<Item = PathBuf> {
    MACHINE.iter().map(|name| Path::new("/proc").join(name)).filter(|path| path.exists())
}

impl Draft<'_> {
    fn slot(&mut self) -> usize {
        let slot = self.slots;
        self.slots += 1;
        slot
    }

    fn attach(&mut self, slot: usize, target: &Path) -> Result<(), NoPath> {
        self.attached.push(Step::Attach { slot, target: text(target)? });
        Ok(())
    }

    /// A part of the private file system, with flags, at a path.
    fn attach_part(&mut self, part: &str, flags: u64, target: &Path) -> Result<usize, NoPath> {
        let slot = self.slot();
        self.attached.push(Step::Part { from: SCRATCH, path: text(Path::new(part))?, slot });
        if flags != 0 {
            self.attached.push(Step::Restrict { slot, flags });
        }
        self.attach(slot, target)?;
        Ok(slot)
    }

    fn folder(&mut self, backing: &Backing, below: &Path, mode: u32) -> Result<(), NoPath> {
        let trail = trail(&backing.below.join(below))?;
        if !trail.is_empty() {
            self.made.push(Step::Folders { slot: backing.slot, trail, mode });
        }
        Ok(())
    }

    fn cover(&mut self, path: &Path, cover: &Cover) -> Result<(), NoPath> {
        if let (true, Some(folder), Some(name)) = (self.absent.contains(path), path.parent(), path.file_name()) {
            return self.veil(folder, Path::new(name));
        }
        if let (Some(devices), Ok(name), Cover::Writable) = (self.devices, path.strip_prefix("/dev"), cover)
            && name.components().count() == 1
            && is_device(path)
        {
            let slot = self.device(devices, name)?;
            self.permit(slot, self.rendering.rights.file);
            return Ok(());
        }
        self.mount_point(path, cover)?;
        match cover {
            Cover::Writable | Cover::Pinned | Cover::ReadOnly => self.itself(path, cover),
            // These are sealed already.
            Cover::HiddenFolder => self.attach_part("veils/hidden", 0, path).map(drop),
            Cover::HiddenFile => self.attach_part("veils/hidden-file", 0, path).map(drop),
            Cover::Emptied => {
                let part = format!("emptied/{}", self.backings.len());
                let backing = Backing { slot: SCRATCH, below: PathBuf::from(&part) };
                self.folder(&backing, Path::new(""), 0o755)?;
                self.backings.insert(path.to_owned(), backing);
                self.attach_part(&part, SEALED, path).map(drop)
            }
            Cover::Temporary(None) => {
                let backing = Backing { slot: SCRATCH, below: PathBuf::from("tmp") };
                self.folder(&backing, Path::new(""), 0o1777)?;
                self.backings.insert(path.to_owned(), backing);
                let slot = self.attach_part("tmp", 0, path)?;
                self.permit(slot, self.rendering.rights.folder);
                Ok(())
            }
            Cover::Temporary(Some(folder)) => {
                let slot = self.slot();
                self.taken.push(Step::Take { path: text(folder)?, slot });
                self.backings.insert(path.to_owned(), Backing { slot, below: PathBuf::new() });
                self.permit(slot, self.rendering.rights.folder);
                self.attach(slot, path)
            }
        }
    }

    /// A cover over a name that is absent. Nothing is ever mounted below one, so it can come after everything else.
    fn veil(&mut self, folder: &Path, name: &Path) -> Result<(), NoPath> {
        let slot = match self.veiled.get(folder) {
            Some(slot) => *slot,
            None => {
                let slot = self.slot();
                // Looked up when all above it is in its place.
                self.veils.push(Step::Hold { path: text(folder)?, slot });
                self.veiled.insert(folder.to_owned(), slot);
                slot
            }
        };
        self.veils.push(Step::Veil { folder: slot, name: text(name)? });
        Ok(())
    }

    /// What covers names and hides files: made once, sealed, and mounted wherever it is wanted.
    fn covers(&mut self) -> Result<(), NoPath> {
        let scratch = Backing { slot: SCRATCH, below: PathBuf::new() };
        self.folder(&scratch, Path::new("veils/hidden"), 0)?;
        self.folder(&scratch, Path::new("veils/folder"), 0o555)?;
        self.made.push(Step::File { slot: SCRATCH, path: c"veils/hidden-file".to_owned(), mode: 0 });
        self.made.push(Step::Socket { slot: SCRATCH, path: VEIL_SOCKET.to_owned() });
        let slot = self.slot();
        self.made.push(Step::Part { from: SCRATCH, path: text(Path::new(VEILS))?, slot });
        self.made.push(Step::Restrict { slot, flags: SEALED });
        self.made.push(Step::AttachIn { slot, tree: SCRATCH, path: text(Path::new(VEILS))? });
        Ok(())
    }

    /// A path mounted over itself.
    fn itself(&mut self, path: &Path, cover: &Cover) -> Result<(), NoPath> {
        let slot = self.slot();
        let layered = self.rendering.overlays.iter().find(|overlay| path.starts_with(&overlay.lower));
        let take = match layered {
            Some(overlay) if overlay.lower == path => Step::Overlay {
                slot,
                lower: text(&overlay.lower)?,
                upper: text(&overlay.upper)?,
                work: text(&overlay.work)?,
            },
            Some(_) | None => Step::Take { path: text(path)?, slot },
        };
        // What lies in a layered folder is taken from the layer, when that is in its place: the folder itself must not
        // be written.
        let stage = match layered {
            Some(overlay) if overlay.lower != path => &mut self.attached,
            Some(_) | None => &mut self.taken,
        };
        stage.push(take);
        match cover {
            Cover::ReadOnly => stage.push(Step::Restrict { slot, flags: READ_ONLY }),
            Cover::Writable => {
                let rights = self.rendering.rights;
                self.permit(slot, if path.is_dir() { rights.folder } else { rights.file });
            }
            Cover::Pinned | Cover::HiddenFolder | Cover::HiddenFile | Cover::Emptied | Cover::Temporary(_) => (),
        }
        self.attach(slot, path)
    }

    fn permit(&mut self, slot: usize, rights: u64) {
        if rights != 0 {
            self.attached.push(Step::Permit { slot, rights });
        }
    }

    /// Inside a private folder a mount point must be made first.
    fn mount_point(&mut self, path: &Path, cover: &Cover) -> Result<(), NoPath> {
        let Some((at, backing)) = path
            .ancestors()
            .skip(1)
            .find_map(|folder| {
                // What lies in a cover that has its own content needs nothing.
                match (self.backings.get(folder), self.rendering.layout.covers.get(folder)) {
                    (Some(backing), _) => Some(Some((folder.to_owned(), backing.clone()))),
                    (None, Some(_)) => Some(None),
                    (None, None) => None,
                }
            })
            .flatten()
        else {
            return Ok(());
        };
        let below = path.strip_prefix(&at).unwrap_or(path);
        let is_file = match cover {
            Cover::HiddenFile => true,
            Cover::Writable | Cover::Pinned | Cover::ReadOnly => !path.is_dir(),
            Cover::HiddenFolder | Cover::Emptied | Cover::Temporary(_) => false,
        };
        if !is_file {
            return self.folder(&backing, below, 0o755);
        }
        self.folder(&backing, below.parent().unwrap_or(below), 0o755)?;
        self.made.push(Step::File { slot: backing.slot, path: text(&backing.below.join(below))?, mode: 0o444 });
        Ok(())
    }

    /// A `/dev` with nothing in it but what every program needs, and what the plan adds.
    fn devices(&mut self) -> Result<(), NoPath> {
        let scratch = Backing { slot: SCRATCH, below: PathBuf::new() };
        for (folder, mode) in [("dev", 0o755), ("dev/pts", 0o755), ("dev/shm", 0o755), ("shm", 0o1777)] {
            self.folder(&scratch, Path::new(folder), mode)?;
        }
        for (name, to) in DEVICE_LINKS {
            let path = text(&Path::new("dev").join(name))?;
            self.made.push(Step::Link { slot: SCRATCH, path, to: text(Path::new(to))? });
        }
        self.backings.insert("/dev".into(), Backing { slot: SCRATCH, below: "dev".into() });
        let slot = self.attach_part("dev", READ_ONLY | NO_EXEC, Path::new("/dev"))?;
        self.permit(slot, self.rendering.rights.file);
        let host = self.slot();
        self.taken.push(Step::Hold { path: c"/dev".to_owned(), slot: host });
        let devices = Devices { host, own: slot };
        self.devices = Some(devices);
        for name in DEVICES.map(Path::new) {
            let path = Path::new("/dev").join(name);
            if !self.rendering.layout.covers.contains_key(&path) && is_device(&path) {
                self.device(devices, name)?;
            }
        }
        let slot = self.attach_part("shm", NO_EXEC, Path::new("/dev/shm"))?;
        self.permit(slot, self.rendering.rights.folder);
        let slot = self.slot();
        self.attached.push(Step::Terminals { slot });
        self.permit(slot, self.rendering.rights.file);
        self.attach(slot, Path::new("/dev/pts"))
    }

    /// A device of the host's, in the folder of its own that the sandbox has for them.
    fn device(&mut self, devices: Devices, name: &Path) -> Result<usize, NoPath> {
        let slot = self.slot();
        self.taken.push(Step::Part { from: devices.host, path: text(name)?, slot });
        self.made.push(Step::File { slot: SCRATCH, path: text(&Path::new("dev").join(name))?, mode: 0o444 });
        self.attached.push(Step::AttachIn { slot, tree: devices.own, path: text(name)? });
        Ok(slot)
    }

    fn processes(&mut self) -> Result<(), NoPath> {
        let nested = self.rendering.plan.nesting == Nesting::Possible;
        match self.rendering.processes {
            Processes::Existing => return Ok(()),
            Processes::Fresh => (),
        }
        let slot = self.slot();
        self.attached.push(Step::Processes { slot });
        if !nested {
            self.attached.push(Step::Restrict { slot, flags: READ_ONLY });
        }
        self.attach(slot, Path::new("/proc"))?;
        // Without any capability, root is still the owner of these.
        if nested && rustix::process::getuid().is_root() {
            for path in machine() {
                let slot = self.slot();
                self.attached.push(Step::Take { path: text(&path)?, slot });
                self.attached.push(Step::Restrict { slot, flags: READ_ONLY });
                self.attach(slot, &path)?;
            }
        }
        Ok(())
    }
}

/// Whether something is there that is no link: a link is not followed, and mounting it would be in vain.
fn is_device(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|found| !found.is_symlink() && !found.is_dir())
}

/// A path as the kernel takes it.
pub(crate) fn text(path: &Path) -> Result<CString, NoPath> {
    CString::new(path.as_os_str().as_bytes()).map_err(|_| NoPath(path.to_owned()))
}

/// Every folder on the way to a relative path, and the path itself.
fn trail(path: &Path) -> Result<Trail, NoPath> {
    let mut way: Vec<&Path> = path.ancestors().filter(|part| !part.as_os_str().is_empty()).collect();
    way.reverse();
    way.into_iter().map(text).collect()
}
