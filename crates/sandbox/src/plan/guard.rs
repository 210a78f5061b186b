//! The guard: names that are always write-protected, wherever something is opened for writing.
//!
//! The plan names candidates by their spelling alone. Whoever lays it out looks at the machine: links, work trees whose
//! `.git` is a file, what is there and what is not.

use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use mayi_core::locations;
use mayi_core::path;

use super::data::Entry;
use super::data::protected::{BARE, HOME, INSTEAD, PRESENT, REOPENED};
use super::marks::{Cause, Mark, Marked};

/// A protected path below a folder.
struct Guarded {
    path: &'static str,
    why: &'static str,
    presence: Presence,
}

/// When a path is protected.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Presence {
    /// Whether it is there or not.
    Always,
    /// In a home, whether it is there or not; elsewhere where it is there.
    InHome,
    /// Where it is there.
    WhereThere,
}

impl Guarded {
    /// The mark at a path, in a home or elsewhere.
    fn at<'a>(&self, path: String, home: Option<&str>) -> Marked<'a> {
        let in_home = || path.strip_suffix(self.path).map(|folder| folder.trim_end_matches('/')) == home;
        let always = match self.presence {
            Presence::Always => true,
            Presence::InHome => in_home(),
            Presence::WhereThere => false,
        };
        let cause = if always { Cause::Protected(self.why) } else { Cause::Kept(self.why) };
        Marked { path, mark: Mark::Guard, cause }
    }
}

/// The core's protected names, as far as confinement does not draw the line elsewhere.
static GUARDED: LazyLock<Vec<Guarded>> = LazyLock::new(|| {
    let mut guarded = Vec::new();
    for listed in locations::protected_names() {
        let stands_in = |list: &[Entry]| list.iter().any(|entry| entry.name == listed.name);
        let presence = match (stands_in(PRESENT), stands_in(HOME)) {
            (true, _) => Presence::WhereThere,
            (false, true) => Presence::InHome,
            (false, false) => Presence::Always,
        };
        match INSTEAD.iter().find(|entry| entry.name == listed.name) {
            Some(entry) => {
                guarded.extend(entry.closed.iter().map(|path| Guarded { path, why: entry.why, presence }));
            }
            None => guarded.push(Guarded { path: listed.name, why: listed.why, presence }),
        }
    }
    guarded
});

/// Where a guard is needed.
pub(super) struct Ground<'a> {
    /// Everything that is opened for writing.
    pub(super) roots: Vec<&'a str>,
    /// Working directories: agents read settings there and in every folder above.
    pub(super) directories: Vec<&'a str>,
    /// Home: shells and git read their own files there.
    pub(super) home: Option<&'a str>,
}

/// The marks that keep the protected names of a ground closed.
pub(super) fn marks<'a>(ground: &Ground<'_>) -> Vec<Marked<'a>> {
    let mut marks = Vec::new();
    for folder in folders(ground) {
        let below = |name: &str| [folder.trim_end_matches('/'), "/", name].concat();
        marks.extend(GUARDED.iter().map(|own| own.at(below(own.path), ground.home)));
        marks.extend(REOPENED.iter().map(|entry| reopened(below(entry.name))));
    }
    for root in &ground.roots {
        let closed = GUARDED.iter().filter_map(|own| Some(own.at(enclosing(root, own.path)?.to_owned(), ground.home)));
        marks.extend(closed);
        let open = REOPENED.iter().filter_map(|entry| enclosing(root, entry.name));
        marks.extend(open.map(|path| reopened(path.to_owned())));
    }
    marks
}

fn reopened<'a>(path: String) -> Marked<'a> {
    Marked { path, mark: Mark::Unguard, cause: Cause::WorkingDirectory }
}

/// The folders at whose top names are protected: what is opened, and where agents and shells look inside that.
fn folders<'a>(ground: &Ground<'a>) -> Vec<&'a str> {
    let is_opened = |folder: &&str| ground.roots.iter().any(|root| path::is_within(folder, root));
    let above = ground.directories.iter().flat_map(|directory| path::ancestors(directory)).chain(ground.home);
    let is_outermost = |root: &&str| !path::parent(root).is_some_and(|above| is_opened(&above));
    let outermost = ground.roots.iter().copied().filter(is_outermost);
    let mut folders: Vec<&str> = above.filter(is_opened).chain(outermost).collect();
    folders.sort_unstable();
    folders.dedup();
    folders
}

/// The protected folder that a path lies in, by its spelling.
fn enclosing<'a>(path: &'a str, name: &str) -> Option<&'a str> {
    let is_it = |above: &&str| above.strip_suffix(name).is_some_and(|before| before.ends_with('/'));
    path::ancestors(path).find(is_it)
}

/// The names that would make a bare repository of a folder: they must not appear at its top.
pub(super) fn bare_names(folder: &Path) -> impl Iterator<Item = PathBuf> {
    BARE.iter().map(move |entry| folder.join(entry.name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exception_is_about_a_name_of_the_core() {
        for entry in INSTEAD.iter().chain(PRESENT).chain(HOME) {
            assert!(locations::protected_names().any(|listed| listed.name == entry.name), "{}", entry.name);
        }
        for entry in REOPENED {
            let (folder, _) = entry.name.rsplit_once('/').unwrap();
            assert!(GUARDED.iter().any(|own| own.path == folder), "{} is not closed", entry.name);
        }
        for list in [INSTEAD, PRESENT, HOME, REOPENED, BARE] {
            assert!(list.iter().all(|entry| entry.why.len() > 5), "each entry says why");
        }
    }

    #[test]
    fn what_agents_and_shells_read_by_themselves_is_closed_before_it_is_there() {
        let always = |path: &str| GUARDED.iter().any(|own| own.path == path && own.presence == Presence::Always);
        for path in [
            ".git/hooks",
            ".git/config",
            ".claude",
            ".mayi",
            ".mcp.json",
            ".bashrc",
            ".zshenv",
            ".gitconfig",
            ".vscode",
        ] {
            assert!(always(path), "{path}");
        }
    }

    #[test]
    fn a_folder_inside_a_protected_one_is_recognised_by_its_spelling() {
        assert_eq!(enclosing("/h/.claude/skills/x", ".claude"), Some("/h/.claude"));
        assert_eq!(enclosing("/h/.claude", ".claude"), Some("/h/.claude"));
        assert_eq!(enclosing("/h/my.claude/x", ".claude"), None);
        assert_eq!(enclosing("/h/.claude2/x", ".claude"), None);
        assert_eq!(enclosing("/w/.git/hooks/x", ".git/hooks"), Some("/w/.git/hooks"));
    }
}
