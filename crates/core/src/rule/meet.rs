//! Whether a shell pattern may name something that a rule is about: two patterns meet when one name matches both.
//!
//! A command that says `secr*t/key` reads whatever is there, and nobody has looked yet. This answers "could it be
//! what a rule denies?", never "is it": a meeting is a reason to ask.

use rustc_hash::FxHashSet;

/// Longer patterns are taken to meet everything: nobody writes them by hand, and work stays bounded.
const LONGEST: usize = 256;

/// A piece of a pattern over one name.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    /// Any run of bytes.
    Star,
    /// One byte out of these.
    One(Box<[bool; 256]>),
}

/// How far both patterns have come on a common name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct Stand {
    rule: usize,
    shell: usize,
    /// A byte of the name has been matched.
    begun: bool,
}

/// Whether a name can match both a rule's pattern and a shell's. The shell's wildcards do not stand for a leading dot.
pub(crate) fn names_meet(rule: &str, shell: &str) -> bool {
    if rule.len() > LONGEST || shell.len() > LONGEST || shell.contains('(') {
        // An extended pattern, `@(a|b)`, may be anything.
        return true;
    }
    let (ours, theirs) = (pieces(rule), pieces(shell));
    let dotted = shell.starts_with(['.', '\\']);
    let mut seen = FxHashSet::default();
    let mut open = vec![Stand::default()];
    while let Some(stand) = open.pop() {
        let here = (ours.get(stand.rule), theirs.get(stand.shell));
        if here == (None, None) {
            return true;
        }
        if seen.insert(stand) {
            let first = if stand.begun || dotted { First::Any } else { First::NoDot };
            open.extend(moves(here, first).into_iter().flatten().map(|(by_rule, by_shell, begins)| Stand {
                rule: stand.rule + by_rule,
                shell: stand.shell + by_shell,
                begun: stand.begun || begins,
            }));
        }
    }
    false
}

/// Whether the next byte may be a dot.
#[derive(Clone, Copy, PartialEq, Eq)]
enum First {
    Any,
    NoDot,
}

/// How far the rule and the shell may move, and whether that takes a byte of the name.
type Move = (usize, usize, bool);

fn moves(here: (Option<&Piece>, Option<&Piece>), first: First) -> [Option<Move>; 2] {
    let undotted = first == First::NoDot;
    let takes = |set: &[bool; 256]| (0_u8..=255).any(|byte| holds(set, byte) && !(undotted && byte == b'.'));
    match here {
        (Some(Piece::Star), Some(Piece::Star)) => [Some((1, 0, false)), Some((0, 1, false))],
        (Some(Piece::Star), Some(Piece::One(set))) => [Some((1, 0, false)), takes(set).then_some((0, 1, true))],
        (Some(Piece::One(set)), Some(Piece::Star)) => [Some((0, 1, false)), takes(set).then_some((1, 0, true))],
        (Some(Piece::One(ours)), Some(Piece::One(theirs))) => {
            let common = |byte: &u8| holds(ours, *byte) && holds(theirs, *byte) && !(undotted && *byte == b'.');
            [(0_u8..=255).any(|byte| common(&byte)).then_some((1, 1, true)), None]
        }
        (Some(Piece::Star), None) => [Some((1, 0, false)), None],
        (None, Some(Piece::Star)) => [Some((0, 1, false)), None],
        (Some(Piece::One(_)), None) | (None, Some(Piece::One(_)) | None) => [None, None],
    }
}

fn holds(set: &[bool; 256], byte: u8) -> bool {
    set.get(usize::from(byte)) == Some(&true)
}

fn pieces(pattern: &str) -> Vec<Piece> {
    let bytes = pattern.as_bytes();
    let mut pieces = Vec::new();
    let mut at = 0;
    while let Some(byte) = bytes.get(at) {
        let (piece, length) = match byte {
            b'*' => (Piece::Star, 1),
            b'?' => (any(), 1),
            b'\\' if at + 1 < bytes.len() => (one(bytes.get(at + 1).copied().unwrap_or(b'\\')), 2),
            b'[' => class(bytes.get(at..).unwrap_or_default()).unwrap_or_else(|| (one(b'['), 1)),
            other => (one(*other), 1),
        };
        pieces.push(piece);
        at += length;
    }
    pieces
}

fn any() -> Piece {
    Piece::One(Box::new([true; 256]))
}

fn one(byte: u8) -> Piece {
    let mut set = Box::new([false; 256]);
    if let Some(held) = set.get_mut(usize::from(byte)) {
        *held = true;
    }
    Piece::One(set)
}

/// A bracket expression and its length. What is inside is read widely: a class by name may hold any byte.
fn class(bytes: &[u8]) -> Option<(Piece, usize)> {
    let negated = matches!(bytes.get(1), Some(b'!' | b'^'));
    let first = 1 + usize::from(negated);
    let close = bytes.iter().enumerate().skip(first + 1).find(|(_, byte)| **byte == b']')?.0;
    let inside = bytes.get(first..close)?;
    if negated || inside.contains(&b'[') || inside.contains(&b'\\') {
        return Some((any(), close + 1));
    }
    let mut set = Box::new([false; 256]);
    let mut at = 0;
    while let Some(low) = inside.get(at) {
        let range = match (inside.get(at + 1), inside.get(at + 2)) {
            (Some(b'-'), Some(high)) => (*high, 3),
            _ => (*low, 1),
        };
        for byte in *low..=range.0 {
            if let Some(held) = set.get_mut(usize::from(byte)) {
                *held = true;
            }
        }
        at += range.1;
    }
    Some((Piece::One(set), close + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn meet(rule: &str, shell: &str) {
        assert!(names_meet(rule, shell), "{rule} and {shell}");
    }

    #[track_caller]
    fn miss(rule: &str, shell: &str) {
        assert!(!names_meet(rule, shell), "{rule} and {shell}");
    }

    #[test]
    fn patterns_meet_where_one_name_matches_both() {
        meet("secret", "secr*t");
        meet("secret", "s?cret");
        meet("secret", "[a-z]ecret");
        meet("secret", "[!a]ecret");
        meet("secret", "*");
        miss("secret", "*.rs");
        miss("secret", "[a-c]ecret");
        meet("*.env", "prod*");
        miss("*.env", "*.rs");
        miss("a*b", "*c");
        meet("a*b", "*b");
        meet("", "*");
        meet("secret", "@(x|secret)");
        meet("a\\*", "a?");
    }

    #[test]
    fn a_wildcard_stands_for_no_leading_dot() {
        miss(".git", "*");
        miss(".git", "?git");
        miss(".git", "[.]git");
        meet(".git", ".g*");
        meet(".git", ".[a-z]it");
        meet("*", "*");
        miss(".*", "*");
        miss(".git", "*.git");
        meet("a.git", "*.git");
        meet("*git", "?git");
    }
}
