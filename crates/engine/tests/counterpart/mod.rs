//! A server that plays the contract of the real one as far as clients see it, on loopback, and that can be broken on
//! purpose: it signs with another key, goes back in time, forgets, waits, fails, hangs up, or is not there.
#![allow(dead_code, reason = "each test binary uses its part")]

use std::collections::{HashMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mayi_core::verdict::Verdict;
use mayi_engine::remote::wire::{Answer, Approval, Bundle, NewApproval, Question, Remember, Shipment, State, digest};
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::{Value, json};

/// The one token that is taken.
pub(crate) const TOKEN: &str = "mayi_a0123456789abcdefghijklmnopqrstuvwxyzABCDEFG";

/// What is done to the next request of a path instead of answering it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// Answered with this status.
    Status(u16),
    /// Answered with something else than JSON.
    Garbage,
    /// The connection ends in the middle of the answer.
    Cut,
    /// Done, and then the connection ends before the answer: the client cannot know.
    Deaf,
    /// Never answered.
    Hang,
}

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) token: Option<String>,
}

type Answering = Box<dyn Fn(&Question) -> Option<Answer> + Send>;

#[derive(Default)]
struct Inside {
    seen: Vec<Seen>,
    faults: HashMap<String, VecDeque<Fault>>,
    is_open: bool,
    settings: Value,
    issued_at: u64,
    approvals: HashMap<String, Approval>,
    answering: Option<Answering>,
    /// Questions are shown with another digest than the one they came with.
    is_twisted: bool,
    records: HashMap<String, Vec<Value>>,
    /// The token that each name belongs to.
    holders: HashMap<String, String>,
    most_records: Option<usize>,
}

/// The server.
pub(crate) struct Counterpart {
    port: u16,
    shared: Arc<Shared>,
}

struct Shared {
    inside: Mutex<Inside>,
    changed: Condvar,
    keys: Mutex<Ed25519KeyPair>,
    is_there: Mutex<bool>,
}

impl Shared {
    fn inside(&self) -> MutexGuard<'_, Inside> {
        self.inside.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(crate) fn now() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}

/// A yes or no of somebody.
pub(crate) fn says(verdict: Verdict) -> Answer {
    Answer {
        verdict,
        by: "ada".to_owned(),
        at: now(),
        comment: None,
        remember: Remember::Once,
        rule: None,
        layer: None,
    }
}

fn pair(seed: u8) -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[seed; 32]).unwrap()
}

impl Counterpart {
    /// A server that takes the token alone.
    pub(crate) fn start() -> Self {
        let shared = Arc::new(Shared {
            inside: Mutex::new(Inside { settings: json!({}), issued_at: now(), ..Inside::default() }),
            changed: Condvar::new(),
            keys: Mutex::new(pair(1)),
            is_there: Mutex::new(true),
        });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let serving = Arc::clone(&shared);
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let shared = Arc::clone(&serving);
                // A server that is away takes no connection; to a client that is the same as one that ends at once.
                if *shared.is_there.lock().unwrap() {
                    thread::spawn(move || serve(stream, &shared));
                }
            }
        });
        Self { port, shared }
    }

    /// A server that takes everybody.
    pub(crate) fn open() -> Self {
        let server = Self::start();
        server.shared.inside().is_open = true;
        server
    }

    pub(crate) fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    pub(crate) fn key(&self) -> String {
        STANDARD.encode(self.shared.keys.lock().unwrap().public_key().as_ref())
    }

    /// Gives it another key.
    pub(crate) fn change_key(&self) {
        *self.shared.keys.lock().unwrap() = pair(2);
    }

    /// Gives it another policy, a moment newer than the last.
    pub(crate) fn govern(&self, settings: Value) {
        let mut inside = self.shared.inside();
        (inside.settings, inside.issued_at) = (settings, inside.issued_at + 1);
    }

    /// Changes when its policy was made.
    pub(crate) fn issue_at(&self, moment: u64) {
        self.shared.inside().issued_at = moment;
    }

    pub(crate) fn issued_at(&self) -> u64 {
        self.shared.inside().issued_at
    }

    /// Answers questions from now on.
    pub(crate) fn answer(&self, answering: impl Fn(&Question) -> Option<Answer> + Send + 'static) {
        self.shared.inside().answering = Some(Box::new(answering));
    }

    /// Answers every question that waits.
    pub(crate) fn settle(&self, answer: &Answer) {
        let mut inside = self.shared.inside();
        for approval in inside.approvals.values_mut().filter(|approval| approval.state == State::Pending) {
            (approval.state, approval.answer) = (State::Answered, Some(answer.clone()));
        }
        self.shared.changed.notify_all();
    }

    pub(crate) fn twist(&self) {
        self.shared.inside().is_twisted = true;
    }

    /// Does something else to the next request of a path.
    pub(crate) fn fault(&self, path: &str, fault: Fault) {
        self.shared.inside().faults.entry(path.to_owned()).or_default().push_back(fault);
    }

    pub(crate) fn go_away(&self) {
        *self.shared.is_there.lock().unwrap() = false;
    }

    pub(crate) fn come_back(&self) {
        *self.shared.is_there.lock().unwrap() = true;
    }

    /// Takes no more than so many records at once.
    pub(crate) fn take_at_most(&self, records: usize) {
        self.shared.inside().most_records = Some(records);
    }

    /// Forgets all records of everybody from this one on.
    pub(crate) fn forget_from(&self, number: usize) {
        self.shared.inside().records.values_mut().for_each(|records| records.truncate(number));
    }

    /// Takes every name for somebody else's from now on.
    pub(crate) fn change_tokens(&self) {
        self.shared.inside().holders.values_mut().for_each(|token| token.push('x'));
    }

    /// The records it has, of everybody.
    pub(crate) fn records(&self) -> Vec<Value> {
        self.shared.inside().records.values().flatten().cloned().collect()
    }

    pub(crate) fn sources(&self) -> usize {
        self.shared.inside().records.len()
    }

    pub(crate) fn approvals(&self) -> Vec<Approval> {
        self.shared.inside().approvals.values().cloned().collect()
    }

    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.shared.inside().seen.clone()
    }

    /// How often a path was asked for.
    pub(crate) fn count(&self, path: &str) -> usize {
        self.seen().iter().filter(|seen| seen.path == path).count()
    }

    /// Waits until something is so, and fails the test if it never is.
    pub(crate) fn wait_until(&self, what: &str, is_so: impl Fn(&Self) -> bool) {
        let deadline = Instant::now() + Duration::from_secs(30);
        while !is_so(self) {
            assert!(Instant::now() < deadline, "it never came to this: {what}");
            thread::sleep(Duration::from_millis(10));
        }
    }
}

struct Request {
    method: String,
    path: String,
    query: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Request {
    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

type Said = (u16, Vec<(&'static str, String)>, Vec<u8>);

fn serve(stream: TcpStream, shared: &Shared) {
    let mut stream = BufReader::new(stream);
    while let Some(request) = read(&mut stream) {
        let token = request.header("authorization").map(str::to_owned);
        let seen = Seen { method: request.method.clone(), path: request.path.clone(), token };
        let fault = {
            let mut inside = shared.inside();
            inside.seen.push(seen);
            inside.faults.get_mut(&request.path).and_then(VecDeque::pop_front)
        };
        let said = match fault {
            Some(Fault::Status(status)) => {
                (status, vec![("location", "http://127.0.0.1:1/".to_owned())], b"{}".to_vec())
            }
            Some(Fault::Garbage) => (200, Vec::new(), b"<p>hello".to_vec()),
            Some(Fault::Hang) => {
                let _ = stream.read(&mut [0]);
                return;
            }
            Some(Fault::Cut) => {
                let _ = stream.get_mut().write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{");
                return;
            }
            Some(Fault::Deaf) => {
                answered(&request, shared);
                return;
            }
            None => answered(&request, shared),
        };
        if write(stream.get_mut(), &said).is_err() {
            return;
        }
    }
}

fn read(stream: &mut impl BufRead) -> Option<Request> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let (path, query) = target.split_once('?').unwrap_or((&target, ""));
    let (path, query) = (path.to_owned(), query.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length =
        headers.iter().find(|(name, _)| name == "content-length").map_or(0, |(_, value)| value.parse().unwrap());
    let mut body = vec![0; length];
    stream.read_exact(&mut body).ok()?;
    Some(Request { method, path, query, headers, body })
}

fn write(stream: &mut impl Write, (status, headers, body): &Said) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} said\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(format!("{head}\r\n").as_bytes())?;
    stream.write_all(if *status == 304 { b"" } else { body })?;
    stream.flush()
}

fn say(status: u16, value: Value) -> Said {
    (status, vec![("content-type", "application/json".to_owned())], value.to_string().into_bytes())
}

fn answered(request: &Request, shared: &Shared) -> Said {
    let open = ["/healthz", "/v1/policy/key"].contains(&request.path.as_str()) || shared.inside().is_open;
    if !open && request.header("authorization") != Some(&format!("Bearer {TOKEN}")) {
        return say(401, json!({"error": "no such token"}));
    }
    let id = request.path.strip_prefix("/v1/approvals/");
    match (request.method.as_str(), request.path.as_str(), id) {
        ("GET", "/healthz", _) => say(200, json!({})),
        ("GET", "/v1/me", _) => say(200, json!({"name": "laptop", "role": "agent"})),
        ("GET", "/v1/policy/key", _) => {
            say(200, json!({"key": STANDARD.encode(shared.keys.lock().unwrap().public_key().as_ref())}))
        }
        ("GET", "/v1/policy/bundle", _) => bundle(request, shared),
        ("POST", "/v1/approvals", _) => put(request, shared),
        ("GET", _, Some(id)) => look(id, &request.query, shared),
        ("DELETE", _, Some(id)) => withdraw(id, shared),
        ("POST", "/v1/audit", _) => ship(request, shared),
        _ => say(404, json!({"error": "no such path"})),
    }
}

fn bundle(request: &Request, shared: &Shared) -> Said {
    let inside = shared.inside();
    let etag = format!("\"{}\"", inside.issued_at);
    if request.header("if-none-match") == Some(&etag) {
        return (304, vec![("etag", etag)], Vec::new());
    }
    let bundle = Bundle { version: "v".repeat(32), issued_at: inside.issued_at, settings: inside.settings.clone() };
    let body = serde_json::to_vec(&bundle).unwrap();
    let signature = STANDARD.encode(shared.keys.lock().unwrap().sign(&body).as_ref());
    (200, vec![("etag", etag), ("mayi-signature", signature)], body)
}

fn put(request: &Request, shared: &Shared) -> Said {
    let NewApproval { mut question, timeout_seconds } = serde_json::from_slice(&request.body).unwrap();
    let own = digest(&question.tool, &question.input, (&question.cwd, &question.policy));
    if own != question.digest {
        return say(422, json!({"error": "the digest is another"}));
    }
    let mut inside = shared.inside();
    if inside.is_twisted {
        question.digest = "0".repeat(64);
    }
    let answer = inside.answering.as_ref().and_then(|answering| answering(&question));
    let id = format!("a{}", inside.approvals.len() + 1);
    let expires_at = now() + timeout_seconds.unwrap_or(300) * 1000;
    let state = if answer.is_some() { State::Answered } else { State::Pending };
    let approval =
        Approval { id: id.clone(), created_at: now(), expires_at, state: State::Pending, question, answer: None };
    inside.approvals.insert(id, Approval { state, answer, ..approval.clone() });
    say(201, serde_json::to_value(approval).unwrap())
}

fn look(id: &str, query: &str, shared: &Shared) -> Said {
    let wait = query.strip_prefix("wait_seconds=").and_then(|text| text.parse().ok()).unwrap_or(0);
    let deadline = Instant::now() + Duration::from_secs(wait);
    let mut inside = shared.inside();
    loop {
        let Some(approval) = inside.approvals.get(id) else { return say(404, json!({"error": "no such approval"})) };
        let left = deadline.saturating_duration_since(Instant::now());
        if approval.state != State::Pending || left.is_zero() {
            return say(200, serde_json::to_value(approval).unwrap());
        }
        inside = shared.changed.wait_timeout(inside, left).unwrap().0;
    }
}

fn withdraw(id: &str, shared: &Shared) -> Said {
    let mut inside = shared.inside();
    let Some(approval) = inside.approvals.get_mut(id) else { return say(404, json!({"error": "no such approval"})) };
    if approval.state == State::Pending {
        approval.state = State::Withdrawn;
    }
    let said = serde_json::to_value(&*approval).unwrap();
    shared.changed.notify_all();
    say(200, said)
}

fn ship(request: &Request, shared: &Shared) -> Said {
    let Shipment { source, first, records } = serde_json::from_slice(&request.body).unwrap();
    let mut inside = shared.inside();
    if inside.most_records.is_some_and(|most| records.len() > most) {
        return say(413, json!({"error": "too much"}));
    }
    if records.iter().any(|record| record.get("unfit").is_some()) {
        return say(422, json!({"error": "an unknown kind"}));
    }
    let token = request.header("authorization").unwrap_or_default().to_owned();
    if *inside.holders.entry(source.clone()).or_insert_with(|| token.clone()) != token {
        return say(403, json!({"error": "these belong to another token"}));
    }
    let kept = inside.records.entry(source).or_default();
    let first = usize::try_from(first).unwrap();
    if first > kept.len() {
        return say(409, json!({"error": "records are missing"}));
    }
    let known = kept.len() - first;
    kept.extend(records.into_iter().skip(known));
    say(200, json!({"next": kept.len()}))
}
