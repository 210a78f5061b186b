//! Verifying the chain of an audit: that no record was changed, removed or put in between. Whoever can write the files
//! could also make a new chain; what a server keeps, or a link that was written down elsewhere, tells of that.

use std::path::Path;

use serde::Serialize;

use super::chain::Link;
use super::reading::{Line, Lines, Place};
use super::seal::{After, Unsealed, unseal};

/// What verifying an audit found.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Verified {
    /// How many records were read.
    pub records: usize,
    /// The first of them.
    pub first: Option<Place>,
    /// How many stand before the chain begins: written by a version that had none.
    pub unlinked: usize,
    /// The chain begins after records that are no longer kept.
    pub follows_removed: bool,
    /// The link of the last record, to be written down or compared.
    #[serde(serialize_with = "as_text")]
    pub last: Option<Link>,
    /// The first record at which the chain is broken.
    pub broken: Option<Break>,
}

fn as_text<S: serde::Serializer>(link: &Option<Link>, serializer: S) -> Result<S::Ok, S::Error> {
    link.map(|link| link.to_string()).serialize(serializer)
}

/// Where a chain is broken.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Break {
    /// The record.
    pub place: Place,
    /// How.
    pub fault: Fault,
}

/// How a chain is broken.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[serde(rename_all = "kebab-case")]
pub enum Fault {
    /// The line cannot be read.
    #[error("the line cannot be read: {0}")]
    Unreadable(String),
    /// A record without a link among records that have one.
    #[error("the record has no link, and those before it have one")]
    Unlinked,
    /// The link does not fit.
    #[error("the record, or one before it, was changed, removed or put in between")]
    Changed,
    /// The file does not follow the one before.
    #[error("the file begins after a record that the file before does not end with: records are missing between them")]
    Missing,
    /// A new chain without a reason.
    #[error("a new chain begins here, although the record before has a link")]
    Restarted,
}

/// What the next record has to follow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Previous {
    Nothing,
    Unlinked,
    Linked(Link),
}

/// Verifies every file of an audit.
pub fn verify(file: &Path) -> Verified {
    let mut verified = Verified::default();
    let mut previous = Previous::Nothing;
    for line in Lines::of(file) {
        verified.records += 1;
        let (place, outcome) = match line {
            Ok(line) => {
                let outcome = step(&line, previous, &mut verified);
                (line.place, outcome)
            }
            Err(broken) => (broken.place, Err((Fault::Unreadable(broken.what), Previous::Unlinked))),
        };
        verified.first.get_or_insert_with(|| place.clone());
        let fault = match outcome {
            Ok(next) => {
                previous = next;
                continue;
            }
            Err((fault, next)) => {
                previous = next;
                fault
            }
        };
        verified.broken.get_or_insert(Break { place, fault });
    }
    verified
}

/// Looks at one line. Whatever is wrong with it, the next one is held against it.
fn step(line: &Line, previous: Previous, verified: &mut Verified) -> Result<Previous, (Fault, Previous)> {
    let Some(unsealed) = unseal(&line.text) else {
        return match serde_json::from_str::<serde_json::Map<String, serde_json::Value>>(&line.text) {
            Err(error) => Err((Fault::Unreadable(error.to_string()), Previous::Unlinked)),
            Ok(_) if verified.last.is_some() => Err((Fault::Unlinked, Previous::Unlinked)),
            Ok(_) => {
                verified.unlinked += 1;
                Ok(Previous::Unlinked)
            }
        };
    };
    let outcome =
        follow(&unsealed, previous, &line.place).map(|begun| verified.follows_removed |= begun == Begun::Later);
    verified.last = Some(unsealed.link);
    let next = Previous::Linked(unsealed.link);
    outcome.map(|()| next).map_err(|fault| (fault, next))
}

/// Whether a record is the first of all that were ever written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begun {
    Here,
    /// Others were before it, and are no longer kept.
    Later,
}

fn follow(unsealed: &Unsealed, previous: Previous, place: &Place) -> Result<Begun, Fault> {
    let is_first = place.line == 1;
    let (before, begun) = match (unsealed.after, previous) {
        (None, Previous::Linked(link)) => (link, Begun::Here),
        (None, Previous::Nothing | Previous::Unlinked) => (Link::START, Begun::Here),
        (Some(After::File(link)), Previous::Nothing) if is_first => (link, Begun::Later),
        (Some(After::File(link)), Previous::Linked(own)) if is_first && link == own => (link, Begun::Here),
        (Some(After::File(_)), Previous::Linked(_) | Previous::Unlinked) if is_first => return Err(Fault::Missing),
        (Some(After::Unlinked), Previous::Unlinked) => (Link::START, Begun::Here),
        (Some(After::File(_) | After::Unlinked), _) => return Err(Fault::Restarted),
    };
    if unsealed.follows(before) { Ok(begun) } else { Err(Fault::Changed) }
}
