//! A real server on a real socket with a store of its own, and a client that says exactly what a test wants it to say.

#![allow(dead_code, reason = "each test uses some of it")]

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use mayi_server::access::site::Front;
use mayi_server::app::Clock;
use mayi_server::http::accept::Bounds;
use mayi_server::http::limit::{Rate, Rates};
use mayi_server::http::tls::Files;
use mayi_server::principal::Role;
use mayi_server::serve::{Ready, ServeError, ServeOptions, run};
use mayi_settings::store::Store as Settings;
use mayi_settings::{Flag, Given, Places};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;

/// Generous: a busy machine is no failure of ours.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

/// A server of a test's own.
pub(crate) struct Door {
    pub(crate) address: SocketAddr,
    pub(crate) ready: Ready,
    pub(crate) folder: TempDir,
    /// Milliseconds that the server's clock is ahead.
    pub(crate) ahead: Arc<AtomicU64>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<Result<(), ServeError>>>,
}

/// What a server is started with: the usual, without limits that a test would run into.
pub(crate) fn options(folder: &Path, ahead: &Arc<AtomicU64>) -> ServeOptions {
    let plenty = Rate { per_second: 1e6, burst: 1e6 };
    let places = Places {
        directory: folder.to_owned(),
        repository: None,
        user: Vec::new(),
        managed: Vec::new(),
        state: Some(folder.to_owned()),
        home: Some(folder.to_owned()),
        found: mayi_settings::places::Found::All,
    };
    let (ahead, usual) = (Arc::clone(ahead), Clock::default());
    ServeOptions {
        listen: ([127, 0, 0, 1], 0).into(),
        store: format!("sqlite:{}", folder.join("server.db").display()),
        tls: None,
        front: Front::Nobody,
        url: None,
        hosts: Vec::new(),
        settings: Arc::new(Settings::open(places, Given::default())),
        bounds: Bounds { farewell: Duration::from_secs(2), ..Bounds::default() },
        rates: Rates { token: plenty, address: plenty, failures: plenty },
        export: None,
        clock: Clock::told(move || usual.now() + ahead.load(Ordering::Relaxed)),
        variable: |_| None,
    }
}

/// Settings for a server, on top of nothing.
pub(crate) fn settings(folder: &Path, value: &Value) -> Arc<Settings> {
    let mut places = Places::of_this_machine(folder);
    (places.user, places.managed, places.state) = (Vec::new(), Vec::new(), Some(folder.to_owned()));
    Arc::new(Settings::open(places, Given { flags: vec![Flag::Inline(value.to_string())], ..Given::default() }))
}

impl Door {
    /// A server as most tests want it.
    pub(crate) fn open() -> Self {
        Self::with(|_, _| {})
    }

    /// A server with other options.
    pub(crate) fn with(change: impl FnOnce(&mut ServeOptions, &Path)) -> Self {
        let (folder, ahead) = (TempDir::new().unwrap(), Arc::new(AtomicU64::new(0)));
        let mut options = options(folder.path(), &ahead);
        change(&mut options, folder.path());
        let (told, ready) = std::sync::mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
            let stopped = async {
                let _ = stopped.await;
            };
            runtime.block_on(run(options, move |ready| told.send(ready).unwrap(), stopped))
        });
        let Ok(ready) = ready.recv_timeout(PATIENCE) else {
            panic!("the server does not start: {:?}", thread.join());
        };
        let address = ready.address.split("://").nth(1).unwrap().parse().unwrap();
        Self { address, ready, folder, ahead, stop: Some(stop), thread: Some(thread) }
    }

    /// The first token of a role.
    pub(crate) fn token(&self, role: Role) -> &str {
        &self.ready.tokens.iter().find(|(of, _)| *of == role).unwrap().1
    }

    /// The code of the first sign-in link.
    pub(crate) fn code(&self) -> &str {
        self.ready.link.split("#sign-in=").nth(1).unwrap()
    }

    /// Lets the server's clock go on.
    pub(crate) fn later(&self, milliseconds: u64) {
        self.ahead.fetch_add(milliseconds, Ordering::Relaxed);
    }

    /// Tells the server to end, and waits for it.
    pub(crate) fn end(mut self) -> Result<(), ServeError> {
        self.stop.take();
        self.thread.take().unwrap().join().unwrap()
    }

    pub(crate) fn get(&self, path: &str) -> Ask<'_> {
        self.ask("GET", path)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Ask<'_> {
        self.ask("POST", path).header("content-type", "application/json").body(body.to_string())
    }

    pub(crate) fn ask(&self, method: &str, path: &str) -> Ask<'_> {
        Ask {
            door: self,
            line: format!("{method} {path} HTTP/1.1"),
            host: Some(self.address.to_string()),
            headers: Vec::new(),
            body: Vec::new(),
        }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(self.address).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream
    }

    /// Signs in with the first link: the cookie, and the word for requests that change something.
    pub(crate) fn sign_in(&self) -> (String, String) {
        let answer = self.post("/v1/sign-in", &serde_json::json!({"code": self.code()})).send();
        assert_eq!(answer.status, 200, "{answer:?}");
        let cookie = answer.header("set-cookie").unwrap().split(';').next().unwrap().to_owned();
        (cookie, answer.json()["csrf"].as_str().unwrap().to_owned())
    }
}

impl Drop for Door {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A request, word for word.
pub(crate) struct Ask<'a> {
    door: &'a Door,
    line: String,
    host: Option<String>,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Ask<'_> {
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    pub(crate) fn token(self, token: &str) -> Self {
        self.header("authorization", &format!("Bearer {token}"))
    }

    pub(crate) fn role(self, role: Role) -> Self {
        let token = self.door.token(role).to_owned();
        self.token(&token)
    }

    pub(crate) fn host(mut self, host: &str) -> Self {
        self.host = Some(host.to_owned());
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn text(&self) -> Vec<u8> {
        let mut text = format!("{}\r\nconnection: close\r\n", self.line);
        let host = self.host.iter().map(|host| ("host".to_owned(), host.clone()));
        for (name, value) in host.chain(self.headers.iter().cloned()) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        let chunked = self.headers.iter().any(|(name, _)| name == "transfer-encoding");
        if !self.body.is_empty() && !chunked {
            text.push_str(&format!("content-length: {}\r\n", self.body.len()));
        }
        text.push_str("\r\n");
        let mut bytes = text.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }

    pub(crate) fn send(self) -> Answer {
        let mut stream = self.door.connect();
        let text = self.text();
        let mut writing = stream.try_clone().unwrap();
        // A server that refuses a body may close before it has come.
        let writer = std::thread::spawn(move || drop(writing.write_all(&text)));
        let answer = read(&mut stream);
        drop(stream);
        writer.join().unwrap();
        answer
    }

    pub(crate) fn status(self) -> u16 {
        self.send().status
    }
}

/// Reads an answer: its head, and its body as far as it is told; streams are not waited for.
pub(crate) fn read(stream: &mut impl Read) -> Answer {
    let (mut bytes, mut piece) = (Vec::new(), [0; 4096]);
    let head = loop {
        if let Some(end) = bytes.windows(4).position(|four| four == b"\r\n\r\n") {
            break end;
        }
        let many = stream.read(&mut piece).unwrap();
        assert!(many > 0, "no answer: {:?}", String::from_utf8_lossy(&bytes));
        bytes.extend_from_slice(&piece[..many]);
    };
    let text = String::from_utf8_lossy(&bytes[..head]).into_owned();
    let mut lines = text.split("\r\n");
    let status = lines.next().unwrap().split(' ').nth(1).unwrap().parse().unwrap();
    let headers: Vec<(String, String)> = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
        .collect();
    let is_stream = headers.iter().any(|(_, value)| value.starts_with("text/event-stream"));
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse::<usize>().unwrap());
    let mut body = bytes.split_off(head + 4);
    while !is_stream && length.is_none_or(|length| body.len() < length) {
        match stream.read(&mut piece) {
            Ok(0) | Err(_) => break,
            Ok(many) => body.extend_from_slice(&piece[..many]),
        }
    }
    Answer { status, headers, body: String::from_utf8_lossy(&body).into_owned() }
}

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Why a server with these options does not start.
pub(crate) fn refused(change: impl FnOnce(&mut ServeOptions, &Path)) -> String {
    let (folder, ahead) = (TempDir::new().unwrap(), Arc::new(AtomicU64::new(0)));
    let mut options = options(folder.path(), &ahead);
    change(&mut options, folder.path());
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let started = runtime.block_on(run(options, |_| {}, std::future::ready(())));
    started.expect_err("it starts").to_string()
}

/// The certificate of this folder, made for tests on this machine alone.
pub(crate) fn certificate() -> Files {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/door");
    Files { certificate: folder.join("localhost.pem"), key: folder.join("localhost-key.pem") }
}
