//! Digests, and their digits: links of a chain, versions of a policy, names of files.
//!
//! BLAKE2b, which is quick as it is. SHA-256 is so where the processor has instructions for it, and asking the processor whether
//! it has takes a hook in a virtual machine three times as long as what it has to digest.

use blake2::{Blake2b256, Digest as _};

/// The digest of texts, one after another.
pub(crate) fn digest(parts: &[&[u8]]) -> [u8; 32] {
    let mut digester = Digester::default();
    parts.iter().for_each(|part| digester.add(part));
    digester.digest()
}

/// What was digested so far. In one place for all, so that a hook fetches its code once.
#[derive(Default)]
pub(crate) struct Digester(Blake2b256);

impl Digester {
    #[inline(never)]
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    #[inline(never)]
    pub(crate) fn digest(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// Two digits for each byte. It is on the path of every answer, where formatting each byte costs more than its digest.
pub(crate) fn hexadecimal(bytes: &[u8]) -> String {
    let digit = |half: u8| char::from(if half < 10 { b'0' + half } else { b'a' + half - 10 });
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        text.push(digit(byte >> 4));
        text.push(digit(byte & 15));
    }
    text
}

#[cfg(test)]
mod tests {
    /// What others get for the same bytes, in however many parts.
    #[test]
    fn a_digest_is_what_it_says_it_is() {
        let wanted = "bddd813c634239723171ef3fee98579b94964e3bb1cb3e427262c8c068d52319";
        assert_eq!(super::hexadecimal(&super::digest(&[b"a", b"", b"bc"])), wanted);
    }

    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(super::hexadecimal(&[0, 9, 10, 0x5f, 255]), "00090a5fff");
    }
}
