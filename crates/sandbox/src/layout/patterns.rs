//! Hidden files by pattern: looks them up, within bounds. Beyond the bounds it fails: a file that should be hidden and
//! was not found would be readable.

use std::collections::VecDeque;
use std::ops::ControlFlow;
use std::path::PathBuf;

use super::{LayoutError, listing};
use crate::plan::HiddenPattern;

/// As many entries as are looked at for one pattern.
const MOST_ENTRIES: usize = 200_000;

/// What matches a pattern now.
pub(super) fn matching(pattern: &HiddenPattern) -> Result<Vec<PathBuf>, LayoutError> {
    let parts: Vec<&str> = pattern.glob.split('/').filter(|part| !part.is_empty()).collect();
    let mut found = Vec::new();
    let mut looked = 0;
    let mut left = VecDeque::from([(pattern.base.clone(), parts.as_slice())]);
    while let Some((folder, parts)) = left.pop_front() {
        let Some((first, rest)) = parts.split_first() else {
            found.push(folder);
            continue;
        };
        if *first == "**" {
            left.push_back((folder.clone(), rest));
        }
        // What cannot be listed now cannot be listed inside either, and has its own rights.
        let listed = listing::each(&folder, |entry| {
            looked += 1;
            if *first == "**" {
                if entry.is_folder() {
                    left.push_back((folder.join(entry.name), parts));
                }
            } else if matches(first.as_bytes(), entry.name.as_encoded_bytes()) && (rest.is_empty() || entry.is_folder())
            {
                left.push_back((folder.join(entry.name), rest));
            }
            if looked > MOST_ENTRIES { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        })?;
        if listed.is_some_and(|listed| listed.is_break()) {
            return Err(LayoutError::TooWide(format!("{}/{}", pattern.base.display(), pattern.glob)));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// One part of a path against one part of a pattern: `*`, `?`, `[…]`, and a backslash before what stands for itself.
/// Linear in time but for the last star, which alone is tried again.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let (mut pattern, mut name) = (pattern, name);
    let mut retry: Option<(&[u8], &[u8])> = None;
    loop {
        if let Some((b'*', rest)) = pattern.split_first() {
            retry = Some((rest, name));
            pattern = rest;
            continue;
        }
        let step = match name.split_first() {
            None if pattern.is_empty() => return true,
            None => return false,
            Some((byte, left)) => one(pattern, *byte).map(|rest| (rest, left)),
        };
        (pattern, name) = match (step, retry) {
            (Some(next), _) => next,
            (None, Some((after, from))) => {
                // One byte more for the star.
                let Some(from) = from.get(1..) else { return false };
                retry = Some((after, from));
                (after, from)
            }
            (None, None) => return false,
        };
    }
}

/// What is left of a pattern after it took one byte; `None` if it does not take it.
fn one(pattern: &[u8], byte: u8) -> Option<&[u8]> {
    match pattern {
        [] => None,
        [b'?', rest @ ..] => Some(rest),
        [b'\\', wanted, rest @ ..] => (*wanted == byte).then_some(rest),
        [b'[', after @ ..] => match set(pattern, byte) {
            Some((holds, rest)) => holds.then_some(rest),
            None => (byte == b'[').then_some(after),
        },
        [wanted, rest @ ..] => (*wanted == byte).then_some(rest),
    }
}

/// Whether a byte is in the set that a pattern begins with, and what follows the set. `None` if the set has no end.
fn set(pattern: &[u8], byte: u8) -> Option<(bool, &[u8])> {
    let inner = pattern.get(1..)?;
    let (negated, inner) = match inner.split_first() {
        Some((b'!' | b'^', rest)) => (true, rest),
        Some(_) | None => (false, inner),
    };
    // A bracket right at the beginning is one of the set.
    let end = inner.iter().enumerate().skip(1).find(|(_, byte)| **byte == b']').map(|(at, _)| at)?;
    let (members, rest) = inner.split_at(end);
    let mut holds = false;
    let mut left = members;
    while let Some((first, after)) = left.split_first() {
        match after {
            [b'-', last, more @ ..] => {
                holds |= (*first..=*last).contains(&byte);
                left = more;
            }
            [..] => {
                holds |= *first == byte;
                left = after;
            }
        }
    }
    Some((holds != negated, rest.get(1..)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_a_pattern_matches_a_name() {
        for (pattern, name, wanted) in [
            (".env", ".env", true),
            (".env", ".envrc", false),
            (".env*", ".env.local", true),
            ("*.pem", "key.pem", true),
            ("*.pem", "key.pem.txt", false),
            ("?.key", "a.key", true),
            ("id_[a-z]*", "id_rsa", true),
            ("id_[!a-z]*", "id_rsa", false),
            ("[]x]", "]", true),
            ("[", "[", true),
            ("\\*.txt", "*.txt", true),
            ("\\*.txt", "a.txt", false),
            ("*a*b*c", "xaybzc", true),
            ("*a*b*c", "xaybz", false),
            ("a*a*a*a*a*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), wanted, "{pattern} {name}");
        }
    }
}
