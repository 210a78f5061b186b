//! Who gets in, and who does not: a real server on a real socket.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod door;

use std::io::{Read, Write};
use std::time::{Duration, Instant};

use door::{Door, PATIENCE, read};
use mayi_server::http::accept::Bounds;
use mayi_server::http::limit::{Rate, Rates};
use mayi_server::principal::Role;
use serde_json::json;

const WRONG: &str = "mayi_gAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";

#[test]
fn a_request_for_another_host_is_refused_wherever_it_goes() {
    let door = Door::open();
    for path in ["/", "/healthz", "/v1/me", "/v1/openapi.json", "/metrics"] {
        for host in ["evil.example", "127.0.0.1.evil.example", "localhost.evil.example:80", "10.9.8.7", ""] {
            assert_eq!(door.get(path).host(host).role(Role::Admin).status(), 421, "{path} {host}");
        }
    }
    for host in ["localhost", "localhost:7878", "127.0.0.1", "[::1]:99"] {
        assert_eq!(door.get("/healthz").host(host).status(), 200, "{host}");
    }
    let absolute = door.get("http://evil.example/healthz").host("127.0.0.1");
    assert_eq!(absolute.status(), 421, "the line goes before the header");
    let twice = door.get("/healthz").header("host", "evil.example").send().status;
    assert!([400, 421].contains(&twice), "{twice}");
    // Without a proxy in front, nobody is believed about another host.
    assert_eq!(door.get("/healthz").host("evil.example").header("x-forwarded-host", "localhost").status(), 421);
}

#[test]
fn a_page_of_another_site_changes_nothing() {
    let door = Door::open();
    let own = format!("http://{}", door.address);
    let make = || door.post("/v1/tokens", &json!({"name": "x", "role": "agent"})).role(Role::Admin);
    assert_eq!(make().status(), 201, "no page at all");
    assert_eq!(make().header("origin", &own).status(), 201);
    assert_eq!(make().header("sec-fetch-site", "same-origin").status(), 201);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "https://evil.example", "", "http://localhost"]
    {
        assert_eq!(make().header("origin", origin).status(), 403, "{origin}");
    }
    for site in ["cross-site", "same-site", "whatever"] {
        assert_eq!(make().header("sec-fetch-site", site).status(), 403, "{site}");
    }
    let preflight = door.ask("OPTIONS", "/v1/tokens").header("origin", "http://evil.example").send();
    assert!(preflight.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{preflight:?}");
}

#[test]
fn a_link_signs_in_once_and_for_ten_minutes() {
    let door = Door::open();
    let bring = |code: &str| door.post("/v1/sign-in", &json!({"code": code})).status();
    assert_eq!(bring("nonsense"), 410);
    assert_eq!(bring(&"A".repeat(43)), 410);
    let brought: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| bring(door.code()))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(brought.iter().filter(|status| **status == 200).count(), 1, "{brought:?}");
    assert_eq!(brought.iter().filter(|status| **status == 410).count(), 7, "{brought:?}");

    let late = Door::open();
    late.later(10 * 60 * 1000);
    assert_eq!(late.post("/v1/sign-in", &json!({"code": late.code()})).status(), 410);
}

#[test]
fn a_cookie_needs_the_word_to_change_something_and_ends() {
    let door = Door::open();
    let (cookie, word) = door.sign_in();
    let me = door.get("/v1/me").header("cookie", &cookie).send();
    assert_eq!((me.status, me.json()["csrf"].as_str()), (200, Some(word.as_str())));
    let make = || door.post("/v1/tokens", &json!({"name": "x", "role": "agent"})).header("cookie", &cookie);
    assert_eq!(make().status(), 403, "without the word");
    assert_eq!(make().header("mayi-csrf", "").status(), 403);
    assert_eq!(make().header("mayi-csrf", "wrong").status(), 403);
    assert_eq!(make().header("mayi-csrf", &word).status(), 201);
    assert_eq!(make().header("mayi-csrf", &word).header("sec-fetch-site", "cross-site").status(), 403);
    let foreign = door.get("/v1/tokens").header("cookie", &cookie).header("sec-fetch-site", "cross-site");
    assert_eq!(foreign.status(), 401, "another site's page does not read in a person's name");

    let out = door.ask("POST", "/v1/sign-out").header("cookie", &cookie).header("mayi-csrf", &word).send();
    assert_eq!(out.status, 204, "{out:?}");
    assert!(out.header("set-cookie").unwrap().contains("Max-Age=0"));
    assert_eq!(door.get("/v1/me").header("cookie", &cookie).status(), 401, "signed out");
}

#[test]
fn a_cookie_ends_with_the_day() {
    let door = Door::open();
    let (cookie, _) = door.sign_in();
    door.later(12 * 60 * 60 * 1000 - 5000);
    assert_eq!(door.get("/v1/me").header("cookie", &cookie).status(), 200);
    door.later(10_000);
    assert_eq!(door.get("/v1/me").header("cookie", &cookie).status(), 401);
    assert_eq!(door.get("/healthz").header("cookie", &cookie).status(), 200, "what is open stays open");
}

#[test]
fn cookies_are_strict_and_not_for_scripts() {
    let door = Door::open();
    let answer = door.post("/v1/sign-in", &json!({"code": door.code()})).send();
    let cookie = answer.header("set-cookie").unwrap();
    for part in ["HttpOnly", "SameSite=Strict", "Path=/"] {
        assert!(cookie.contains(part), "{part}: {cookie}");
    }
    assert!(!answer.body.contains(cookie.split(['=', ';']).nth(1).unwrap()), "the secret is in the cookie alone");
}

#[test]
fn a_revoked_token_stops_within_seconds_and_an_expired_one_at_once() {
    let door = Door::open();
    let make = |days: Option<u64>| {
        let wanted = json!({"name": "short", "role": "auditor", "expires_days": days});
        door.post("/v1/tokens", &wanted).role(Role::Admin).send().json()
    };
    let made = make(None);
    let (token, id) = (made["token"].as_str().unwrap(), made["id"].as_str().unwrap());
    let comes = |token: &str| door.get("/v1/me").token(token).status();
    assert_eq!(comes(token), 200);
    let listed = door.get("/v1/tokens").role(Role::Admin).send().body;
    assert!(listed.contains(id) && !listed.contains(token), "{listed}");
    assert_eq!(door.ask("DELETE", &format!("/v1/tokens/{id}")).role(Role::Auditor).status(), 403);
    assert_eq!(door.ask("DELETE", &format!("/v1/tokens/{id}")).role(Role::Admin).status(), 200);
    assert_eq!(door.ask("DELETE", &format!("/v1/tokens/{id}")).role(Role::Admin).status(), 200, "again");
    assert_eq!(door.ask("DELETE", "/v1/tokens/none").role(Role::Admin).status(), 404);
    door.later(2000);
    assert_eq!(comes(token), 401);

    let made = make(Some(1));
    let token = made["token"].as_str().unwrap();
    door.later(24 * 60 * 60 * 1000 - 5000);
    assert_eq!(comes(token), 200);
    door.later(10_000);
    assert_eq!(comes(token), 401);
}

#[test]
fn what_is_no_token_is_refused_also_where_none_is_needed() {
    let door = Door::open();
    let shown = ["Bearer", "Bearer ", "Bearer x", "Basic dXNlcjpwYXNz", WRONG, "Bearer mayi_g"];
    for shown in shown.into_iter().map(str::to_owned).chain([format!("Bearer {WRONG}"), format!("Bearer {WRONG}x")]) {
        for path in ["/v1/me", "/healthz"] {
            assert_eq!(door.get(path).header("authorization", &shown).status(), 401, "{shown} {path}");
        }
    }
    let lower = format!("bearer {}", door.token(Role::Admin));
    assert_eq!(door.get("/v1/me").header("authorization", &lower).status(), 200);
}

#[test]
fn a_body_that_is_too_long_is_not_read() {
    let door = Door::open();
    let long = |many: usize| vec![b' '; many];
    let decide = |kind: &str, many: usize| {
        door.ask("POST", "/v1/decide").role(Role::Agent).header("content-type", kind).body(long(many)).status()
    };
    assert_eq!(decide("application/json", 1024 * 1024 + 1), 413);
    assert_ne!(decide("application/json", 1024 * 1024), 413);
    assert_ne!(decide("application/x-ndjson", 2 * 1024 * 1024), 413);
    assert_eq!(decide("application/x-ndjson", 16 * 1024 * 1024 + 1), 413);
    let unknown = door.ask("POST", "/v1/sign-in").header("content-type", "application/json").body(long(64 * 1024 + 1));
    assert_eq!(unknown.status(), 413, "strangers get less");
    let mut chunked = Vec::new();
    for _ in 0..20 {
        chunked.extend_from_slice(b"10000\r\n");
        chunked.extend_from_slice(&long(0x10000));
        chunked.extend_from_slice(b"\r\n");
    }
    chunked.extend_from_slice(b"0\r\n\r\n");
    let untold = door.ask("POST", "/v1/decide").role(Role::Agent).header("transfer-encoding", "chunked");
    assert_eq!(untold.body(chunked).status(), 413, "also when nobody said how long it is");
}

#[test]
fn a_header_that_comes_slowly_is_not_waited_for() {
    let door =
        Door::with(|options, _| options.bounds = Bounds { header: Duration::from_millis(300), ..Bounds::default() });
    let began = Instant::now();
    let mut stream = door.connect();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-slow: ").unwrap();
    let mut rest = Vec::new();
    // The server ends the connection; whether it says why does not matter.
    let _ = stream.read_to_end(&mut rest);
    assert!(began.elapsed() < PATIENCE, "it waited for ever");
    assert!(!rest.starts_with(b"HTTP/1.1 200"));
    let mut endless = door.connect();
    let line = format!("x: {}\r\n", "y".repeat(1000));
    let sent = (0..1000).try_for_each(|_| endless.write_all(line.as_bytes()));
    let mut answer = Vec::new();
    let read = endless.read_to_end(&mut answer);
    assert!(sent.is_err() || read.is_err() || !answer.starts_with(b"HTTP/1.1 200"), "a header without end is refused");
}

#[test]
fn too_many_connections_are_turned_away_and_their_places_given_back() {
    let door = Door::with(|options, _| options.bounds = Bounds { connections: 2, ..Bounds::default() });
    let mut first = door.connect();
    let mut second = door.connect();
    // Both are known to be in once they are answered.
    for stream in [&mut first, &mut second] {
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
        assert_eq!(read(stream).status, 200);
    }
    assert_eq!(read(&mut door.connect()).status, 503);
    drop((first, second));
    let began = Instant::now();
    while door.get("/healthz").status() != 200 {
        assert!(began.elapsed() < PATIENCE, "places are not given back");
    }
}

#[test]
fn those_who_come_too_often_are_told_when_to_come_again() {
    let few = Rate { per_second: 0.01, burst: 5.0 };
    let plenty = Rate { per_second: 1e6, burst: 1e6 };
    let tokens = Door::with(|options, _| options.rates = Rates { token: few, address: plenty, failures: plenty });
    let statuses: Vec<u16> = (0..7).map(|_| tokens.get("/v1/me").role(Role::Agent).status()).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
    assert_eq!(tokens.get("/v1/me").role(Role::Admin).status(), 200, "others are not held up");
    let refused = tokens.get("/v1/me").role(Role::Agent).send();
    assert!(refused.header("retry-after").unwrap().parse::<u64>().unwrap() > 0, "{refused:?}");

    let failing = Door::with(|options, _| options.rates = Rates { token: plenty, address: plenty, failures: few });
    assert_eq!(failing.get("/v1/me").role(Role::Admin).status(), 200);
    let statuses: Vec<u16> = (0..7).map(|_| failing.get("/v1/me").token(WRONG).status()).collect();
    assert_eq!(statuses, [401, 401, 401, 401, 401, 429, 429]);
    assert_eq!(failing.get("/v1/me").role(Role::Admin).status(), 200, "who is known is not held up by those who guess");

    let addresses = Door::with(|options, _| options.rates = Rates { token: plenty, address: few, failures: plenty });
    let statuses: Vec<u16> = (0..7).map(|_| addresses.get("/healthz").status()).collect();
    assert_eq!(statuses, [200, 200, 200, 200, 200, 429, 429]);
    assert_eq!(addresses.get("/healthz").role(Role::Agent).status(), 200);
}

#[test]
fn guesses_of_sign_in_codes_are_limited() {
    let door = Door::with(|options, _| {
        let plenty = Rate { per_second: 1e6, burst: 1e6 };
        options.rates = Rates { token: plenty, address: plenty, failures: Rate { per_second: 0.01, burst: 5.0 } };
    });
    let guess = || door.post("/v1/sign-in", &json!({"code": "A".repeat(43)})).status();
    let statuses: Vec<u16> = (0..7).map(|_| guess()).collect();
    assert_eq!(statuses, [410, 410, 410, 410, 410, 429, 429]);
}

#[test]
fn every_answer_tells_browsers_to_be_strict() {
    let door = Door::open();
    let answers = [
        door.get("/healthz").send(),
        door.get("/v1/me").send(),
        door.get("/v1/me").role(Role::Admin).send(),
        door.get("/nowhere").send(),
        door.ask("PUT", "/v1/me").role(Role::Admin).send(),
        door.get("/healthz").host("evil.example").send(),
    ];
    for answer in answers {
        let policy = answer.header("content-security-policy").unwrap();
        assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"), "{answer:?}");
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert_eq!(answer.header("referrer-policy"), Some("no-referrer"));
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{answer:?}");
        assert!(answer.headers.iter().all(|(name, _)| !name.starts_with("access-control-")), "{answer:?}");
        assert!(answer.header("server").is_none());
        if answer.status >= 400 {
            assert!(answer.json()["error"].is_string(), "{answer:?}");
        }
    }
    assert_eq!(door.ask("PUT", "/v1/me").role(Role::Admin).send().header("allow"), Some("GET,HEAD"));
}

#[test]
fn a_server_ends_in_order() {
    let door = Door::open();
    let mut idle = door.connect();
    idle.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    assert_eq!(read(&mut idle).status, 200);
    let address = door.address;
    door.end().unwrap();
    let mut rest = Vec::new();
    assert_eq!(idle.read_to_end(&mut rest).unwrap_or(0), 0, "the connection ends");
    assert!(std::net::TcpStream::connect(address).is_err(), "nobody listens");
}

#[test]
fn the_metrics_are_for_this_machine_and_for_those_who_may_see() {
    let door = Door::open();
    assert_eq!(door.get("/healthz").status(), 200);
    let text = door.get("/metrics").send().body;
    for name in [
        "mayi_http_requests_total",
        "mayi_http_request_duration_seconds",
        "mayi_store_up 1",
        "mayi_audit_records_total",
        "mayi_approvals_pending 0",
    ] {
        assert!(text.contains(name), "{name}\n{text}");
    }
    assert!(text.ends_with("# EOF\n"));
    assert_eq!(door.get("/metrics").role(Role::Agent).status(), 403);
    assert_eq!(door.get("/metrics").role(Role::Auditor).status(), 200);
    let proxied = Door::with(|options, _| options.front = mayi_server::access::site::Front::Proxy);
    assert_eq!(proxied.get("/metrics").status(), 200, "a scraper on this machine");
    assert_eq!(
        proxied.get("/metrics").header("x-forwarded-for", "127.0.0.1").status(),
        401,
        "somebody behind the proxy"
    );
}
