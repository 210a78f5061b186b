//! Hooks that are addresses, asked over real connections to this machine.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread::JoinHandle;

use mayi_core::call::Call;
use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict;
use mayi_engine::hooks::{Before, Runner};
use serde_json::{Value, json};

use crate::support::{Stage, decides, environment, message, on, verdict, with};

/// A request as it came in.
#[derive(Debug)]
struct Request {
    line: String,
    headers: Vec<(String, String)>,
    body: Value,
}

/// A server for one request.
struct Server {
    url: String,
    thread: JoinHandle<Request>,
}

impl Server {
    fn answering(response: Vec<u8>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/hook", listener.local_addr().unwrap());
        let thread = std::thread::spawn(move || {
            let (stream, _) = listener.accept().unwrap();
            let request = read(&stream);
            // Whoever has heard enough may hang up.
            let _ = (&stream).write_all(&response);
            request
        });
        Self { url, thread }
    }

    fn hook(&self) -> Value {
        json!({"type": "http", "url": self.url, "timeout": 20})
    }
}

fn read(stream: &TcpStream) -> Request {
    let mut reader = BufReader::new(stream);
    let mut line = String::new();
    reader.read_line(&mut line).unwrap();
    let mut headers = Vec::new();
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).unwrap();
        let Some((name, value)) = header.trim().split_once(':') else { break };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").unwrap().1.parse().unwrap();
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    Request { line: line.trim().to_owned(), headers, body: serde_json::from_slice(&body).unwrap() }
}

fn response(status: &str, body: &str) -> Vec<u8> {
    format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}", body.len()).into_bytes()
}

#[tokio::test]
async fn status_and_body() {
    let (allow, deny) = (decides("allow").to_string(), decides("deny").to_string());
    let table = [
        ("200 OK", "", None, ""),
        ("204 No Content", "", None, ""),
        ("200 OK", "{}", None, ""),
        ("200 OK", &*allow, Some(Verdict::Allow), "reason to allow"),
        ("201 Created", &*deny, Some(Verdict::Deny), "reason to deny"),
        ("200 OK", "fine", Some(Verdict::Ask), "with a body that is no JSON object"),
        ("200 OK", "[]", Some(Verdict::Ask), "with a body that is no JSON object"),
        ("200 OK", "{bad", Some(Verdict::Ask), "no JSON"),
        ("500 Internal Server Error", &*allow, Some(Verdict::Ask), "status 500"),
        ("404 Not Found", &*deny, Some(Verdict::Ask), "status 404"),
        ("403 Forbidden", "", Some(Verdict::Ask), "status 403"),
    ];
    let stage = Stage::new();
    for (status, body, expected, reason) in table {
        let server = Server::answering(response(status, body));
        let before = stage.before(&[server.hook()]).await;
        server.thread.join().unwrap();
        assert_eq!(verdict(&before), expected, "{status} {body}: {before:?}");
        assert!(message(&before).contains(reason), "{status} {body}: {before:?}");
    }
}

#[tokio::test]
async fn the_request_carries_the_same_message_as_a_program_gets() {
    let stage = Stage::new();
    let server = Server::answering(response("200 OK", ""));
    stage.before(&[server.hook()]).await;
    let request = server.thread.join().unwrap();
    assert_eq!(request.line, "POST /hook HTTP/1.1");
    assert!(request.headers.contains(&("content-type".to_owned(), "application/json".to_owned())));
    assert_eq!(request.body["hook_event_name"], "PreToolUse");
    assert_eq!(request.body["tool_input"], json!({"command": "ls"}));
}

#[tokio::test]
async fn only_named_variables_are_sent() {
    let table = [
        (json!(["SECRET_TOKEN"]), None, "Bearer hush/hush"),
        (json!(["OTHER"]), None, "Bearer /"),
        (json!([]), None, "Bearer /"),
        (json!(["SECRET_TOKEN"]), Some(json!(["SECRET_TOKEN"])), "Bearer hush/hush"),
        (json!(["SECRET_TOKEN"]), Some(json!(["OTHER"])), "Bearer /"),
        (json!(["SECRET_TOKEN"]), Some(json!([])), "Bearer /"),
    ];
    let stage = Stage::new();
    for (named, bound, expected) in table {
        let server = Server::answering(response("200 OK", ""));
        let headers = json!({"X-Key": "Bearer $SECRET_TOKEN/${SECRET_TOKEN}"});
        let hook = with(server.hook(), json!({"headers": headers, "allowedEnvVars": named}));
        let mut settings = on("PreToolUse", &[hook]);
        if let Some(bound) = &bound {
            settings = with(settings, json!({"httpHookAllowedEnvVars": bound}));
        }
        let runner = stage.runner(settings);
        runner.before(&Call::shell("ls"), &stage.occasion()).await.unwrap();
        let request = server.thread.join().unwrap();
        let sent = request.headers.iter().find(|(name, _)| name == "x-key").map(|(_, value)| value.as_str());
        assert_eq!(sent, Some(expected), "{named} {bound:?}");
    }
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let stage = Stage::new();
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let location = format!("http://{}/", elsewhere.local_addr().unwrap());
    let moved = format!("HTTP/1.1 307 Moved\r\nlocation: {location}\r\ncontent-length: 0\r\n\r\n");
    let server = Server::answering(moved.into_bytes());
    let before = stage.before(&[server.hook()]).await;
    server.thread.join().unwrap();
    assert!(message(&before).contains("status 307"), "{before:?}");
    assert!(elsewhere.accept().is_err(), "nobody came");
}

#[tokio::test]
async fn more_than_fits_is_not_read() {
    let stage = Stage::new();
    let server = Server::answering(response("200 OK", &"x".repeat(3 << 20)));
    let before = stage.before(&[server.hook()]).await;
    server.thread.join().unwrap();
    assert!(message(&before).contains("more than 1 MiB"), "{before:?}");
}

#[tokio::test]
async fn an_answer_that_is_broken_off_was_not_out_of_reach() {
    let stage = Stage::new();
    let mut half = response("200 OK", &decides("allow").to_string());
    half.truncate(half.len() - 5);
    let server = Server::answering(half);
    let before = stage.before(&[server.hook()]).await;
    server.thread.join().unwrap();
    assert_eq!(verdict(&before), Some(Verdict::Ask));
    assert!(message(&before).contains("broke off its answer"), "{before:?}");
}

#[tokio::test]
async fn nobody_there_and_nobody_answering_are_failures() {
    let stage = Stage::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    // The system takes the connection, and nobody ever speaks.
    let before = stage.before(&[json!({"type": "http", "url": url, "timeout": 1})]).await;
    assert_eq!(verdict(&before), Some(Verdict::Ask));
    assert!(message(&before).contains("no answer within 1 s"), "{before:?}");
    drop(listener);
    let before = stage.before(&[json!({"type": "http", "url": url, "onFailure": "block"})]).await;
    assert_eq!(verdict(&before), Some(Verdict::Deny));
    assert!(message(&before).contains("could not be reached"), "{before:?}");
    for url in ["ftp://127.0.0.1/", "not an address", "http://"] {
        let before = stage.before(&[json!({"type": "http", "url": url})]).await;
        assert_eq!(verdict(&before), Some(Verdict::Ask), "{url}");
    }
}

#[tokio::test]
async fn an_address_that_is_not_listed_is_not_called() {
    let stage = Stage::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let hook = json!({"type": "http", "url": format!("http://{}/", listener.local_addr().unwrap()), "timeout": 2});
    let settings = on("PreToolUse", &[hook]);
    for allowed in [json!([]), json!(["https://hooks.example.com/*"])] {
        let user = with(settings.clone(), json!({"allowedHttpHookUrls": allowed}));
        let runner = Runner::new(&stage.loaded(&[(Layer::User, user)]), environment());
        let before: Before = runner.before(&Call::shell("ls"), &stage.occasion()).await.unwrap();
        assert_eq!(verdict(&before), Some(Verdict::Ask));
        assert!(message(&before).contains("allowedHttpHookUrls"), "{before:?}");
    }
    assert!(listener.accept().is_err(), "nobody came");
    let server = Server::answering(response("200 OK", &decides("deny").to_string()));
    let user = with(on("PreToolUse", &[server.hook()]), json!({"allowedHttpHookUrls": ["http://127.0.0.1:*/hook"]}));
    let runner = stage.runner(user);
    let before = runner.before(&Call::shell("ls"), &stage.occasion()).await.unwrap();
    server.thread.join().unwrap();
    assert_eq!(verdict(&before), Some(Verdict::Deny));
}

#[tokio::test]
async fn a_token_in_an_address_or_a_header_is_not_repeated() {
    let stage = Stage::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/?token=hush", listener.local_addr().unwrap());
    drop(listener);
    let headers = json!({"X-Key": "a\nb hush"});
    for hook in [json!({"type": "http", "url": url}), json!({"type": "http", "url": url, "headers": headers})] {
        let before = stage.before(&[hook]).await;
        assert_eq!(verdict(&before), Some(Verdict::Ask));
        assert!(!format!("{before:?}").contains("hush"), "{before:?}");
    }
}
