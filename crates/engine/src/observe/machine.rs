//! The real machine: links, small files, repository configuration, programs on the path.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use mayi_core::call::Workspace;
use mayi_core::path;
use mayi_settings::document::{open_at_once, read_to};
use mayi_shell::observe::{Answer, Question};

use crate::observe::{Observer, repository};

/// Files larger than this are not read: the answer is unknown.
const FILE_LIMIT: u64 = 256 * 1024;

/// The machine this runs on.
#[derive(Clone, Debug, Default)]
pub struct Machine {
    /// Directories an agent may write to: a program found there is planted.
    pub writable: Vec<String>,
    /// Where programs are looked for, in order.
    pub search: Vec<PathBuf>,
    /// Places that were seen to be no links, if that is to be remembered.
    no_links: Option<Arc<Mutex<Vec<String>>>>,
}

impl Machine {
    /// The machine as this very process sees it, with the directories of a workspace writable.
    pub fn here(workspace: &Workspace) -> Self {
        let writable = workspace.directories().map(str::to_owned).collect();
        Self::new(writable, &std::env::var_os("PATH").unwrap_or_default())
    }

    /// The machine as a process with these writable directories and this `PATH` sees it. The first directory is the
    /// working directory, where relative parts of the `PATH` start.
    pub fn new(writable: Vec<String>, search: &OsStr) -> Self {
        Self::with(writable, search, None)
    }

    /// The same for a single decision: what it saw to be no link once it does not look at again. Nothing on the way to the
    /// directory that this process is in is one: the system names it by where it is.
    pub fn for_one_decision(writable: Vec<String>, search: &OsStr) -> Self {
        let here = std::env::current_dir().ok();
        let here = here.as_deref().and_then(Path::to_str).filter(|here| here.starts_with('/'));
        let on_the_way = here.into_iter().flat_map(path::ancestors).map(str::to_owned).collect();
        Self::with(writable, search, Some(Arc::new(Mutex::new(on_the_way))))
    }

    fn with(writable: Vec<String>, search: &OsStr, no_links: Option<Arc<Mutex<Vec<String>>>>) -> Self {
        let here = writable.first().map(PathBuf::from).unwrap_or_default();
        let mut folders: Vec<PathBuf> = Vec::new();
        let whole = |folder: PathBuf| if folder.is_absolute() { folder } else { here.join(folder) };
        for folder in std::env::split_paths(search).map(whole) {
            // Compared as texts: taking paths apart costs more than looking into one folder twice.
            if !folders.iter().any(|known| known.as_os_str() == folder.as_os_str()) {
                folders.push(folder);
            }
        }
        let mut machine = Self { writable, search: folders, no_links };
        let real = |folder: &String| match machine.real(folder) {
            Answer::Real(real) => Some(real),
            Answer::Loop
            | Answer::Text(_)
            | Answer::Absent
            | Answer::Configuration(_)
            | Answer::System
            | Answer::Planted(_)
            | Answer::Unknown => None,
        };
        let behind_links: Vec<String> = machine.writable.iter().filter_map(real).collect();
        machine.writable.extend(behind_links);
        machine
    }
}

impl Observer for Machine {
    fn look(&self, question: &Question) -> Answer {
        match question {
            Question::Path(path) => self.real(path),
            Question::File(path) => text(Path::new(path)),
            Question::Repository(directory) => repository::configuration(directory, &|path| text(Path::new(path))),
            Question::Program(name) => self.program(name),
        }
    }
}

impl Machine {
    /// A program is planted when its file, or the file that a link leads to, lies where an agent may write.
    fn program(&self, name: &str) -> Answer {
        let found = self.search.iter().map(|folder| folder.join(name)).find(|file| self.is_file(file));
        let Some(file) = found else { return Answer::Absent };
        let Some(file) = file.to_str() else { return Answer::Unknown };
        for place in [Answer::Real(path::clean(file)), self.real(file)] {
            let Answer::Real(place) = place else { return Answer::Unknown };
            let is_within = |folder: &String| path::is_within(&place, folder);
            if !place.starts_with('/') || self.writable.iter().any(is_within) {
                return Answer::Planted(place);
            }
        }
        Answer::System
    }

    /// Whether there is a file, be it behind a link. Most are not, and then the look is remembered.
    fn is_file(&self, place: &Path) -> bool {
        let Ok(facts) = place.symlink_metadata() else { return false };
        if let (true, Some(place)) = (facts.is_file(), place.to_str()) {
            self.note_no_link(place);
        }
        facts.is_file() || (facts.is_symlink() && place.is_file())
    }
}

/// How many links are followed before it counts as a loop.
const LINKS: usize = 40;

impl Machine {
    /// The path after every link, followed part by part as the system would. What does not exist yet is placed where
    /// it would be made: a link may dangle, lead over another link, or leave its folder with `..`.
    fn real(&self, path: &str) -> Answer {
        if !path.starts_with('/') || path.contains('\0') {
            return Answer::Unknown;
        }
        let (mut ahead, mut at) = (Cow::Borrowed(path), 0);
        let mut place = String::with_capacity(path.len() + 1);
        // From this length on the place does not exist.
        let mut absent = None;
        let mut links = 0;
        while let Some(rest) = ahead.get(at..).filter(|rest| !rest.is_empty()) {
            let (part, after) = rest.split_once('/').unwrap_or((rest, ""));
            at = ahead.len() - after.len();
            let above = place.len();
            match part {
                "" | "." => continue,
                ".." => {
                    place.truncate(place.rfind('/').unwrap_or_default());
                    absent = absent.filter(|length| *length <= place.len());
                    continue;
                }
                part => {
                    place.push('/');
                    place.push_str(part);
                }
            }
            if absent.is_some() || self.is_no_link(&place) {
                continue;
            }
            match fs::read_link(&place) {
                Ok(target) => {
                    links += 1;
                    let Some(target) = target.to_str() else { return Answer::Unknown };
                    if links > LINKS {
                        return Answer::Loop;
                    }
                    place.truncate(if target.starts_with('/') { 0 } else { above });
                    (ahead, at) = (Cow::Owned(format!("{target}/{after}")), 0);
                }
                Err(error) if error.kind() == ErrorKind::InvalidInput => self.note_no_link(&place),
                // Nothing there yet: it stands for itself.
                Err(error) if error.kind() == ErrorKind::NotFound => absent = Some(place.len()),
                Err(_) => return Answer::Unknown,
            }
        }
        Answer::Real(if place.is_empty() { "/".to_owned() } else { place })
    }

    fn is_no_link(&self, place: &str) -> bool {
        let seen = self.no_links.as_deref().map(|seen| seen.lock().unwrap_or_else(PoisonError::into_inner));
        seen.is_some_and(|seen| seen.iter().any(|known| known == place))
    }

    fn note_no_link(&self, place: &str) {
        if let Some(seen) = &self.no_links {
            seen.lock().unwrap_or_else(PoisonError::into_inner).push(place.to_owned());
        }
    }
}

/// A small file's text. A pipe or a device could keep a reader waiting for ever, or do something when it is opened,
/// so only files are opened, and without waiting should one be replaced after we looked.
fn text(path: &Path) -> Answer {
    let is_small_file = |metadata: &fs::Metadata| metadata.is_file() && metadata.len() <= FILE_LIMIT;
    match fs::metadata(path) {
        Ok(metadata) if is_small_file(&metadata) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Answer::Absent,
        Ok(_) | Err(_) => return Answer::Unknown,
    }
    let Ok(file) = open_at_once(path) else { return Answer::Unknown };
    let Some(metadata) = file.metadata().ok().filter(is_small_file) else { return Answer::Unknown };
    let text = read_to(FILE_LIMIT, file, &metadata).ok().and_then(|bytes| String::from_utf8(bytes).ok());
    text.map_or(Answer::Unknown, Answer::Text)
}
