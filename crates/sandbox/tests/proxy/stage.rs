//! A stage: a proxy with lists and a telephone book of its own, and servers on loopback that remember who came.

use std::collections::HashMap;
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use mayi_core::policy::{Layer, Origin};
use mayi_sandbox::plan::{HostPattern, Hosts, Unlisted};
use mayi_sandbox::proxy::{Doorkeeper, Patience, Proxy, Resolve, Setup};
use mayi_sandbox::report::Violation;
use rustix::process::{Resource, Rlimit};

pub(crate) const LOOPBACK: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);

/// Names and the addresses they lead to; every other name leads nowhere. Counts how often it was asked.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) names: HashMap<String, Vec<IpAddr>>,
    pub(crate) asked: AtomicUsize,
}

impl Book {
    pub(crate) fn of(rows: &[(&str, &[&str])]) -> Arc<Self> {
        let row = |(name, addresses): &(&str, &[&str])| {
            ((*name).to_owned(), addresses.iter().map(|text| text.parse().unwrap()).collect())
        };
        Arc::new(Self { names: rows.iter().map(row).collect(), asked: AtomicUsize::new(0) })
    }
}

impl Resolve for Book {
    fn resolve(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        self.asked.fetch_add(1, Ordering::SeqCst);
        self.names.get(name).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// A proxy and its port.
pub(crate) struct Stage {
    pub(crate) proxy: Proxy,
    pub(crate) port: u16,
}

fn patterns(hosts: &[&str]) -> Vec<HostPattern> {
    let origin = || Box::new(Origin::of(Layer::User));
    hosts.iter().map(|host| HostPattern { host: (*host).to_owned(), port: None, origin: origin() }).collect()
}

pub(crate) fn hosts(allowed: &[&str], denied: &[&str], unlisted: Unlisted) -> Hosts {
    Hosts { allowed: patterns(allowed), denied: patterns(denied), unlisted }
}

/// Lists as most tests want them, with `a.test`, `b.test` and `*.sub.test` on loopback.
pub(crate) fn setup(allowed: &[&str], denied: &[&str]) -> Setup {
    let here: &[&str] = &["127.0.0.1"];
    let book = Book::of(&[("a.test", here), ("b.test", here), ("x.sub.test", here), ("sub.test", here)]);
    Setup { resolver: book, ..Setup::of(hosts(allowed, denied, Unlisted::Refused)) }
}

pub(crate) fn asking(keeper: Arc<dyn Doorkeeper>, patience: Patience) -> Setup {
    let lists = hosts(&["127.0.0.1"], &["denied.test"], Unlisted::Asked);
    Setup { hosts: lists, doorkeeper: Some(keeper), patience, ..setup(&[], &[]) }
}

impl Stage {
    pub(crate) fn open(setup: Setup) -> Self {
        let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        Self { proxy: Proxy::serve_as(OwnedFd::from(listener), setup).unwrap(), port }
    }

    pub(crate) fn connect(&self) -> TcpStream {
        connect(self.port)
    }

    /// Sends a whole request for one answer.
    pub(crate) fn ask(&self, request: &str) -> String {
        let mut stream = self.connect();
        stream.write_all(request.as_bytes()).unwrap();
        text(&mut stream)
    }

    pub(crate) fn get(&self, address: &str) -> String {
        self.ask(&format!("GET {address} HTTP/1.1\r\nConnection: close\r\n\r\n"))
    }

    /// Why connections were refused, as `host:port: why`.
    pub(crate) fn refusals(&self) -> Vec<String> {
        self.proxy.violations().iter().map(shown).collect()
    }
}

pub(crate) fn shown(violation: &Violation) -> String {
    match violation {
        Violation::Connect { host, port, why } => format!("{host}:{port}: {why}"),
        other @ (Violation::Write { .. }
        | Violation::Read { .. }
        | Violation::UnixSocket { .. }
        | Violation::Call { .. }) => panic!("{other:?}"),
    }
}

/// Lets this process have as many descriptors as it may.
pub(crate) fn many_descriptors() {
    let limit = rustix::process::getrlimit(Resource::Nofile);
    rustix::process::setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit }).unwrap();
}

pub(crate) fn connect(port: u16) -> TcpStream {
    let stream = TcpStream::connect((LOOPBACK, port)).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.set_write_timeout(Some(Duration::from_secs(20))).unwrap();
    stream
}

/// Everything until the other end closes, or breaks off.
pub(crate) fn text(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    if let Err(error) = stream.read_to_end(&mut bytes) {
        assert_ne!(error.kind(), io::ErrorKind::WouldBlock, "nothing came any more");
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The head of a message, and nothing after it.
pub(crate) fn head(stream: &mut TcpStream) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0];
    while !bytes.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
        bytes.extend(byte);
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Reads over the body of a request.
fn read_body(head: &str, stream: &mut TcpStream) {
    let head = head.to_lowercase();
    let mut bytes = Vec::new();
    if let Some(length) = head.split("content-length: ").nth(1) {
        let length: u64 = length.split('\r').next().unwrap().parse().unwrap();
        stream.take(length).read_to_end(&mut bytes).unwrap();
    } else if head.contains("transfer-encoding: chunked") {
        let mut byte = [0];
        while !bytes.ends_with(b"0\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) == 1 {
            bytes.extend(byte);
        }
    }
}

/// A server on loopback that counts connections and keeps the heads of requests.
pub(crate) struct Server {
    pub(crate) port: u16,
    pub(crate) visits: Arc<AtomicUsize>,
    pub(crate) heads: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn open(serve: impl Fn(TcpStream, &Mutex<Vec<String>>) + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind((LOOPBACK, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = Self { port, visits: Arc::default(), heads: Arc::default() };
        let (visits, heads, serve) = (Arc::clone(&server.visits), Arc::clone(&server.heads), Arc::new(serve));
        thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                visits.fetch_add(1, Ordering::SeqCst);
                let (heads, serve) = (Arc::clone(&heads), Arc::clone(&serve));
                thread::spawn(move || serve(stream, &heads));
            }
        });
        server
    }

    /// Sends back whatever comes.
    pub(crate) fn echo() -> Self {
        Self::open(|mut stream, _| {
            let mut copy = stream.try_clone().unwrap();
            let _ = io::copy(&mut copy, &mut stream);
            let _ = stream.shutdown(std::net::Shutdown::Write);
        })
    }

    /// Answers every request with `hello`, and with fields that concern the connection alone.
    pub(crate) fn web() -> Self {
        Self::open(|mut stream, heads| {
            loop {
                let head = head(&mut stream);
                if head.is_empty() {
                    return;
                }
                read_body(&head, &mut stream);
                heads.lock().unwrap().push(head);
                let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n\
                              Keep-Alive: timeout=5\r\nX-End: 2\r\n\r\nhello";
                if stream.write_all(answer.as_bytes()).is_err() {
                    return;
                }
            }
        })
    }

    /// Says this to whoever comes, and then waits.
    pub(crate) fn speaking_first(words: &'static [u8]) -> Self {
        Self::open(move |mut stream, _| {
            let _ = stream.write_all(words);
            let _ = io::copy(&mut stream, &mut io::sink());
        })
    }

    /// Answers with exactly these bytes, and closes.
    pub(crate) fn saying(answer: &'static [u8]) -> Self {
        Self::open(move |mut stream, heads| {
            let head = head(&mut stream);
            heads.lock().unwrap().push(head);
            let _ = stream.write_all(answer);
        })
    }

    pub(crate) fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }

    pub(crate) fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap().clone()
    }
}
