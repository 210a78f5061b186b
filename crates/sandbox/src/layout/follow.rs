//! Follows links by hand, part by part, so that every link on the way is known: a link in a writable folder could be
//! replaced, and must be held in its place too. Looks at the machine, changes nothing.

use std::collections::{HashMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io::{Error, ErrorKind};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

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

/// Follows paths, and remembers what it saw.
#[derive(Default)]
pub(crate) struct Follower {
    seen: HashMap<PathBuf, Seen>,
}

impl Follower {
    /// Where an absolute path leads.
    pub(crate) fn follow(&mut self, path: &Path) -> Result<Followed, Lost> {
        let mut left: VecDeque<OsString> = parts(path);
        let mut links = Vec::new();
        let mut real = PathBuf::from("/");
        while let Some(part) = left.pop_front() {
            if part == ".." {
                real.pop();
                continue;
            }
            let place = real.join(&part);
            match self.look(&place)? {
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

    fn look(&mut self, place: &Path) -> Result<Seen, Lost> {
        if let Some(seen) = self.seen.get(place) {
            return Ok(seen.clone());
        }
        let seen = match fs::symlink_metadata(place) {
            // Another run put it there, and takes it away when it ends.
            Ok(found) if is_mark(found.mode()) && is_empty(place, &found) => Seen::Nothing,
            Ok(found) if found.is_dir() => Seen::Folder,
            Ok(found) if found.is_symlink() => {
                Seen::Link(fs::read_link(place).map_err(|error| Lost::Unreadable(place.to_owned(), error))?)
            }
            Ok(_) => Seen::File,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Seen::Nothing,
            // Longer than any name that can exist.
            Err(error) if error.kind() == ErrorKind::InvalidFilename => Seen::Nothing,
            Err(error) => return Err(Lost::Unreadable(place.to_owned(), error)),
        };
        self.seen.insert(place.to_owned(), seen.clone());
        Ok(seen)
    }
}

fn is_empty(place: &Path, found: &fs::Metadata) -> bool {
    match found.is_dir() {
        true => fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_none()),
        false => found.len() == 0,
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
