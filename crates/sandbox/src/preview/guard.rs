//! What a preview never applies, whatever the command did: changes of protected places, and names that must not
//! appear. The sandbox keeps a command from making them; this is the second wall.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::change::{Change, Withheld};
use super::node::Shape;
use super::written;
use crate::plan::{Access, Confined, Why};
use crate::scrub::makes_a_repository;

/// What must not be changed in the previewed folders.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Guard {
    /// Places of the plan, with why each may not be written; `None` where it may.
    places: Vec<Kept>,
    /// Names that must not appear.
    unwanted: Vec<Unwanted>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Kept {
    #[serde(with = "written")]
    path: PathBuf,
    why: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Unwanted {
    #[serde(with = "written")]
    path: PathBuf,
}

/// What the guard says of a change.
#[derive(Debug, PartialEq)]
pub(super) enum Guarded {
    /// Nothing.
    Free,
    /// It is the empty stand-in of a protected name, made by the sandbox itself.
    Placeholder,
    /// It may not be applied.
    Withheld(Withheld),
}

impl Guard {
    /// The guard of a plan. The previews themselves are part of it: no preview applies to another.
    pub(super) fn of(files: &Confined, previews: &Path) -> Self {
        let mut places = Vec::new();
        for place in &files.places {
            let absent = place.path.symlink_metadata().is_err();
            let may_appear = matches!(place.why, Why::Kept(_)) && absent;
            let why = refusal(place.access, &place.why).filter(|_| !may_appear);
            let path = located(&place.path);
            // A place that is a link is two: the link, and what it leads to.
            if let Some(path) = place.path.canonicalize().ok().filter(|real| *real != path) {
                places.push(Kept { path, why: why.clone() });
            }
            places.push(Kept { path, why });
        }
        places.push(Kept { path: located(previews), why: Some("the previews".to_owned()) });
        // A name that is already there is the user's, and may be worked on.
        let appears = |path: &&PathBuf| path.symlink_metadata().is_err() && makes_a_repository(path);
        let unwanted = files.scrubbed.iter().filter(appears).map(|path| Unwanted { path: located(path) });
        let unwanted = unwanted.collect();
        Self { places, unwanted }
    }

    /// What is to be said of a change at a path.
    pub(super) fn look(&self, path: &Path, change: &Change) -> Guarded {
        let narrowest = |kept: &&Kept| kept.path.components().count();
        let holding = self.places.iter().filter(|kept| path.starts_with(&kept.path)).max_by_key(narrowest);
        if let Some((kept, why)) = holding.and_then(|kept| kept.why.as_ref().map(|why| (kept, why))) {
            let stands_in = kept.path == path && is_placeholder(change);
            let withheld = || Guarded::Withheld(Withheld::Protected(why.clone()));
            return if stands_in { Guarded::Placeholder } else { withheld() };
        }
        if self.unwanted.iter().any(|unwanted| path.starts_with(&unwanted.path)) {
            return Guarded::Withheld(Withheld::Unwanted);
        }
        match self.taken_along(path, change) {
            Some(why) => Guarded::Withheld(Withheld::Protected(why)),
            None => Guarded::Free,
        }
    }

    /// Why a folder that would be gone may not be: something protected is in it.
    fn taken_along(&self, path: &Path, change: &Change) -> Option<String> {
        let mut protected = self.places.iter().filter(|kept| kept.why.is_some());
        let is_inside = |kept: &Kept| {
            let below = kept.path.strip_prefix(path).ok();
            below.is_some_and(|below| change.inside.iter().any(|entry| entry.path == change.path.join(below)))
        };
        protected.find(|kept| is_inside(kept)).and_then(|kept| kept.why.clone())
    }
}

/// A path whose folder is free of links, as far as it exists. The last name stays what it is.
fn located(path: &Path) -> PathBuf {
    for folder in path.ancestors().skip(1) {
        if let Ok(real) = folder.canonicalize() {
            return real.join(path.strip_prefix(folder).unwrap_or(Path::new("")));
        }
    }
    path.to_owned()
}

/// Why a place may not be written, if it may not.
fn refusal(access: Access, why: &Why) -> Option<String> {
    match access {
        Access::Writable => None,
        Access::Hidden | Access::ReadOnly => Some(match why {
            Why::Protected(what) | Why::Kept(what) | Why::Credential(what) => what.clone(),
            Why::Said(origin) => format!("by {origin}"),
            Why::WorkingDirectory | Why::Temporary | Why::Derived | Why::System => "not writable".to_owned(),
        }),
    }
}

fn is_placeholder(change: &Change) -> bool {
    change.before.is_none()
        && change.after.as_ref().is_some_and(|after| match &after.shape {
            Shape::File { size, .. } => *size == 0,
            Shape::Folder => true,
            Shape::Link { .. } | Shape::Special => false,
        })
}
