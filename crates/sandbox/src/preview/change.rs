//! A change that a command would have made, and the set of them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::diff::Content;
use super::node::Node;
use super::written;
use crate::report::{Ending, Violation};

/// A path that a command would have changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Change {
    /// Which of the previewed folders it is in.
    pub root: usize,
    /// Where in that folder; empty for the folder itself.
    #[serde(with = "written")]
    pub path: PathBuf,
    /// What is there.
    pub before: Option<Node>,
    /// What would be there.
    pub after: Option<Node>,
    /// Everything in a folder that would be gone.
    pub inside: Vec<Inside>,
    /// What to show of the content.
    pub content: Content,
    /// Why it is not applied, where it is not.
    pub withheld: Option<Withheld>,
    /// Whether the original was changed by somebody else while the command ran.
    pub overtaken: bool,
}

/// Something in a folder that would be gone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inside {
    /// Where in the previewed folder.
    #[serde(with = "written")]
    pub path: PathBuf,
    /// What is there.
    pub node: Node,
}

/// What sort of change it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// Something new.
    Added,
    /// Other content.
    Modified,
    /// It would be gone.
    Deleted,
    /// Another mode, and nothing else.
    Mode,
    /// Something of another type.
    Type,
}

/// Why a change is shown, and never applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "why", content = "what")]
pub enum Withheld {
    /// The path is protected, or something below it is; why.
    Protected(String),
    /// The name must not appear there.
    Unwanted,
    /// Pipes, sockets and devices are not made.
    Special,
    /// Another file system is mounted there.
    Mounted,
}

/// What a command would have changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChangeSet {
    /// The preview's name.
    pub id: String,
    /// The previewed folders.
    #[serde(with = "written::list")]
    pub roots: Vec<PathBuf>,
    /// How the command ended.
    pub ending: Ending,
    /// What would change, by path.
    pub changes: Vec<Change>,
    /// What the command was refused.
    pub outside: Vec<Violation>,
    /// How many more refusals there were than are listed.
    pub more_outside: usize,
}

impl Change {
    /// What sort of change it is.
    pub fn sort(&self) -> Sort {
        match (&self.before, &self.after) {
            (None, _) => Sort::Added,
            (Some(_), None) => Sort::Deleted,
            (Some(before), Some(after)) => {
                if std::mem::discriminant(&before.shape) != std::mem::discriminant(&after.shape) {
                    Sort::Type
                } else if before.holds_the_same(after) {
                    Sort::Mode
                } else {
                    Sort::Modified
                }
            }
        }
    }

    /// Whether the whole of a new folder is at this path.
    pub(super) fn is_new_folder(&self) -> bool {
        let was_folder = self.before.as_ref().is_some_and(Node::is_folder);
        !was_folder && self.after.as_ref().is_some_and(Node::is_folder)
    }
}

impl ChangeSet {
    /// Where a change is, in full.
    pub fn path_of(&self, change: &Change) -> PathBuf {
        let root = self.roots.get(change.root).map_or(Path::new(""), PathBuf::as_path);
        // Joining nothing would leave a slash at the end.
        if change.path.as_os_str().is_empty() { root.to_owned() } else { root.join(&change.path) }
    }

    /// Whether the command would have changed nothing.
    pub fn is_empty(&self) -> bool {
        self.changes.is_empty()
    }

    /// What would be applied.
    pub fn applied(&self) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(|change| change.withheld.is_none())
    }

    /// What is shown and never applied.
    pub fn withheld(&self) -> impl Iterator<Item = (&Change, &Withheld)> {
        self.changes.iter().filter_map(|change| change.withheld.as_ref().map(|why| (change, why)))
    }
}

impl Sort {
    /// The word for people and programs.
    pub fn word(self) -> &'static str {
        match self {
            Sort::Added => "added",
            Sort::Modified => "modified",
            Sort::Deleted => "deleted",
            Sort::Mode => "mode",
            Sort::Type => "type",
        }
    }
}

impl std::fmt::Display for Withheld {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Withheld::Protected(why) => write!(f, "protected: {why}"),
            Withheld::Unwanted => f.write_str("this name must not appear here"),
            Withheld::Special => f.write_str("pipes, sockets and devices are not made"),
            Withheld::Mounted => f.write_str("another file system is mounted there"),
        }
    }
}
