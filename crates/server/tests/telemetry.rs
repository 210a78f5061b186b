//! What is told to OpenTelemetry, to a receiver that reads it as the protocol says.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod door;

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};

use door::{Door, PATIENCE};
use mayi_server::principal::Role;
use mayi_server::telemetry::Export;
use serde_json::json;

/// A message of the protocol: its fields, in order. Groups and fixed numbers are kept as bytes.
struct Message<'a>(Vec<(u64, &'a [u8])>);

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut value = 0;
    for shift in (0..).step_by(7) {
        let (byte, rest) = bytes.split_first().unwrap();
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            break;
        }
    }
    value
}

impl<'a> Message<'a> {
    fn read(mut bytes: &'a [u8]) -> Self {
        let mut fields = Vec::new();
        while !bytes.is_empty() {
            let key = varint(&mut bytes);
            let length = match key & 7 {
                0 => {
                    let before = bytes;
                    varint(&mut bytes);
                    fields.push((key >> 3, &before[..before.len() - bytes.len()]));
                    continue;
                }
                1 => 8,
                2 => usize::try_from(varint(&mut bytes)).unwrap(),
                5 => 4,
                other => panic!("wire type {other}"),
            };
            let (value, rest) = bytes.split_at(length);
            fields.push((key >> 3, value));
            bytes = rest;
        }
        Self(fields)
    }

    fn all(&self, number: u64) -> impl Iterator<Item = &'a [u8]> {
        self.0.iter().filter(move |(own, _)| *own == number).map(|(_, value)| *value)
    }

    fn one(&self, number: u64) -> &'a [u8] {
        self.all(number).next().unwrap_or_default()
    }

    fn text(&self, number: u64) -> String {
        String::from_utf8(self.one(number).to_vec()).unwrap()
    }
}

/// Every item of an export: resources, then scopes, then items, whose fields have these numbers in both signals.
fn items(body: &[u8]) -> Vec<Message<'_>> {
    let resources = Message::read(body);
    let scopes = resources.all(1).flat_map(|resource| Message::read(resource).all(2).collect::<Vec<_>>());
    scopes.flat_map(|scope| Message::read(scope).all(2).map(Message::read).collect::<Vec<_>>()).collect()
}

/// Attributes as texts; numbers are shown as numbers.
fn attributes(item: &Message<'_>, number: u64) -> Vec<(String, String)> {
    let pair = |bytes| {
        let pair = Message::read(bytes);
        let value = Message::read(pair.one(2));
        let shown = match value.0.first() {
            Some((1, text)) => String::from_utf8(text.to_vec()).unwrap(),
            Some((3, bytes)) => varint(&mut &**bytes).to_string(),
            other => format!("{other:?}"),
        };
        (pair.text(1), shown)
    };
    item.all(number).map(pair).collect()
}

/// A receiver: the path and body of whatever comes.
fn receiver(status: &'static str) -> (SocketAddr, Receiver<(String, Vec<u8>)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (told, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (stream, told) = (stream.unwrap(), told.clone());
            std::thread::spawn(move || converse(stream, status, &told));
        }
    });
    (address, heard)
}

fn converse(mut stream: TcpStream, status: &str, told: &Sender<(String, Vec<u8>)>) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        while let Some(head) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
            let length =
                text.lines().find_map(|line| line.strip_prefix("content-length: ")).unwrap().parse::<usize>().unwrap();
            if bytes.len() < head + 4 + length {
                break;
            }
            let rest = bytes.split_off(head + 4 + length);
            let path = text.split(' ').nth(1).unwrap().to_owned();
            let _ = told.send((path, bytes.split_off(head + 4)));
            bytes = rest;
            let answer =
                format!("HTTP/1.1 {status}\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n");
            if stream.write_all(answer.as_bytes()).is_err() {
                return;
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(many) => bytes.extend_from_slice(&piece[..many]),
        }
    }
}

#[test]
fn requests_are_told_as_spans_and_records_as_logs() {
    let (address, heard) = receiver("200 OK");
    let door = Door::with(|options, _| options.export = Some(Export::To(format!("http://{address}"))));
    let parent = "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01";
    let line = json!({"tool": "Bash", "input": {"command": "ls"}, "cwd": "/w", "settings": {"permissions": {"allow": ["Bash(ls:*)"]}}});
    let decided = door.post("/v1/decide", &line).role(Role::Agent).header("traceparent", parent).send();
    assert_eq!(decided.status, 200, "{decided:?}");
    door.end().unwrap();

    let (mut spans, mut logs) = (Vec::new(), Vec::new());
    while let Ok((path, body)) = heard.try_recv() {
        match path.as_str() {
            "/v1/traces" => spans.push(body),
            "/v1/logs" => logs.push(body),
            other => panic!("{other}"),
        }
    }
    let spans: Vec<Message<'_>> = spans.iter().flat_map(|body| items(body)).collect();
    let span = spans.iter().find(|span| span.text(5) == "POST /v1/decide").expect("a span of the decision");
    assert_eq!(span.one(1), 0x0123_4567_89ab_cdef_0123_4567_89ab_cdef_u128.to_be_bytes(), "the sender's trace");
    assert_eq!(span.one(4), 0x0123_4567_89ab_cdef_u64.to_be_bytes(), "below the sender's span");
    let told = attributes(span, 9);
    for (name, value) in
        [("http.route", "/v1/decide"), ("http.request.method", "POST"), ("http.response.status_code", "200")]
    {
        assert!(told.contains(&(name.to_owned(), value.to_owned())), "{name}: {told:?}");
    }

    let logs: Vec<Message<'_>> = logs.iter().flat_map(|body| items(body)).collect();
    let is_decision =
        |log: &&Message<'_>| attributes(log, 6).contains(&("mayi.kind".to_owned(), "decision".to_owned()));
    let log = logs.iter().find(is_decision).expect("a log of the decision");
    assert!(attributes(log, 6).contains(&("mayi.verdict".to_owned(), "allow".to_owned())));
    let record: serde_json::Value = serde_json::from_str(&Message::read(log.one(5)).text(1)).unwrap();
    assert_eq!((record["kind"].as_str(), record["step"].as_str()), (Some("decision"), Some("2b")), "{record}");
}

#[test]
fn a_receiver_that_is_away_holds_nothing_up_and_what_is_lost_is_counted() {
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let door = Door::with(|options, _| options.export = Some(Export::To(format!("http://{closed}"))));
    let began = std::time::Instant::now();
    loop {
        assert_eq!(door.get("/healthz").status(), 200);
        let text = door.get("/metrics").send().body;
        let lost =
            |line: &&str| line.starts_with("mayi_telemetry_dropped_total{kind=\"spans\"}") && !line.ends_with(" 0");
        if text.lines().any(|line| lost(&line)) {
            break;
        }
        assert!(began.elapsed() < PATIENCE, "{text}");
    }
}
