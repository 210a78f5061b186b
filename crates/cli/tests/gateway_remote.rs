//! `mayi gateway --url` against an HTTP server written by hand: what it sends, and what it makes of everything that can
//! come back.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// A request as the server sees it: the line, the headers in small letters, the body.
struct Asked {
    line: String,
    headers: String,
    body: String,
}

impl Asked {
    fn read(stream: &TcpStream) -> Option<Self> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|length| *length > 0)?;
        let mut headers = String::new();
        while !headers.ends_with("\r\n\r\n") && headers != "\r\n" {
            reader.read_line(&mut headers).ok()?;
        }
        let headers = headers.to_lowercase();
        let length = headers.split("content-length: ").nth(1).and_then(|rest| rest.split('\r').next()?.parse().ok());
        let mut body = vec![0; length.unwrap_or(0)];
        reader.read_exact(&mut body).ok()?;
        Some(Self { line, headers, body: String::from_utf8(body).unwrap() })
    }

    fn message(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }

    fn is(&self, method: &str) -> bool {
        self.line.starts_with("POST") && self.message()["method"] == method
    }
}

/// A gateway before a server that answers by a function; what the server was asked comes out at the side.
struct Scene {
    gateway: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    asked: Receiver<Asked>,
}

fn respond(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}")
}

fn json_body(body: &Value) -> String {
    respond("200 OK", "application/json", &body.to_string())
}

fn events(body: &str) -> String {
    respond("200 OK", "text/event-stream", body)
}

/// The answer to `initialize`, with a session.
fn welcome(id: &Value) -> String {
    let result = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {"name": "x"}});
    let answer = json_body(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
    answer.replacen("\r\n", "\r\nMcp-Session-Id: the-session\r\n", 1)
}

/// What every server here does: it welcomes, accepts notifications, and has no stream of its own.
fn usual(asked: &Asked) -> Option<String> {
    match asked {
        asked if asked.is("initialize") => Some(welcome(&asked.message()["id"])),
        asked if asked.is("notifications/initialized") => Some(respond("202 Accepted", "text/plain", "")),
        asked if asked.line.starts_with("GET") && !asked.headers.contains("last-event-id") => {
            Some(respond("405 Method Not Allowed", "text/plain", ""))
        }
        asked if asked.line.starts_with("DELETE") => Some(respond("200 OK", "text/plain", "")),
        _ => None,
    }
}

impl Scene {
    fn new(answer: impl Fn(&Asked) -> String + Send + 'static) -> Self {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}/mcp?key=hush", socket.local_addr().unwrap());
        let (send, asked) = channel();
        std::thread::spawn(move || {
            for stream in socket.incoming() {
                let mut stream = stream.unwrap();
                let Some(request) = Asked::read(&stream) else { continue };
                let said = usual(&request).unwrap_or_else(|| answer(&request));
                // The gateway may have enough before it has all.
                let _ = stream.write_all(said.as_bytes());
                let _ = send.send(request);
            }
        });
        let home = std::env::temp_dir();
        let mut gateway = Command::new(env!("CARGO_BIN_EXE_mayi"))
            .args(["gateway", "--name", "s", "--url", &url, "--header", "X-One: 1", "--header-env", "X-Key=KEY"])
            .args(["--settings", r#"{"permissions":{"allow":["mcp__s__fine"]},"audit":{"enabled":false}}"#])
            .current_dir(&home)
            .env_clear()
            .env("HOME", home.join("there-is-no-home"))
            .env("KEY", "hush")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (input, output) = (gateway.stdin.take().unwrap(), gateway.stdout.take().unwrap());
        let mut scene = Self { gateway, input, output: BufReader::new(output), asked };
        scene.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {}}));
        assert_eq!(scene.hear()["result"]["protocolVersion"], "2025-11-25");
        scene.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        scene
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.input, "{message}").unwrap();
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no message: {line:?}"))
    }

    fn ask(&mut self, method: &str) -> Value {
        self.send(&json!({"jsonrpc": "2.0", "id": 1, "method": method}));
        self.hear()
    }

    /// The next request of the kind that is wanted.
    fn asked(&self, wanted: impl Fn(&Asked) -> bool) -> Asked {
        loop {
            let asked = self.asked.recv_timeout(Duration::from_secs(60)).expect("the server was not asked");
            if wanted(&asked) {
                return asked;
            }
        }
    }

    /// Lets the agent leave; gives the exit code and what was told.
    fn leave(self) -> (i32, String) {
        drop(self.input);
        let output = self.gateway.wait_with_output().unwrap();
        (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
    }
}

fn answer(result: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "result": result})
}

#[test]
fn answers_come_as_json_or_as_events() {
    let message = answer(&json!({"n": 1}));
    let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {}});
    let rows = [
        json_body(&message),
        json_body(&json!([message])),
        respond("200 OK", "application/json; charset=utf-8", &format!("{message:#}")),
        events(&format!(": hello\n\nevent: message\ndata: {message}\n\n")),
        events(&format!("data: no message\r\n\r\ndata: {message}\r\n\r\n")),
    ];
    for row in rows {
        let mut scene = Scene::new(move |_| row.clone());
        assert_eq!(scene.ask("ping"), message);
        assert_eq!(scene.leave().0, 0);
    }
    let both = events(&format!("data: {progress}\n\ndata: {message}\n\n"));
    let mut scene = Scene::new(move |_| both.clone());
    assert_eq!((scene.ask("ping"), scene.hear()), (progress, message));
}

#[test]
fn every_request_carries_headers_session_and_version_and_the_end_is_told() {
    let mut scene = Scene::new(|_| json_body(&answer(&json!({}))));
    let first = scene.asked(|asked| asked.is("initialize"));
    assert!(first.headers.contains("x-key: hush") && !first.headers.contains("mcp-session-id"));
    scene.ask("ping");
    let ping = scene.asked(|asked| asked.is("ping"));
    for header in [
        "x-one: 1",
        "x-key: hush",
        "mcp-session-id: the-session",
        "mcp-protocol-version: 2025-11-25",
        "accept: application/json, text/event-stream",
        "content-type: application/json",
    ] {
        assert!(ping.headers.contains(&format!("{header}\r\n")), "{header}: {}", ping.headers);
    }
    drop(scene.input);
    let asked = scene.asked.recv_timeout(Duration::from_secs(60));
    assert!(asked.is_ok_and(|asked| asked.line.starts_with("DELETE") && asked.headers.contains("the-session")));
    scene.gateway.wait().unwrap();
}

#[test]
fn a_stream_that_breaks_off_is_taken_up_where_it_ended() {
    let message = answer(&json!({"late": true}));
    let late = message.clone();
    let mut scene = Scene::new(move |asked| match asked.line.starts_with("GET") {
        true => events(&format!("id: 8\ndata: {late}\n\n")),
        false => events("id: 7\nretry: 10\ndata:\n\n"),
    });
    assert_eq!(scene.ask("ping"), message);
    assert!(scene.asked(|asked| asked.headers.contains("last-event-id")).headers.contains("last-event-id: 7\r\n"));
}

#[test]
fn every_failure_is_an_error_for_the_request_and_shows_no_secret() {
    let redirect =
        "HTTP/1.1 307 Temporary Redirect\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n".to_owned();
    let own = json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32001, "message": "its own words"}});
    let rows = [
        (respond("500 Internal Server Error", "text/html", "<p>"), "HTTP 500"),
        (respond("400 Bad Request", "application/json", &own.to_string()), "its own words"),
        (respond("401 Unauthorized", "text/plain", ""), "--header-env"),
        (redirect, "redirects are not followed"),
        (respond("202 Accepted", "text/plain", ""), "no answer"),
        (json_body(&json!({"jsonrpc": "2.0", "id": 5, "result": {}})), "no answer"),
        (respond("200 OK", "application/json", "{"), "no answer"),
        (events("data: {}\n\n"), "broke off"),
        (String::new(), "cannot be reached"),
    ];
    for (response, words) in rows {
        let mut scene = Scene::new(move |_| response.clone());
        let said = scene.ask("ping");
        assert!(said["id"] == 1 && said["error"]["message"].as_str().unwrap().contains(words), "{words}: {said}");
        let (code, notes) = scene.leave();
        assert!(code == 0 && !notes.contains("hush") && !said.to_string().contains("hush"), "{notes}");
    }
}

#[test]
fn a_session_that_the_server_forgot_ends_the_gateway() {
    let mut scene = Scene::new(|_| respond("404 Not Found", "text/plain", ""));
    let said = scene.ask("ping");
    assert!(said["error"]["message"].is_string(), "{said}");
    // The agent has not left; it is the gateway that ends.
    let status = scene.gateway.wait().unwrap();
    assert_eq!(status.code(), Some(1));
    let mut notes = String::new();
    scene.gateway.stderr.take().unwrap().read_to_string(&mut notes).unwrap();
    assert!(notes.contains("it has ended the session"), "{notes}");
}

#[test]
fn a_denied_call_is_not_sent() {
    let mut scene = Scene::new(|asked| {
        let tools = json!({"jsonrpc": "2.0", "id": asked.message()["id"], "result": {"tools": [{"name": "fine"}]}});
        json_body(&if asked.is("tools/list") { tools } else { answer(&json!({})) })
    });
    for (tool, fails) in [("other", true), ("fine", false)] {
        scene.send(&json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}));
        assert_eq!(scene.hear()["result"]["isError"] == true, fails, "{tool}");
    }
    assert_eq!(scene.asked(|asked| asked.is("tools/call")).message()["params"]["name"], "fine");
}
