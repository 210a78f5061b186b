//! `CONNECT` and SOCKS5: bytes both ways, and the server that a TLS greeting names.

use std::io::{self, Read, Write};
use std::net::{IpAddr, Shutdown, TcpStream};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use mayi_sandbox::plan::Unlisted;
use mayi_sandbox::proxy::{Patience, Proxy, Resolve, Setup};

use crate::stage::{Book, Server, Stage, head, hosts, many_descriptors, setup, text};

fn tunnel(stage: &Stage, host: &str, port: u16) -> (TcpStream, String) {
    let mut stream = stage.connect();
    write!(stream, "CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n").unwrap();
    let head = head(&mut stream);
    (stream, head)
}

/// Speaks SOCKS5 up to the reply; gives its code.
fn socks(stage: &Stage, request: &[u8]) -> (TcpStream, Option<u8>) {
    let mut stream = stage.connect();
    stream.write_all(&[5, 1, 0]).unwrap();
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).unwrap();
    assert_eq!(chosen, [5, 0]);
    stream.write_all(request).unwrap();
    let mut reply = [0; 10];
    let code = stream.read_exact(&mut reply).is_ok().then_some(reply[1]);
    (stream, code)
}

fn named(command: u8, name: &[u8], port: u16) -> Vec<u8> {
    let length = u8::try_from(name.len()).unwrap();
    [&[5, command, 0, 3, length][..], name, &port.to_be_bytes()].concat()
}

fn echoes(mut stream: TcpStream) {
    let sent: Vec<u8> = (0..200_000_u32).map(|number| u8::try_from(number % 251).unwrap()).collect();
    let mut writing = stream.try_clone().unwrap();
    let copy = sent.clone();
    let writer = thread::spawn(move || {
        writing.write_all(&copy).unwrap();
        writing.shutdown(Shutdown::Write).unwrap();
    });
    let mut received = Vec::new();
    stream.read_to_end(&mut received).unwrap();
    writer.join().unwrap();
    assert!(sent == received, "{} of {} bytes came back", received.len(), sent.len());
}

/// A TLS greeting for a server, as short as it can be.
fn greeting(server: &str) -> Vec<u8> {
    let sized = |bytes: &[u8]| [&u16::try_from(bytes.len()).unwrap().to_be_bytes(), bytes].concat();
    let name = [&[0][..], &sized(server.as_bytes())].concat();
    let extension = [&[0, 0][..], &sized(&sized(&name))].concat();
    let body = [&[3, 3][..], &[9; 32], &[0], &sized(&[0x13, 1]), &[1, 0], &sized(&extension)].concat();
    let message = [&[1, 0][..], &sized(&body)].concat();
    [&[22, 3, 1][..], &sized(&message)].concat()
}

#[test]
fn bytes_pass_both_ways_after_connect_and_each_end_closes_for_itself() {
    let echo = Server::echo();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let (stream, head) = tunnel(&stage, "a.test", echo.port);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert!(!head.to_lowercase().contains("content-length"), "{head}");
    echoes(stream);
    let (stream, head) = tunnel(&stage, "127.0.0.1", echo.port);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    echoes(stream);
}

#[test]
fn bytes_pass_both_ways_after_socks() {
    let echo = Server::echo();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let port = echo.port.to_be_bytes();
    for request in [named(1, b"a.test", echo.port), [&[5, 1, 0, 1, 127, 0, 0, 1][..], &port].concat()] {
        let (stream, code) = socks(&stage, &request);
        assert_eq!(code, Some(0));
        echoes(stream);
    }
}

#[test]
fn socks_tells_why_not() {
    let echo = Server::echo();
    let stage = Stage::open(setup(&["a.test", "*.sub.test", "nowhere.test", "127.0.0.1"], &["b.test"]));
    let port = echo.port;
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let v6 = [&[5, 1, 0, 4][..], &[0; 15], &[1], &port.to_be_bytes()].concat();
    let mapped = [&[5, 1, 0, 4][..], &[0; 10], &[255, 255, 169, 254, 169, 254], &port.to_be_bytes()].concat();
    let rows: Vec<(&str, Vec<u8>, Option<u8>)> = vec![
        ("a denied name", named(1, b"b.test", port), Some(2)),
        ("an unlisted name", named(1, b"c.test", port), Some(2)),
        ("the apex of a subtree", named(1, b"sub.test", port), Some(2)),
        ("a look-alike of a subtree", named(1, b"xsub.test", port), Some(2)),
        ("a NUL", named(1, b"evil.test\0.sub.test", port), Some(2)),
        ("an escaped NUL", named(1, b"evil.test%00.sub.test", port), Some(2)),
        ("a line break", named(1, b"evil.test\n.sub.test", port), Some(2)),
        ("no UTF-8", named(1, b"evil\xff.sub.test", port), Some(2)),
        ("nothing", named(1, b"", port), Some(2)),
        ("no port", named(1, b"a.test", 0), Some(2)),
        ("a number in disguise", named(1, b"0x7f.1", port), Some(2)),
        ("loopback by IPv6", v6, Some(2)),
        ("link-local, mapped", mapped, Some(2)),
        ("a name that leads nowhere", named(1, b"nowhere.test", port), Some(4)),
        ("a closed port", named(1, b"a.test", closed), Some(5)),
        ("BIND", named(2, b"a.test", port), Some(7)),
        ("UDP", named(3, b"a.test", port), Some(7)),
        ("an unknown kind of address", vec![5, 1, 0, 9], Some(8)),
        ("another version", vec![4, 1, 0, 1, 127, 0, 0, 1, 0, 80], None),
        ("a reserved byte", vec![5, 1, 1, 1, 127, 0, 0, 1, 0, 80], None),
    ];
    for (what, request, expected) in rows {
        assert_eq!(socks(&stage, &request).1, expected, "{what}");
    }
    assert_eq!(echo.visits(), 0);
    let refusals = stage.refusals();
    assert_eq!(refusals.len(), 13, "{refusals:#?}");
    assert!(refusals.iter().any(|row| row.starts_with("evil.test\\0.sub.test:")), "{refusals:#?}");
    assert_eq!(socks(&stage, &named(1, b"x.sub.test", port)).1, Some(0));
}

#[test]
fn socks_without_the_method_that_is_spoken_ends_politely() {
    let stage = Stage::open(setup(&["*"], &[]));
    let mut stream = stage.connect();
    stream.write_all(&[5, 2, 1, 2]).unwrap();
    let mut reply = Vec::new();
    stream.read_to_end(&mut reply).unwrap();
    assert_eq!(reply, [5, 0xff]);
}

#[test]
fn a_tls_greeting_must_be_for_a_server_that_may_be_reached() {
    let rows = [
        ("a.test", "a.test", true),
        ("a.test", "A.Test", true),
        ("a.test", "x.sub.test", true),
        ("a.test", "evil.test", false),
        ("a.test", "b.test", false),
        ("127.0.0.1", "evil.test", true),
        ("127.0.0.1", "b.test", false),
    ];
    for (host, server, passes) in rows {
        let echo = Server::echo();
        let stage = Stage::open(setup(&["a.test", "*.sub.test", "127.0.0.1"], &["b.test"]));
        let (mut stream, head) = tunnel(&stage, host, echo.port);
        assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
        let bytes = greeting(server);
        for piece in bytes.chunks(7) {
            // The other end may have closed already.
            let _ = stream.write_all(piece);
        }
        let _ = stream.shutdown(Shutdown::Write);
        let mut back = Vec::new();
        let _ = stream.read_to_end(&mut back);
        assert_eq!(back == bytes, passes, "{host} {server}");
        assert!(passes || back == [21, 3, 3, 0, 2, 2, 49] || back.is_empty(), "{host} {server}: {back:?}");
        assert_eq!(stage.refusals().is_empty(), passes, "{host} {server}");
    }
}

#[test]
fn a_server_may_speak_first() {
    let server = Server::speaking_first(b"220 ready");
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let (mut stream, _) = tunnel(&stage, "a.test", server.port);
    let mut words = [0; 9];
    stream.read_exact(&mut words).unwrap();
    assert_eq!(&words, b"220 ready");
}

#[test]
fn a_name_that_leads_to_several_addresses_goes_to_a_checked_one() {
    let echo = Server::echo();
    let book =
        Book::of(&[("mixed.test", &["169.254.169.254", "::1", "127.0.0.1"]), ("bad.test", &["10.0.0.1", "::1"])]);
    let lists = hosts(&["mixed.test", "bad.test", "127.0.0.1"], &[], Unlisted::Refused);
    let stage = Stage::open(Setup { resolver: book.clone(), ..Setup::of(lists) });
    let (stream, head) = tunnel(&stage, "mixed.test", echo.port);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    echoes(stream);
    let (_, head) = tunnel(&stage, "bad.test", echo.port);
    assert!(head.starts_with("HTTP/1.1 403 ") && head.contains("10.0.0.1 is a private address"), "{head}");
    assert_eq!(book.asked.load(Ordering::SeqCst), 2, "a name is resolved once per connection");
}

#[test]
fn a_denied_address_is_denied_under_every_name() {
    let echo = Server::echo();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &["127.0.0.1"]));
    let (_, head) = tunnel(&stage, "a.test", echo.port);
    assert!(head.starts_with("HTTP/1.1 403 ") && head.contains("denied in user"), "{head}");
    assert_eq!(echo.visits(), 0);
}

#[test]
fn two_hundred_connections_at_once() {
    many_descriptors();
    let echo = Server::echo();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let mut streams: Vec<_> = (0..200).map(|_| tunnel(&stage, "a.test", echo.port)).collect();
    for (place, (stream, head)) in streams.iter_mut().enumerate() {
        assert!(head.starts_with("HTTP/1.1 200 "), "{place}: {head}");
        stream.write_all(&u32::try_from(place).unwrap().to_be_bytes()).unwrap();
    }
    for (place, (stream, _)) in streams.iter_mut().enumerate() {
        let mut back = [0; 4];
        stream.read_exact(&mut back).unwrap();
        assert_eq!(u32::from_be_bytes(back), u32::try_from(place).unwrap());
    }
    assert_eq!(echo.visits(), 200);
}

#[test]
fn more_connections_than_there_are_places_wait_for_one() {
    many_descriptors();
    let stage = Stage::open(setup(&["a.test"], &[]));
    let held: Vec<_> = (0..256).map(|_| stage.connect()).collect();
    let mut late = stage.connect();
    late.write_all(b"CONNECT b.test:443 HTTP/1.1\r\n\r\n").unwrap();
    late.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    assert_eq!(head(&mut late), "", "all places are taken");
    drop(held);
    late.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    assert!(head(&mut late).starts_with("HTTP/1.1 403 "));
}

#[test]
fn stopping_ends_what_is_open() {
    let echo = Server::echo();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let (mut open, _) = tunnel(&stage, "a.test", echo.port);
    let mut silent = stage.connect();
    let (_, head) = tunnel(&stage, "c.test", 443);
    assert!(head.starts_with("HTTP/1.1 403 mayi refused c.test:443: not listed"), "{head}");
    let port = stage.port;
    let before = Instant::now();
    assert_eq!(stage.proxy.stop().len(), 1);
    assert!(before.elapsed() < Duration::from_secs(5));
    assert_eq!(text(&mut open), "");
    assert_eq!(text(&mut silent), "");
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}

#[test]
fn whoever_says_nothing_loses_the_connection() {
    let echo = Server::echo();
    let soon = Duration::from_millis(150);
    let patience = Patience { greeting: soon, idle: soon, ..Patience::default() };
    let stage = Stage::open(Setup { patience, ..setup(&["a.test", "127.0.0.1"], &[]) });
    let mut silent = stage.connect();
    assert_eq!(text(&mut silent), "");
    let mut half = stage.connect();
    half.write_all(b"GET http://a.test/ HTTP/1.1\r\nX-Slow: ").unwrap();
    assert!(!text(&mut half).contains("200"));
    let mut methods = stage.connect();
    methods.write_all(&[5, 200, 0]).unwrap();
    assert_eq!(text(&mut methods), "");
    let (mut idle, head) = tunnel(&stage, "a.test", echo.port);
    assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
    assert_eq!(text(&mut idle), "");
    let mute = Server::speaking_first(b"");
    assert_eq!(stage.get(&format!("http://a.test:{}/", mute.port)), "", "the host never answers");
}

/// Never comes back.
struct Hanging;

impl Resolve for Hanging {
    fn resolve(&self, _: &str) -> io::Result<Vec<IpAddr>> {
        loop {
            thread::park();
        }
    }
}

#[test]
fn a_resolver_that_hangs_holds_up_nothing() {
    let patience = Patience { resolving: Duration::from_millis(100), ..Patience::default() };
    let stage = Stage::open(Setup { patience, resolver: Arc::new(Hanging), ..setup(&["a.test"], &[]) });
    let (_, head) = tunnel(&stage, "a.test", 443);
    assert!(head.starts_with("HTTP/1.1 504 "), "{head}");
    assert_eq!(socks(&stage, &named(1, b"a.test", 443)).1, Some(6));
    let before = Instant::now();
    assert_eq!(stage.proxy.stop(), []);
    assert!(before.elapsed() < Duration::from_secs(5));
}

#[test]
fn only_an_internet_socket_is_served() {
    let (socket, _other) = std::os::unix::net::UnixStream::pair().unwrap();
    assert!(Proxy::serve(socket.into(), hosts(&[], &[], Unlisted::Refused), None).is_err());
    let file = tempfile::tempfile().unwrap();
    assert!(Proxy::serve(file.into(), hosts(&[], &[], Unlisted::Refused), None).is_err());
}

#[test]
fn a_tunnel_carries_more_than_any_network_needs() {
    const SENT: usize = 64 * 1024 * 1024;
    let echo = Server::echo();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let (mut stream, _) = tunnel(&stage, "a.test", echo.port);
    let mut writing = stream.try_clone().unwrap();
    let before = Instant::now();
    let writer = thread::spawn(move || {
        let piece = vec![7; 256 * 1024];
        for _ in 0..SENT / piece.len() {
            writing.write_all(&piece).unwrap();
        }
        writing.shutdown(Shutdown::Write).unwrap();
    });
    let received = std::io::copy(&mut stream, &mut std::io::sink()).unwrap();
    writer.join().unwrap();
    let took = before.elapsed();
    eprintln!("{} MiB there and back in {took:?}", SENT >> 20);
    assert_eq!(received, u64::try_from(SENT).unwrap());
    assert!(took < Duration::from_secs(60), "{took:?}");
}
