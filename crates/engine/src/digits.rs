//! Bytes as hexadecimal digits: links of a chain, versions of a policy, names of files.

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
    #[test]
    fn every_byte_has_two_digits() {
        assert_eq!(super::hexadecimal(&[0, 9, 10, 0x5f, 255]), "00090a5fff");
    }
}
