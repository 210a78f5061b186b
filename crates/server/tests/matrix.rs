//! Every route, for everybody: a golden table. A change of who may do what is a change of a line that a person reads.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod door;

use std::collections::{BTreeSet, HashMap};
use std::fmt::Write as _;

use door::{Door, read};
use mayi_server::principal::Role;
use serde_json::{Value, json};

/// The table: method and path, then the status for nobody, for a token that is not good, and for each role. Routes that
/// read a body or a query stand there twice: what cannot be read must not be told to who may not come in anyway.
const TABLE: &str = include_str!("matrix.txt");
const WRONG: &str = "mayi_gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

/// A body that a route takes from somebody, so that its answer tells of access and not of the body.
fn body(method: &str, path: &str, token: Option<&str>) -> Option<Value> {
    match (method, path) {
        ("POST", "/v1/decide") => {
            Some(json!({"tool": "Bash", "input": {"command": "ls"}, "settings": {}, "cwd": "/w"}))
        }
        ("POST", "/v1/sessions") => Some(json!({"agent": "test", "directory": "/w", "host": "h"})),
        ("PATCH", "/v1/sessions/{id}") => Some(json!({"mode": "plan"})),
        ("POST", "/v1/approvals") => Some(json!({"question": {"tool": "Bash", "input": {}, "cwd": "/w"}})),
        ("POST", "/v1/approvals/{id}/answer") => Some(json!({"verdict": "deny", "digest": "x"})),
        // Records belong to whoever shipped the first of them, so everybody brings their own.
        ("POST", "/v1/audit") => Some(json!({"source": token.unwrap_or("nobody"), "first": 0, "records": []})),
        ("POST", "/v1/audit/replay") => Some(json!({"settings": {}})),
        ("POST", "/v1/policy/diff") => Some(json!({"old": {}, "new": {}})),
        ("POST", "/v1/tokens") => Some(json!({"name": "n", "role": "agent"})),
        ("POST", "/v1/sign-in") => Some(json!({"code": "nobody"})),
        ("POST", _) => Some(json!({})),
        _ => None,
    }
}

/// What a request brings besides its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Brings {
    /// What the route takes.
    Good,
    /// JSON that no route takes.
    BadBody,
    /// A query in which no number is one.
    BadQuery,
}

impl Brings {
    fn words(self) -> &'static str {
        match self {
            Brings::Good => "",
            Brings::BadBody => " + bad body",
            Brings::BadQuery => " + bad query",
        }
    }
}

fn routes(door: &Door) -> BTreeSet<(String, String, Brings)> {
    let document = door.get("/v1/openapi.json").send().json();
    let mut routes = BTreeSet::new();
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, route) in methods.as_object().unwrap() {
            let mut add = |brings| routes.insert((path.clone(), method.to_ascii_uppercase(), brings));
            add(Brings::Good);
            if route["requestBody"].is_object() {
                add(Brings::BadBody);
            }
            let asks = |parameter: &Value| parameter["in"] == "query" && path.starts_with("/v1/");
            if route["parameters"].as_array().is_some_and(|parameters| parameters.iter().any(asks)) {
                add(Brings::BadQuery);
            }
        }
    }
    routes
}

fn status(door: &Door, (method, path, brings): (&str, &str, Brings), token: Option<&str>) -> u16 {
    let mut place = path.replace("{id}", "none");
    if brings == Brings::BadQuery {
        place.push_str("?limit=x&since=x&wait_seconds=x&counters=x");
    }
    let body = if brings == Brings::BadBody { Some(json!("no such thing")) } else { body(method, path, token) };
    let mut ask = match body {
        Some(body) => door.ask(method, &place).header("content-type", "application/json").body(body.to_string()),
        None => door.ask(method, &place),
    };
    if let Some(token) = token {
        ask = ask.token(token);
    }
    ask.status()
}

#[test]
fn every_route_is_for_whom_the_table_says() {
    let door = Door::open();
    let mut table = String::new();
    for (path, method, brings) in routes(&door) {
        let who = [None, Some(WRONG)].into_iter().chain(Role::ALL.map(|role| Some(door.token(role))));
        let statuses: Vec<String> = who.map(|who| status(&door, (&method, &path, brings), who).to_string()).collect();
        let row = format!("{method} {path}{}", brings.words());
        writeln!(table, "{row:<44} {}", statuses.join(" ")).unwrap();
    }
    let expected: String =
        TABLE.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert_eq!(table, expected, "\n{table}");
}

#[test]
fn nothing_but_what_is_meant_for_everybody_is_open_to_nobody() {
    let open =
        ["GET /healthz", "GET /readyz", "GET /metrics", "GET /v1/policy/key", "POST /v1/sign-in", "POST /v1/sign-out"];
    for (route, statuses, line) in rows() {
        assert_eq!(statuses.len(), 6, "{line}");
        let is_open = open.contains(&route.as_str()) || route.starts_with("GET /sign-in/");
        assert_eq!(statuses[0] == "401", !is_open, "{line}");
        assert_eq!(statuses[1], "401", "{line}: a token that is not good is never passed over");
        if route.ends_with("/answer") || route.contains("/v1/tokens") {
            assert_eq!(statuses[2], "403", "{line}: an agent never answers and never governs");
        }
    }
}

/// The table: a route, its statuses, and the whole line.
fn rows() -> impl Iterator<Item = (String, Vec<&'static str>, &'static str)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let (row, statuses) = line.split_at(44);
        let route = row.split(" + ").next().unwrap().trim();
        (route.to_owned(), statuses.split_whitespace().collect(), line)
    })
}

#[test]
fn whoever_may_not_come_in_learns_nothing_from_a_bad_body_or_query() {
    let good: HashMap<String, Vec<&str>> =
        rows().filter(|row| !row.2.contains(" + ")).map(|(route, statuses, _)| (route, statuses)).collect();
    for (route, statuses, line) in rows().filter(|row| row.2.contains(" + ")) {
        for (role, (bad, good)) in statuses.iter().zip(&good[&route]).enumerate() {
            // Those who see may decide without a trace, and approvers see decisions: the body or the query says so.
            let told_by_it =
                *good == "403" && role >= 3 && ["POST /v1/decide", "GET /v1/audit"].contains(&route.as_str());
            if ["401", "403"].contains(good) && !told_by_it {
                assert_eq!(bad, good, "{line}");
            }
        }
    }
}

#[test]
fn the_document_lists_every_route_with_its_failures() {
    let door = Door::open();
    let document = door.get("/v1/openapi.json").send().json();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"), "{}", document["openapi"]);
    let listed = routes(&door);
    let contract = include_str!("routes.txt").lines().filter_map(|line| line.split_once(' '));
    for (method, path) in contract {
        assert!(listed.contains(&(path.to_owned(), method.to_owned(), Brings::Good)), "{method} {path} is missing");
    }
    for (path, methods) in document["paths"].as_object().unwrap() {
        for (method, route) in methods.as_object().unwrap() {
            let responses = route["responses"].as_object().unwrap();
            for status in ["401", "403", "405", "413", "429", "500", "503"] {
                assert!(responses.contains_key(status), "{method} {path} says nothing of {status}");
            }
        }
    }
    assert!(document["components"]["schemas"]["Failure"].is_object());
    assert!(document["components"]["securitySchemes"]["token"].is_object());
}

#[test]
fn streams_are_counted_and_end_with_the_server() {
    use std::io::{Read, Write};
    let door = Door::open();
    let mut stream = door.connect();
    stream.write_all(&door.get("/v1/events").role(Role::Admin).text()).unwrap();
    let answer = read(&mut stream);
    assert_eq!(answer.status, 200, "{answer:?}");
    assert!(door.get("/metrics").send().body.contains("mayi_event_streams 1"));
    door.end().unwrap();
    let mut rest = Vec::new();
    // However it ends, it does.
    let _ = stream.read_to_end(&mut rest);
}
