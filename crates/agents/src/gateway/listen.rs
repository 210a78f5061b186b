//! The agent's side over streamable HTTP: one path on a loopback address, one connection to the server per session.
//!
//! Pages in a browser can reach loopback addresses too, by names that lead here. So only requests that name this machine
//! are heard, and none that a page from elsewhere makes.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::poll_fn;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use hyper::body::{Body, Bytes, Frame, Incoming};
use hyper::header::{ACCEPT, ALLOW, CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, Semaphore, mpsc};

use super::relay::{Ended, Side, WAITING, relay, unguessable};
use super::streams::Streams;
use super::wire::{self, Fault, Kind, LONGEST, Message};
use super::{Connection, Gateway, GatewayError, note, signalled};

const SESSION: &str = "mcp-session-id";

/// How many sessions there may be at once: each may be a process.
const SESSIONS: usize = 64;

/// How long a session lives on with nobody listening.
const FORGOTTEN: Duration = Duration::from_secs(30 * 60);

/// Serves agents at an address until a signal comes.
pub(crate) async fn listen(gateway: Arc<Gateway>, address: SocketAddr, path: String) -> Result<(), GatewayError> {
    let no = |problem: String| GatewayError::Listen { address, problem };
    if !address.ip().is_loopback() {
        return Err(no("only agents on this machine are served\nhelp: use 127.0.0.1".to_owned()));
    }
    let mut leaving = std::pin::pin!(signalled());
    let socket = TcpListener::bind(address).await.map_err(|error| no(error.to_string()))?;
    let bound = socket.local_addr()?;
    let house = Arc::new(House { gateway, path, sessions: Mutex::default() });
    note(&format!("listening at http://{bound}{}", house.path));
    let mut rounds = tokio::time::interval(Duration::from_secs(60));
    loop {
        tokio::select! {
            accepted = socket.accept() => if let Ok((stream, _)) = accepted {
                tokio::spawn(Arc::clone(&house).serve(stream));
            },
            _ = rounds.tick() => house.forget(),
            () = &mut leaving => break,
        }
    }
    house.close().await;
    Ok(())
}

struct House {
    gateway: Arc<Gateway>,
    path: String,
    sessions: Mutex<HashMap<String, Arc<Session>>>,
}

struct Session {
    /// Emptied when the session is over.
    to_relay: Mutex<Option<mpsc::Sender<Message>>>,
    streams: Streams,
    used: Mutex<Instant>,
    /// The agent, or whoever ends the gateway, waits for nothing any more.
    left: Notify,
    over: Semaphore,
}

impl Session {
    fn to_relay(&self) -> Option<mpsc::Sender<Message>> {
        *self.used.lock().unwrap_or_else(PoisonError::into_inner) = Instant::now();
        self.to_relay.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn end(&self) {
        self.to_relay.lock().unwrap_or_else(PoisonError::into_inner).take();
        self.left.notify_one();
    }

    fn is_forgotten(&self) -> bool {
        let idle = self.used.lock().unwrap_or_else(PoisonError::into_inner).elapsed();
        idle > FORGOTTEN && self.streams.is_quiet()
    }
}

impl House {
    fn sessions(&self) -> MutexGuard<'_, HashMap<String, Arc<Session>>> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn serve(self: Arc<Self>, stream: TcpStream) {
        // Small events must not wait for more of them.
        let _ = stream.set_nodelay(true);
        let answer = service_fn(move |request| {
            let house = Arc::clone(&self);
            async move { Ok::<_, Infallible>(house.answer(request).await.unwrap_or_else(Refused::response)) }
        });
        // An agent that breaks off needs no answer.
        let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
    }

    async fn answer(&self, request: Request<Incoming>) -> Result<Response<Reply>, Refused> {
        from_this_machine(request.headers())?;
        if request.uri().path() != self.path {
            return Err(Refused::plain(StatusCode::NOT_FOUND, "there is nothing here"));
        }
        match *request.method() {
            Method::POST => self.post(request).await,
            Method::GET => {
                if !accepts_events(request.headers()) {
                    return Err(Refused::plain(StatusCode::NOT_ACCEPTABLE, "accept text/event-stream"));
                }
                let session = self.session(request.headers())?;
                Ok(events(session.streams.stand(), None))
            }
            Method::DELETE => {
                self.session(request.headers())?.end();
                Ok(Response::new(Reply::Whole(None)))
            }
            _ => Err(Refused::plain(StatusCode::METHOD_NOT_ALLOWED, "POST, GET or DELETE")),
        }
    }

    fn session(&self, headers: &HeaderMap) -> Result<Arc<Session>, Refused> {
        let Some(id) = headers.get(SESSION) else {
            return Err(Refused::plain(StatusCode::BAD_REQUEST, "a session begins with `initialize`"));
        };
        let found = id.to_str().ok().and_then(|id| self.sessions().get(id).cloned());
        found.ok_or_else(|| Refused::plain(StatusCode::NOT_FOUND, "there is no such session"))
    }

    async fn post(&self, request: Request<Incoming>) -> Result<Response<Reply>, Refused> {
        if !has_type(request.headers(), "application/json") {
            return Err(Refused::plain(StatusCode::UNSUPPORTED_MEDIA_TYPE, "messages are application/json"));
        }
        let headers = request.headers().clone();
        let text = text(request.into_body()).await?;
        let messages = wire::read(text).into_iter().collect::<Result<Vec<_>, _>>().map_err(Refused::unreadable)?;
        let begins = matches!(messages.as_slice(), [message] if message.method() == Some("initialize"));
        let (session, id) = match begins && !headers.contains_key(SESSION) {
            true => self.begin()?,
            false => (self.session(&headers)?, None),
        };
        let wants = messages.iter().any(|message| matches!(message.kind, Kind::Request { .. }));
        let answers = wants.then(|| session.streams.post(messages.iter()));
        let gone = || Refused::plain(StatusCode::NOT_FOUND, "the session is over");
        let to_relay = session.to_relay().ok_or_else(gone)?;
        for message in messages {
            to_relay.send(message).await.map_err(|_| gone())?;
        }
        Ok(match answers {
            Some(answers) => events(answers, id),
            None => {
                let mut accepted = Response::new(Reply::Whole(None));
                *accepted.status_mut() = StatusCode::ACCEPTED;
                accepted
            }
        })
    }

    /// Begins a session: a connection to the server, and a relay to it.
    fn begin(&self) -> Result<(Arc<Session>, Option<HeaderValue>), Refused> {
        self.forget();
        if self.sessions().len() >= SESSIONS {
            return Err(Refused::plain(StatusCode::SERVICE_UNAVAILABLE, "there are too many sessions"));
        }
        let failed = |words: String| Refused::plain(StatusCode::BAD_GATEWAY, &words);
        let Connection { side, finish } = self.gateway.connect().map_err(|error| failed(error.to_string()))?;
        let (to_relay, incoming) = mpsc::channel(WAITING);
        let (outgoing, to_agent) = mpsc::channel(WAITING);
        let session = Arc::new(Session {
            to_relay: Mutex::new(Some(to_relay)),
            streams: Streams::default(),
            used: Mutex::new(Instant::now()),
            left: Notify::new(),
            over: Semaphore::new(0),
        });
        let id = unguessable();
        self.sessions().insert(id.clone(), Arc::clone(&session));
        let (kept, counter) = (Arc::clone(&session), self.gateway.counter());
        tokio::spawn(async move {
            let relaying = async {
                let ended = tokio::select! {
                    ended = relay(Side { incoming, outgoing }, side, counter) => ended,
                    () = kept.left.notified() => Ended::ByAgent,
                };
                kept.end();
                let words = finish.await;
                if ended == Ended::ByServer {
                    note(&format!("the server of a session is gone: {words}"));
                }
            };
            tokio::join!(relaying, kept.streams.carry(to_agent));
            kept.streams.close();
            kept.over.add_permits(1);
        });
        Ok((session, HeaderValue::from_str(&id).ok()))
    }

    /// Ends sessions that nobody uses, and strikes out those that have ended.
    fn forget(&self) {
        let mut sessions = self.sessions();
        for session in sessions.values().filter(|session| session.is_forgotten()) {
            session.end();
        }
        sessions.retain(|_, session| session.over.available_permits() == 0);
    }

    async fn close(&self) {
        let sessions: Vec<_> = self.sessions().drain().map(|(_, session)| session).collect();
        for session in &sessions {
            session.end();
        }
        for session in &sessions {
            // The semaphore is never closed.
            let _ = session.over.acquire().await;
        }
    }
}

/// Only requests that name this machine, from programs or from its own pages.
fn from_this_machine(headers: &HeaderMap) -> Result<(), Refused> {
    let no = |words| Err(Refused::plain(StatusCode::FORBIDDEN, words));
    let text = |name: HeaderName| headers.get(name).map(|value| value.to_str().unwrap_or_default());
    if !text(HOST).is_some_and(is_this_machine) {
        return no("this address is for this machine alone");
    }
    match text(ORIGIN) {
        None => Ok(()),
        Some(origin) => match origin.split_once("://") {
            Some(("http" | "https", host)) if is_this_machine(host) => Ok(()),
            Some(_) | None => no("pages from elsewhere are not served"),
        },
    }
}

/// Whether a host, with or without a port, is this machine by a name that nobody else can give.
fn is_this_machine(host: &str) -> bool {
    let port = |port: &str| !port.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit());
    let name = match host.rsplit_once(':') {
        Some((name, number)) if port(number) => name,
        Some(_) | None => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

fn has_type(headers: &HeaderMap, wanted: &str) -> bool {
    let given = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    given.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case(wanted)
}

fn accepts_events(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    accepted.into_iter().any(|value| value.contains("text/event-stream") || value.contains("*/*"))
}

/// The text of a request's body.
async fn text(mut body: Incoming) -> Result<String, Refused> {
    let mut bytes = Vec::new();
    while let Some(frame) = poll_fn(|context| Pin::new(&mut body).poll_frame(context)).await {
        let frame = frame.map_err(|_| Refused::plain(StatusCode::BAD_REQUEST, "the body broke off"))?;
        let piece = frame.data_ref().map(|data| data.as_ref()).unwrap_or_default();
        if bytes.len() + piece.len() > LONGEST {
            return Err(Refused::plain(StatusCode::PAYLOAD_TOO_LARGE, "the message is too long"));
        }
        bytes.extend_from_slice(piece);
    }
    String::from_utf8(bytes).map_err(|_| Refused::plain(StatusCode::BAD_REQUEST, "the body is no UTF-8"))
}

fn events(stream: mpsc::Receiver<Bytes>, session: Option<HeaderValue>) -> Response<Reply> {
    let mut response = Response::new(Reply::Events(stream));
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    headers.insert("cache-control", HeaderValue::from_static("no-cache"));
    if let Some(session) = session {
        headers.insert(SESSION, session);
    }
    response
}

/// A request that is not served.
struct Refused {
    status: StatusCode,
    body: String,
}

impl Refused {
    fn plain(status: StatusCode, words: &str) -> Self {
        let error = serde_json::json!({ "code": -32000, "message": words });
        let body = serde_json::json!({ "jsonrpc": "2.0", "id": null, "error": error });
        Self { status, body: body.to_string() }
    }

    fn unreadable(unreadable: wire::Unreadable) -> Self {
        match &unreadable.id {
            Some(id) => {
                let message = Message::error(id, Fault::Request, &unreadable.problem);
                Self { status: StatusCode::BAD_REQUEST, body: message.text().to_owned() }
            }
            None => Self::plain(StatusCode::BAD_REQUEST, &unreadable.problem),
        }
    }

    fn response(self) -> Response<Reply> {
        let mut response = Response::new(Reply::Whole(Some(Bytes::from(self.body))));
        *response.status_mut() = self.status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if self.status == StatusCode::METHOD_NOT_ALLOWED {
            response.headers_mut().insert(ALLOW, HeaderValue::from_static("POST, GET, DELETE"));
        }
        response
    }
}

/// The body of a response.
enum Reply {
    Whole(Option<Bytes>),
    Events(mpsc::Receiver<Bytes>),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let data = match self.get_mut() {
            Reply::Whole(bytes) => Poll::Ready(bytes.take()),
            Reply::Events(events) => events.poll_recv(context),
        };
        data.map(|bytes| bytes.map(|bytes| Ok(Frame::data(bytes))))
    }

    fn is_end_stream(&self) -> bool {
        matches!(self, Reply::Whole(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_others_can_give_are_not_this_machine() {
        let rows = [
            ("localhost", true),
            ("localhost:3000", true),
            ("127.0.0.1:1", true),
            ("[::1]:3000", true),
            ("[::1]", true),
            ("evil.example:3000", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:80", false),
            ("localhost:evil", false),
            ("localhost:80@evil.example", false),
            ("", false),
        ];
        for (host, here) in rows {
            assert_eq!(is_this_machine(host), here, "{host}");
        }
    }

    #[test]
    fn pages_from_elsewhere_are_refused() {
        let rows = [
            (&[("host", "127.0.0.1:1")][..], true),
            (&[("host", "127.0.0.1:1"), ("origin", "http://localhost:6274")], true),
            (&[("host", "127.0.0.1:1"), ("origin", "http://evil.example")], false),
            (&[("host", "127.0.0.1:1"), ("origin", "null")], false),
            (&[("host", "rebound.example:1")], false),
            (&[], false),
        ];
        for (pairs, served) in rows {
            let mut headers = HeaderMap::new();
            for (name, value) in pairs {
                headers.insert(*name, HeaderValue::from_static(value));
            }
            assert_eq!(from_this_machine(&headers).is_ok(), served, "{pairs:?}");
        }
    }
}
