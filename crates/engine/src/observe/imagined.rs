//! An imagined file system: files and links given as data, so that a decision can be reproduced anywhere. What is
//! not given is not there.

use rustc_hash::FxHashMap;

use mayi_core::call::Workspace;
use mayi_core::path;
use mayi_shell::observe::{Answer, Question};
use serde_json::{Map, Value};

use crate::observe::{Observer, repository};

/// How many links a path may lead through.
const LINKS: usize = 40;

/// Files and links by absolute path.
#[derive(Clone, Debug, Default)]
pub struct Imagined {
    files: FxHashMap<String, Entry>,
}

#[derive(Clone, Debug)]
enum Entry {
    Text(String),
    Link(String),
}

/// A `files` entry that is neither text nor a link.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the file `{0}` is neither text nor {{\"symlink\": …}}")]
pub struct BadFile(String);

impl Imagined {
    /// Reads `{"package.json": "…", "link": {"symlink": "/etc"}}`, relative to the workspace.
    pub fn new(files: &Map<String, Value>, workspace: &Workspace) -> Result<Self, BadFile> {
        let mut imagined = Self::default();
        for (name, content) in files {
            let bad = || BadFile(name.clone());
            let place = path::place(name, workspace).map_err(|_| bad())?;
            let entry = match content {
                Value::String(text) => Entry::Text(text.clone()),
                Value::Object(link) => {
                    let target = link.get("symlink").and_then(Value::as_str).ok_or_else(bad)?;
                    Entry::Link(path::join(path::parent(&place).unwrap_or("/"), target))
                }
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => return Err(bad()),
            };
            imagined.files.insert(place, entry);
        }
        Ok(imagined)
    }

    fn resolve(&self, start: &str) -> Answer {
        let mut current = start.to_owned();
        for _ in 0..LINKS {
            let link = path::ancestors(&current).find_map(|above| match self.files.get(above) {
                Some(Entry::Link(target)) => Some((above.len(), target)),
                Some(Entry::Text(_)) | None => None,
            });
            let Some((length, target)) = link else { return Answer::Real(current) };
            let rest = current.get(length..).unwrap_or_default();
            current = path::clean(&format!("{target}{rest}"));
        }
        Answer::Loop
    }

    fn text(&self, path: &str) -> Answer {
        let Answer::Real(real) = self.resolve(path) else { return Answer::Unknown };
        match self.files.get(&real) {
            Some(Entry::Text(text)) => Answer::Text(text.clone()),
            Some(Entry::Link(_)) => Answer::Unknown,
            None => Answer::Absent,
        }
    }
}

impl Observer for Imagined {
    fn look(&self, question: &Question) -> Answer {
        match question {
            Question::Path(path) if self.files.is_empty() => Answer::Real(path.clone()),
            Question::Path(path) => self.resolve(path),
            Question::File(path) => self.text(path),
            Question::Repository(_) if self.files.is_empty() => Answer::Configuration(Vec::new()),
            Question::Repository(directory) => repository::configuration(directory, &|path| self.text(path)),
            Question::Program(_) => Answer::System,
        }
    }
}
