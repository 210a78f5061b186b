//! Signing in with an OpenID service: the whole way of a browser, with a service that checks what it is sent.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod door;

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use door::Door;
use mayi_server::Url;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// A service of the test's own, and what it does wrong.
struct Service {
    issuer: String,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    /// The query of the last authorization, by its code.
    begun: HashMap<String, HashMap<String, String>>,
    /// Claims that are put over the right ones.
    claims: Value,
    /// Why a request for a token was refused.
    refused: Vec<&'static str>,
}

impl Service {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let issuer = format!("http://{}", listener.local_addr().unwrap());
        let state = Arc::new(Mutex::new(State { claims: json!({}), ..State::default() }));
        let (own, shared) = (issuer.clone(), Arc::clone(&state));
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                answer(&mut stream.unwrap(), &own, &shared);
            }
        });
        Self { issuer, state }
    }

    /// The person says yes: the code that the service sends back.
    fn consents(&self, address: &str) -> (String, String) {
        let url = Url::parse(address).unwrap();
        let query: HashMap<String, String> = url.query_pairs().into_owned().collect();
        assert_eq!((query["response_type"].as_str(), query["code_challenge_method"].as_str()), ("code", "S256"));
        assert!(query["scope"].split(' ').any(|scope| scope == "openid"));
        let (code, state) = (format!("code-{}", query["state"]), query["state"].clone());
        self.state.lock().unwrap().begun.insert(code.clone(), query);
        (code, state)
    }
}

fn answer(stream: &mut TcpStream, issuer: &str, state: &Mutex<State>) {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    let (head, body) = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
            let told =
                head.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("content-length: ")?.parse().ok());
            if bytes.len() >= end + 4 + told.unwrap_or(0_usize) {
                break (head, String::from_utf8_lossy(&bytes[end + 4..]).into_owned());
            }
        }
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => return,
            Ok(many) => bytes.extend_from_slice(&piece[..many]),
        }
    };
    let (status, value) = match head.split(' ').nth(1) {
        Some("/.well-known/openid-configuration") => (
            200,
            json!({"issuer": issuer, "authorization_endpoint": format!("{issuer}/auth"), "token_endpoint": format!("{issuer}/token")}),
        ),
        Some("/token") => token(&head, &body, issuer, &mut state.lock().unwrap()),
        _ => (404, json!({})),
    };
    let text = value.to_string();
    let answer = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{text}",
        text.len()
    );
    let _ = stream.write_all(answer.as_bytes());
}

/// The token endpoint: the client's secret, the code, and the proof that belongs to it.
fn token(head: &str, body: &str, issuer: &str, state: &mut State) -> (u16, Value) {
    let form: HashMap<String, String> =
        Url::parse(&format!("http://x/?{body}")).unwrap().query_pairs().into_owned().collect();
    let secret = format!("authorization: basic {}", STANDARD.encode("mayi:hush"));
    let Some(begun) = state.begun.remove(&form["code"]) else {
        state.refused.push("code");
        return (400, json!({"error": "invalid_grant"}));
    };
    let proof = URL_SAFE_NO_PAD.encode(Sha256::digest(form["code_verifier"].as_bytes()));
    if !head.to_ascii_lowercase().contains(&secret.to_ascii_lowercase()) {
        state.refused.push("secret");
    }
    if proof != begun["code_challenge"] || form["redirect_uri"] != begun["redirect_uri"] {
        state.refused.push("proof");
    }
    if !state.refused.is_empty() {
        return (400, json!({"error": "invalid_grant"}));
    }
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let mut claims = json!({
        "iss": issuer, "aud": "mayi", "sub": "7", "iat": now, "exp": now + 300, "nonce": begun["nonce"],
        "email": "ann@example.com", "email_verified": true,
    });
    for (name, value) in state.claims.as_object().unwrap() {
        claims[name] = value.clone();
    }
    let token = format!("e30.{}.sig", URL_SAFE_NO_PAD.encode(claims.to_string()));
    (200, json!({"access_token": "a", "token_type": "Bearer", "id_token": token}))
}

fn door(service: &Service) -> Door {
    let oidc = json!({"issuer": service.issuer, "clientId": "mayi", "clientSecretEnv": "MAYI_TEST_CLIENT_SECRET",
        "roles": {"approver": ["ann@example.com"], "admin": ["groups:ops"], "auditor": ["*@audit.example"]}});
    Door::with(|options, folder| {
        options.settings = door::settings(folder, &json!({"server": {"oidc": oidc}}));
        options.variable = |name| (name == "MAYI_TEST_CLIENT_SECRET").then(|| "hush".to_owned());
    })
}

/// Goes as far as the way back from the service: where it leads, and the cookie of the browser.
fn begin(door: &Door, service: &Service) -> (String, String) {
    let answer = door.get("/sign-in/oidc").send();
    assert_eq!(answer.status, 303, "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.contains("HttpOnly") && cookie.contains("SameSite=Lax"), "{cookie}");
    let (code, state) = service.consents(answer.header("location").unwrap());
    let cookie = cookie.split(';').next().unwrap().to_owned();
    (format!("/sign-in/oidc/callback?code={code}&state={state}"), cookie)
}

#[test]
fn a_person_signs_in_and_gets_the_role_that_settings_give() {
    let service = Service::start();
    let door = door(&service);
    for (claims, role) in [
        (json!({}), "approver"),
        (json!({"groups": ["dev", "ops"]}), "admin"),
        (json!({"email": "bob@audit.example"}), "auditor"),
    ] {
        service.state.lock().unwrap().claims = claims;
        let (back, cookie) = begin(&door, &service);
        let answer = door.get(&back).header("cookie", &cookie).header("sec-fetch-site", "cross-site").send();
        assert_eq!((answer.status, answer.header("location")), (303, Some("/")), "{answer:?}");
        let signed_in = answer.header("set-cookie").unwrap().split(';').next().unwrap();
        let me = door.get("/v1/me").header("cookie", signed_in).send();
        assert_eq!(me.json()["role"], role, "{me:?}");
        assert_eq!(door.get(&back).header("cookie", &cookie).status(), 410, "the same way back does not work twice");
    }
    assert!(service.state.lock().unwrap().refused.is_empty());
}

#[test]
fn whoever_the_service_does_not_vouch_for_gets_nowhere() {
    let service = Service::start();
    let door = door(&service);
    for claims in [
        json!({"email": "eve@example.com"}),
        json!({"email_verified": false}),
        json!({"iss": "https://evil.example"}),
        json!({"aud": "other"}),
        json!({"nonce": "other"}),
        json!({"exp": 1}),
    ] {
        service.state.lock().unwrap().claims = claims.clone();
        let (back, cookie) = begin(&door, &service);
        let answer = door.get(&back).header("cookie", &cookie).send();
        assert_eq!(answer.status, 403, "{claims}: {answer:?}");
        assert!(answer.header("set-cookie").is_none(), "{answer:?}");
    }
}

#[test]
fn a_sign_in_belongs_to_the_browser_that_began_it() {
    let service = Service::start();
    let door = door(&service);
    let (back, cookie) = begin(&door, &service);
    assert_eq!(door.get(&back).status(), 403, "no cookie");
    let (_, other) = begin(&door, &service);
    assert_eq!(door.get(&back).header("cookie", &other).status(), 403, "another browser's cookie");
    let foreign = format!("{back}&iss=https%3A%2F%2Fevil.example");
    assert_eq!(door.get(&foreign).header("cookie", &cookie).status(), 403, "another service answers");
    assert_eq!(door.get("/sign-in/oidc/callback?error=access_denied").status(), 403);
    assert_eq!(door.get("/sign-in/oidc/callback").status(), 400);
    let (late, cookie) = begin(&door, &service);
    door.later(10 * 60 * 1000);
    assert_eq!(door.get(&late).header("cookie", &cookie).status(), 410, "too late");
    assert_eq!(Door::open().get("/sign-in/oidc").status(), 404, "no service is set up");
}
