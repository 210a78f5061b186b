//! Signing in against a service that answers well and one that does not, with a browser that is a few lines of HTTP.
//! Real services and real browsers are tried elsewhere.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod stand_in;

use std::time::Duration;

use mayi_identity::{BadCallback, Config, Identity, Problem, Purpose, StoreName, Trouble};
use mayi_settings::settings::Settings;
use secrecy::ExposeSecret;
use serde_json::{Value, json};
use stand_in::{Asked, Reply, StandIn};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

const SECRETS: [&str; 4] = ["code-hidden", "access-hidden", "refresh-hidden", "device-hidden"];
const WITHIN: Duration = Duration::from_secs(20);

fn identity(settings: Value, folder: &tempfile::TempDir) -> Identity {
    let mut settings: Settings = serde_json::from_value(json!({ "identity": settings })).unwrap();
    settings.identity.store = Some("file".to_owned());
    Identity::open(Config::of(&settings, &[]).in_state_folder(folder.path()))
}

fn parameters(text: &str) -> std::collections::BTreeMap<String, String> {
    let query = text.split_once('?').map_or(text, |(_, query)| query);
    let url = reqwest::Url::parse(&format!("http://x/?{query}")).unwrap();
    url.query_pairs().into_owned().collect()
}

/// Comes back from the service with these parameters.
async fn come_back(address: &str, with: &[(&str, &str)]) -> String {
    let mut target = reqwest::Url::parse(&parameters(address)["redirect_uri"]).unwrap();
    target.query_pairs_mut().extend_pairs(with);
    let port = target.port().unwrap();
    let mut stream = tokio::net::TcpStream::connect(("127.0.0.1", port)).await.unwrap();
    let path = format!("{}?{}", target.path(), target.query().unwrap());
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n\r\n").as_bytes()).await.unwrap();
    let mut page = String::new();
    stream.read_to_string(&mut page).await.unwrap();
    page
}

fn description(asked: &Asked, with: Value) -> Option<Reply> {
    let (path, _) = asked;
    path.contains("/.well-known/openid-configuration").then(|| Reply::json(200, with))
}

/// A service that describes itself by its own address, which it learns from settings: `HERE` stands for it.
async fn service(described: Value, answers: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static) -> StandIn {
    let here = std::sync::Arc::new(std::sync::OnceLock::<String>::new());
    let told = std::sync::Arc::clone(&here);
    let service = StandIn::start(move |number, asked| {
        let text = described.to_string().replace("HERE", told.get().unwrap());
        description(asked, serde_json::from_str(&text).unwrap()).unwrap_or_else(|| answers(number, asked))
    })
    .await;
    here.set(service.address.clone()).unwrap();
    service
}

fn full() -> Value {
    json!({
        "issuer": "HERE", "authorization_endpoint": "HERE/auth?tenant=1", "token_endpoint": "HERE/token",
        "device_authorization_endpoint": "HERE/device", "revocation_endpoint": "HERE/revoke",
        "scopes_supported": ["openid", "offline_access", "email"],
        "authorization_response_iss_parameter_supported": true,
    })
}

fn tokens() -> Reply {
    Reply::json(
        200,
        json!({"access_token": SECRETS[1], "refresh_token": SECRETS[2], "token_type": "bearer", "expires_in": 3600}),
    )
}

#[tokio::test]
async fn a_browser_signs_somebody_in() {
    let service = service(full(), |_, _| tokens()).await;
    let folder = tempfile::tempdir().unwrap();
    let identity = identity(json!({"issuer": service.address, "clientId": "app"}), &folder);
    let pending = identity.begin_sign_in().await.unwrap();
    let address = pending.address().to_owned();
    let asked = parameters(&address);
    let expected = [
        ("tenant", "1"),
        ("response_type", "code"),
        ("client_id", "app"),
        ("code_challenge_method", "S256"),
        ("scope", "openid offline_access"),
        ("prompt", "consent"),
    ];
    for (name, value) in expected {
        assert_eq!(asked[name], value, "{name}");
    }
    let state = asked["state"].clone();
    let answer = [("code", SECRETS[0]), ("state", state.as_str()), ("iss", service.address.as_str())];
    let (signed_in, page) = tokio::join!(pending.finish(WITHIN), come_back(&address, &answer));
    let signed_in = signed_in.unwrap();
    assert!(page.starts_with("HTTP/1.1 200"), "{page}");
    assert_eq!((signed_in.kept.store, signed_in.kept.newly_in_file), (StoreName::File, true));

    let exchange = parameters(&service.asked().last().unwrap().1);
    let verifier = oauth2::PkceCodeVerifier::new(exchange["code_verifier"].clone());
    let challenge = oauth2::PkceCodeChallenge::from_code_verifier_sha256(&verifier);
    assert_eq!(challenge.as_str(), asked["code_challenge"]);
    assert!((43..=128).contains(&exchange["code_verifier"].len()));
    assert_eq!(exchange["redirect_uri"], asked["redirect_uri"]);
    assert_eq!(exchange["code"], SECRETS[0]);
    assert!(!address.contains(&exchange["code_verifier"]));

    let credential = identity.credential(&Purpose::Server("https://s.example".to_owned())).await.unwrap().unwrap();
    assert_eq!(credential.secret.expose_secret(), SECRETS[1]);
}

#[tokio::test]
async fn somebody_who_names_the_service_once_need_not_name_it_again() {
    let service = service(full(), |_, _| tokens()).await;
    let folder = tempfile::tempdir().unwrap();
    let named = identity(json!({"issuer": service.address}), &folder);
    let pending = named.begin_sign_in().await.unwrap();
    let address = pending.address().to_owned();
    let state = parameters(&address)["state"].clone();
    let answer = [("code", "c"), ("state", state.as_str()), ("iss", service.address.as_str())];
    let (signed_in, _) = tokio::join!(pending.finish(WITHIN), come_back(&address, &answer));
    signed_in.unwrap();
    let unnamed = identity(json!({}), &folder);
    assert!(unnamed.credential(&Purpose::Server("https://s.example".to_owned())).await.unwrap().is_some());
}

#[tokio::test]
async fn what_comes_back_wrong_keeps_nothing() {
    let no = |code: &str| Problem::Service { code: code.to_owned(), description: None };
    let table: [(&[(&str, &str)], Problem); 4] = [
        (&[("code", SECRETS[0]), ("state", "guess")], Problem::Callback(BadCallback::State)),
        (&[("code", SECRETS[0]), ("state", "STATE")], Problem::Callback(BadCallback::NoIssuer)),
        (&[("error", "access_denied"), ("state", "STATE"), ("iss", "HERE")], no("access_denied")),
        (&[("code", SECRETS[0]), ("state", "STATE"), ("iss", "HERE")], no("invalid_grant")),
    ];
    for (answer, expected) in table {
        let service = service(full(), |_, _| Reply::json(400, json!({"error": "invalid_grant"}))).await;
        let folder = tempfile::tempdir().unwrap();
        let identity = identity(json!({"issuer": service.address}), &folder);
        let pending = identity.begin_sign_in().await.unwrap();
        let address = pending.address().to_owned();
        let state = parameters(&address)["state"].clone();
        let fill = |value: &'static str| match value {
            "STATE" => state.clone(),
            "HERE" => service.address.clone(),
            other => other.to_owned(),
        };
        let answer: Vec<(&str, String)> = answer.iter().map(|(name, value)| (*name, fill(value))).collect();
        let answer: Vec<(&str, &str)> = answer.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let (outcome, _) = tokio::join!(pending.finish(WITHIN), come_back(&address, &answer));
        let problem = outcome.unwrap_err();
        assert_eq!(problem, expected);
        assert!(SECRETS.iter().all(|secret| !format!("{problem} {problem:?}").contains(secret)));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{problem}");
    }
}

#[tokio::test]
async fn a_service_that_describes_itself_badly_is_not_signed_in_at() {
    let http = |what| Problem::Http { at: "127.0.0.1".to_owned(), what };
    let table = [
        (Reply::json(200, json!({"issuer": "https://evil.example"})), None),
        (Reply::json(200, "{}"), None),
        (Reply::json(200, "not json"), Some(http(Trouble::Unreadable))),
        (Reply { status: 200, kind: "text/html", body: "<p>".to_owned() }, Some(http(Trouble::Unreadable))),
        (Reply::json(404, ""), Some(http(Trouble::Status(404)))),
        (Reply::json(503, ""), Some(http(Trouble::Status(503)))),
        (Reply::json(302, ""), Some(http(Trouble::Redirected(302)))),
        (Reply::json(200, format!("\"{}\"", "x".repeat(300_000))), Some(http(Trouble::TooLong))),
    ];
    for (reply, expected) in table {
        let answer = reply.clone();
        let service = StandIn::start(move |_, _| answer.clone()).await;
        let folder = tempfile::tempdir().unwrap();
        let problem = identity(json!({"issuer": service.address}), &folder).begin_sign_in().await.unwrap_err();
        match expected {
            Some(expected) => assert_eq!(problem, expected, "{}", reply.status),
            None => assert!(matches!(problem, Problem::Discovery { .. }), "{problem}"),
        }
    }
}

#[tokio::test]
async fn endpoints_of_settings_need_no_description() {
    let service = StandIn::start(|_, _| Reply::json(404, "")).await;
    let here = &service.address;
    let folder = tempfile::tempdir().unwrap();
    let table = [
        (json!({"authorizationEndpoint": format!("{here}/a"), "tokenEndpoint": format!("{here}/t")}), None),
        (json!({"tokenEndpoint": format!("{here}/t")}), Some(Problem::NoEndpoint("authorizationEndpoint"))),
        (json!({"authorizationEndpoint": format!("{here}/a")}), Some(Problem::NoService)),
        (json!({}), Some(Problem::NoService)),
        (
            json!({"authorizationEndpoint": "http://a.example/a", "tokenEndpoint": format!("{here}/t")}),
            Some(Problem::Address { address: "http://a.example/a".to_owned() }),
        ),
    ];
    for (settings, expected) in table {
        let problem = identity(settings.clone(), &folder).begin_sign_in().await.err();
        assert_eq!(problem, expected, "{settings}");
    }
    assert!(service.asked().is_empty());
}

#[tokio::test]
async fn a_code_typed_elsewhere_signs_somebody_in() {
    let service = service(full(), |_, (path, form)| match path.as_str() {
        "/device" => Reply::json(
            200,
            json!({
                "device_code": SECRETS[3], "user_code": "AB\u{1b}CD", "verification_uri": "https://id.example/device",
                "verification_uri_complete": "https://id.example/device?c=ABCD", "expires_in": 60, "interval": 0,
            }),
        ),
        _ if form.contains("urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Adevice_code") => tokens(),
        _ => Reply::json(400, json!({"error": "invalid_request"})),
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let identity = identity(json!({"issuer": service.address}), &folder);
    let pending = identity.begin_device_sign_in().await.unwrap();
    assert_eq!((pending.code().as_str(), pending.address().as_str()), ("ABCD", "https://id.example/device"));
    assert_eq!(pending.address_with_code().as_deref(), Some("https://id.example/device?c=ABCD"));
    assert!(!format!("{pending:?}").contains(SECRETS[3]));
    pending.finish().await.unwrap();
    let credential = identity.credential(&Purpose::Server("https://s.example".to_owned())).await.unwrap().unwrap();
    assert_eq!(credential.secret.expose_secret(), SECRETS[1]);
}

#[tokio::test]
async fn a_code_that_nobody_takes_is_said_to_be_refused_or_too_old() {
    for code in ["access_denied", "expired_token"] {
        let answer = json!({"error": code});
        let service = service(full(), move |_, (path, _)| match path.as_str() {
            "/device" => Reply::json(
                200,
                json!({
                    "device_code": SECRETS[3], "user_code": "X", "verification_uri": "https://id.example",
                    "expires_in": 60, "interval": 0,
                }),
            ),
            _ => Reply::json(400, &answer),
        })
        .await;
        let folder = tempfile::tempdir().unwrap();
        let identity = identity(json!({"issuer": service.address}), &folder);
        let problem = identity.begin_device_sign_in().await.unwrap().finish().await.unwrap_err();
        assert_eq!(problem, Problem::Service { code: code.to_owned(), description: None });
    }
}
