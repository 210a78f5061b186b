//! A house to try the server's routes in: a store in a file, settings in folders of its own, and people and agents who
//! come in by a header instead of a token. What the door does is tried elsewhere.

#![allow(dead_code, reason = "each test file uses its own part")]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use axum::Router;
use axum::body::Body;
use axum::extract::Request;
use axum::http::Method;
use axum::middleware::{self, Next};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use mayi_server::api;
use mayi_server::app::{App, AppOptions, Clock};
use mayi_server::principal::{Principal, Proof, Role};
use mayi_server::store::Store;
use mayi_server::store::sqlite::Sqlite;
use mayi_settings::store::Store as Settings;
use mayi_settings::{Given, Places};
use serde_json::{Value, json};
use tempfile::TempDir;

/// A server.
pub(crate) struct House {
    pub(crate) app: Arc<App>,
    pub(crate) folder: TempDir,
    pub(crate) store: Arc<Sqlite>,
    router: Router,
    time: Arc<AtomicU64>,
}

/// A status, headers and a body.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) before: bool,
    pub(crate) etag: Option<String>,
    pub(crate) signature: Option<String>,
    pub(crate) text: String,
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    #[track_caller]
    pub(crate) fn must(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{self:?}");
        self.json()
    }

    /// A failure is a status and words, and nothing else.
    #[track_caller]
    pub(crate) fn fails(self, status: u16, words: &str) {
        assert_eq!(self.status, status, "{self:?}");
        let failure = self.json();
        assert!(failure["error"].as_str().is_some_and(|error| error.contains(words)), "{failure}");
    }
}

impl House {
    /// A house with user settings.
    pub(crate) fn with(settings: Value) -> Self {
        Self::of_text(&settings.to_string())
    }

    /// The same, with settings to the letter.
    pub(crate) fn of_text(settings: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let places = Places {
            directory: folder.path().join("w"),
            home: Some(folder.path().join("home")),
            user: vec![folder.path().join("home/settings.json")],
            managed: vec![mayi_settings::places::ManagedFolder {
                file: folder.path().join("managed.json"),
                drop_ins: folder.path().join("managed.d"),
            }],
            ..Places::default()
        };
        for made in ["w", "home"] {
            std::fs::create_dir_all(folder.path().join(made)).unwrap();
        }
        std::fs::write(folder.path().join("home/settings.json"), settings).unwrap();
        let store = Arc::new(Sqlite::open(&folder.path().join("mayi.db")).unwrap());
        Self::of_parts(folder, places, store)
    }

    fn of_parts(folder: TempDir, places: Places, store: Arc<Sqlite>) -> Self {
        // The clock of the store's records and of ours must agree, so it begins now and is put forward by hand.
        let begun =
            u64::try_from(std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_millis());
        let time = Arc::new(AtomicU64::new(begun.unwrap()));
        let clock = Clock::told({
            let time = time.clone();
            move || time.load(Ordering::Relaxed)
        });
        let settings = Arc::new(Settings::open(places, Given::default()));
        let options = AppOptions { store: store.clone() as Arc<dyn Store>, settings, address: None, clock };
        let app = App::open(options);
        let (routes, _) = api::routes().split_for_parts();
        let router = routes.with_state(app.clone()).layer(middleware::from_fn(come_in));
        Self { app, folder, store, router, time }
    }

    pub(crate) fn settings_file(&self) -> PathBuf {
        self.folder.path().join("home/settings.json")
    }

    pub(crate) fn put_forward(&self, seconds: u64) {
        self.time.fetch_add(seconds * 1000, Ordering::Relaxed);
    }

    pub(crate) async fn send(&self, who: &str, (method, path): (Method, &str), body: (&str, String)) -> Reply {
        let mut request = Request::builder().method(method).uri(path).header("who", who);
        if !body.0.is_empty() {
            request = request.header("content-type", body.0);
        }
        let request = request.body(Body::from(body.1)).unwrap();
        let response = self.call(request).await;
        let (parts, body) = response.into_parts();
        let header = |name: &str| parts.headers.get(name).map(|value| value.to_str().unwrap().to_owned());
        let (before, etag, signature) = (header("mayi-answered").is_some(), header("etag"), header("mayi-signature"));
        let bytes = axum::body::to_bytes(body, usize::MAX).await.unwrap();
        Reply {
            status: parts.status.as_u16(),
            before,
            etag,
            signature,
            text: String::from_utf8(bytes.to_vec()).unwrap(),
        }
    }

    pub(crate) async fn post(&self, who: &str, path: &str, body: &Value) -> Reply {
        self.send(who, (Method::POST, path), ("application/json", body.to_string())).await
    }

    pub(crate) async fn get(&self, who: &str, path: &str) -> Reply {
        self.send(who, (Method::GET, path), ("", String::new())).await
    }

    /// A response whose body is still to be read.
    pub(crate) async fn open(&self, who: &str, path: &str) -> axum::response::Response {
        self.call(Request::builder().uri(path).header("who", who).body(Body::empty()).unwrap()).await
    }

    pub(crate) async fn call(&self, request: Request) -> axum::response::Response {
        TowerToHyperService::new(self.router.clone()).call(request).await.unwrap()
    }

    /// Decides a shell command for the agent, with more members.
    pub(crate) async fn decide(&self, command: &str, more: Value) -> Value {
        let mut line = json!({"tool": "Bash", "input": {"command": command}, "cwd": "/w", "agent": "test"});
        if let (Value::Object(line), Value::Object(more)) = (&mut line, more) {
            line.extend(more);
        }
        self.post("agent", "/v1/decide", &line).await.must(200)
    }

    pub(crate) async fn records(&self, kind: &str) -> Vec<Value> {
        let found = self.get("auditor", &format!("/v1/audit?kind={kind}&order=oldest&limit=1000")).await.must(200);
        found["records"].as_array().unwrap().clone()
    }

    pub(crate) async fn answer(&self, who: &str, asked: &Value, more: Value) -> Reply {
        let mut answer = json!({"digest": asked["approval"]["digest"]});
        if let (Value::Object(answer), Value::Object(more)) = (&mut answer, more) {
            answer.extend(more);
        }
        let id = asked["approval"]["id"].as_str().unwrap();
        self.post(who, &format!("/v1/approvals/{id}/answer"), &answer).await
    }

    pub(crate) async fn approval(&self, asked: &Value) -> Value {
        let id = asked["approval"]["id"].as_str().unwrap();
        self.get("approver", &format!("/v1/approvals/{id}")).await.must(200)
    }
}

/// The door of these tests: `role` or `role:name` in the header `who`.
async fn come_in(mut request: Request, next: Next) -> axum::response::Response {
    let who = request.headers().get("who").and_then(|who| who.to_str().ok()).unwrap_or_default().to_owned();
    let role = Role::ALL.into_iter().find(|role| Some(role.word()) == who.split(':').next());
    if let Some(role) = role {
        request.extensions_mut().insert(Principal { name: who.clone(), role, proof: Proof::Token(who) });
    }
    next.run(request).await
}
