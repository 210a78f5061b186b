//! How a server starts, where it listens, and when it does not.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod door;

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use door::{Door, certificate, read, refused};
use mayi_server::Url;
use mayi_server::access::site::Front;
use mayi_server::http::tls::Files;
use mayi_server::principal::Role;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::json;

/// A connection that trusts the test's certificate alone.
fn encrypted(door: &Door) -> rustls::StreamOwned<rustls::ClientConnection, TcpStream> {
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(certificate().certificate).unwrap()).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = builder.with_root_certificates(roots).with_no_client_auth();
    let connection = rustls::ClientConnection::new(Arc::new(config), "localhost".try_into().unwrap()).unwrap();
    rustls::StreamOwned::new(connection, door.connect())
}

#[test]
fn a_server_with_a_certificate_speaks_tls_alone() {
    let door = Door::with(|options, _| options.tls = Some(certificate()));
    assert!(door.ready.address.starts_with("https://"), "{:?}", door.ready);
    let body = json!({"code": door.code()});
    let mut stream = encrypted(&door);
    stream.write_all(&door.post("/v1/sign-in", &body).text()).unwrap();
    let answer = read(&mut stream);
    assert_eq!(answer.status, 200, "{answer:?}");
    let cookie = answer.header("set-cookie").unwrap();
    assert!(cookie.starts_with("__Host-mayi=") && cookie.contains("; Secure"), "{cookie}");
    assert!(answer.header("strict-transport-security").is_some());

    let mut plain = door.connect();
    plain.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").unwrap();
    let mut rest = Vec::new();
    let _ = std::io::Read::read_to_end(&mut plain, &mut rest);
    assert!(!rest.starts_with(b"HTTP/"), "nothing is said in the clear");
}

#[test]
fn a_server_does_not_listen_beyond_this_machine_in_the_clear() {
    let said = refused(|options, _| options.listen = ([0, 0, 0, 0], 0).into());
    assert!(said.contains("`0.0.0.0:0`") && said.contains("help:") && said.contains("--behind-proxy"), "{said}");
    let proxied = Door::with(|options, _| {
        options.listen = ([0, 0, 0, 0], 0).into();
        options.front = Front::Proxy;
        options.url = Some(Url::parse("https://mayi.example").unwrap());
    });
    drop(proxied);
}

#[test]
fn a_server_says_why_it_does_not_start() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let said = refused(|options, _| options.listen = taken.local_addr().unwrap());
    assert!(said.contains("is taken") && said.contains("--listen"), "{said}");
    let said = refused(|options, _| options.store = "redis:x".to_owned());
    assert!(said.contains("no store") && said.contains("sqlite:PATH"), "{said}");
    let said = refused(|options, _| options.tls = Some(Files { certificate: "/none.pem".into(), ..certificate() }));
    assert!(said.contains("`/none.pem`"), "{said}");
    let said = refused(|options, _| options.tls = Some(Files { key: certificate().certificate, ..certificate() }));
    assert!(said.contains("private key"), "{said}");
    let oidc = json!({"server": {"oidc": {"issuer": "http://id.example", "clientId": "x"}}});
    let said = refused(|options, folder| options.settings = door::settings(folder, &oidc));
    assert!(said.contains("server.oidc.issuer"), "{said}");
}

#[test]
fn tokens_are_shown_on_the_very_first_start_and_a_link_on_every_one() {
    let folder = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}", folder.path().join("kept.db").display());
    let first = Door::with(|options, _| options.store = store.clone());
    assert_eq!(first.ready.tokens.len(), Role::ALL.len());
    let (token, code) = (first.token(Role::Auditor).to_owned(), first.code().to_owned());
    first.end().unwrap();
    let second = Door::with(|options, _| options.store = store);
    assert!(second.ready.tokens.is_empty(), "they are shown once");
    assert_ne!(code, second.code());
    let known = second.get("/v1/me").token(&token).send();
    assert_eq!((known.status, known.json()["role"].as_str()), (200, Some("auditor")));
    assert_eq!(
        second.post("/v1/sign-in", &json!({"code": code})).status(),
        200,
        "a link works on every server that has the store"
    );
}

#[test]
fn a_proxy_is_believed_about_host_and_scheme_and_nobody_else_is() {
    let door = Door::with(|options, _| {
        options.front = Front::Proxy;
        options.url = Some(Url::parse("https://mayi.example").unwrap());
    });
    let make = || door.post("/v1/tokens", &json!({"name": "x", "role": "agent"})).role(Role::Admin);
    assert_eq!(
        make().header("x-forwarded-host", "mayi.example").header("origin", "https://mayi.example").status(),
        201
    );
    assert_eq!(make().header("origin", "https://mayi.example").status(), 201, "a proxy that changes the host");
    assert_eq!(make().header("x-forwarded-host", "evil.example").status(), 421);
    assert_eq!(make().header("origin", "https://evil.example").status(), 403);
    let cookie = door.post("/v1/sign-in", &json!({"code": door.code()})).send();
    assert!(cookie.header("set-cookie").unwrap().starts_with("__Host-mayi="), "{cookie:?}");
    assert!(door.ready.link.starts_with("https://mayi.example/#sign-in="), "{}", door.ready.link);
}
