//! A layout as a script of the native launcher: which trees are held, what covers what, what Landlock permits.
//! Prepares only; [`crate::sys`] performs.

mod ground;

use std::collections::HashSet;
use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::layout::{ByPath, Cover, Layout};
use crate::plan::{Files, Nesting, Plan};
use crate::run::Overlay;
use crate::sys::raw::attribute::{NO_EXEC, READ_ONLY};
use crate::sys::script::{self, GROUND, OWN_DEVICES, SCRATCH, SHARED_MEMORY, Step, TERMINALS, Trail, VEILS};

pub(crate) use ground::ground;

/// Devices that every program may use.
const DEVICES: [&CStr; 6] = [c"full", c"null", c"random", c"tty", c"urandom", c"zero"];
/// Parts of `/proc` through which the machine's owner changes the machine. Covered where `/proc` is writable.
const MACHINE: [&str; 8] = ["acpi", "bus", "driver", "fs", "irq", "scsi", "sys", "sysrq-trigger"];
/// As many covers of absent names stay open while the walls are built. Most plans have fewer; whoever has thousands must not
/// run out of descriptors.
const MOST_KEPT: usize = 64;

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
    /// Those that lay the ground, where it was not laid ahead.
    pub(crate) ground: Vec<Step>,
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
    backings: ByPath<Backing>,
    /// Names that are absent.
    absent: HashSet<&'a OsStr>,
    /// Folders with such names, and the slots that hold them.
    veiled: ByPath<usize>,
    /// How many covers of such names there are so far.
    covers: usize,
}

/// Renders a layout.
pub(crate) fn steps(rendering: &Rendering<'_>) -> Result<Steps, NoPath> {
    let mut draft = Draft {
        rendering,
        taken: Vec::new(),
        made: Vec::new(),
        attached: Vec::new(),
        veils: Vec::new(),
        slots: GROUND,
        backings: ByPath::from_iter([("/dev".into(), Backing { slot: SCRATCH, below: "dev".into() })]),
        absent: rendering.layout.placeholders.iter().map(|path| path.as_os_str()).collect(),
        veiled: ByPath::default(),
        covers: 0,
    };
    let confined = match rendering.plan.files {
        Files::Open => false,
        Files::Confined(_) => true,
    };
    let root = Path::new("/");
    if !confined {
        draft.processes()?;
        let steps = std::iter::once(Step::PartRoot).chain(draft.attached).collect();
        return Ok(Steps { ground: Vec::new(), steps, veils: Vec::new(), slots: draft.slots });
    }
    draft.permit_devices();
    for (path, cover) in rendering.layout.covers.iter().filter(|(path, _)| *path != root) {
        draft.cover(path, cover)?;
    }
    draft.processes()?;
    let mut steps = draft.taken;
    steps.extend(freeze(rendering.layout));
    steps.append(&mut draft.made);
    steps.append(&mut draft.attached);
    Ok(Steps { ground: ground(), steps, veils: draft.veils, slots: draft.slots })
}

/// What makes the file system read-only, but for what is private in it.
fn freeze(layout: &Layout) -> Vec<Step> {
    let mut steps = if layout.covers.contains(Path::new("/")) {
        Vec::from([OWN_DEVICES, VEILS].map(|slot| Step::Restrict { slot, flags: READ_ONLY }))
    } else {
        vec![Step::FreezeRoot, Step::Free { slot: SCRATCH, flags: READ_ONLY }]
    };
    // These are mounted in what has just become read-only with all that is below it.
    steps.extend([SHARED_MEMORY, TERMINALS].map(|slot| Step::Free { slot, flags: READ_ONLY }));
    steps
}

/// What Landlock permits where there are no mounts: writing in the writable places and to the usual devices.
pub(crate) fn permits(layout: &Layout, rights: Rights) -> Result<Steps, NoPath> {
    let devices = DEVICES.iter().map(|name| Path::new("/dev").join(OsStr::from_bytes(name.to_bytes())));
    let terminals = ["/dev/ptmx", "/dev/pts", "/dev/shm"].map(PathBuf::from);
    let places = layout.covers.iter().filter_map(|(path, cover)| match cover {
        Cover::Writable => Some(path.to_owned()),
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
    Ok(Steps { ground: Vec::new(), steps, veils: Vec::new(), slots })
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

    /// A part of the private file system, held.
    fn part(&mut self, path: &str) -> Result<usize, NoPath> {
        let slot = self.slot();
        self.attached.push(Step::Part { from: SCRATCH, path: text(Path::new(path))?, slot });
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
        if let (true, Some(folder), Some(name)) =
            (self.absent.contains(path.as_os_str()), path.parent(), path.file_name())
        {
            return self.veil(folder, Path::new(name));
        }
        if path == Path::new("/dev") {
            // It is the sandbox's own, and cannot be moved or removed.
            return Ok(());
        }
        if let (Ok(name), Cover::Writable) = (path.strip_prefix("/dev"), cover)
            && name.components().count() == 1
            && is_device(path)
        {
            return self.device(name);
        }
        self.mount_point(path, cover)?;
        match cover {
            Cover::Writable | Cover::Pinned | Cover::ReadOnly => self.itself(path, cover),
            // These are read-only already.
            Cover::HiddenFolder => self.part("veils/hidden").and_then(|slot| self.attach(slot, path)),
            Cover::HiddenFile => self.part("veils/hidden-file").and_then(|slot| self.attach(slot, path)),
            Cover::Emptied => {
                let part = format!("emptied/{}", self.backings.len());
                let backing = Backing { slot: SCRATCH, below: PathBuf::from(&part) };
                self.folder(&backing, Path::new(""), 0o755)?;
                self.backings.insert(path.to_owned(), backing);
                let slot = self.part(&part)?;
                self.attached.push(Step::Restrict { slot, flags: READ_ONLY });
                self.attach(slot, path)
            }
            Cover::Temporary(None) => {
                let backing = Backing { slot: SCRATCH, below: PathBuf::from("tmp") };
                self.folder(&backing, Path::new(""), 0o1777)?;
                self.backings.insert(path.to_owned(), backing);
                let slot = self.part("tmp")?;
                self.attached.push(Step::Free { slot, flags: NO_EXEC });
                self.permit(slot, self.rendering.rights.folder);
                self.attach(slot, path)
            }
            Cover::Temporary(Some(folder)) => {
                let slot = self.slot();
                self.taken.push(taken(folder, slot)?);
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
        let kept = (self.covers < MOST_KEPT).then(|| self.slot());
        self.covers += 1;
        self.veils.push(Step::Veil { folder: slot, name: text(name)?, slot: kept });
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
            Some(_) | None => taken(path, slot)?,
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
        let Some((at, backing)) = self.backings.above(path).next() else { return Ok(()) };
        let depth = |folder: &Path| folder.as_os_str().len();
        // What lies in a cover that has its own content needs nothing.
        if self.rendering.layout.around(path).is_some_and(|(cover, _)| depth(cover) > depth(at)) {
            return Ok(());
        }
        let (at, backing) = (at.to_owned(), backing.clone());
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

    /// Writing to what every program has of its own in `/dev`.
    fn permit_devices(&mut self) {
        let Rights { folder, file } = self.rendering.rights;
        for (slot, rights) in [(OWN_DEVICES, file), (SHARED_MEMORY, folder), (TERMINALS, file)] {
            self.permit(slot, rights);
        }
    }

    /// A device of the host's, in the folder of its own that the sandbox has for them. What is permitted there is
    /// permitted on the device.
    fn device(&mut self, name: &Path) -> Result<(), NoPath> {
        let name = text(name)?;
        if !DEVICES.contains(&name.as_c_str()) {
            self.attached.push(script::device(&name));
        }
        Ok(())
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

/// Holds the host's tree at a path.
fn taken(path: &Path, slot: usize) -> Result<Step, NoPath> {
    match path.strip_prefix("/dev") {
        Ok(below) => Ok(Step::TakeDevices { path: text(below)?, slot }),
        Err(_) => Ok(Step::Take { path: text(path)?, slot }),
    }
}

/// Whether a device is there: a link is not followed, and anything else is mounted like everywhere.
fn is_device(path: &Path) -> bool {
    let kind = path.symlink_metadata().map(|found| found.file_type());
    kind.is_ok_and(|kind| kind.is_char_device() || kind.is_block_device())
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
