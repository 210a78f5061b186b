//! Path patterns as automata over the bytes of an absolute, clean path.
//!
//! A pattern that matches a directory matches everything below it, so each automaton ends in a state that takes
//! whatever follows a slash.

use mayi_core::path::Case;
use mayi_core::rule::path::{PathPattern, Segment};

use super::bytes::ByteSet;
use super::nfa::{Builder, Nfa, StateId};

/// What of a path must be matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The path itself, or a directory above it.
    Whole,
    /// A directory above it.
    Above,
}

/// The automaton of a pattern, without what it spares. With [`Case::Insensitive`] it reads folded paths.
pub(super) fn automaton(pattern: &PathPattern, case: Case, part: Part) -> Nfa {
    let mut builder = Builder::default();
    let start = builder.state();
    builder.start(start);
    let root = case.fold(pattern.root()).into_owned();
    let mut at = builder.text(start, root.trim_end_matches('/').as_bytes());
    let mut segments = pattern.segments().to_vec();
    // A second `**` says nothing, and thousands of them would be work.
    segments.dedup_by(|next, before| *next == Segment::Any && *before == Segment::Any);
    for segment in &segments {
        at = match segment {
            Segment::Any => any_depth(&mut builder, at, start),
            Segment::Name(name) => {
                let first = slash(&mut builder, at);
                builder.text(first, case.fold(name).as_bytes())
            }
            Segment::Like(like) => {
                let first = slash(&mut builder, at);
                self::like(&mut builder, first, case.fold(like).as_bytes())
            }
        };
    }
    end(&mut builder, at, part);
    builder.finish()
}

/// The automaton of everything in a directory, and the directory itself.
pub(super) fn within(directory: &str, case: Case) -> Nfa {
    let mut builder = Builder::default();
    let start = builder.state();
    builder.start(start);
    let folded = case.fold(directory).into_owned();
    let at = builder.text(start, folded.trim_end_matches('/').as_bytes());
    end(&mut builder, at, Part::Whole);
    builder.finish()
}

fn end(builder: &mut Builder, at: StateId, part: Part) {
    let last = builder.state();
    builder.free(at, last);
    let slash = ByteSet::one(b'/');
    match part {
        Part::Whole => {
            builder.accept(last);
            let anything = builder.everything();
            builder.step(last, slash, anything);
        }
        // The root's own slash is no way down.
        Part::Above => {
            let below = builder.state();
            builder.step(last, slash, below);
            let anything = builder.everything();
            builder.step(below, ByteSet::ALL, anything);
        }
    }
}

fn slash(builder: &mut Builder, at: StateId) -> StateId {
    let first = builder.state();
    builder.step(at, ByteSet::one(b'/'), first);
    builder.unbegun(first, ByteSet::one(b'/'));
    first
}

/// `**`: any number of names. Whoever is inside it has no need of anything before.
fn any_depth(builder: &mut Builder, at: StateId, start: StateId) -> StateId {
    let first = slash(builder, at);
    let inside = builder.state();
    builder.step(first, not_slash(), inside);
    builder.wildcard(inside, not_slash(), start);
    builder.step(inside, ByteSet::one(b'/'), first);
    let after = builder.state();
    builder.free(at, after);
    builder.free(inside, after);
    after
}

fn not_slash() -> ByteSet {
    ByteSet::ALL.minus(ByteSet::one(b'/'))
}

/// A pattern over the bytes of one name: `*`, `?`, `[…]`, `\x`.
fn like(builder: &mut Builder, first: StateId, pattern: &[u8]) -> StateId {
    // The first state has to stay apart: it is where something must come.
    let mut state = builder.state();
    builder.free(first, state);
    let mut at = 0;
    let mut open = None;
    while let Some(byte) = pattern.get(at) {
        if *byte == b'*' && open == Some(state) {
            // A second star says nothing, and thousands of them would be work.
            at += 1;
            continue;
        }
        if *byte == b'*' {
            let star = builder.state();
            builder.free(state, star);
            builder.wildcard(star, not_slash(), first);
            (state, at, open) = (star, at + 1, Some(star));
            continue;
        }
        let (set, next) = match (byte, pattern.get(at + 1)) {
            (b'?', _) => (not_slash(), at + 1),
            (b'[', _) => class(pattern, at),
            (b'\\', Some(escaped)) => (ByteSet::one(*escaped), at + 2),
            (own, _) => (ByteSet::one(*own), at + 1),
        };
        let matched = builder.state();
        builder.step(state, set.minus(ByteSet::one(b'/')), matched);
        (state, at) = (matched, next);
    }
    state
}

/// A letter that a bracket expression stands for, and where the pattern goes on after it.
pub(crate) fn letter_of_class(pattern: &[u8], open: usize) -> Option<(char, usize)> {
    let (set, next) = class(pattern, open);
    let letters = (b'a'..=b'z').chain(b'A'..=b'Z').chain(b'0'..=b'9').chain(0x20..=0x7e);
    let letter = letters.into_iter().find(|byte| set.holds(*byte) && *byte != b'/')?;
    Some((char::from(letter), next))
}

/// Where a pattern goes on after a bracket expression.
pub(super) fn end_of_class(pattern: &[u8], open: usize) -> usize {
    class(pattern, open).1
}

/// The bytes of a bracket expression and where the pattern goes on. One that is never closed matches nothing.
fn class(pattern: &[u8], open: usize) -> (ByteSet, usize) {
    let negated = matches!(pattern.get(open + 1), Some(b'!' | b'^'));
    let first = open + 1 + usize::from(negated);
    let mut at = first;
    let mut set = ByteSet::NONE;
    while let Some(low) = pattern.get(at) {
        if *low == b']' && at > first {
            let set = if negated { ByteSet::ALL.minus(set) } else { set };
            return (set, at + 1);
        }
        match (pattern.get(at + 1), pattern.get(at + 2)) {
            (Some(b'-'), Some(high)) if *high != b']' => {
                set = set.or(ByteSet::range(*low, *high));
                at += 3;
            }
            _ => {
                set = set.with(*low);
                at += 1;
            }
        }
    }
    (ByteSet::NONE, pattern.len())
}
