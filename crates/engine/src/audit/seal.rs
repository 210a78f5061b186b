//! Links in the file: each line ends with one, `"link":"…"` as its last member, over the link of the line before and its
//! own text without that member. What stands before a line and has no link never keeps the line from being written: a
//! new chain begins, and says so.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};

use super::chain::Link;

/// What stands before the link at the end of a line.
const MEMBER: &str = ",\"link\":\"";
/// What stands after it.
const END: &str = "\"}";
/// What stands before the word for what came before the first line of a file, or of a new chain.
const AFTER: &str = ",\"after\":\"";
/// The word for a line before that has no link.
const UNLINKED: &str = "unlinked";

/// How much of a file tells the last link.
const TAIL: usize = MEMBER.len() + 64 + END.len() + 1;

/// What a line is written after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Before {
    /// Nothing: it is the first of all.
    Nothing,
    /// A line of the same file.
    Line(Link),
    /// The last line of the file before.
    File(Link),
    /// A line without a link.
    Unlinked,
}

/// How a file ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// It is empty.
    Empty,
    /// With a line that has a link.
    Linked(Link),
    /// With a line that has none.
    Unlinked,
    /// Within a line: a disk that was full, or a power cut, left half of one. The next must not be lost with it.
    Torn,
    /// Nobody could look: it cannot be read, or not while others are kept from writing.
    Unseen,
}

/// Looks how a file ends. Asked under the lock alone: without it, a line that another process is still writing looks
/// like half of one.
pub(super) fn end(mut file: &File) -> End {
    let back = i64::try_from(TAIL).unwrap_or(i64::MAX);
    let sought = file.seek(SeekFrom::End(-back)).or_else(|_| file.seek(SeekFrom::Start(0)));
    let mut tail = [0; TAIL];
    let mut read = 0;
    while sought.is_ok() && read < TAIL {
        match file.read(tail.get_mut(read..).unwrap_or_default()) {
            Ok(0) => break,
            Ok(more) => read += more,
            Err(_) => return End::Unseen,
        }
    }
    let Some(tail) = tail.get(..read).filter(|_| sought.is_ok()) else { return End::Unseen };
    match (tail.split_last(), linked(tail)) {
        (None, _) => End::Empty,
        (Some((b'\n', _)), Some(link)) => End::Linked(link),
        (Some((b'\n', _)), None) => End::Unlinked,
        (Some(_), _) => End::Torn,
    }
}

fn linked(tail: &[u8]) -> Option<Link> {
    let text = std::str::from_utf8(tail).ok()?;
    let member = text.strip_suffix('\n')?.strip_suffix(END)?;
    let (_, digits) = member.rsplit_once(MEMBER)?;
    digits.parse().ok()
}

/// Gives the text of a record, a JSON object, its link.
pub fn seal(record: &str, before: Before) -> String {
    let open = record.strip_suffix('}').unwrap_or(record);
    let mut line = String::with_capacity(record.len() + TAIL + AFTER.len() + 65);
    line.push_str(open);
    let (previous, word) = match before {
        Before::Nothing => (Link::START, None),
        Before::Line(link) => (link, None),
        Before::File(link) => (link, Some(link.to_string())),
        Before::Unlinked => (Link::START, Some(UNLINKED.to_owned())),
    };
    if let Some(word) = word {
        for part in [AFTER, &word, "\""] {
            line.push_str(part);
        }
    }
    line.push('}');
    let link = previous.next(&line).to_string();
    line.pop();
    for part in [MEMBER, &link, END] {
        line.push_str(part);
    }
    line
}

/// A line with its link taken off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unsealed {
    /// The text that the link is over.
    pub text: String,
    /// The link.
    pub link: Link,
    /// What the line says it was written after, where it says so.
    pub after: Option<After>,
}

/// What the first line of a file, or of a new chain, says it was written after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum After {
    /// The last line of the file before.
    File(Link),
    /// A line without a link.
    Unlinked,
}

/// Takes the link off a line; `None` when it has none.
pub fn unseal(line: &str) -> Option<Unsealed> {
    let (open, digits) = line.strip_suffix(END)?.rsplit_once(MEMBER)?;
    let link = digits.parse().ok()?;
    let word = open.strip_suffix('"').and_then(|open| open.rsplit_once(AFTER)).map(|(_, word)| word);
    let after = match word {
        Some(UNLINKED) => Some(After::Unlinked),
        Some(word) => word.parse().ok().map(After::File),
        None => None,
    };
    Some(Unsealed { text: format!("{open}}}"), link, after })
}

impl Unsealed {
    /// Whether the link is over this text and that link.
    pub fn follows(&self, previous: Link) -> bool {
        previous.next(&self.text) == self.link
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sealed_line_comes_apart_again() {
        let link = Link::START.next("x");
        for (before, previous, after) in [
            (Before::Nothing, Link::START, None),
            (Before::Line(link), link, None),
            (Before::File(link), link, Some(After::File(link))),
            (Before::Unlinked, Link::START, Some(After::Unlinked)),
        ] {
            let line = seal(r#"{"a":1}"#, before);
            assert!(serde_json::from_str::<serde_json::Value>(&line).is_ok(), "{line}");
            let unsealed = unseal(&line).unwrap();
            assert_eq!(unsealed.after, after, "{line}");
            assert!(unsealed.follows(previous), "{line}");
            assert!(!unsealed.follows(Link::START.next("y")), "{line}");
        }
    }

    #[test]
    fn a_line_without_a_link_has_none() {
        for line in ["", "{}", r#"{"link":"abc"}"#, r#"{"a":1,"link":"00"}"#, "\u{fe}"] {
            assert_eq!(unseal(line), None, "{line}");
        }
    }
}
