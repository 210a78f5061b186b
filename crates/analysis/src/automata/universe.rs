//! What texts there are at all: a host has no blank, a path is absolute and clean, and everything is UTF-8. Outside of
//! it nothing is compared, so nothing outside of it is ever a witness.

use std::sync::{Arc, LazyLock};

use mayi_core::path::Case;

use super::bytes::ByteSet;
use super::nfa::{Builder, Nfa, StateId};

/// What kind of text a language is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Universe {
    /// Commands, agents, skills, values of parameters.
    Text,
    /// The same in lower case, as PowerShell compares.
    LowerText,
    /// Names of tools.
    Name,
    /// Hosts as they are compared: lower case, without the root's dot.
    Host,
    /// Absolute, clean paths.
    Path(Case),
}

/// The automata of a universe.
#[derive(Clone)]
pub(super) struct Texts {
    /// Every text of it.
    pub(super) all: Arc<Nfa>,
    /// Those that a person would write.
    pub(super) readable: Arc<Nfa>,
    /// The letters that those are written with, beside the letters of patterns.
    pub(super) letters: ByteSet,
}

impl Universe {
    pub(super) fn texts(self) -> Texts {
        static TEXT: LazyLock<Texts> = LazyLock::new(|| text(ByteSet::NONE));
        static LOWER: LazyLock<Texts> = LazyLock::new(|| text(ByteSet::range(b'A', b'Z')));
        static NAME: LazyLock<Texts> = LazyLock::new(name);
        static HOST: LazyLock<Texts> = LazyLock::new(host);
        static PATH: LazyLock<Texts> = LazyLock::new(|| path(ByteSet::NONE));
        static FOLDED: LazyLock<Texts> = LazyLock::new(|| path(ByteSet::range(b'A', b'Z')));
        match self {
            Universe::Text => TEXT.clone(),
            Universe::LowerText => LOWER.clone(),
            Universe::Name => NAME.clone(),
            Universe::Host => HOST.clone(),
            Universe::Path(Case::Sensitive) => PATH.clone(),
            Universe::Path(Case::Insensitive) => FOLDED.clone(),
        }
    }
}

fn alphanumeric() -> ByteSet {
    ByteSet::range(b'a', b'z').or(ByteSet::range(b'A', b'Z')).or(ByteSet::range(b'0', b'9'))
}

fn controls() -> ByteSet {
    ByteSet::range(0, 0x1f).with(0x7f)
}

/// Not empty. Readable: words with one blank between them.
fn text(without: ByteSet) -> Texts {
    let letters = alphanumeric().or(ByteSet::of("-_./ ")).minus(without);
    let all = not_empty(ByteSet::NONE.or(without));
    Texts { all: Arc::new(all), readable: Arc::new(joined(ByteSet::one(b' '), controls())), letters }
}

/// Not empty, without blanks.
fn name() -> Texts {
    let all = Arc::new(not_empty(controls().with(b' ')));
    Texts { readable: Arc::clone(&all), all, letters: alphanumeric().or(ByteSet::of("_-")) }
}

/// Printable ASCII in lower case. Readable: labels with one dot between them.
fn host() -> Texts {
    let upper = ByteSet::range(b'A', b'Z');
    let without = controls().or(upper).or(ByteSet::range(0x80, 0xff)).or(ByteSet::of(" /?#@\\"));
    let letters = alphanumeric().minus(upper).or(ByteSet::of("-."));
    let readable = Arc::new(joined(ByteSet::one(b'.'), ByteSet::NONE));
    Texts { all: Arc::new(not_empty(without)), readable, letters }
}

/// Some text, without these bytes.
fn not_empty(without: ByteSet) -> Nfa {
    let mut builder = Builder::default();
    let (start, more) = (builder.state(), builder.state());
    builder.start(start);
    builder.accept(more);
    letter(&mut builder, (start, more), without);
    letter(&mut builder, (more, more), without);
    builder.finish()
}

/// Pieces with single joints between them, and none at the ends.
fn joined(joint: ByteSet, without: ByteSet) -> Nfa {
    let mut builder = Builder::default();
    let (start, more) = (builder.state(), builder.state());
    builder.start(start);
    builder.accept(more);
    builder.step(start, ByteSet::ALL.minus(joint.or(without)), more);
    builder.step(more, ByteSet::ALL.minus(joint.or(without)), more);
    builder.step(more, joint, start);
    builder.finish()
}

/// The root, or names with a slash before each: not empty, neither `.` nor `..`.
fn path(without: ByteSet) -> Texts {
    let mut builder = Builder::default();
    let slash = ByteSet::one(b'/');
    let none = without.with(0).or(slash);
    let [start, root, after, dot, dots, name] = [(); 6].map(|()| builder.state());
    builder.start(start);
    builder.accept(root);
    builder.accept(name);
    builder.step(start, slash, root);
    for first in [root, after] {
        builder.step(first, ByteSet::one(b'.'), dot);
        letter(&mut builder, (first, name), none.with(b'.'));
    }
    builder.step(dot, ByteSet::one(b'.'), dots);
    letter(&mut builder, (dot, name), none.with(b'.'));
    letter(&mut builder, (dots, name), none);
    letter(&mut builder, (name, name), none);
    builder.step(name, slash, after);
    let all = Arc::new(builder.finish());
    let letters = alphanumeric().or(ByteSet::of("._-/")).minus(without);
    Texts { readable: Arc::new(joined(ByteSet::NONE, controls())), all, letters }
}

/// The ways of UTF-8 beyond ASCII: the first byte, the second one, how many follow.
const BEYOND: [(u8, u8, u8, u8, usize); 8] = [
    (0xc2, 0xdf, 0x80, 0xbf, 0),
    (0xe0, 0xe0, 0xa0, 0xbf, 1),
    (0xe1, 0xec, 0x80, 0xbf, 1),
    (0xed, 0xed, 0x80, 0x9f, 1),
    (0xee, 0xef, 0x80, 0xbf, 1),
    (0xf0, 0xf0, 0x90, 0xbf, 2),
    (0xf1, 0xf3, 0x80, 0xbf, 2),
    (0xf4, 0xf4, 0x80, 0x8f, 2),
];

/// One character leads from one state to another, unless it is an excluded byte.
fn letter(builder: &mut Builder, (from, to): (StateId, StateId), without: ByteSet) {
    builder.step(from, ByteSet::range(0, 0x7f).minus(without), to);
    if without.holds(0xff) {
        return;
    }
    let more = ByteSet::range(0x80, 0xbf);
    let last = builder.state();
    builder.step(last, more, to);
    let before_last = builder.state();
    builder.step(before_last, more, last);
    for (low, high, least, most, further) in BEYOND {
        let second = builder.state();
        builder.step(from, ByteSet::range(low, high), second);
        let next = match further {
            0 => to,
            1 => last,
            _ => before_last,
        };
        builder.step(second, ByteSet::range(least, most), next);
    }
}
