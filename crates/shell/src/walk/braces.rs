//! Brace expansion, in bash's order: before everything else, on the text as written.
//!
//! Works on atoms: single unquoted bytes, and pieces that braces cannot look into.

use crate::parse::tree::Piece;
use crate::walk::source::Source;

/// Words that one word may become; more stay one unknown word.
const MOST: usize = 256;
/// Opening braces one word may have.
const MOST_BRACES: usize = 64;

/// Something a brace expansion moves around as a whole.
#[derive(Clone, Copy)]
pub(super) enum Atom<'t> {
    /// An unquoted character.
    Char(char),
    /// Any other piece.
    Piece(&'t Piece),
}

/// What brace expansion makes of a word.
pub(super) enum Expanded<'t> {
    /// No braces to expand.
    Same,
    /// These words.
    Words(Vec<Vec<Atom<'t>>>),
    /// Too many to list.
    TooMany,
}

/// Expands the braces of a word.
pub(super) fn expand<'t>(pieces: &'t [Piece], source: &Source) -> Expanded<'t> {
    let mut atoms = Vec::new();
    for piece in pieces {
        match piece {
            Piece::Bare(span) => atoms.extend(source.slice(*span).chars().map(Atom::Char)),
            Piece::Array(_) => return Expanded::Same,
            Piece::Escaped(_)
            | Piece::Single(_)
            | Piece::Ansi(_)
            | Piece::Double(_)
            | Piece::Parameter(_)
            | Piece::Command(_)
            | Piece::Process(_)
            | Piece::Arithmetic(_)
            | Piece::Extglob(..) => atoms.push(Atom::Piece(piece)),
        }
    }
    let count = |wanted: char| atoms.iter().filter(|atom| is(atom, wanted)).count();
    let (open, close) = (count('{'), count('}'));
    if open == 0 || close == 0 {
        return Expanded::Same;
    }
    if open > MOST_BRACES {
        return Expanded::TooMany;
    }
    match words(&atoms) {
        None => Expanded::TooMany,
        Some(words) if words.len() == 1 => Expanded::Same,
        Some(words) => Expanded::Words(words),
    }
}

fn is(atom: &Atom<'_>, wanted: char) -> bool {
    matches!(atom, Atom::Char(c) if *c == wanted)
}

fn is_at(atoms: &[Atom<'_>], at: usize, wanted: char) -> bool {
    atoms.get(at).is_some_and(|atom| is(atom, wanted))
}

/// All words that the atoms stand for; `None` when there are too many.
fn words<'t>(atoms: &[Atom<'t>]) -> Option<Vec<Vec<Atom<'t>>>> {
    let Some((open, close)) = first_expansion(atoms) else { return Some(vec![atoms.to_vec()]) };
    let preamble = atoms.get(..open)?;
    let inside = atoms.get(open + 1..close)?;
    let postamble = atoms.get(close + 1..)?;
    let middles = if inside.iter().any(|atom| is(atom, ',')) {
        alternatives(inside)?
    } else {
        match sequence(inside)? {
            Some(terms) => terms,
            None if postamble.is_empty() => return Some(vec![atoms.to_vec()]),
            // Not a sequence after all: the braces stand for themselves, and the rest is expanded.
            None => vec![atoms.get(open..=close)?.to_vec()],
        }
    };
    let ends = words(postamble)?;
    if middles.len().saturating_mul(ends.len()) > MOST {
        return None;
    }
    let mut result = Vec::with_capacity(middles.len() * ends.len());
    for middle in &middles {
        for end in &ends {
            result.push(preamble.iter().chain(middle).chain(end).copied().collect());
        }
    }
    Some(result)
}

/// The first `{` that has its `}`, and where that is. `{}` at the very start stands for itself.
fn first_expansion(atoms: &[Atom<'_>]) -> Option<(usize, usize)> {
    let empty = is_at(atoms, 0, '{') && is_at(atoms, 1, '}');
    let opens = (usize::from(empty)..atoms.len()).filter(|&at| is_at(atoms, at, '{'));
    opens.filter_map(|open| closing(atoms, open).map(|close| (open, close))).next()
}

/// The `}` that closes `open`: the first at its level after a comma or `..` at its level.
fn closing(atoms: &[Atom<'_>], open: usize) -> Option<usize> {
    let mut level = 0_usize;
    let mut separated = false;
    for (at, atom) in atoms.iter().enumerate().skip(open + 1) {
        let Atom::Char(c) = atom else { continue };
        match c {
            '{' => level += 1,
            '}' if level > 0 => level -= 1,
            '}' if separated => return Some(at),
            ',' if level == 0 => separated = true,
            '.' if level == 0 && is_at(atoms, at + 1, '.') && !is_at(atoms, at + 2, '}') => separated = true,
            _ => {}
        }
    }
    None
}

/// The parts between commas, each expanded in turn.
fn alternatives<'t>(inside: &[Atom<'t>]) -> Option<Vec<Vec<Atom<'t>>>> {
    let mut result = Vec::new();
    let mut start = 0;
    let mut level = 0_usize;
    for at in 0..=inside.len() {
        match inside.get(at) {
            Some(Atom::Char('{')) => level += 1,
            Some(Atom::Char('}')) => level = level.saturating_sub(1),
            Some(Atom::Char(',')) if level == 0 => {
                result.extend(words(inside.get(start..at)?)?);
                start = at + 1;
            }
            None => result.extend(words(inside.get(start..at)?)?),
            Some(_) => {}
        }
        if result.len() > MOST {
            return None;
        }
    }
    Some(result)
}

/// `a..e`, `1..9..2`: the terms; `Some(None)` when it is no sequence, `None` when it has too many terms.
fn sequence<'t>(inside: &[Atom<'t>]) -> Option<Option<Vec<Vec<Atom<'t>>>>> {
    let mut text = String::new();
    for atom in inside {
        let Atom::Char(c) = atom else { return Some(None) };
        text.push(*c);
    }
    let parts: Vec<&str> = text.split("..").collect();
    let (first, last, step) = match parts.as_slice() {
        [first, last] => (*first, *last, 0),
        [first, last, step] => match step.parse::<i64>() {
            Ok(step) => (*first, *last, step),
            Err(_) => return Some(None),
        },
        _ => return Some(None),
    };
    let terms = match (numeric(first), numeric(last), letter(first), letter(last)) {
        (Some(a), Some(b), _, _) => numbers((a, b, step), width(first, last)),
        (_, _, Some(a), Some(b)) => letters(a, b, step),
        _ => return Some(None),
    };
    Some(Some(terms?.into_iter().map(|term| term.chars().map(Atom::Char).collect()).collect()))
}

fn numeric(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let valid = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if valid { text.strip_prefix('+').unwrap_or(text).parse().ok() } else { None }
}

fn letter(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [byte] if byte.is_ascii_alphabetic() => Some(*byte),
        _ => None,
    }
}

/// The width numbers are padded to: that of the longer end, when either starts with a zero.
fn width(first: &str, last: &str) -> usize {
    let padded = |text: &str| {
        let digits = text.strip_prefix('-').unwrap_or(text);
        digits.len() > 1 && digits.starts_with('0')
    };
    if padded(first) || padded(last) { first.len().max(last.len()) } else { 0 }
}

fn numbers((first, last, step): (i64, i64, i64), width: usize) -> Option<Vec<String>> {
    let step = i128::from(step.unsigned_abs().max(1));
    let (first, last) = (i128::from(first), i128::from(last));
    if (last - first).abs() / step >= MOST as i128 {
        return None;
    }
    let step = if first <= last { step } else { -step };
    let mut terms = Vec::new();
    let mut value = first;
    while if step > 0 { value <= last } else { value >= last } {
        terms.push(format!("{value:0width$}"));
        value += step;
    }
    Some(terms)
}

/// Letters from one to the other. What lies between the cases (`[`, a backslash) means something to later
/// expansions, so a sequence across them is not listed.
fn letters(first: u8, last: u8, step: i64) -> Option<Vec<String>> {
    if first.is_ascii_lowercase() != last.is_ascii_lowercase() {
        return None;
    }
    let terms = numbers((i64::from(first), i64::from(last), step), 0)?;
    Some(terms.iter().filter_map(|code| code.parse::<u8>().ok()).map(|code| char::from(code).to_string()).collect())
}
