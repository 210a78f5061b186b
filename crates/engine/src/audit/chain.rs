//! The chain of records: each holds a digest of itself and of the one before, so that a record that was changed, removed
//! or put in between is noticed by whoever reads the chain from its beginning.

use std::fmt;
use std::str::FromStr;

use crate::digits::{digest, hexadecimal};

/// A link of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Link([u8; 32]);

impl Link {
    /// What comes before the first record.
    pub const START: Link = Link([0; 32]);

    /// The link of a record after this one. The record's text is the whole of it but for the link itself.
    pub fn next(self, record: &str) -> Link {
        Link(digest(&[&self.0, record.as_bytes()]))
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8; 32] {
        &self.0
    }

    /// A link from its bytes.
    pub fn of_bytes(bytes: [u8; 32]) -> Self {
        Link(bytes)
    }
}

impl fmt::Display for Link {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hexadecimal(&self.0))
    }
}

/// A text that is no link.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a link of the chain is 64 hexadecimal digits")]
pub struct NoLink;

impl FromStr for Link {
    type Err = NoLink;

    fn from_str(text: &str) -> Result<Self, NoLink> {
        let mut bytes = [0; 32];
        let digits = text.as_bytes();
        if digits.len() != 64 {
            return Err(NoLink);
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            let pair = std::str::from_utf8(pair).map_err(|_| NoLink)?;
            *byte = u8::from_str_radix(pair, 16).map_err(|_| NoLink)?;
        }
        Ok(Link(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_depends_on_its_record_and_on_everything_before_it() {
        let first = Link::START.next("{\"a\":1}");
        assert_eq!(first, Link::START.next("{\"a\":1}"));
        assert_ne!(first, Link::START.next("{\"a\":2}"));
        assert_ne!(first.next("x"), Link::START.next("x"));
        assert_eq!(first.to_string().parse(), Ok(first));
        assert_eq!("zz".parse::<Link>(), Err(NoLink));
        assert_eq!("g".repeat(64).parse::<Link>(), Err(NoLink));
    }
}
