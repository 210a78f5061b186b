//! Bytes that nobody should send. None may reach a server, end the proxy or make it hang.

use std::io::{Read, Write};
use std::sync::OnceLock;
use std::time::Duration;

use mayi_sandbox::proxy::{Patience, Setup};
use proptest::prelude::*;

use crate::stage::{Server, Stage, setup};

/// Sends bytes and takes what comes. The end is left open: a proxy that sees it would break off what it was about to do.
fn send(stage: &Stage, bytes: &[u8]) -> String {
    let mut stream = stage.connect();
    // The proxy may have closed before everything was sent.
    let _ = stream.write_all(bytes);
    let mut back = Vec::new();
    let _ = stream.read_to_end(&mut back);
    String::from_utf8_lossy(&back).into_owned()
}

/// A proxy that does not wait long for more.
fn impatient(setup: Setup, soon: Duration) -> Stage {
    Stage::open(Setup { patience: Patience { greeting: soon, idle: soon, ..Patience::default() }, ..setup })
}

#[test]
fn malformed_requests_reach_nobody() {
    let web = Server::web();
    let stage = impatient(setup(&["a.test", "*.sub.test", "127.0.0.1"], &["b.test"]), Duration::from_millis(500));
    let port = web.port;
    let endless = format!("GET http://b.test:{port}/{} HTTP/1.1\r\n\r\n", "a".repeat(200_000));
    let fields = format!("GET http://b.test:{port}/ HTTP/1.1\r\n{}\r\n", "X: y\r\n".repeat(5000));
    let rows = [
        format!("GET http://b.test\0.sub.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET http://b.test%00.sub.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET http://b.test%0d%0a.sub.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET http://b.test#.sub.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET http://b.test\\@a.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET http://a.test@b.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET http://b.test:{port}@a.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET http://a.test:{port}:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET http:///a.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("GET //a.test:{port}/ HTTP/1.1\r\nHost: a.test:{port}\r\n\r\n"),
        format!("GET http://a.test:{port}/ HTTP/2.0\r\n\r\n"),
        format!("GET  http://a.test:{port}/  HTTP/1.1\r\n\r\n"),
        format!("GET http://a.test:{port}/ HTTP/1.1\r\nHost : a.test\r\n\r\n"),
        format!("GET http://a.test:{port}/ HTTP/1.1\r\n folded\r\n\r\n"),
        format!("POST http://a.test:{port}/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
        format!("POST http://a.test:{port}/ HTTP/1.1\r\nContent-Length: -1\r\n\r\n"),
        format!("POST http://a.test:{port}/ HTTP/1.1\r\nTransfer-Encoding: identity\r\n\r\n"),
        format!("CONNECT http://a.test:{port}/ HTTP/1.1\r\n\r\n"),
        format!("CONNECT a.test:{port}/path HTTP/1.1\r\n\r\n"),
        format!("CONNECT user@a.test:{port} HTTP/1.1\r\n\r\n"),
        "CONNECT a.test HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT a.test:0 HTTP/1.1\r\n\r\n".to_owned(),
        "CONNECT a.test:99999 HTTP/1.1\r\n\r\n".to_owned(),
        format!("CONNECT :{port} HTTP/1.1\r\n\r\n"),
        format!("CONNECT [a.test]:{port} HTTP/1.1\r\n\r\n"),
        format!("CONNECT ::1:{port} HTTP/1.1\r\n\r\n"),
        format!("CONNECT [::1%25lo]:{port} HTTP/1.1\r\n\r\n"),
        "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_owned(),
        "\u{4}\u{1}\0\u{50}\u{7f}\0\0\u{1}\0".to_owned(),
        "\r\n\r\n\r\n".to_owned(),
        endless,
        fields,
    ];
    for row in rows {
        let answer = send(&stage, row.as_bytes());
        assert!(!answer.contains(" 200 "), "{}: {answer}", row.chars().take(80).collect::<String>());
        assert_eq!(web.visits(), 0, "{}", row.chars().take(80).collect::<String>());
    }
    let right = format!("GET http://a.test:{port}/ HTTP/1.1\r\n\r\n");
    assert!(send(&stage, right.as_bytes()).ends_with("hello"), "a request without fault would have come through");
}

#[test]
fn a_second_request_hidden_in_a_body_is_judged_or_stays_a_body() {
    let web = Server::web();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &["b.test"]));
    let port = web.port;
    let hidden = format!("GET http://b.test:{port}/hidden HTTP/1.1\r\nConnection: close\r\n\r\n");
    let length = hidden.len();
    let rows = [
        format!("Content-Length: {length}\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Transfer-Encoding: chunked\r\nContent-Length: {length}\r\n\r\n0\r\n\r\n{hidden}"),
        format!("Connection: content-length\r\nContent-Length: 0\r\n\r\n{hidden}"),
        format!("Connection: content-length, close\r\nContent-Length: {length}\r\n\r\n{hidden}"),
        format!("Connection: host\r\nHost: a.test:{port}\r\nContent-Length: 0\r\n\r\n{hidden}"),
    ];
    for row in &rows {
        let answer = send(&stage, format!("POST http://a.test:{port}/ HTTP/1.1\r\n{row}").as_bytes());
        assert!(answer.matches("HTTP/1.1 200 ").count() <= 1, "{answer}");
    }
    assert!(!web.heads().is_empty());
    for head in web.heads() {
        assert!(!head.contains("hidden"), "{head}");
        assert!(head.to_lowercase().contains(&format!("host: a.test:{port}")), "{head}");
    }
}

struct Played {
    stage: Stage,
    web: Server,
}

/// One proxy for all random bytes, which has a listed host that would be reached by a lucky guess.
fn played() -> &'static Played {
    static PLAYED: OnceLock<Played> = OnceLock::new();
    PLAYED.get_or_init(|| {
        let stage = impatient(setup(&["a.test", "127.0.0.1"], &[]), Duration::from_millis(40));
        Played { stage, web: Server::web() }
    })
}

fn near_misses() -> impl Strategy<Value = Vec<u8>> {
    let port = played().web.port;
    let http = format!("GET http://b.test:{port}/ HTTP/1.1\r\nHost: b.test:{port}\r\n\r\n").into_bytes();
    let connect = format!("CONNECT b.test:{port} HTTP/1.1\r\n\r\n").into_bytes();
    let socks = [&[5, 1, 0, 5, 1, 0, 3, 6][..], b"b.test", &port.to_be_bytes()].concat();
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
    (prop::sample::select(vec![http, connect, socks]), changes).prop_map(|(mut bytes, changes)| {
        for (place, byte) in changes {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn random_bytes_reach_nobody(bytes in proptest::collection::vec(any::<u8>(), 1..400)) {
        send(&played().stage, &bytes);
        prop_assert_eq!(played().web.visits(), 0);
    }

    #[test]
    fn requests_with_a_few_bytes_changed_reach_no_host_that_is_not_listed(bytes in near_misses()) {
        // The one change that makes them right: the listed name.
        prop_assume!(!String::from_utf8_lossy(&bytes).to_lowercase().contains("a.test"));
        send(&played().stage, &bytes);
        prop_assert_eq!(played().web.visits(), 0);
    }
}

#[test]
fn a_thousand_refusals_in_a_row_leave_the_proxy_well() {
    let web = Server::web();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let refused = "GET http://evil.test/ HTTP/1.1\r\n\r\n".repeat(1000);
    let mut stream = stage.connect();
    let mut reading = stream.try_clone().unwrap();
    let reader = std::thread::spawn(move || crate::stage::text(&mut reading));
    stream.write_all(refused.as_bytes()).unwrap();
    stream.write_all(b"GET http://evil.test/ HTTP/1.1\r\nConnection: close\r\n\r\n").unwrap();
    assert_eq!(reader.join().unwrap().matches("HTTP/1.1 403 ").count(), 1001);
    assert_eq!(stage.refusals().len(), 1);
    assert!(stage.get(&format!("http://a.test:{}/", web.port)).ends_with("hello"));
}
