//! Previews: a command runs over a throw-away layer of the writable folders, what it would change is shown, and then
//! exactly that is applied, or dropped.
//!
//! ```text
//! Preview::prepare ──► overlays() for the sandbox ──► the command ends ──► changes() ──► apply() or discard()
//!                                                                             │
//!                                             kept in PREVIEWS/ID/ until ◄────┘  Preview::load
//! ```
//!
//! INVARIANT: an original that anybody changed since the preview began is never written, and neither is anything else
//! then; what is written is what was shown, by its digest; protected places are never written.

mod apply;
mod beneath;
mod change;
mod clock;
mod diff;
mod guard;
mod manifest;
mod node;
mod problem;
mod show;
#[cfg(test)]
mod tests;
mod visible;
mod walk;
mod written;

use std::fs::{self, DirBuilder, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

pub use apply::Applied;
pub use change::{Change, ChangeSet, Inside, Sort, Withheld};
pub use diff::{Content, Diff};
pub use node::{Node, Shape, Stamp};
pub use problem::PreviewError;
pub use show::{Line, Tone};

use crate::plan::{Access, Confined, Files, Gap, Network, Plan, Sockets, Why};
use crate::report::{Report, Violation};
use crate::run::Overlay;
use beneath::Root;
use guard::Guard;
use manifest::{Ground, Manifest};

/// A preview. While it is held, no other process can use it.
#[derive(Debug)]
pub struct Preview {
    folder: PathBuf,
    manifest: Manifest,
    _lock: File,
}

/// A preview that is kept, as told in a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Its name.
    pub id: String,
    /// The command, written so that every character shows.
    pub command: String,
    /// How long ago it began.
    pub age: Duration,
}

const LOCK: &str = "lock";
/// No letters that look like another.
const LETTERS: &[u8; 32] = b"abcdefghijkmnpqrstuvwxyz23456789";

impl Preview {
    /// Prepares a preview of a command under a plan: a layer for every folder that the plan lets it write. The plan is
    /// changed to what a preview allows: no network and no sockets, and writable places that no layer can cover are
    /// read-only; each such is a gap of the plan.
    pub fn prepare(plan: &mut Plan, command: &str, previews: &Path) -> Result<Self, PreviewError> {
        let Files::Confined(files) = &mut plan.files else { return Err(PreviewError::Open) };
        plan.network = Network::None;
        plan.sockets = Sockets::None;
        plan.gaps.extend(cover(files));
        let kept = |source| PreviewError::Kept { path: name_of(previews), source };
        DirBuilder::new().recursive(true).mode(0o700).create(previews).map_err(kept)?;
        let previews = &previews.canonicalize().map_err(kept)?;
        refuse_bad_ground(previews)?;
        let (id, folder) = fresh_folder(previews)?;
        let lock = locked(&folder, &id)?;
        let mut preview = Self { folder, manifest: Manifest::new(id, visible::line(command)), _lock: lock };
        match preview.lay_out(files, previews) {
            Ok(()) => Ok(preview),
            Err(error) => {
                let _ = preview.discard();
                Err(error)
            }
        }
    }

    fn lay_out(&mut self, files: &Confined, previews: &Path) -> Result<(), PreviewError> {
        self.manifest.guard = Guard::of(files, previews);
        for place in files.places.iter().filter(|place| is_layered(place.access, &place.why)) {
            let problem = |source| PreviewError::Root { path: name_of(&place.path), source };
            let path = place.path.canonicalize().map_err(problem)?;
            if self.manifest.roots.iter().any(|root| root.path == path) {
                continue;
            }
            let number = self.manifest.roots.len();
            let metadata = path.metadata().map_err(problem)?;
            let ground = Ground { path, device: metadata.dev(), inode: metadata.ino() };
            let overlay = self.overlay(number, &ground);
            for folder in [&overlay.upper, &overlay.work] {
                DirBuilder::new().recursive(true).mode(0o700).create(folder).map_err(|source| self.kept(source))?;
            }
            // The mode of the top of the layer is what the command sees of the folder.
            let mode = Permissions::from_mode(metadata.mode() & 0o7777);
            fs::set_permissions(&overlay.upper, mode).map_err(|source| self.kept(source))?;
            self.manifest.roots.push(ground);
        }
        if self.manifest.roots.is_empty() {
            return Err(PreviewError::Nothing);
        }
        self.manifest.began = clock::began();
        self.manifest.write(&self.folder)
    }

    /// Takes up a preview that is kept.
    pub fn load(previews: &Path, id: &str) -> Result<Self, PreviewError> {
        let unknown = || PreviewError::Unknown { id: visible::line(id) };
        if id.is_empty() || !id.bytes().all(|letter| LETTERS.contains(&letter)) {
            return Err(unknown());
        }
        let folder = previews.join(id);
        if !folder.is_dir() {
            return Err(unknown());
        }
        let lock = locked(&folder, id)?;
        Ok(Self { manifest: Manifest::read(&folder)?, folder, _lock: lock })
    }

    /// The previews that are kept and not in use, newest first.
    pub fn list(previews: &Path) -> Result<Vec<Kept>, PreviewError> {
        let now = clock::now();
        let mut kept = Vec::new();
        for id in names(previews)? {
            // One in use, or damaged, has nothing to tell.
            let Ok(preview) = Self::load(previews, &id) else { continue };
            let age = u64::try_from(now - preview.manifest.began).unwrap_or(0);
            kept.push(Kept { id, command: preview.manifest.command.clone(), age: Duration::from_nanos(age) });
        }
        kept.sort_by_key(|preview| preview.age);
        Ok(kept)
    }

    /// Drops previews that are older than this, those of dead processes too, and says how many. One that was being
    /// applied when its process died stays: somebody must decide whether to go on or back.
    pub fn expire(previews: &Path, age: Duration) -> Result<usize, PreviewError> {
        let mut dropped = 0;
        for id in names(previews)? {
            let folder = previews.join(&id);
            let is_old = |metadata: fs::Metadata| {
                metadata.modified().is_ok_and(|time| time.elapsed().is_ok_and(|elapsed| elapsed >= age))
            };
            if !folder.metadata().is_ok_and(is_old) || apply::is_underway(&folder) {
                continue;
            }
            if let Ok(_lock) = locked(&folder, &id) {
                remove(previews, &id)?;
                dropped += 1;
            }
        }
        Ok(dropped)
    }

    /// Its name.
    pub fn id(&self) -> &str {
        &self.manifest.id
    }

    /// The command, written so that every character shows.
    pub fn command(&self) -> &str {
        &self.manifest.command
    }

    /// The layers, for the sandbox to mount.
    pub fn overlays(&self) -> Vec<Overlay> {
        self.manifest.roots.iter().enumerate().map(|(number, ground)| self.overlay(number, ground)).collect()
    }

    fn overlay(&self, number: usize, ground: &Ground) -> Overlay {
        let Layer { upper, work } = layer(&self.folder, number);
        Overlay { lower: ground.path.clone(), upper, work }
    }

    /// Looks at what the command would have changed, when it has ended, and keeps it: this, and nothing else, can be
    /// applied.
    pub fn changes(&mut self, report: &Report) -> Result<&ChangeSet, PreviewError> {
        let mut found = Vec::new();
        for (number, ground) in self.manifest.roots.iter().enumerate() {
            let lower = opened(ground)?;
            let path = self.overlay(number, ground).upper;
            let upper = Root::open(&path).map_err(|source| self.kept(source))?;
            let (began, guard) = (self.manifest.began, &self.manifest.guard);
            found.extend(walk::changes(&walk::Ground { number, lower: &lower, upper: &upper, began, guard })?);
        }
        let set = ChangeSet {
            id: self.manifest.id.clone(),
            roots: self.manifest.roots.iter().map(|ground| ground.path.clone()).collect(),
            ending: report.ending,
            changes: found,
            outside: report.violations.iter().map(writable).collect(),
            more_outside: report.more,
        };
        self.manifest.found = Some(set.clone());
        self.manifest.write(&self.folder)?;
        Ok(self.manifest.found.insert(set))
    }

    /// What was shown, if anything was.
    pub fn shown(&self) -> Option<&ChangeSet> {
        self.manifest.found.as_ref()
    }

    /// Applies what was shown, all of it or nothing, and drops the preview. Where an earlier try was cut off, it goes
    /// on with that.
    pub fn apply(self) -> Result<Applied, PreviewError> {
        let applied = apply::apply(&self.manifest, &self.folder)?;
        self.removed()?;
        Ok(applied)
    }

    /// Drops the preview. Where it was half applied by a process that died, that is taken back first.
    pub fn discard(self) -> Result<(), PreviewError> {
        apply::take_back(&self.manifest, &self.folder)?;
        self.removed()
    }

    fn removed(&self) -> Result<(), PreviewError> {
        remove(self.folder.parent().unwrap_or(&self.folder), &self.manifest.id)
    }

    fn kept(&self, source: io::Error) -> PreviewError {
        PreviewError::Kept { path: name_of(&self.folder), source }
    }
}

/// The folders of a layer.
struct Layer {
    upper: PathBuf,
    work: PathBuf,
}

fn layer(folder: &Path, number: usize) -> Layer {
    let folder = folder.join(format!("layer-{number}"));
    Layer { upper: folder.join("upper"), work: folder.join("work") }
}

/// A refusal that can be written down: its path, whatever its bytes, as text.
fn writable(violation: &Violation) -> Violation {
    let text = |path: &Path| PathBuf::from(path.to_string_lossy().into_owned());
    match violation {
        Violation::Write { path } => Violation::Write { path: text(path) },
        Violation::Read { path } => Violation::Read { path: text(path) },
        Violation::Connect { .. } | Violation::UnixSocket { .. } | Violation::Call { .. } => violation.clone(),
    }
}

/// Makes writable places that no layer can cover read-only, and says which.
fn cover(files: &mut Confined) -> Vec<Gap> {
    let mut gaps = Vec::new();
    for place in &mut files.places {
        if !is_layered(place.access, &place.why) || place.path.is_dir() {
            continue;
        }
        place.access = Access::ReadOnly;
        if place.path.exists() {
            let what = format!("`{}` is a file, and only folders can be previewed: read-only", name_of(&place.path));
            gaps.push(Gap { what, origin: None });
        }
    }
    gaps
}

/// Whether a layer is laid over a place: everything writable, but for the private temporary folder and devices.
fn is_layered(access: Access, why: &Why) -> bool {
    let is_lasting = match why {
        Why::Temporary | Why::System => false,
        Why::WorkingDirectory | Why::Said(_) | Why::Credential(_) | Why::Protected(_) | Why::Kept(_) | Why::Derived => {
            true
        }
    };
    access == Access::Writable && is_lasting
}

/// Opens a previewed folder, if it is still the same.
fn opened(ground: &Ground) -> Result<Root, PreviewError> {
    let root = Root::open(&ground.path);
    let root = root.map_err(|source| PreviewError::Root { path: name_of(&ground.path), source })?;
    let identity = root.hold(Path::new("")).ok().flatten().map(|held| held.identity());
    let same = identity == Some((ground.device, ground.inode));
    if same { Ok(root) } else { Err(PreviewError::Moved { path: name_of(&ground.path) }) }
}

/// File systems that the kernel does not take as the upper side of an overlay.
fn refuse_bad_ground(folder: &Path) -> Result<(), PreviewError> {
    const UNFIT: [(u64, &str); 4] =
        [(0x794c_7630, "overlay"), (0x6969, "NFS"), (0xff53_4d42, "CIFS"), (0x6573_5546, "FUSE")];
    let kept = |source: rustix::io::Errno| PreviewError::Kept { path: name_of(folder), source: source.into() };
    let kind = u64::try_from(rustix::fs::statfs(folder).map_err(kept)?.f_type).unwrap_or(0);
    match UNFIT.iter().find(|(number, _)| *number == kind) {
        Some((_, name)) => Err(PreviewError::Ground { path: name_of(folder), problem: (*name).to_owned() }),
        None => Ok(()),
    }
}

/// Makes a folder under a short name that nobody has.
fn fresh_folder(previews: &Path) -> Result<(String, PathBuf), PreviewError> {
    let kept = |source| PreviewError::Kept { path: name_of(previews), source };
    loop {
        let mut bytes = [0; 6];
        getrandom::fill(&mut bytes).map_err(|error| kept(io::Error::other(error)))?;
        let letter = |byte: &u8| LETTERS.get(usize::from(byte % 32)).map(|letter| char::from(*letter));
        let id: String = bytes.iter().filter_map(letter).collect();
        let folder = previews.join(&id);
        match DirBuilder::new().mode(0o700).create(&folder) {
            Ok(()) => return Ok((id, folder)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(kept(error)),
        }
    }
}

fn locked(folder: &Path, id: &str) -> Result<File, PreviewError> {
    let path = folder.join(LOCK);
    let kept = |source| PreviewError::Kept { path: name_of(&path), source };
    let file = File::options().create(true).append(true).open(&path).map_err(kept)?;
    // A process that another thread is just starting shares our descriptors for a moment, and with them a lock that
    // was already given up.
    for _ in 0..50 {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(5)),
            Err(TryLockError::Error(source)) => return Err(kept(source)),
        }
    }
    Err(PreviewError::Busy { id: id.to_owned() })
}

/// The names of all previews.
fn names(previews: &Path) -> Result<Vec<String>, PreviewError> {
    let kept = |source| PreviewError::Kept { path: name_of(previews), source };
    let entries = match fs::read_dir(previews) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(kept(source)),
    };
    let mut names = Vec::new();
    for entry in entries {
        if let Ok(name) = entry.map_err(kept)?.file_name().into_string()
            && name.bytes().all(|letter| LETTERS.contains(&letter))
        {
            names.push(name);
        }
    }
    Ok(names)
}

fn remove(previews: &Path, id: &str) -> Result<(), PreviewError> {
    let kept = |source| PreviewError::Kept { path: name_of(&previews.join(id)), source };
    let previews = previews.canonicalize().map_err(kept)?;
    Root::open(&previews).and_then(|root| root.remove(Path::new(id))).map_err(kept)
}

/// A path as people see it, with nothing in it that would command a terminal.
fn name_of(path: &Path) -> String {
    visible::name(path.as_os_str())
}
