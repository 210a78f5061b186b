//! Plain HTTP requests.

use std::io::{Read, Write};

use crate::stage::{Server, Stage, head, setup};

#[test]
fn a_listed_host_is_reached_by_the_request_that_was_judged() {
    let web = Server::web();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let request = format!(
        "POST http://A.test.:{}/p?q=1 HTTP/1.1\r\nHost: a.test:{}\r\nConnection: close, X-Secret-Hop\r\n\
         X-Secret-Hop: 1\r\nProxy-Authorization: Basic eDp5\r\nProxy-Connection: keep-alive\r\nTE: trailers\r\n\
         Upgrade: websocket\r\nX-Kept: yes\r\nContent-Length: 4\r\n\r\nbody",
        web.port, web.port
    );
    let answer = stage.ask(&request);
    assert!(answer.starts_with("HTTP/1.1 200 OK\r\n") && answer.ends_with("\r\n\r\nhello"), "{answer}");
    let lower = answer.to_lowercase();
    assert!(lower.contains("x-end: 2") && !lower.contains("x-hop") && !lower.contains("keep-alive"), "{answer}");
    let seen = web.heads().concat().to_lowercase();
    assert!(seen.starts_with("post /p?q=1 http/1.1\r\n"), "{seen}");
    assert!(seen.contains(&format!("host: a.test:{}\r\n", web.port)), "{seen}");
    assert!(seen.contains("x-kept: yes") && seen.contains("content-length: 4"), "{seen}");
    for hop in ["x-secret-hop", "proxy-", "te:", "upgrade", "connection"] {
        assert!(!seen.contains(hop), "{hop} went on: {seen}");
    }
    assert_eq!(stage.refusals(), [""; 0]);
}

#[test]
fn every_request_of_one_connection_is_judged_by_its_own_target() {
    let web = Server::web();
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &["b.test"]));
    let mut stream = stage.connect();
    let mut ask = |host: &str| {
        write!(stream, "GET http://{host}:{}/ HTTP/1.1\r\nHost: {host}:{}\r\n\r\n", web.port, web.port).unwrap();
        let head = head(&mut stream);
        let length =
            head.to_lowercase().split("content-length: ").nth(1).unwrap().split('\r').next().unwrap().to_owned();
        let mut body = vec![0; length.parse().unwrap()];
        stream.read_exact(&mut body).unwrap();
        (head, String::from_utf8(body).unwrap())
    };
    assert_eq!(ask("a.test").1, "hello");
    let (refused, body) = ask("b.test");
    assert!(refused.starts_with("HTTP/1.1 403 mayi refused b.test:"), "{refused}");
    assert!(body.contains("denied in user") && body.contains("help: "), "{body}");
    assert_eq!(ask("a.test").1, "hello");
    assert!(ask("c.test").1.contains("`sandbox.network.allowedDomains`"));
    assert_eq!(web.heads().len(), 2);
    let (port, refusals) = (web.port, stage.refusals());
    assert_eq!(refusals, [format!("b.test:{port}: denied in user"), format!("c.test:{port}: not listed")]);
}

#[test]
fn a_request_that_speaks_of_another_host_goes_nowhere() {
    let web = Server::web();
    let stage = Stage::open(setup(&["a.test", "b.test", "127.0.0.1"], &[]));
    let port = web.port;
    let rows = [
        format!("GET http://a.test:{port}/ HTTP/1.1\r\nHost: evil.test\r\n"),
        format!("GET http://a.test:{port}/ HTTP/1.1\r\nHost: b.test:{port}\r\n"),
        format!("GET http://a.test:{port}/ HTTP/1.1\r\nHost: a.test:1\r\n"),
        format!("GET http://a.test:{port}/ HTTP/1.1\r\nHost: a.test:{port}\r\nHost: evil.test\r\n"),
        format!("GET http://a.test:{port}/ HTTP/1.1\r\nHost: \r\n"),
        format!("CONNECT a.test:{port} HTTP/1.1\r\nHost: evil.test:{port}\r\n"),
    ];
    for row in rows {
        let answer = stage.ask(&format!("{row}Connection: close\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{row}{answer}");
    }
    assert_eq!(web.visits(), 0);
    assert!(stage.refusals()[0].ends_with("the request's Host header says `evil.test`"));
}

#[test]
fn requests_for_the_proxy_itself_and_for_other_schemes_are_malformed() {
    let stage = Stage::open(setup(&["*", "127.0.0.1"], &[]));
    for line in ["GET / HTTP/1.1", "GET https://a.test/ HTTP/1.1", "GET ftp://a.test/ HTTP/1.1", "OPTIONS * HTTP/1.1"] {
        let answer = stage.ask(&format!("{line}\r\nHost: a.test\r\nConnection: close\r\n\r\n"));
        assert!(answer.starts_with("HTTP/1.1 400 "), "{line}: {answer}");
    }
    assert_eq!(stage.refusals(), [""; 0]);
}

#[test]
fn names_that_lead_to_this_machine_are_refused_unless_the_address_is_listed() {
    let web = Server::web();
    for host in ["a.test", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[64:ff9b::7f00:1]"] {
        let stage = Stage::open(setup(&["*"], &[]));
        let answer = stage.get(&format!("http://{host}:{}/", web.port));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
        assert!(answer.contains("can list `") && answer.contains(" itself in"), "{host}: {answer}");
        assert_eq!(stage.refusals().len(), 1, "{host}");
    }
    assert_eq!(web.visits(), 0);
}

#[test]
fn numbers_in_disguise_are_refused() {
    let web = Server::web();
    let stage = Stage::open(setup(&["*", "127.0.0.1"], &[]));
    for host in ["0x7f.1", "0x7f000001", "2130706433", "127.1", "0177.0.0.1", "127.0.0.1.1", "a.test@127.0.0.1"] {
        let answer = stage.get(&format!("http://{host}:{}/", web.port));
        assert!(answer.starts_with("HTTP/1.1 403 "), "{host}: {answer}");
    }
    assert_eq!(web.visits(), 0);
}

#[test]
fn a_failing_host_is_told_apart_from_a_refused_one() {
    let stage = Stage::open(setup(&["a.test", "nowhere.test", "127.0.0.1"], &[]));
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let rows = [
        (format!("http://nowhere.test:{closed}/"), "the name leads to no address"),
        (format!("http://a.test:{closed}/"), "the host refused the connection"),
    ];
    for (address, words) in rows {
        let answer = stage.get(&address);
        assert!(answer.starts_with("HTTP/1.1 502 ") && answer.contains(words), "{answer}");
    }
    assert_eq!(stage.refusals(), [""; 0]);
}

#[test]
fn answers_of_every_framing_come_through_and_broken_ones_do_not_hang() {
    let rows: [(&[u8], &str, &str); 5] = [
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", "HTTP/1.1 200", "until the end"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "HTTP/1.1 200", "abc"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", "HTTP/1.1 204", ""),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", "HTTP/1.1 502", ""),
        (b"no http at all\r\n\r\n", "HTTP/1.1 502", "cannot be reached"),
    ];
    for (said, status, part) in rows {
        let server = Server::saying(said);
        let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
        let answer = stage.get(&format!("http://a.test:{}/", server.port));
        assert!(answer.starts_with(status) && answer.contains(part), "{answer}");
    }
}

#[test]
fn an_answer_to_head_says_its_length_and_has_no_body() {
    let server = Server::saying(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n");
    let stage = Stage::open(setup(&["a.test", "127.0.0.1"], &[]));
    let answer = stage.ask(&format!("HEAD http://a.test:{}/ HTTP/1.1\r\nConnection: close\r\n\r\n", server.port));
    assert!(answer.to_lowercase().contains("content-length: 5\r\n") && answer.ends_with("\r\n\r\n"), "{answer}");
}
