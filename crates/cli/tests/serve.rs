//! `mayi serve` and `mayi token` as a person runs them.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use tempfile::TempDir;

fn mayi(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayi"));
    command.args(words).env_clear().env("HOME", home).current_dir(home).stdin(Stdio::null());
    command
}

fn said(output: &Output) -> (String, String) {
    (String::from_utf8_lossy(&output.stdout).into_owned(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A server that is killed when a test is done with it.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a server and reads its first line.
fn serve(home: &Path) -> (Running, String) {
    let mut command = mayi(home, &["serve", "--listen", "127.0.0.1:0"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    (Running(child), line)
}

fn status(address: &str, token: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    let request =
        format!("GET /v1/me HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer {token}\r\n\r\n");
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.split(' ').nth(1).unwrap().to_owned()
}

#[test]
fn a_server_says_one_line_and_ends_when_it_is_told_to() {
    let home = TempDir::new().unwrap();
    let (mut server, line) = serve(home.path());
    let address = line.strip_prefix("mayi serves at http://").unwrap().strip_suffix('\n').unwrap().to_owned();

    let made = mayi(home.path(), &["token", "create", "--role", "auditor", "--name", "a tool"]).output().unwrap();
    let token = said(&made).0.trim().to_owned();
    assert!(token.starts_with("mayi_u"), "{made:?}");
    assert_eq!(status(&address, &token), "200", "a running server knows it at once");

    let (listed, _) = said(&mayi(home.path(), &["token", "list", "--json"]).output().unwrap());
    assert!(!listed.contains(&token));
    let listed: serde_json::Value = serde_json::from_str(&listed).unwrap();
    let own = listed.as_array().unwrap().iter().find(|token| token["name"] == "a tool").unwrap();
    let id = own["id"].as_str().unwrap();
    assert!(mayi(home.path(), &["token", "revoke", id]).status().unwrap().success());
    let (shown, _) = said(&mayi(home.path(), &["token", "list"]).output().unwrap());
    assert!(shown.lines().any(|line| line.contains("revoked") && line.contains("a tool")), "{shown}");

    let terminated = Command::new("kill").args(["-TERM", &server.0.id().to_string()]).status().unwrap();
    assert!(terminated.success());
    assert!(server.0.wait().unwrap().success(), "it ends in order");
    let mut rest = String::new();
    server.0.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "one line is all that it says");
    let mut told = String::new();
    server.0.stderr.take().unwrap().read_to_string(&mut told).unwrap();
    for word in ["agent", "approver", "admin", "auditor", "/#sign-in="] {
        assert!(told.contains(word), "{word}: {told}");
    }
}

#[test]
fn mistakes_are_named() {
    let home = TempDir::new().unwrap();
    let table: [(&[&str], &str); 6] = [
        (&["serve", "--listen", "0.0.0.0:0"], "--behind-proxy"),
        (&["serve", "--listen", "127.0.0.1:0", "--store", "redis:x"], "sqlite:PATH"),
        (&["serve", "--url", "mayi.example"], "https://NAME"),
        (&["serve", "--tls-cert", "x.pem"], "--tls-key"),
        (&["token", "revoke", "none"], "there is no token `none`"),
        (&["token", "sign-in", "--role", "agent"], "an agent does not sign in"),
    ];
    for (words, expected) in table {
        let output = mayi(home.path(), words).output().unwrap();
        let (out, told) = said(&output);
        assert!(!output.status.success() && out.is_empty() && told.contains(expected), "{words:?}: {told}");
    }
}
