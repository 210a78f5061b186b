//! Follows links by hand, part by part, so that every link on the way is known: a link in a writable folder could be
//! replaced, and must be held in its place too. Looks at the machine, changes nothing.

use std::collections::{HashMap, HashSet, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Error;
use std::os::fd::OwnedFd;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::listing;
use crate::sys::keeper::is_mark;

/// As many links as the kernel follows.
const LINKS: usize = 40;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Followed {
    /// The real path: no part of it is a link.
    pub(crate) real: PathBuf,
    /// What is there.
    pub(crate) found: Found,
    /// Where the links on the way are.
    pub(crate) links: Vec<PathBuf>,
}

/// What is at the end of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// A folder.
    Folder,
    /// A file, or anything else that is no folder. The path may have meant something below it.
    File,
    /// Nothing; the real path is the first part that is missing.
    Absent,
}

/// Why a path leads nowhere.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Lost {
    /// A link leads to itself.
    #[error("`{0}` is a link that leads in a circle")]
    Circle(PathBuf),
    /// Nobody may look.
    #[error("cannot look at `{0}`: {1}")]
    Unreadable(PathBuf, Error),
}

#[derive(Clone)]
enum Seen {
    Folder,
    File,
    Link(PathBuf),
    Nothing,
}

/// Names in one folder are asked for one by one until there were about half as many; then the folder is opened, so that it
/// need not be found for each.
const FOUND: usize = 4;
/// As many folders are held open. Whoever lists others needs some, too.
const OPENED: usize = 8;
/// And until there were about half as many as this; then it is listed.
const ASKED: usize = 24;
/// A folder whose list is longer than this, in bytes, is asked for every name.
const LISTED: usize = 16 * 1024;

/// What is known of a folder's names.
enum Names {
    /// So many were asked for, in the folder where it is opened.
    Asked(usize, Option<OwnedFd>),
    /// All that there are.
    Listed(HashSet<OsString>),
    /// Too many to list, or nobody may.
    Unlisted,
}

/// Follows paths, and remembers what it saw.
#[derive(Default)]
pub(crate) struct Follower {
    /// Where folders lead that were on the way, by their bytes: a plan has many paths in few folders.
    ways: HashMap<OsString, Rc<Followed>>,
    /// What is known of real folders.
    folders: HashMap<OsString, Names>,
    /// How many were opened.
    opened: usize,
}

impl Follower {
    /// Where an absolute path leads.
    pub(crate) fn follow(&mut self, path: &Path) -> Result<Followed, Lost> {
        match (path.parent(), path.file_name()) {
            (Some(parent), Some(name)) => {
                let way = self.way(parent)?;
                match way.found {
                    Found::Folder if self.may_have(&way.real, name) => {
                        self.walk(path, Followed::clone(&way), VecDeque::from([name.to_owned()]))
                    }
                    Found::Folder => {
                        Ok(Followed { real: way.real.join(name), found: Found::Absent, links: way.links.clone() })
                    }
                    Found::File | Found::Absent => Ok(Followed::clone(&way)),
                }
            }
            (_, _) => self.whole(path),
        }
    }

    /// The same for a folder on the way, which is remembered.
    fn way(&mut self, folder: &Path) -> Result<Rc<Followed>, Lost> {
        if let Some(way) = self.ways.get(folder.as_os_str()) {
            return Ok(Rc::clone(way));
        }
        let way = Rc::new(self.follow(folder)?);
        self.ways.insert(folder.as_os_str().to_owned(), Rc::clone(&way));
        Ok(way)
    }

    fn whole(&mut self, path: &Path) -> Result<Followed, Lost> {
        let root = Followed { real: PathBuf::from("/"), found: Found::Folder, links: Vec::new() };
        self.walk(path, root, parts(path))
    }

    /// What is left of a path, from a real folder on.
    fn walk(&mut self, path: &Path, from: Followed, mut left: VecDeque<OsString>) -> Result<Followed, Lost> {
        let Followed { mut real, mut links, .. } = from;
        while let Some(part) = left.pop_front() {
            if part == ".." {
                real.pop();
                continue;
            }
            let place = real.join(&part);
            match self.look(&real, &part, &place)? {
                Seen::Folder => real = place,
                Seen::File => return Ok(Followed { real: place, found: Found::File, links }),
                Seen::Nothing => return Ok(Followed { real: place, found: Found::Absent, links }),
                Seen::Link(to) => {
                    if links.len() >= LINKS {
                        return Err(Lost::Circle(path.to_owned()));
                    }
                    links.push(place);
                    if to.is_absolute() {
                        real = PathBuf::from("/");
                    }
                    for part in parts(&to).into_iter().rev() {
                        left.push_front(part);
                    }
                }
            }
        }
        Ok(Followed { real, found: Found::Folder, links })
    }

    fn look(&mut self, folder: &Path, name: &OsStr, place: &Path) -> Result<Seen, Lost> {
        if !self.may_have(folder, name) {
            return Ok(Seen::Nothing);
        }
        match self.stat(folder, name, place) {
            // Another run put it there, and takes it away when it ends.
            Ok(found) if is_mark(found.st_mode) && is_empty(place, &found) => Ok(Seen::Nothing),
            Ok(found) if kind(&found).is_dir() => Ok(Seen::Folder),
            Ok(found) if kind(&found).is_symlink() => match fs::read_link(place) {
                Ok(to) => Ok(Seen::Link(to)),
                Err(error) => Err(Lost::Unreadable(place.to_owned(), error)),
            },
            Ok(_) => Ok(Seen::File),
            // The last of these for what is longer than any name that can exist.
            Err(Errno::NOENT | Errno::NOTDIR | Errno::NAMETOOLONG) => Ok(Seen::Nothing),
            Err(error) => Err(Lost::Unreadable(place.to_owned(), error.into())),
        }
    }

    /// Looks at a name in a real folder.
    fn stat(&self, folder: &Path, name: &OsStr, place: &Path) -> Result<Stat, Errno> {
        match self.folders.get(folder.as_os_str()) {
            Some(Names::Asked(_, Some(opened))) => rustix::fs::statat(opened, name, AtFlags::SYMLINK_NOFOLLOW),
            _ => rustix::fs::statat(CWD, place, AtFlags::SYMLINK_NOFOLLOW),
        }
    }

    /// Whether a folder can have a name. One list of a small folder spares many questions.
    fn may_have(&mut self, folder: &Path, name: &OsStr) -> bool {
        let Some(names) = self.folders.get_mut(folder.as_os_str()) else {
            self.folders.insert(folder.as_os_str().to_owned(), Names::Asked(1, None));
            return true;
        };
        if let Names::Asked(times, opened) = names {
            *times += 1;
            if *times == FOUND && self.opened < OPENED {
                self.opened += 1;
                let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                *opened = rustix::fs::open(folder, flags, Mode::empty()).ok();
            }
            if *times > ASKED {
                *names = listing::names(folder, LISTED).map_or(Names::Unlisted, Names::Listed);
            }
        }
        match names {
            Names::Listed(names) => names.contains(name),
            Names::Asked(..) | Names::Unlisted => true,
        }
    }
}

fn kind(found: &Stat) -> FileType {
    FileType::from_raw_mode(found.st_mode)
}

fn is_empty(place: &Path, found: &Stat) -> bool {
    match kind(found).is_dir() {
        true => fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none()),
        false => found.st_size == 0,
    }
}

fn parts(path: &Path) -> VecDeque<OsString> {
    path.components()
        .filter_map(|part| match part {
            Component::Normal(name) => Some(name.to_owned()),
            Component::ParentDir => Some("..".into()),
            Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever looks for more, as patterns do, needs descriptors of its own.
    #[test]
    fn many_folders_are_not_held_open_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let mut follower = Follower::default();
        for number in 0..40 {
            let inner = root.join(number.to_string());
            fs::create_dir(&inner).unwrap();
            for name in ["a", "b", "c", "d"] {
                assert_eq!(follower.follow(&inner.join(name)).unwrap().found, Found::Absent);
            }
        }
        let all = fs::read_dir("/proc/self/fd").unwrap().flatten();
        let own = all.filter_map(|entry| fs::read_link(entry.path()).ok()).filter(|to| to.starts_with(&root));
        let own = own.count();
        assert!((1..=OPENED).contains(&own), "{own} are open");
    }
}
