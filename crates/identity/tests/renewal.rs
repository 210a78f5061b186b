//! The life of a sign-in against a service that misbehaves: what is renewed, what is kept, what is said, and what is
//! never asked twice.

#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "a test fails by panicking")]

mod stand_in;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use mayi_identity::store::Done;
use mayi_identity::store::file::FileStore;
use mayi_identity::{
    Config, Credential, Ended, Identity, Kind, Problem, Purpose, Store, StoreName, StoreProblem, Trouble,
};
use mayi_settings::settings::Settings;
use secrecy::{ExposeSecret, SecretString};
use serde_json::json;
use stand_in::{Reply, StandIn};

const SECRETS: [&str; 3] = ["access-old-hidden", "refresh-old-hidden", "refresh-new-hidden"];

fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
}

/// A folder with a sign-in at a service.
struct Home {
    folder: tempfile::TempDir,
    service: String,
}

impl Home {
    /// Signed in, with an access token that ends after this many seconds of an hour.
    fn signed_in(service: &str, left: i64) -> Self {
        let home = Self { folder: tempfile::tempdir().unwrap(), service: service.to_owned() };
        let record = json!({
            "version": 1, "access": SECRETS[0], "refresh": SECRETS[1], "generation": 7, "who": "ann", "life": "going",
            "obtained": now() - 3600, "expires": now().checked_add_signed(left).unwrap(),
            "service": {
                "name": service, "clientId": "mayi", "tokenEndpoint": format!("{service}/token"),
                "revocationEndpoint": format!("{service}/revoke"),
            },
        });
        let runtime = FileStore::in_folder(home.identity_folder().join("secrets"));
        mayi_settings::trust::make_private(&home.identity_folder()).unwrap();
        futures_block(runtime.save(&home.slot(), &record.to_string().into())).unwrap();
        let card = json!({"kept": {home.slot(): "file"}, "signIn": home.slot()});
        std::fs::write(home.identity_folder().join("card.json"), card.to_string()).unwrap();
        home
    }

    fn identity_folder(&self) -> PathBuf {
        self.folder.path().join("state/identity")
    }

    fn slot(&self) -> String {
        format!("sign-in:{}", self.service)
    }

    fn config(&self) -> Config {
        let settings = json!({"identity": {"issuer": self.service, "store": "file"}});
        let settings: Settings = serde_json::from_value(settings).unwrap();
        Config::of(&settings, &[]).in_state_folder(&self.folder.path().join("state"))
    }

    fn identity(&self) -> Identity {
        Identity::open(self.config())
    }

    fn kept(&self) -> serde_json::Value {
        let store = FileStore::in_folder(self.identity_folder().join("secrets"));
        let text = futures_block(store.load(&self.slot())).unwrap().unwrap();
        serde_json::from_str(text.expose_secret()).unwrap()
    }
}

/// The file store never waits.
fn futures_block<T>(work: Done<'_, T>) -> Result<T, StoreProblem> {
    let mut work = work;
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    match work.as_mut().poll(&mut context) {
        std::task::Poll::Ready(done) => done,
        std::task::Poll::Pending => panic!("the file store waits"),
    }
}

fn server() -> Purpose {
    Purpose::Server("https://mayi.example".to_owned())
}

fn new_tokens() -> Reply {
    let body = json!({
        "access_token": "access-new", "token_type": "Bearer", "expires_in": 3600, "refresh_token": SECRETS[2],
    });
    Reply::json(200, body)
}

fn secret(credential: &Credential) -> &str {
    credential.secret.expose_secret()
}

#[tokio::test]
async fn a_token_near_its_end_is_renewed_and_the_new_refresh_token_is_kept() {
    let service = StandIn::start(|_, _| new_tokens()).await;
    let home = Home::signed_in(&service.address, 60);
    let identity = home.identity();
    let credential = identity.credential(&server()).await.unwrap().unwrap();
    assert_eq!((secret(&credential), credential.kind), ("access-new", Kind::Bearer));
    assert!(credential.warning.is_none());
    let kept = home.kept();
    assert_eq!((&kept["refresh"], &kept["generation"], &kept["who"]), (&json!(SECRETS[2]), &json!(8), &json!("ann")));
    identity.credential(&server()).await.unwrap();
    home.identity().credential(&server()).await.unwrap();
    let asked = service.asked();
    assert_eq!(asked.len(), 1, "nobody asks again");
    assert_eq!(asked[0].0, "/token");
    for part in ["grant_type=refresh_token", "refresh_token=refresh-old-hidden", "client_id=mayi"] {
        assert!(asked[0].1.contains(part), "{}", asked[0].1);
    }
}

#[tokio::test]
async fn a_token_that_is_good_asks_nobody() {
    let service = StandIn::start(|_, _| new_tokens()).await;
    let home = Home::signed_in(&service.address, 600);
    let credential = home.identity().credential(&server()).await.unwrap().unwrap();
    assert_eq!(secret(&credential), SECRETS[0]);
    assert!(service.asked().is_empty());
}

#[tokio::test]
async fn many_who_need_a_renewal_at_once_share_one() {
    let service = StandIn::start(|_, _| new_tokens()).await;
    let home = Home::signed_in(&service.address, -10);
    let config = home.config();
    let tasks: Vec<_> = (0..20)
        .map(|_| {
            let identity = Identity::open(config.clone());
            tokio::spawn(async move { identity.credential(&server()).await })
        })
        .collect();
    for task in tasks {
        assert_eq!(secret(&task.await.unwrap().unwrap().unwrap()), "access-new");
    }
    assert_eq!(service.asked().len(), 1);
}

#[tokio::test]
async fn a_service_that_ends_a_sign_in_is_asked_once() {
    let table = [("invalid_grant", Ended::Grant), ("invalid_client", Ended::Client("invalid_client".to_owned()))];
    for (code, why) in table {
        let body = json!({"error": code, "error_description": "token refresh-old-hidden is gone"});
        let service = StandIn::start(move |_, _| Reply::json(400, &body)).await;
        let home = Home::signed_in(&service.address, 60);
        let identity = home.identity();
        let problem = identity.credential(&server()).await.unwrap_err();
        assert_eq!(problem, Problem::SignInAgain { at: service.address.clone(), why });
        for identity in [&identity, &home.identity()] {
            let again = identity.credential(&server()).await.unwrap_err();
            assert!(matches!(again, Problem::SignInAgain { .. }), "{again}");
        }
        assert_eq!(service.asked().len(), 1, "{code}");
        let standing = identity.standing(&server()).await;
        assert!(standing.problems.join(" ").contains("mayi login"), "{standing:?}");
        assert!(SECRETS.iter().all(|secret| !format!("{problem} {problem:?} {standing:?}").contains(secret)));
    }
}

#[tokio::test]
async fn what_may_pass_is_tried_three_times_and_the_old_token_serves_meanwhile() {
    let service = StandIn::start(|_, _| Reply { status: 503, kind: "text/html", body: "<p>busy".to_owned() }).await;
    let home = Home::signed_in(&service.address, 200);
    let credential = home.identity().credential(&server()).await.unwrap().unwrap();
    assert_eq!(secret(&credential), SECRETS[0]);
    let busy = Problem::Http { at: "127.0.0.1".to_owned(), what: Trouble::Status(503) };
    assert_eq!(credential.warning.as_deref(), Some(&busy));
    assert_eq!(service.asked().len(), 3);
    let expired = Home::signed_in(&service.address, -1);
    assert_eq!(expired.identity().credential(&server()).await.unwrap_err(), busy);
    assert_eq!(expired.kept()["refresh"], json!(SECRETS[1]), "nothing is lost");
}

#[tokio::test]
async fn a_failure_that_passes_is_followed_by_a_renewal() {
    let service = StandIn::start(|number, _| if number == 1 { Reply::json(500, "{}") } else { new_tokens() }).await;
    let home = Home::signed_in(&service.address, -1);
    assert_eq!(secret(&home.identity().credential(&server()).await.unwrap().unwrap()), "access-new");
}

#[tokio::test]
async fn answers_that_are_none_are_told_apart_and_never_repeated() {
    let long = "x".repeat(300_000);
    let token = |access: &str| json!({"access_token": access, "token_type": "Bearer", "refresh_token": SECRETS[2]});
    let http = |what| Problem::Http { at: "127.0.0.1".to_owned(), what };
    let no = |code: &str, description: Option<&str>| Problem::Service {
        code: code.to_owned(),
        description: description.map(str::to_owned),
    };
    let table = [
        (Reply { status: 200, kind: "text/html", body: "<p>sign in".to_owned() }, http(Trouble::Unreadable)),
        (Reply::json(200, "{\"access_token\": \"refresh-new-hidden"), http(Trouble::Unreadable)),
        (Reply::json(200, "{}"), http(Trouble::Unreadable)),
        (Reply::json(200, "[]"), http(Trouble::Unreadable)),
        (Reply::json(200, ""), http(Trouble::Unreadable)),
        (Reply::json(200, &long), http(Trouble::TooLong)),
        (Reply::json(302, "{}"), http(Trouble::Redirected(302))),
        (Reply::json(200, token("")), Problem::Token("is empty")),
        (Reply::json(200, token(&"x".repeat(100_000))), Problem::Token("is longer than 32,768 bytes")),
        (Reply::json(200, token("two words")), Problem::Token("holds letters that cannot be sent")),
        (Reply::json(200, json!({"access_token": "a", "token_type": "mac"})), Problem::Token("is no bearer token")),
        (Reply::json(400, json!({"error": "invalid_scope"})), no("invalid_scope", None)),
        (
            Reply::json(400, json!({"error": "Refresh-Old-Hidden", "error_description": "\u{1b}[2Jno\n"})),
            no("an unknown error", Some("[2Jno")),
        ),
    ];
    for (reply, expected) in table {
        let answer = reply.clone();
        let service = StandIn::start(move |_, _| answer.clone()).await;
        let home = Home::signed_in(&service.address, -1);
        let problem = home.identity().credential(&server()).await.unwrap_err();
        assert_eq!(problem, expected, "{} {}", reply.status, reply.body.get(..60).unwrap_or(&reply.body));
        let shown = format!("{problem} {problem:?}");
        assert!(SECRETS.iter().all(|secret| !shown.contains(secret)), "{shown}");
        assert_eq!(home.kept()["refresh"], json!(SECRETS[1]));
        assert_eq!(service.asked().len(), 1, "what will not pass is asked once");
    }
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let service = StandIn::start(|_, _| new_tokens()).await;
    let home = Home::signed_in(&service.address, 3000);
    let identity = home.identity();
    let old = identity.credential(&server()).await.unwrap().unwrap();
    let new = identity.refused(&server(), &old).await.unwrap().unwrap();
    assert_eq!(secret(&new), "access-new");
    let late = home.identity().refused(&server(), &old).await.unwrap().unwrap();
    assert_eq!(secret(&late), "access-new", "another process finds it renewed");
    assert_eq!(service.asked().len(), 1);
}

/// A store that can be switched to refuse writing, at once or once the service has been asked.
#[derive(Clone, Debug)]
struct Sulky {
    inner: FileStore,
    refuses: Arc<AtomicBool>,
}

impl Store for Sulky {
    fn name(&self) -> StoreName {
        StoreName::File
    }

    fn limit(&self) -> usize {
        self.inner.limit()
    }

    fn load<'a>(&'a self, slot: &'a str) -> Done<'a, Option<SecretString>> {
        self.inner.load(slot)
    }

    fn save<'a>(&'a self, slot: &'a str, secret: &'a SecretString) -> Done<'a, ()> {
        if self.refuses.load(Ordering::SeqCst) {
            let full = StoreProblem::Io { path: "/full".into(), what: "no space left on device".to_owned() };
            return Box::pin(async move { Err(full) });
        }
        self.inner.save(slot, secret)
    }

    fn remove<'a>(&'a self, slot: &'a str) -> Done<'a, bool> {
        self.inner.remove(slot)
    }
}

fn sulky(folder: &Path, refuses: &Arc<AtomicBool>) -> Vec<Box<dyn Store>> {
    let inner = FileStore::in_folder(folder.join("secrets"));
    vec![Box::new(Sulky { inner, refuses: Arc::clone(refuses) })]
}

#[tokio::test]
async fn a_store_that_cannot_be_written_costs_no_refresh_token() {
    let service = StandIn::start(|_, _| new_tokens()).await;
    let refuses = Arc::new(AtomicBool::new(true));
    let home = Home::signed_in(&service.address, 200);
    let identity = Identity::with_stores(home.config(), sulky(&home.identity_folder(), &refuses));
    let credential = identity.credential(&server()).await.unwrap().unwrap();
    assert_eq!(secret(&credential), SECRETS[0]);
    assert!(credential.warning.unwrap().to_string().contains("no space left"));
    assert!(service.asked().is_empty());
}

#[tokio::test]
async fn new_tokens_that_cannot_be_kept_are_served_and_kept_later() {
    let refuses = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&refuses);
    let service = StandIn::start(move |_, _| {
        switch.store(true, Ordering::SeqCst);
        new_tokens()
    })
    .await;
    let home = Home::signed_in(&service.address, -1);
    let identity = Identity::with_stores(home.config(), sulky(&home.identity_folder(), &refuses));
    for _ in 0..2 {
        let credential = identity.credential(&server()).await.unwrap().unwrap();
        assert_eq!(secret(&credential), "access-new");
        assert!(credential.warning.is_some(), "and it is said");
    }
    assert_eq!(home.kept()["refresh"], json!(SECRETS[1]));
    refuses.store(false, Ordering::SeqCst);
    let credential = identity.credential(&server()).await.unwrap().unwrap();
    assert!(credential.warning.is_none());
    assert_eq!(home.kept()["refresh"], json!(SECRETS[2]));
    assert_eq!(service.asked().len(), 1);
}

#[tokio::test]
async fn a_renewal_outlives_whoever_ran_out_of_patience() {
    let service = StandIn::start(|_, _| new_tokens()).await;
    let home = Home::signed_in(&service.address, -1);
    let identity = home.identity();
    let purpose = server();
    let was_asked = async {
        while service.asked().is_empty() {
            tokio::task::yield_now().await;
        }
    };
    tokio::select! {
        biased;
        () = was_asked => {}
        _ = identity.credential(&purpose) => panic!("it was answered before it was asked"),
    }
    let is_kept = async {
        while home.kept()["generation"] != 8 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(std::time::Duration::from_secs(30), is_kept).await.unwrap();
    assert_eq!(home.kept()["refresh"], json!(SECRETS[2]));
}

#[tokio::test]
async fn a_renewal_that_a_new_sign_in_overtook_is_dropped() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secrets").join("place");
    let place = path.clone();
    let service = StandIn::start(move |_, _| {
        let file: PathBuf = std::fs::read_to_string(&place).unwrap().into();
        let newer = std::fs::read_to_string(&file).unwrap().replace("\"generation\":7", "\"generation\":9");
        std::fs::write(&file, newer.replace(SECRETS[0], "access-newest")).unwrap();
        new_tokens()
    })
    .await;
    let home = Home::signed_in(&service.address, -1);
    let file = FileStore::in_folder(home.identity_folder().join("secrets")).path(&home.slot());
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, file.to_str().unwrap()).unwrap();
    assert_eq!(home.identity().credential(&server()).await.unwrap_err(), Problem::Superseded);
    assert_eq!((&home.kept()["generation"], &home.kept()["access"]), (&json!(9), &json!("access-newest")));
}

#[tokio::test]
async fn a_renewal_brings_nobody_back_who_signed_out_meanwhile() {
    let card = Arc::new(std::sync::OnceLock::<PathBuf>::new());
    let place = Arc::clone(&card);
    let service = StandIn::start(move |_, _| {
        std::fs::write(place.get().unwrap(), r#"{"kept": {}}"#).unwrap();
        new_tokens()
    })
    .await;
    let home = Home::signed_in(&service.address, -1);
    card.set(home.identity_folder().join("card.json")).unwrap();
    assert!(home.identity().credential(&server()).await.unwrap().is_none());
    assert_eq!(service.asked().len(), 1);
    assert!(home.identity().credential(&server()).await.unwrap().is_none());
}

#[tokio::test]
async fn tokens_that_wait_to_be_kept_are_dropped_when_somebody_signs_out() {
    let refuses = Arc::new(AtomicBool::new(false));
    let switch = Arc::clone(&refuses);
    let service = StandIn::start(move |_, _| {
        switch.store(true, Ordering::SeqCst);
        new_tokens()
    })
    .await;
    let home = Home::signed_in(&service.address, -1);
    let identity = Identity::with_stores(home.config(), sulky(&home.identity_folder(), &refuses));
    assert!(identity.credential(&server()).await.unwrap().unwrap().warning.is_some());
    std::fs::write(home.identity_folder().join("card.json"), r#"{"kept": {}}"#).unwrap();
    refuses.store(false, Ordering::SeqCst);
    assert!(identity.credential(&server()).await.unwrap().is_none());
    assert!(home.identity().credential(&server()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_process_that_knows_of_an_end_sees_a_new_sign_in_at_once() {
    let service = StandIn::start(|_, _| Reply::json(400, json!({"error": "invalid_grant"}))).await;
    let home = Home::signed_in(&service.address, 60);
    let identity = home.identity();
    assert!(identity.credential(&server()).await.is_err());
    let record = home.kept().to_string().replace("\"over\"", "\"going\"").replace(SECRETS[0], "access-again");
    let store = FileStore::in_folder(home.identity_folder().join("secrets"));
    futures_block(store.save(&home.slot(), &record.into())).unwrap();
    assert_eq!(secret(&identity.credential(&server()).await.unwrap().unwrap()), "access-again");
}

#[tokio::test]
async fn a_long_process_keeps_its_sign_in_fresh_until_a_person_is_needed() {
    let answers = |number, _: &stand_in::Asked| match number {
        1 => Reply::json(
            200,
            json!({"access_token": "brief", "token_type": "Bearer", "expires_in": 1, "refresh_token": "r"}),
        ),
        _ => Reply::json(400, json!({"error": "invalid_grant"})),
    };
    let service = StandIn::start(answers).await;
    let home = Home::signed_in(&service.address, 60);
    let problem = tokio::time::timeout(std::time::Duration::from_secs(30), home.identity().keep_fresh()).await.unwrap();
    assert_eq!(problem, Problem::SignInAgain { at: service.address.clone(), why: Ended::Grant });
    assert_eq!(service.asked().len(), 2);
}

#[tokio::test]
async fn signing_out_revokes_and_removes_even_where_revoking_fails() {
    for (status, problems) in [(200, 0), (503, 1)] {
        let service = StandIn::start(move |_, _| Reply::json(status, "{}")).await;
        let home = Home::signed_in(&service.address, 3000);
        let identity = home.identity();
        let done = identity.sign_out().await;
        assert_eq!(done.problems.len(), problems, "{:?}", done.problems);
        assert_eq!(done.removed, [(home.slot(), StoreName::File)]);
        assert!(identity.credential(&server()).await.unwrap().is_none());
        assert!(home.identity().credential(&server()).await.unwrap().is_none());
        let asked = service.asked();
        assert!(asked[0].0 == "/revoke" && asked[0].1.contains("token_type_hint=refresh_token"), "{asked:?}");
        assert_eq!(asked.len(), if status == 200 { 2 } else { 1 });
    }
}

#[tokio::test]
async fn who_am_i_tells_all_but_the_secrets() {
    let home = Home::signed_in("https://id.example", 3000);
    let standing = home.identity().standing(&server()).await;
    assert_eq!((standing.who.as_deref(), standing.store), (Some("ann"), Some(StoreName::File)));
    assert_eq!((standing.at.as_deref(), standing.renewable), (Some("https://id.example"), true));
    let shown = format!("{standing:?} {}", serde_json::to_string(&standing).unwrap());
    assert!(SECRETS.iter().all(|secret| !shown.contains(secret)), "{shown}");
    assert_eq!(standing.order.len(), 4);
}

#[test]
fn asking_can_be_done_from_any_thread() {
    fn is_send<T: Send>(_: T) {}
    let home = Home::signed_in("https://id.example", 3000);
    let identity = home.identity();
    is_send(identity.credential(&server()));
    is_send(identity.sign_out());
    is_send(identity.keep_fresh());
    is_send(identity.begin_sign_in());
    is_send(identity.begin_device_sign_in());
}
