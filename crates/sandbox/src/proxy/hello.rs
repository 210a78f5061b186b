//! Reads which server a TLS greeting is for. It reads the names and nothing else, and never guesses: a greeting that is
//! not well-formed is unreadable.

/// The longest greeting that is read, and the most records it may come in. Real ones are a tenth of that; the limits
/// bound how often a greeting that comes byte by byte is read again.
const LONGEST: usize = 20 * 1024;
const RECORDS: usize = 32;

const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;
const SERVER_NAME: usize = 0;
const HOST_NAME: u8 = 0;

/// What the first bytes of a connection are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Greeting {
    /// Not TLS.
    Other,
    /// The beginning of a TLS greeting.
    Incomplete,
    /// A TLS greeting for these servers; often one, sometimes none.
    For(Vec<String>),
    /// TLS that cannot be read.
    Unreadable,
}

/// Reads the first bytes of a connection.
pub(super) fn read(bytes: &[u8]) -> Greeting {
    match bytes.first() {
        None => return Greeting::Incomplete,
        Some(&HANDSHAKE) => {}
        Some(_) => return Greeting::Other,
    }
    match message(bytes) {
        Ok(Some(hello)) => servers(&hello).map_or(Greeting::Unreadable, Greeting::For),
        Ok(None) if bytes.len() < LONGEST => Greeting::Incomplete,
        Ok(None) | Err(Malformed) => Greeting::Unreadable,
    }
}

struct Malformed;

/// The body of the greeting, put together from its records; `None` while more must come.
fn message(bytes: &[u8]) -> Result<Option<Vec<u8>>, Malformed> {
    let mut rest = Bytes(bytes);
    let mut joined = Vec::new();
    for _ in 0..RECORDS {
        if let [kind, high, middle, low, body @ ..] = joined.as_slice() {
            if *kind != CLIENT_HELLO {
                return Err(Malformed);
            }
            let length = number(&[*high, *middle, *low]);
            if let Some(body) = body.get(..length) {
                return Ok(Some(body.to_vec()));
            }
        }
        match rest.byte() {
            None => return Ok(None),
            Some(HANDSHAKE) => {}
            Some(_) => return Err(Malformed),
        }
        let Some(_version) = rest.take(2) else { return Ok(None) };
        let Some(length) = rest.number(2) else { return Ok(None) };
        if length == 0 {
            return Err(Malformed);
        }
        match rest.take(length) {
            Some(fragment) => joined.extend_from_slice(fragment),
            None => return Ok(None),
        }
    }
    Err(Malformed)
}

/// The servers that a greeting names; `None` when it is malformed.
fn servers(hello: &[u8]) -> Option<Vec<String>> {
    let mut hello = Bytes(hello);
    let _version_and_random = hello.take(34)?;
    let _session = hello.sized(1)?;
    let _ciphers = hello.sized(2)?;
    let _compressions = hello.sized(1)?;
    let mut names = Vec::new();
    if hello.0.is_empty() {
        return Some(names);
    }
    let mut extensions = hello.sized(2)?;
    if !hello.0.is_empty() {
        return None;
    }
    while !extensions.0.is_empty() {
        let kind = extensions.number(2)?;
        let mut content = extensions.sized(2)?;
        if kind == SERVER_NAME {
            let mut list = content.sized(2)?;
            while !list.0.is_empty() {
                let kind = list.byte()?;
                let name = list.sized(2)?;
                if kind != HOST_NAME {
                    return None;
                }
                names.push(String::from_utf8(name.0.to_vec()).ok()?);
            }
        }
    }
    Some(names)
}

/// Bytes that are taken from the front.
struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn byte(&mut self) -> Option<u8> {
        self.take(1)?.first().copied()
    }

    fn number(&mut self, width: usize) -> Option<usize> {
        self.take(width).map(number)
    }

    /// A part that begins with its own length.
    fn sized(&mut self, width: usize) -> Option<Bytes<'a>> {
        let length = self.number(width)?;
        self.take(length).map(Bytes)
    }
}

fn number(bytes: &[u8]) -> usize {
    bytes.iter().fold(0, |sum, byte| sum << 8 | usize::from(*byte))
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A greeting for these servers, in records of at most `size` bytes.
    pub(in crate::proxy) fn greeting(servers: &[&[u8]], size: usize) -> Vec<u8> {
        let sized = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
        let names: Vec<u8> = servers.iter().flat_map(|name| [&[HOST_NAME][..], &sized(name)].concat()).collect();
        let mut extensions = [&[0, 43][..], &sized(&[2, 3, 4])].concat();
        if !servers.is_empty() {
            extensions.extend([&[0, 0][..], &sized(&sized(&names))].concat());
        }
        let mut body = vec![3, 3];
        body.extend([7; 32]);
        body.extend([4, 1, 2, 3, 4]);
        body.extend(sized(&[0x13, 1]));
        body.extend([1, 0]);
        body.extend(sized(&extensions));
        let length = u32::try_from(body.len()).unwrap().to_be_bytes();
        let message = [&[CLIENT_HELLO][..], &length[1..], &body].concat();
        message.chunks(size).flat_map(|piece| [&[HANDSHAKE, 3, 1][..], &sized(piece)].concat()).collect()
    }

    #[test]
    fn the_server_of_a_greeting_is_read_however_it_is_cut() {
        for size in [5, 40, 9000] {
            let bytes = greeting(&[b"a.example.org"], size);
            assert_eq!(read(&bytes), Greeting::For(vec!["a.example.org".to_owned()]), "records of {size}");
            for end in 0..bytes.len() {
                assert_eq!(read(&bytes[..end]), Greeting::Incomplete, "{end} bytes in records of {size}");
            }
        }
        assert_eq!(read(&greeting(&[], 9000)), Greeting::For(Vec::new()));
        let two = vec!["a.org".to_owned(), "b.org".to_owned()];
        assert_eq!(read(&greeting(&[b"a.org", b"b.org"], 9000)), Greeting::For(two));
    }

    #[test]
    fn what_is_not_tls_passes_and_what_is_broken_does_not() {
        assert_eq!(read(b"GET / HTTP/1.1\r\n"), Greeting::Other);
        assert_eq!(read(b"SSH-2.0-x\r\n"), Greeting::Other);
        assert_eq!(read(&[HANDSHAKE, 3, 1, 0, 0]), Greeting::Unreadable);
        assert_eq!(read(&[HANDSHAKE, 3, 1, 0, 4, 2, 0, 0, 0]), Greeting::Unreadable);
        assert_eq!(read(&greeting(&[b"\xff\xfe"], 9000)), Greeting::Unreadable);
        let mut cut = greeting(&[b"a.example.org"], 9000);
        let last = cut.len() - 20;
        cut[last] = 0xff;
        assert_eq!(read(&cut), Greeting::Unreadable);
        let mut mixed = greeting(&[b"a.example.org"], 20);
        mixed[25] = 23;
        assert_eq!(read(&mixed), Greeting::Unreadable);
        assert_eq!(read(&greeting(&[b"a.example.org"], 1)), Greeting::Unreadable);
        assert_eq!(read(&vec![HANDSHAKE; LONGEST]), Greeting::Unreadable);
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(0u8..=255, 0..300)) {
            read(&bytes);
            read(&[&[HANDSHAKE, 3, 1, 0, 200, CLIENT_HELLO, 0, 0, 196][..], &bytes].concat());
        }
    }
}
