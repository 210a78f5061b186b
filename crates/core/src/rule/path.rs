//! Patterns over paths, with the syntax of gitignore and four anchors. The index over them is in `path_index.rs`.
//!
//! | written | from where |
//! | --- | --- |
//! | `//p` | the root of the file system |
//! | `~/p` | home |
//! | `/p` | the root of the settings source |
//! | `p`, `./p` | the working directory |
//!
//! A pattern that matches a directory matches everything below it. Nothing here looks at a file system; the caller
//! compares both the path as written and the path after links.

use crate::path::{self, Case};
use crate::rule::meet;
use crate::verdict::Verdict;

/// What the anchors of a source's patterns mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchors<'a> {
    /// The working directory.
    pub directory: &'a str,
    /// Home, when known.
    pub home: Option<&'a str>,
    /// The root of the settings source.
    pub source: &'a str,
}

/// A compiled path pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PathPattern {
    /// Nothing above this directory matches.
    pub(super) root: String,
    /// The segments below it.
    pub(super) segments: Vec<Segment>,
    /// `!pattern`: re-opens what an earlier pattern of the same list and source matched.
    pub(super) negated: bool,
    /// Begins at the root; otherwise at any depth below it.
    pub(super) anchored: bool,
    /// The directory that `../` climbed out of: such a pattern is about what lies beside it.
    spared: Option<String>,
}

/// One step of a path pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Segment {
    /// `**`: any number of segments.
    Any,
    /// Exactly this name.
    Name(String),
    /// A pattern over the bytes of one name: `*`, `?`, `[…]`, `\x`.
    Like(String),
}

impl PathPattern {
    /// Compiles `text` for a list; `None` when it can match nothing.
    pub fn new(text: &str, list: Verdict, anchors: &Anchors<'_>) -> Option<Self> {
        let (negated, text) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let (root, rest, mut anchored) = anchor(text, anchors)?;
        let trimmed = rest.trim_end_matches('/');
        anchored |= trimmed.contains('/');
        if !is_usable(trimmed) {
            // A deny that cannot be read still holds for the very path it spells; an allow grants nothing.
            return (list != Verdict::Allow).then(|| Self { negated, ..Self::literal(&path::join(&root, trimmed)) });
        }
        let mut segments = compile(trimmed);
        if let ([Segment::Name(_), Segment::Any], true) = (segments.as_slice(), is_bare(text)) {
            // `dir/**`: only the working directory's own `dir` in allow, any depth in deny and ask.
            anchored = list == Verdict::Allow;
        }
        if text.is_empty() {
            return None;
        }
        if !anchored {
            segments.insert(0, Segment::Any);
        }
        let climbs = text.trim_start_matches("./").starts_with("..");
        let spared = climbs.then(|| path::clean(anchors.directory));
        Some(Self { root, segments, negated, anchored, spared })
    }

    fn literal(path: &str) -> Self {
        let segments = path::segments(path).map(|name| Segment::Name(name.to_owned())).collect();
        Self { root: "/".to_owned(), segments, negated: false, anchored: true, spared: None }
    }

    /// The deepest folder that is spelled out and holds everything this matches, and the pattern below it. The pattern
    /// is empty when all that lies there matches.
    pub fn place(&self) -> (String, String) {
        let end = self.segments.iter().rposition(|segment| *segment != Segment::Any).map_or(0, |last| last + 1);
        let segments = self.segments.get(..end).unwrap_or_default();
        let spelled: Vec<String> = segments.iter().map_while(Segment::spelled).collect();
        let below = segments.iter().skip(spelled.len()).map(Segment::written).collect::<Vec<_>>().join("/");
        (path::join(&self.root, &spelled.join("/")), below)
    }

    /// Whether it re-opens instead: `!pattern`.
    pub fn is_negated(&self) -> bool {
        self.negated
    }

    /// The directory that it starts from: nothing outside matches.
    pub fn root(&self) -> &str {
        &self.root
    }

    /// What follows below its root.
    pub fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// Whether it begins at its root; otherwise it matches at any depth below, and a `!pattern` can re-open it.
    pub fn is_anchored(&self) -> bool {
        self.anchored
    }

    /// The directory that `../` climbed out of, which is not matched.
    pub fn spared(&self) -> Option<&str> {
        self.spared.as_deref()
    }

    /// Whether an absolute, clean path matches.
    pub fn matches(&self, path: &str, case: Case) -> bool {
        self.reach(path, case).is_some()
    }

    /// How it matches, if it does.
    pub(super) fn reach(&self, path: &str, case: Case) -> Option<Reached> {
        let within = |directory: &str| path::is_within(&case.fold(path), &case.fold(directory));
        if !within(&self.root) || self.spared.as_deref().is_some_and(within) {
            return None;
        }
        let below = path.get(self.root.trim_end_matches('/').len()..)?;
        let names: Vec<&str> = path::segments(below).collect();
        // A directory that matches takes everything below it along.
        let above = (0..names.len()).any(|depth| self.matches_names(names.get(..depth).unwrap_or_default(), case));
        match (above, self.matches_names(&names, case)) {
            (true, _) => Some(Reached::Above),
            (false, true) => Some(Reached::Itself),
            (false, false) => None,
        }
    }

    /// Whether a shell pattern below a directory may name something that this matches.
    pub(super) fn may_meet(&self, below: &str, globs: &str) -> bool {
        let root = path::segments(&self.root).map(|name| Segment::Name(name.to_owned()));
        let ours: Vec<Segment> = root.chain(self.segments.iter().cloned()).collect();
        let known = path::segments(below).map(Named::Literal);
        let theirs: Vec<Named<'_>> = known.chain(path::segments(globs).map(Named::Glob)).collect();
        meets_all(&ours, &theirs)
    }

    /// Matches all the names. A `**` is retried from the last one only, which is enough, so time is bounded by the
    /// product of both lengths.
    fn matches_names(&self, names: &[&str], case: Case) -> bool {
        let (mut s, mut n) = (0, 0);
        let mut retry: Option<(usize, usize)> = None;
        while let Some(name) = names.get(n) {
            match self.segments.get(s) {
                Some(Segment::Any) => {
                    retry = Some((s + 1, n));
                    s += 1;
                }
                Some(segment) if segment.matches(name, case) => (s, n) = (s + 1, n + 1),
                Some(_) | None => match retry {
                    Some((after, from)) => {
                        retry = Some((after, from + 1));
                        (s, n) = (after, from + 1);
                    }
                    None => return false,
                },
            }
        }
        self.segments.get(s..).unwrap_or_default().iter().all(|segment| *segment == Segment::Any)
    }
}

/// A name in a command: spelled, or a shell pattern.
#[derive(Clone, Copy)]
enum Named<'a> {
    Literal(&'a str),
    Glob(&'a str),
}

/// Whether the segments can match the names, or the first of them: what lies in a matched directory is matched too.
/// All places in the pattern are followed at once, so time is bounded by the product of both lengths.
fn meets_all(segments: &[Segment], names: &[Named<'_>]) -> bool {
    let end = segments.iter().rposition(|segment| *segment != Segment::Any).map_or(0, |last| last + 1);
    // `dir/**` is about what lies in `dir`, and a pattern that ends at `dir` itself reads nothing there.
    let inside = end < segments.len() && !matches!(names.last(), Some(Named::Glob("**")));
    let deepest = if inside { names.len().saturating_sub(1) } else { names.len() };
    let mut places = vec![false; end + 1];
    places.splice(..1, [true]);
    for (depth, name) in names.iter().enumerate() {
        skip_any(segments, &mut places);
        if depth <= deepest && places.last() == Some(&true) {
            return true;
        }
        places = advance(segments, &places, *name);
    }
    skip_any(segments, &mut places);
    names.len() <= deepest && places.last() == Some(&true)
}

/// `**` may stand for nothing.
fn skip_any(segments: &[Segment], places: &mut [bool]) {
    for at in 1..places.len() {
        let skips = segments.get(at - 1) == Some(&Segment::Any) && places.get(at - 1) == Some(&true);
        if let Some(place) = places.get_mut(at).filter(|_| skips) {
            *place = true;
        }
    }
}

/// The places in the pattern after one more name.
fn advance(segments: &[Segment], places: &[bool], name: Named<'_>) -> Vec<bool> {
    let held = |at: usize| places.get(at) == Some(&true);
    let first = places.iter().position(|place| *place).unwrap_or(places.len());
    let next = (0..places.len()).map(|at| match name {
        // In some shells it stands for any number of names, so it can be wherever it could get.
        Named::Glob("**") => at >= first,
        Named::Glob(_) | Named::Literal(_) => {
            let stays = held(at) && segments.get(at) == Some(&Segment::Any);
            let before = at.checked_sub(1).filter(|before| held(*before)).and_then(|before| segments.get(before));
            stays || before.is_some_and(|segment| segment.meets(name))
        }
    });
    next.collect()
}

/// What of a path a pattern matched.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Reached {
    /// A directory above it.
    Above,
    /// The path itself.
    Itself,
}

fn anchor(text: &str, anchors: &Anchors<'_>) -> Option<(String, String, bool)> {
    let (root, rest, anchored) = if let Some(rest) = text.strip_prefix("//") {
        ("/", rest, true)
    } else if text == "~" {
        (anchors.home?, "", true)
    } else if let Some(rest) = text.strip_prefix("~/") {
        (anchors.home?, rest, true)
    } else if text.starts_with('~') {
        return None;
    } else if let Some(rest) = text.strip_prefix('/') {
        (anchors.source, rest, true)
    } else if let Some(rest) = text.strip_prefix("./") {
        (anchors.directory, rest, false)
    } else if text == "." {
        (anchors.directory, "", true)
    } else {
        (anchors.directory, text, false)
    };
    let climbs = rest == ".." || rest.starts_with("../");
    let (root, rest) = climb(root, rest);
    Some((root, rest, anchored || climbs))
}

/// `..` at the start moves the root up, so that `../x` means what it says.
fn climb(root: &str, mut rest: &str) -> (String, String) {
    let mut root = path::clean(root);
    loop {
        if rest == ".." {
            rest = "";
        } else if let Some(after) = rest.strip_prefix("../") {
            rest = after;
        } else {
            return (root, rest.to_owned());
        }
        root = path::parent(&root).unwrap_or("/").to_owned();
    }
}

/// Written without an anchor.
fn is_bare(text: &str) -> bool {
    !text.starts_with(['/', '~'])
}

/// Every `[` is closed.
fn is_usable(text: &str) -> bool {
    text.split('/').all(|segment| {
        let mut rest = segment;
        while let Some(open) = rest.find('[') {
            let inside = rest.get(open + 1..).unwrap_or_default();
            match inside.get(1..).and_then(|after| after.find(']')) {
                Some(close) => rest = inside.get(close + 2..).unwrap_or_default(),
                None => return false,
            }
        }
        true
    })
}

fn compile(text: &str) -> Vec<Segment> {
    let segment = |name: &str| match name {
        "**" => Segment::Any,
        _ if name.contains(['*', '?', '[', '\\']) => Segment::Like(name.to_owned()),
        _ => Segment::Name(name.to_owned()),
    };
    text.split('/').filter(|name| !matches!(*name, "" | ".")).map(segment).collect()
}

impl Segment {
    /// The one name it stands for.
    fn spelled(&self) -> Option<String> {
        match self {
            Segment::Any => None,
            Segment::Name(name) => Some(name.clone()),
            Segment::Like(pattern) => unescaped(pattern),
        }
    }

    fn written(&self) -> &str {
        match self {
            Segment::Any => "**",
            Segment::Name(text) | Segment::Like(text) => text,
        }
    }

    /// Compared without case: a meeting only ever asks.
    fn meets(&self, name: Named<'_>) -> bool {
        match (self, name) {
            (Segment::Any, _) => true,
            (_, Named::Literal(name)) => self.matches(name, Case::Insensitive),
            (Segment::Name(own), Named::Glob(glob)) => meet::names_meet(&literal(own), &glob.to_lowercase()),
            (Segment::Like(own), Named::Glob(glob)) => meet::names_meet(&own.to_lowercase(), &glob.to_lowercase()),
        }
    }

    fn matches(&self, name: &str, case: Case) -> bool {
        match self {
            Segment::Any => true,
            Segment::Name(own) => case.fold(own) == case.fold(name),
            Segment::Like(pattern) => like(case.fold(pattern).as_bytes(), case.fold(name).as_bytes()),
        }
    }
}

/// The name that a pattern spells when each of its special characters is escaped.
fn unescaped(pattern: &str) -> Option<String> {
    let mut name = String::new();
    let mut letters = pattern.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => name.push(letters.next()?),
            '*' | '?' | '[' => return None,
            other => name.push(other),
        }
    }
    Some(name)
}

/// Shell pattern over one name: `*`, `?`, `[…]`, `\x`. A star is retried from the last one only, which is enough.
fn like(pattern: &[u8], name: &[u8]) -> bool {
    let (mut p, mut n) = (0, 0);
    let mut retry: Option<(usize, usize)> = None;
    while let Some(byte) = name.get(n) {
        if pattern.get(p) == Some(&b'*') {
            retry = Some((p + 1, n));
            p += 1;
        } else if let Some(next) = match_one(pattern, p, *byte) {
            (p, n) = (next, n + 1);
        } else if let Some((after_star, from)) = retry {
            retry = Some((after_star, from + 1));
            (p, n) = (after_star, from + 1);
        } else {
            return false;
        }
    }
    pattern.get(p..).unwrap_or_default().iter().all(|byte| *byte == b'*')
}

/// Where the pattern goes on after matching one byte at `at`, if it does.
fn match_one(pattern: &[u8], at: usize, byte: u8) -> Option<usize> {
    match pattern.get(at)? {
        b'?' => Some(at + 1),
        b'[' => match_class(pattern, at, byte),
        b'\\' if pattern.get(at + 1).is_some() => (pattern.get(at + 1) == Some(&byte)).then_some(at + 2),
        own => (*own == byte).then_some(at + 1),
    }
}

fn match_class(pattern: &[u8], open: usize, byte: u8) -> Option<usize> {
    let mut at = open + 1;
    let negated = matches!(pattern.get(at), Some(b'!' | b'^'));
    at += usize::from(negated);
    let mut hit = false;
    let mut first = true;
    loop {
        let low = *pattern.get(at)?;
        if low == b']' && !first {
            return (hit != negated).then_some(at + 1);
        }
        first = false;
        match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some(b'-'), Some(high)) if *high != b']' => {
                hit |= (low..=*high).contains(&byte);
                at += 3;
            }
            _ => {
                hit |= low == byte;
                at += 1;
            }
        }
    }
}

/// A name as a pattern that matches exactly it, in lower case.
fn literal(name: &str) -> String {
    let special = |letter: char| matches!(letter, '*' | '?' | '[' | '\\');
    name.to_lowercase().chars().flat_map(|letter| special(letter).then_some('\\').into_iter().chain([letter])).collect()
}

/// A path as a pattern that matches exactly it, from the root of the file system.
pub fn escape(path: &str) -> String {
    let mut pattern = String::from("/");
    for letter in path.chars() {
        if matches!(letter, '*' | '?' | '[' | '\\' | '!') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern
}

#[cfg(test)]
mod tests;
