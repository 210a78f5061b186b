//! The layout of a run: a plan and a look at the machine become an ordered list of covers, each over one path. The
//! native launcher and bubblewrap both render it. Looks, but changes nothing.

mod by_path;
mod follow;
mod listing;
mod patterns;
mod repositories;

use std::path::{Path, PathBuf};

use crate::plan::{Access, Confined, Files, Plan, Why};
use follow::{Followed, Follower, Found, Lost};

pub(crate) use by_path::ByPath;

/// As many covers as are still mounted in a tolerable time.
const MOST_COVERS: usize = 20_000;

/// What every sandbox has of its own in `/dev`.
const OWN_DEVICES: [&str; 8] =
    ["/dev/fd", "/dev/mqueue", "/dev/ptmx", "/dev/pts", "/dev/shm", "/dev/stderr", "/dev/stdin", "/dev/stdout"];

/// What covers what.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Layout {
    /// By path, so that a folder comes before what is in it.
    pub(crate) covers: ByPath<Cover>,
    /// Protected names that do not exist, in folders that are writable.
    pub(crate) placeholders: Vec<PathBuf>,
    /// Folders that are no repository yet; what becomes one is looked at afterwards.
    pub(crate) unborn: Vec<PathBuf>,
    /// Names that must not appear.
    pub(crate) scrubbed: Vec<PathBuf>,
    /// Where temporary files go, as the command sees it.
    pub(crate) temporary: Option<PathBuf>,
}

/// What a path is covered with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Cover {
    /// Itself, writable.
    Writable,
    /// Itself, only so that it cannot be renamed or removed.
    Pinned,
    /// Itself, read-only.
    ReadOnly,
    /// An empty folder that cannot be read.
    HiddenFolder,
    /// An empty folder, with nothing but what is mounted in it.
    Emptied,
    /// An empty file that cannot be read.
    HiddenFile,
    /// A private folder for temporary files: one of the host's, or memory.
    Temporary(Option<PathBuf>),
}

/// Why a plan cannot be laid out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LayoutError {
    /// A path of the plan leads nowhere.
    #[error("{0}\nhelp: the sandbox must know what the path leads to; correct it, or take it out of the settings")]
    Lost(String),
    /// More covers than can be mounted.
    #[error("{0} paths to cover, more than {MOST_COVERS}\nhelp: name folders instead of the files in them")]
    TooMany(usize),
    /// The root itself cannot be covered.
    #[error("`/` cannot be hidden\nhelp: hide the folders in it")]
    HiddenRoot,
    /// A pattern has too much to look through.
    #[error("`{0}` has too many files to look through\nhelp: begin the pattern in a narrower folder")]
    TooWide(String),
}

impl From<Lost> for LayoutError {
    fn from(lost: Lost) -> Self {
        LayoutError::Lost(lost.to_string())
    }
}

/// A place of the plan, followed.
#[derive(Clone, Debug)]
struct Spot {
    access: Access,
    found: Found,
    kind: Kind,
    /// The links that lead there.
    links: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// The private folder for temporary files.
    Temporary,
    /// Must not appear either.
    Protected,
    /// A store of credentials: must not appear where only its own name is missing.
    Store,
    /// Anything else.
    Plain,
}

impl Layout {
    /// Lays a plan out on this machine.
    pub(crate) fn of(plan: &Plan) -> Result<Self, LayoutError> {
        match &plan.files {
            Files::Open => {
                let covers = ByPath::from_iter([(PathBuf::from("/"), Cover::Writable)]);
                Ok(Self { covers, ..Self::default() })
            }
            Files::Confined(confined) => Draft::default().lay(confined),
        }
    }

    /// What may be done with a real path, by the narrowest cover.
    pub(crate) fn access(&self, path: &Path) -> Access {
        self.covers
            .upward(path)
            .find_map(|(_, cover)| match cover {
                Cover::Pinned => None,
                Cover::Writable | Cover::Temporary(_) => Some(Access::Writable),
                Cover::ReadOnly => Some(Access::ReadOnly),
                Cover::HiddenFolder | Cover::HiddenFile | Cover::Emptied => Some(Access::Hidden),
            })
            .unwrap_or(Access::ReadOnly)
    }

    /// The covers that a path lies under, itself excluded: the narrowest one.
    pub(crate) fn around(&self, path: &Path) -> Option<(&Path, &Cover)> {
        self.covers.above(path).next()
    }
}

#[derive(Default)]
struct Draft {
    follower: Follower,
    spots: ByPath<Spot>,
    /// Places that are absent, where they would be.
    absent: Vec<(PathBuf, Spot)>,
    /// Links that lead to a place.
    links: Vec<PathBuf>,
    /// Whether the folder that was asked for last can be written.
    writable: Option<(PathBuf, bool)>,
    layout: Layout,
}

impl Draft {
    fn lay(mut self, confined: &Confined) -> Result<Layout, LayoutError> {
        for place in &confined.places {
            let kind = match place.why {
                Why::Temporary => Kind::Temporary,
                Why::Protected(_) => Kind::Protected,
                Why::Credential(_) => Kind::Store,
                Why::WorkingDirectory | Why::Said(_) | Why::Kept(_) | Why::Derived | Why::System => Kind::Plain,
            };
            self.place(&place.path, place.access, kind)?;
        }
        for pattern in &confined.patterns {
            for path in patterns::matching(pattern)? {
                self.place(&path, Access::Hidden, Kind::Plain)?;
            }
        }
        repositories::protect(&mut self, confined)?;
        if self.spots.get(Path::new("/")).is_some_and(|spot| spot.access == Access::Hidden) {
            return Err(LayoutError::HiddenRoot);
        }
        self.distrust_links();
        self.private_temporary()?;
        self.cover();
        self.hold_links();
        self.layout.scrubbed.extend(confined.scrubbed.iter().cloned());
        match self.layout.covers.len() {
            many if many > MOST_COVERS => Err(LayoutError::TooMany(many)),
            _ => Ok(self.layout),
        }
    }

    /// Follows a place, and remembers it where it leads. Of two at one path the stricter counts.
    fn place(&mut self, path: &Path, access: Access, kind: Kind) -> Result<(), LayoutError> {
        let Followed { real, found, links } = match self.follower.follow(path) {
            Ok(followed) => followed,
            // What this user cannot even look at needs no hiding and no protecting.
            Err(Lost::Unreadable(..)) if access != Access::Writable => return Ok(()),
            Err(lost) => return Err(lost.into()),
        };
        let matters = match kind {
            Kind::Protected => true,
            // A store that somebody else filled is worse than none: `authorized_keys`, a helper that gives credentials.
            Kind::Store => real.file_name() == path.file_name(),
            // A writable or hidden place that does not exist is nothing to cover.
            Kind::Temporary | Kind::Plain => false,
        };
        if found == Found::Absent && !matters {
            return Ok(());
        }
        self.links.extend(links.iter().cloned());
        let spot = Spot { access, found, kind, links };
        match found {
            Found::Absent => self.absent.push((real, spot)),
            Found::Folder | Found::File => self.remember(real, spot),
        }
        Ok(())
    }

    fn remember(&mut self, real: PathBuf, spot: Spot) {
        // The straighter way, where both say the same.
        self.spots.insert_unless(real, spot, |known, spot| {
            (known.access, known.links.len()) <= (spot.access, spot.links.len())
        });
    }

    /// Opens nothing by a link that lies in a writable folder: whoever writes there, a stranger's repository included,
    /// would say what is open.
    fn distrust_links(&mut self) {
        let writable = self.spots.iter().filter(|(_, spot)| spot.access == Access::Writable && spot.links.is_empty());
        let roots: Vec<PathBuf> = writable.map(|(path, _)| path.to_owned()).collect();
        self.spots.retain(|spot| {
            let is_led = spot.links.iter().any(|link| roots.iter().any(|root| link.starts_with(root)));
            spot.access != Access::Writable || !is_led
        });
    }

    /// `/tmp` becomes private, unless it is itself a place to write.
    fn private_temporary(&mut self) -> Result<(), LayoutError> {
        let own = self.spots.iter().find(|(_, spot)| spot.kind == Kind::Temporary).map(|(path, _)| path.to_owned());
        let shared = self.follower.follow(Path::new("/tmp"))?;
        let taken = self.spots.get(&shared.real).is_some_and(|spot| spot.kind == Kind::Plain);
        if shared.found != Found::Folder || taken {
            self.layout.temporary = own;
            return Ok(());
        }
        if let Some(own) = &own
            && own.starts_with(&shared.real)
        {
            self.spots.remove(own);
        }
        self.layout.covers.insert(shared.real.clone(), Cover::Temporary(own));
        self.layout.temporary = Some(shared.real);
        Ok(())
    }

    /// Each spot by what it lies in, from the outside in.
    fn cover(&mut self) {
        // What is absent matters only where it could be made, and most of it could not.
        let writable = self.spots.iter().filter(|(_, spot)| spot.access == Access::Writable);
        let roots: Vec<PathBuf> = writable.map(|(path, _)| path.to_owned()).collect();
        for (real, spot) in std::mem::take(&mut self.absent) {
            if roots.iter().any(|root| lies_in(&real, root)) {
                self.remember(real, spot);
            }
        }
        for (path, spot) in std::mem::take(&mut self.spots) {
            if is_private(&path, &spot) {
                continue;
            }
            let around = self.layout.around(&path).map(|(at, cover)| (at.to_owned(), cover.clone()));
            self.cover_one(&path, &spot, around);
        }
    }

    fn cover_one(&mut self, path: &Path, spot: &Spot, around: Option<(PathBuf, Cover)>) {
        let surrounding = match &around {
            None => Access::ReadOnly,
            Some((at, Cover::Pinned)) => self.layout.access(at),
            Some((_, Cover::Writable)) => Access::Writable,
            Some((_, Cover::ReadOnly)) => Access::ReadOnly,
            // Nothing of the host's is in a private folder, so there a place is opened, or there is nothing to hide.
            Some((_, Cover::HiddenFolder | Cover::HiddenFile | Cover::Emptied | Cover::Temporary(_))) => Access::Hidden,
        };
        match (spot.access, surrounding) {
            (Access::Hidden, Access::Hidden)
            | (Access::ReadOnly, Access::ReadOnly)
            | (Access::Writable, Access::Writable) => (),
            (Access::ReadOnly, Access::Hidden) if spot.kind == Kind::Protected => (),
            (Access::Writable, Access::ReadOnly) => self.put(path, Cover::Writable),
            (Access::Writable, Access::Hidden) => self.reopen(path, Cover::Writable, around),
            (Access::ReadOnly, Access::Hidden) => self.reopen(path, Cover::ReadOnly, around),
            (Access::ReadOnly, Access::Writable) if spot.found == Found::Absent => self.absent(path),
            (Access::ReadOnly, Access::Writable) => self.carve(path, Cover::ReadOnly),
            (Access::Hidden, Access::ReadOnly | Access::Writable) => {
                let cover = match spot.found {
                    Found::Folder => Cover::HiddenFolder,
                    Found::File => Cover::HiddenFile,
                    Found::Absent if surrounding == Access::Writable => return self.absent(path),
                    Found::Absent => return,
                };
                self.carve(path, cover);
            }
        }
    }

    fn put(&mut self, path: &Path, cover: Cover) {
        self.layout.covers.insert(path.to_owned(), cover);
    }

    /// A place inside a hidden folder: the folder then has nothing in it but the way to that place.
    fn reopen(&mut self, path: &Path, cover: Cover, around: Option<(PathBuf, Cover)>) {
        if let Some((at, Cover::HiddenFolder)) = around {
            self.layout.covers.insert(at, Cover::Emptied);
        }
        self.put(path, cover);
    }

    /// A narrower cover inside a writable folder: every folder on the way to it is pinned, or it could be moved away
    /// together with the folder that it is in.
    fn carve(&mut self, path: &Path, cover: Cover) {
        self.pin_way(path);
        self.put(path, cover);
    }

    fn pin_way(&mut self, path: &Path) {
        let way: Vec<PathBuf> = path
            .ancestors()
            .skip(1)
            .take_while(|folder| !self.layout.covers.contains(folder))
            .map(Path::to_owned)
            .collect();
        // Without a cover all the way up, the root is around it, which is read-only.
        if way.last().is_some_and(|top| top == Path::new("/")) {
            return;
        }
        for folder in way {
            self.layout.covers.insert(folder, Cover::Pinned);
        }
    }

    /// A protected name that does not exist, in a writable folder.
    fn absent(&mut self, path: &Path) {
        if path.file_name().is_some_and(|name| name == ".git") {
            // A placeholder would be in the way of `git init`.
            self.layout.unborn.push(path.to_owned());
            return;
        }
        if !path.parent().is_some_and(|folder| self.is_writable(folder)) {
            return;
        }
        if path.file_name().is_some_and(|name| name == "commondir") {
            // Git gives up where this is a folder, and where it is empty as well.
            self.layout.scrubbed.push(path.to_owned());
            return;
        }
        self.layout.placeholders.push(path.to_owned());
        self.carve(path, Cover::ReadOnly);
    }

    /// Whether this user may make something in a folder. Absent names come folder by folder.
    fn is_writable(&mut self, folder: &Path) -> bool {
        if let Some((known, writable)) = &self.writable
            && known == folder
        {
            return *writable;
        }
        let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        let writable = rustix::fs::access(folder, wanted).is_ok();
        self.writable = Some((folder.to_owned(), writable));
        writable
    }

    /// Links in writable folders stay where they are, if they lead to a place.
    fn hold_links(&mut self) {
        for link in std::mem::take(&mut self.links) {
            if self.layout.access(&link) == Access::Writable && !self.layout.covers.contains(&link) {
                let private = self.layout.around(&link).is_some_and(|(_, cover)| matches!(cover, Cover::Temporary(_)));
                if !private {
                    self.carve(&link, Cover::Pinned);
                }
            }
        }
    }
}

/// Processes and devices are the launcher's matter, but for devices that a plan adds.
fn is_private(path: &Path, spot: &Spot) -> bool {
    if path.starts_with("/dev") {
        let own = OWN_DEVICES.iter().any(|name| path.starts_with(name)) || path == Path::new("/dev");
        return own || spot.access != Access::Writable;
    }
    path.starts_with("/proc")
}

/// Whether a real path is a folder or something in it. Compares bytes, because real paths have no other spelling.
fn lies_in(path: &Path, folder: &Path) -> bool {
    let (path, folder) = (path.as_os_str().as_encoded_bytes(), folder.as_os_str().as_encoded_bytes());
    match path.strip_prefix(folder) {
        Some(rest) => rest.is_empty() || rest.starts_with(b"/") || folder == b"/",
        None => false,
    }
}
