//! The real machine: links, small files, repository configuration, programs on the path.

use std::ffi::OsStr;
use std::fs;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};

use mayi_core::call::Workspace;
use mayi_core::path;
use mayi_settings::document::open_at_once;
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
        let here = writable.first().map(PathBuf::from).unwrap_or_default();
        let mut folders: Vec<PathBuf> = Vec::new();
        for folder in std::env::split_paths(search).map(|folder| here.join(folder)) {
            if !folders.contains(&folder) {
                folders.push(folder);
            }
        }
        let real = |folder: &String| fs::canonicalize(folder).ok()?.to_str().map(str::to_owned);
        let behind_links: Vec<String> = writable.iter().filter_map(real).collect();
        Self { writable: writable.into_iter().chain(behind_links).collect(), search: folders }
    }
}

impl Observer for Machine {
    fn look(&self, question: &Question) -> Answer {
        match question {
            Question::Path(path) => real(path),
            Question::File(path) => text(Path::new(path)),
            Question::Repository(directory) => repository::configuration(directory, &|path| text(Path::new(path))),
            Question::Program(name) => self.program(name),
        }
    }
}

impl Machine {
    /// A program is planted when its file, or the file that a link leads to, lies where an agent may write.
    fn program(&self, name: &str) -> Answer {
        let found = self.search.iter().map(|folder| folder.join(name)).find(|file| file.is_file());
        let Some(file) = found else { return Answer::Absent };
        for place in [Some(file.clone()), fs::canonicalize(&file).ok()] {
            let Some(place) = place.as_deref().and_then(Path::to_str).map(path::clean) else { return Answer::Unknown };
            let is_within = |folder: &String| path::is_within(&place, folder);
            if !place.starts_with('/') || self.writable.iter().any(is_within) {
                return Answer::Planted(place);
            }
        }
        Answer::System
    }
}

/// The path after every link. What does not exist yet is placed where it would be made.
fn real(path: &str) -> Answer {
    match fs::canonicalize(path) {
        Ok(found) => found.to_str().map_or(Answer::Unknown, |found| Answer::Real(found.to_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => followed(path),
        Err(error) if error.raw_os_error() == Some(ELOOP) => Answer::Loop,
        Err(_) => Answer::Unknown,
    }
}

/// What the operating system answers for a loop of links (Linux 40, the BSDs and macOS 62).
const ELOOP: i32 = if cfg!(target_os = "linux") { 40 } else { 62 };

/// How many links are followed before it counts as a loop.
const LINKS: usize = 40;

/// Follows a path that does not lead to anything yet, part by part as the system would. A link may dangle, lead over
/// another link, or leave its folder with `..`: what would be written is made where the last of them points.
fn followed(path: &str) -> Answer {
    let mut place = PathBuf::from("/");
    let mut ahead: Vec<String> = path.split('/').rev().map(str::to_owned).collect();
    let mut links = 0;
    while let Some(part) = ahead.pop() {
        match part.as_str() {
            "" | "." => continue,
            ".." => {
                place.pop();
                continue;
            }
            _ => {}
        }
        let next = place.join(&part);
        match fs::read_link(&next) {
            Ok(target) => {
                links += 1;
                let Some(target) = target.to_str() else { return Answer::Unknown };
                if links > LINKS {
                    return Answer::Loop;
                }
                if target.starts_with('/') {
                    place = PathBuf::from("/");
                }
                ahead.extend(target.split('/').rev().map(str::to_owned));
            }
            // No link, or nothing there yet: it stands for itself.
            Err(error) if matches!(error.kind(), ErrorKind::InvalidInput | ErrorKind::NotFound) => place = next,
            Err(_) => return Answer::Unknown,
        }
    }
    place.to_str().map_or(Answer::Unknown, |place| Answer::Real(place.to_owned()))
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
    let is_still = file.metadata().is_ok_and(|metadata| is_small_file(&metadata));
    let mut text = String::new();
    match is_still && file.take(FILE_LIMIT).read_to_string(&mut text).is_ok() {
        true => Answer::Text(text),
        false => Answer::Unknown,
    }
}
