//! `mayi gateway` as a process: what it leaves on its outputs, how it ends, and that it leaves nobody behind.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

/// A server in a few lines: lists its tool, and answers every other request with what it was sent.
const ECHO: &str = r#"while IFS= read -r line; do case $line in
    *tools/list*) id=${line#*'"id":"'}; printf '{"id":"%s","result":{"tools":[{"name":"t"}]}}\n' "${id%%'"'*}";;
    *) printf '{"jsonrpc":"2.0","id":1,"result":{"heard":%s}}\n' "$line";;
esac; done"#;

const PING: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n";

fn gateway(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_mayi"));
    command.arg("gateway").args(arguments).current_dir(home).env_clear().env("HOME", home);
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn piped(home: &Path, arguments: &[&str], input: &str) -> Output {
    fed(gateway(home, arguments), input)
}

fn fed(mut gateway: Command, input: &str) -> Output {
    let mut child = gateway.spawn().unwrap();
    // A gateway that refuses its arguments does not read.
    let _ = child.stdin.take().unwrap().write_all(input.as_bytes());
    child.wait_with_output().unwrap()
}

fn ends_within(mut child: Child, time: Duration) -> std::process::ExitStatus {
    let (send, receive) = std::sync::mpsc::channel();
    std::thread::spawn(move || send.send(child.wait().unwrap()));
    receive.recv_timeout(time).expect("the gateway does not end")
}

fn is_running(pid: &str) -> bool {
    // A process that is dead but not collected yet runs no more.
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The system takes a moment to end what was killed.
fn all_are_gone(pids: &[String]) -> bool {
    let since = Instant::now();
    while pids.iter().any(|pid| is_running(pid)) {
        if since.elapsed() > Duration::from_secs(10) {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

#[test]
fn a_pipe_is_answered_and_the_output_is_protocol_alone() {
    let home = tempfile::tempdir().unwrap();
    let noisy = format!("echo this is no message; echo noise >&2; {ECHO}");
    let output = piped(home.path(), &["--", "sh", "-c", &noisy], PING);
    let said = String::from_utf8(output.stdout).unwrap();
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(r#""heard":{"jsonrpc":"2.0","id":1,"method":"ping"}"#), "{said}");
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("noise") && notes.contains("is no message"), "{notes}");
    assert_eq!(output.status.code(), Some(0), "{notes}");
}

#[test]
fn a_call_is_decided_by_the_settings_that_are_given() {
    let home = tempfile::tempdir().unwrap();
    for (list, runs) in [("allow", true), ("deny", false), ("ask", false)] {
        let settings = format!(r#"{{"permissions":{{"{list}":["mcp__s__t"]}}}}"#);
        let output = piped(home.path(), &["--name", "s", "--settings", &settings, "--", "sh", "-c", ECHO], CALL);
        let said = String::from_utf8(output.stdout).unwrap();
        assert_eq!(said.contains("heard"), runs, "{list}: {said}");
        assert_eq!(said.contains(r#""isError":true"#), !runs, "{list}: {said}");
    }
}

const CALL: &str = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"t\"}}\n";

/// What a gateway whose own rules allow the call says to it, started by an agent with these variables.
fn led(home: &Path, variables: &[(&str, &str)]) -> Output {
    let settings = r#"{"permissions":{"allow":["mcp__s__t"]}}"#;
    let mut command = gateway(home, &["--name", "s", "--settings", settings, "--", "sh", "-c", ECHO]);
    command.envs(variables.iter().copied());
    fed(command, CALL)
}

#[test]
fn a_lead_binds_the_gateways_of_the_agents_it_starts() {
    let home = tempfile::tempdir().unwrap();
    let lead = home.path().join("lead");
    fs::create_dir_all(lead.join(".claude")).unwrap();
    let deny = r#"{"permissions":{"deny":["mcp__s__t"]}}"#;
    fs::write(lead.join(".claude/settings.json"), deny).unwrap();
    let said = |variables: &[(&str, &str)]| String::from_utf8(led(home.path(), variables).stdout).unwrap();
    assert!(said(&[]).contains("heard"));
    assert!(said(&[("MAYI_LEAD", "")]).contains("heard"));
    let unknown = said(&[("MAYI_LEAD", "the-lead")]);
    assert!(unknown.contains("`the-lead` is not known") && !unknown.contains("heard"), "{unknown}");
    // The lead asks once, and is known from then on.
    let mut asks = gateway(home.path(), &["--name", "s", "--session", "the-lead", "--", "sh", "-c", ECHO]);
    asks.current_dir(&lead);
    fed(asks, CALL);
    for inherit in ["ask", "bubble", "allow"] {
        let bound = said(&[("MAYI_LEAD", "the-lead"), ("MAYI_INHERIT", inherit)]);
        assert!(bound.contains("the lead `the-lead` may not either") && !bound.contains("heard"), "{bound}");
    }
}

/// What a gateway was given itself is not its lead's, wherever the lead works.
#[test]
fn rules_that_a_gateway_was_given_are_not_its_leads() {
    let home = tempfile::tempdir().unwrap();
    fed(gateway(home.path(), &["--name", "s", "--session", "the-lead", "--", "sh", "-c", ECHO]), CALL);
    let settings = r#"{"permissions":{"allow":["mcp__s__t"]}}"#;
    for given in [["--settings", settings], ["--allowed-tools", "mcp__s__t"]] {
        let mut command = gateway(home.path(), &[&["--name", "s"], &given[..], &["--", "sh", "-c", ECHO]].concat());
        assert!(String::from_utf8(fed(command, CALL).stdout).unwrap().contains("heard"), "{given:?}");
        command = gateway(home.path(), &[&["--name", "s"], &given[..], &["--", "sh", "-c", ECHO]].concat());
        command.env("MAYI_LEAD", "the-lead");
        let said = String::from_utf8(fed(command, CALL).stdout).unwrap();
        assert!(!said.contains("heard"), "{given:?}: {said}");
    }
}

#[test]
fn an_inheritance_that_nobody_knows_is_a_wrong_argument() {
    let home = tempfile::tempdir().unwrap();
    let output = led(home.path(), &[("MAYI_LEAD", "the-lead"), ("MAYI_INHERIT", "whatever")]);
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("MAYI_INHERIT is ask, bubble or allow, not `whatever`"), "{notes}");
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(2), &b""[..]));
}

#[test]
fn a_server_that_ends_ends_the_gateway_with_an_error() {
    let home = tempfile::tempdir().unwrap();
    let mut child = gateway(home.path(), &["--name", "s", "--", "sh", "-c", "read -r line; exit 3"]).spawn().unwrap();
    // Held open: it is the server that leaves, not the agent.
    let mut input = child.stdin.take().unwrap();
    input.write_all(PING.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains(r#""error""#) && said.contains("the server `s` is gone"), "{said}");
    let notes = String::from_utf8(output.stderr).unwrap();
    assert!(notes.contains("the server `s` is gone: it ended with exit code 3"), "{notes}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn a_server_that_cannot_be_started_is_told_of() {
    let home = tempfile::tempdir().unwrap();
    let output = piped(home.path(), &["--", "there-is-no-such-program"], PING);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(1), &b""[..]));
    assert!(String::from_utf8(output.stderr).unwrap().contains("`there-is-no-such-program` cannot be started"));
}

/// A server that heeds neither the end of its input nor a polite signal, and has started another process.
const STUBBORN: &str = r#"trap '' TERM HUP; sleep 1000 & echo "$$ $!" > pids.new; mv pids.new pids; echo '{"method":"ready"}'; while :; do sleep 1000; done"#;

/// The processes of the stubborn server, once it has started.
fn pids(home: &Path) -> Vec<String> {
    let since = Instant::now();
    while !home.join("pids").exists() {
        assert!(since.elapsed() < Duration::from_secs(60), "the server does not start");
        std::thread::yield_now();
    }
    let pids: Vec<String> =
        fs::read_to_string(home.join("pids")).unwrap().split_whitespace().map(str::to_owned).collect();
    assert!(pids.len() == 2 && pids.iter().all(|pid| is_running(pid)));
    pids
}

fn stubborn(home: &Path) -> (Child, Vec<String>) {
    let child = gateway(home, &["--", "sh", "-c", STUBBORN]).spawn().unwrap();
    let pids = pids(home);
    (child, pids)
}

fn signal(child: &Child, name: &str) {
    let kill = format!("kill -{name} {}", child.id());
    assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
}

#[test]
fn nobody_is_left_behind_when_the_agent_leaves() {
    let home = tempfile::tempdir().unwrap();
    let (mut child, pids) = stubborn(home.path());
    drop(child.stdin.take());
    assert_eq!(ends_within(child, Duration::from_secs(30)).code(), Some(0));
    assert!(all_are_gone(&pids));
}

#[test]
fn nobody_is_left_behind_when_a_signal_comes() {
    for signal in ["TERM", "INT", "HUP"] {
        let home = tempfile::tempdir().unwrap();
        let (child, pids) = stubborn(home.path());
        self::signal(&child, signal);
        assert_eq!(ends_within(child, Duration::from_secs(30)).code(), Some(0));
        assert!(all_are_gone(&pids), "{signal}");
    }
}

#[test]
fn arguments_that_make_no_sense_are_refused_without_showing_secrets() {
    let home = tempfile::tempdir().unwrap();
    let rows: [(&[&str], i32, &str); 13] = [
        (&[], 2, "required"),
        (&["--url", "https://x.example", "--", "sh"], 2, "cannot be used with"),
        (&["--header", "A: hush", "--", "sh"], 2, "cannot be used with"),
        (&["--url", "https://x.example", "--header", "hush"], 2, "'Name: value'"),
        (&["--url", "https://x.example", "--header", "A b: hush"], 1, "no name of a header"),
        (&["--url", "https://x.example", "--header-env", "A=NOT_SET"], 1, "`NOT_SET`"),
        (&["--url", "http://x.example/?k=hush"], 1, "help: use https"),
        (&["--listen", "0.0.0.0:0", "--", "sh"], 1, "help: use 127.0.0.1"),
        (&["--listen", "0.0.0.0:0", "--path", "nomp", "--", "sh"], 2, "a --path begins with `/`"),
        (&["--listen", "0.0.0.0:0", "--path", "/a?b", "--", "sh"], 2, "a --path begins with `/`"),
        (&["--listen", "0.0.0.0:0", "--path", "", "--", "sh"], 2, "a --path begins with `/`"),
        (&["--name", "é", "--", "sh"], 2, "no rule can say the name `é`"),
        (&["--name", "", "--", "sh"], 2, "no rule can say the name ``"),
    ];
    for (arguments, code, words) in rows {
        let output = piped(home.path(), arguments, "");
        let notes = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {notes}");
        assert!(notes.contains(words) && !notes.contains("hush"), "{arguments:?}: {notes}");
    }
}

const INITIALIZE: &str = r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{}}"#;

/// Where a gateway says that it listens.
fn address(gateway: &mut Child) -> String {
    let mut line = String::new();
    BufReader::new(gateway.stderr.as_mut().unwrap()).read_line(&mut line).unwrap();
    line.trim().split("http://").nth(1).unwrap().strip_suffix("/mcp").unwrap().to_owned()
}

/// Speaks HTTP by hand, so that every header is ours.
fn http(address: &str, request: &str) -> String {
    let mut stream = std::net::TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut said = String::new();
    for line in BufReader::new(stream).lines() {
        let Ok(line) = line else { break };
        said += &format!("{line}\n");
        // The last piece of a body in pieces.
        if line == "0" {
            break;
        }
    }
    said
}

#[test]
fn over_http_only_this_machine_is_served() {
    let home = tempfile::tempdir().unwrap();
    let mut child = gateway(home.path(), &["--listen", "127.0.0.1:0", "--", "sh", "-c", ECHO]).spawn().unwrap();
    let address = address(&mut child);
    let post = |headers: &str, body: &str| {
        let length = body.len();
        format!("POST /mcp HTTP/1.1\r\nConnection: close\r\nContent-Length: {length}\r\n{headers}\r\n\r\n{body}")
    };
    let json = "Content-Type: application/json";
    let rows = [
        (post(&format!("Host: {address}\r\n{json}"), INITIALIZE), "200"),
        (post(&format!("Host: {address}\r\n{json}\r\nOrigin: http://localhost:1"), INITIALIZE), "200"),
        (post(&format!("Host: rebound.example\r\n{json}"), INITIALIZE), "403"),
        (post(&format!("Host: {address}\r\n{json}\r\nOrigin: https://evil.example"), INITIALIZE), "403"),
        (post(&format!("Host: {address}\r\nContent-Type: text/plain"), INITIALIZE), "415"),
        (post(&format!("Host: {address}\r\n{json}"), "{"), "400"),
        (post(&format!("Host: {address}\r\n{json}"), PING), "400"),
        (post(&format!("Host: {address}\r\n{json}\r\nMcp-Session-Id: guessed"), PING), "404"),
        (format!("GET / HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"), "404"),
        (format!("PUT /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n"), "405"),
    ];
    for (request, status) in rows {
        let said = http(&address, &request);
        assert!(said.starts_with(&format!("HTTP/1.1 {status}")), "{request}\n{said}");
        if status == "200" {
            assert!(said.to_lowercase().contains("mcp-session-id: ") && said.contains("heard"), "{said}");
        }
    }
    signal(&child, "TERM");
    assert_eq!(ends_within(child, Duration::from_secs(30)).code(), Some(0));
}

#[test]
fn a_session_over_http_ends_with_the_gateway_though_a_request_is_open() {
    let home = tempfile::tempdir().unwrap();
    let mut child = gateway(home.path(), &["--listen", "127.0.0.1:0", "--", "sh", "-c", STUBBORN]).spawn().unwrap();
    let address = address(&mut child);
    let mut stream = std::net::TcpStream::connect(&address).unwrap();
    let head = format!("POST /mcp HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json");
    write!(stream, "{head}\r\nContent-Length: {}\r\n\r\n{INITIALIZE}", INITIALIZE.len()).unwrap();
    let pids = pids(home.path());
    signal(&child, "TERM");
    assert_eq!(ends_within(child, Duration::from_secs(20)).code(), Some(0));
    assert!(all_are_gone(&pids));
}
