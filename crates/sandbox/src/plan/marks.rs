//! Marks: what was said about single paths, and how that becomes places.
//!
//! One walk over the sorted paths, each seen after everything above it, so ten thousand marks cost a sort.

use std::cmp::Ordering;
use std::path::PathBuf;

use mayi_core::path;

use super::{Access, Place, Why};

/// What was said about a path and all below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Mark {
    /// Hidden. At one path this outweighs being shown.
    Hide,
    /// Shown again, inside something hidden.
    Show,
    /// Hidden unless somebody shows this very path.
    HideByDefault,
    /// May be written.
    Write,
    /// May not be written, whatever opens it.
    NoWrite,
    /// Protected from being written.
    Guard,
    /// Not protected, inside something that is.
    Unguard,
    /// The command's own: readable and writable, whatever is said above it.
    Own,
}

/// A path with a mark.
#[derive(Clone, Debug)]
pub(super) struct Marked {
    pub(super) path: String,
    pub(super) mark: Mark,
    pub(super) why: Why,
}

/// The places that marks make: sorted, each path once, none that says the same as the place around it.
pub(super) fn places(mut marks: Vec<Marked>) -> Vec<Place> {
    marks.sort_by(|one, other| order(&one.path, &other.path).then(one.mark.cmp(&other.mark)));
    let mut places = Vec::new();
    let mut around: Vec<Standing<'_>> = Vec::new();
    for group in marks.chunk_by(|one, other| one.path == other.path) {
        let Some(first) = group.first() else { continue };
        while around.last().is_some_and(|above| !path::is_within(&first.path, above.path)) {
            around.pop();
        }
        let outer = around.last().copied().unwrap_or_default();
        let inner = outer.with(&first.path, group);
        let (access, why) = inner.access();
        if access != outer.access().0 {
            places.push(Place { path: PathBuf::from(&first.path), access, why: why.cloned().unwrap_or(Why::System) });
        }
        around.push(inner);
    }
    places
}

/// The order of paths: what lies in a folder follows the folder at once.
fn order(one: &str, other: &str) -> Ordering {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let alike = one.iter().zip(other).take_while(|(one, other)| one == other).count();
    let rank = |byte: Option<&u8>| byte.map(|byte| if *byte == b'/' { 0 } else { *byte });
    rank(one.get(alike)).cmp(&rank(other.get(alike)))
}

/// Everything that holds at a path, each with its reason.
#[derive(Clone, Copy, Debug, Default)]
struct Standing<'a> {
    path: &'a str,
    hidden: Option<&'a Why>,
    shown: Option<&'a Why>,
    opened: Option<&'a Why>,
    closed: Option<&'a Why>,
    guarded: Option<&'a Why>,
    /// The protected folder lies in another one, so nothing in it is opened again.
    twice: bool,
}

impl<'a> Standing<'a> {
    /// The same further down, after what is said there. A stronger mark comes later, but for the first three, where
    /// the first one decides.
    fn with(mut self, path: &'a str, marks: &'a [Marked]) -> Self {
        self.path = path;
        let mut read = false;
        let mut guard = false;
        for Marked { mark, why, .. } in marks {
            match mark {
                Mark::Hide | Mark::HideByDefault if !read => (self.hidden, self.shown, read) = (Some(why), None, true),
                Mark::Show if !read => (self.hidden, self.shown, read) = (None, Some(why), true),
                Mark::Hide | Mark::HideByDefault | Mark::Show => {}
                Mark::Write => self.opened = Some(why),
                Mark::NoWrite => self.closed = Some(self.closed.unwrap_or(why)),
                Mark::Guard if !guard => {
                    self.twice = self.guarded.is_some();
                    (self.guarded, guard) = (Some(self.guarded.unwrap_or(why)), true);
                }
                Mark::Unguard if !guard && !self.twice => self.guarded = None,
                Mark::Guard | Mark::Unguard => {}
                Mark::Own => self = Self { path, opened: Some(why), ..Self::default() },
            }
        }
        self
    }

    fn access(&self) -> (Access, Option<&'a Why>) {
        if self.hidden.is_some() {
            return (Access::Hidden, self.hidden);
        }
        let kept = self.closed.or(self.guarded);
        match self.opened {
            Some(_) if kept.is_none() => (Access::Writable, self.opened),
            Some(_) | None => (Access::ReadOnly, kept.or(self.shown)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mark(path: &str, mark: Mark) -> Marked {
        Marked { path: path.to_owned(), mark, why: Why::System }
    }

    #[track_caller]
    fn check(marks: &[(&str, Mark)], expected: &[(&str, Access)]) {
        let places = places(marks.iter().map(|(path, said)| mark(path, *said)).collect());
        let got: Vec<(&str, Access)> =
            places.iter().map(|place| (place.path.to_str().unwrap(), place.access)).collect();
        assert_eq!(got, expected, "{marks:?}");
    }

    #[test]
    fn the_narrowest_word_on_reading_counts() {
        use Access::*;
        use Mark::*;
        check(&[("/h", Hide), ("/h/p", Show)], &[("/h", Hidden), ("/h/p", ReadOnly)]);
        check(&[("/h", Show), ("/h/k", Hide)], &[("/h/k", Hidden)]);
        check(&[("/h", Show), ("/h", Hide)], &[("/h", Hidden)]);
        check(&[("/h", HideByDefault), ("/h", Show)], &[]);
        check(&[("/h", HideByDefault), ("/h", Show), ("/h", Hide)], &[("/h", Hidden)]);
        check(&[("/h", Hide), ("/h/a", Hide)], &[("/h", Hidden)]);
        check(&[("/", Hide), ("/usr", Show)], &[("/", Hidden), ("/usr", ReadOnly)]);
    }

    #[test]
    fn closing_outweighs_opening_whatever_the_width() {
        use Access::*;
        use Mark::*;
        check(&[("/w", Write), ("/w/x", NoWrite)], &[("/w", Writable), ("/w/x", ReadOnly)]);
        check(&[("/w", NoWrite), ("/w/x", Write)], &[]);
        check(&[("/w", Write), ("/w/.a", Guard), ("/w/.a/b", Write)], &[("/w", Writable), ("/w/.a", ReadOnly)]);
        check(
            &[("/w", Write), ("/w/.a", Guard), ("/w/.a/t", Unguard)],
            &[("/w", Writable), ("/w/.a", ReadOnly), ("/w/.a/t", Writable)],
        );
        check(&[("/w", Write), ("/w/.a", Unguard), ("/w/.a", Guard)], &[("/w", Writable), ("/w/.a", ReadOnly)]);
        check(
            &[("/w", Write), ("/w/.a", Guard), ("/w/.a/x/.a", Guard), ("/w/.a/x/.a/t", Unguard)],
            &[("/w", Writable), ("/w/.a", ReadOnly)],
        );
        check(&[("/w", Hide), ("/w/x", Write)], &[("/w", Hidden)]);
        check(&[("/t", Hide), ("/t", NoWrite), ("/t/own", Own)], &[("/t", Hidden), ("/t/own", Writable)]);
    }

    #[test]
    fn names_that_only_begin_alike_are_strangers() {
        use Mark::*;
        check(
            &[("/a", Hide), ("/a-b", Write), ("/a/c", Show), ("/a.d", NoWrite)],
            &[("/a", Access::Hidden), ("/a/c", Access::ReadOnly), ("/a-b", Access::Writable)],
        );
    }
}
