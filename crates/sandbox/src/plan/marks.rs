//! Marks: what was said about single paths, and how that becomes places.
//!
//! One walk over the sorted paths, each seen after everything above it, so ten thousand marks cost a sort.

use std::cmp::Ordering;
use std::path::PathBuf;

use mayi_core::path;
use mayi_core::policy::Origin;

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
pub(super) struct Marked<'a> {
    pub(super) path: String,
    pub(super) mark: Mark,
    pub(super) cause: Cause<'a>,
}

/// Why a path is marked. Most marks change nothing, so the reason is spelled out only for those that do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cause<'a> {
    /// A working directory.
    WorkingDirectory,
    /// The command's own temporary folder.
    Temporary,
    /// A setting or rule.
    Said(&'a Origin),
    /// A store of credentials.
    Credential(&'static str),
    /// Always protected.
    Protected(&'static str),
    /// Protected where it is there.
    Kept(&'static str),
    /// The command was said to write it.
    Derived,
    /// Every program needs it.
    System,
}

impl From<Cause<'_>> for Why {
    fn from(cause: Cause<'_>) -> Self {
        match cause {
            Cause::WorkingDirectory => Why::WorkingDirectory,
            Cause::Temporary => Why::Temporary,
            Cause::Said(origin) => Why::Said(Box::new(origin.clone())),
            Cause::Credential(what) => Why::Credential(what.to_owned()),
            Cause::Protected(what) => Why::Protected(what.to_owned()),
            Cause::Kept(what) => Why::Kept(what.to_owned()),
            Cause::Derived => Why::Derived,
            Cause::System => Why::System,
        }
    }
}

/// The places that marks make: sorted, each path once, none that says the same as the place around it.
pub(super) fn places(mut marks: Vec<Marked<'_>>) -> Vec<Place> {
    marks.sort_by(|one, other| order(&one.path, &other.path).then(one.mark.cmp(&other.mark)));
    let changes = changes(&marks);
    let mut changes = changes.into_iter().peekable();
    let mut places = Vec::with_capacity(changes.len());
    for (at, marked) in marks.into_iter().enumerate() {
        if let Some((_, access, cause)) = changes.next_if(|(first, _, _)| *first == at) {
            places.push(Place { path: PathBuf::from(marked.path), access, why: cause.into() });
        }
    }
    places
}

/// The sorted marks at whose path the access changes, each by its number.
fn changes<'a>(marks: &[Marked<'a>]) -> Vec<(usize, Access, Cause<'a>)> {
    let mut changes = Vec::new();
    let mut around: Vec<(&str, Standing<'a>)> = Vec::new();
    let mut first = 0;
    for group in marks.chunk_by(|one, other| one.path == other.path) {
        let path = group.first().map_or("", |marked| marked.path.as_str());
        while around.last().is_some_and(|(above, _)| !path::is_within(path, above)) {
            around.pop();
        }
        let outer = around.last().map(|(_, standing)| *standing).unwrap_or_default();
        let inner = outer.with(group);
        let (access, cause) = inner.access();
        if access != outer.access().0 {
            changes.push((first, access, cause.unwrap_or(Cause::System)));
        }
        around.push((path, inner));
        first += group.len();
    }
    changes
}

/// The order of paths: what lies in a folder follows the folder at once.
fn order(one: &str, other: &str) -> Ordering {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    // Most paths begin alike, so whole words are compared first.
    let (words, others) = (one.as_chunks::<8>().0, other.as_chunks::<8>().0);
    let words = 8 * words.iter().zip(others).take_while(|(one, other)| one == other).count();
    let bytes = one.iter().skip(words).zip(other.iter().skip(words));
    let alike = words + bytes.take_while(|(one, other)| one == other).count();
    let rank = |byte: Option<&u8>| byte.map(|byte| if *byte == b'/' { 0 } else { *byte });
    rank(one.get(alike)).cmp(&rank(other.get(alike)))
}

/// Everything that holds at a path, each with its reason.
#[derive(Clone, Copy, Debug, Default)]
struct Standing<'a> {
    hidden: Option<Cause<'a>>,
    shown: Option<Cause<'a>>,
    opened: Option<Cause<'a>>,
    closed: Option<Cause<'a>>,
    guarded: Option<Cause<'a>>,
    /// The protected folder lies in another one, so nothing in it is opened again.
    twice: bool,
}

impl<'a> Standing<'a> {
    /// The same further down, after what is said there. A stronger mark comes later, but for the first three, where
    /// the first one decides.
    fn with(mut self, marks: &[Marked<'a>]) -> Self {
        let mut read = false;
        let mut guard = false;
        for Marked { mark, cause, .. } in marks {
            let why = *cause;
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
                Mark::Own => self = Self { opened: Some(why), ..Self::default() },
            }
        }
        self
    }

    fn access(&self) -> (Access, Option<Cause<'a>>) {
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

    fn mark(path: &str, mark: Mark) -> Marked<'static> {
        Marked { path: path.to_owned(), mark, cause: Cause::System }
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
