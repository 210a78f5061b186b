//! A server at an address: streamable HTTP, spoken as a client.
//!
//! Headers may be secrets. They go to the address they were given for and nowhere else: no redirect is followed, plain
//! HTTP only reaches this machine, and no error shows the address with its query.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, RequestBuilder, Response, StatusCode, Url, redirect};
use serde_json::Value;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinSet;

use super::relay::{Side, WAITING};
use super::sse::{Event, Events};
use super::wire::{self, Fault, Id, Kind, LONGEST, Message};
use super::{Connection, GatewayError, note, sessionless};

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const EVENT_STREAM: &str = "text/event-stream";

/// How long the server may take to hear that the agent is ready.
const PATIENCE: Duration = Duration::from_secs(10);

/// How often a stream that ended early is taken up again without anything coming.
const ATTEMPTS: u32 = 5;

/// An address with the headers that are sent to it.
#[derive(Clone)]
pub struct Address {
    pub(crate) url: Url,
    headers: HeaderMap,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Address").field("host", &self.url.host_str()).finish_non_exhaustive()
    }
}

impl Address {
    /// Reads an address: `https`, or `http` on this machine.
    pub fn new(text: &str) -> Result<Self, GatewayError> {
        // A key may stand in the query.
        let shown = text.split('?').next().unwrap_or_default();
        let no = |problem: &str| GatewayError::Address { url: shown.to_owned(), problem: problem.to_owned() };
        let url = Url::parse(text).map_err(|error| no(&error.to_string()))?;
        let here = matches!(url.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
        match url.scheme() {
            "https" => Ok(Self { url, headers: HeaderMap::new() }),
            "http" if here => Ok(Self { url, headers: HeaderMap::new() }),
            "http" => Err(no("what is sent there could be read on the way\nhelp: use https")),
            _ => Err(no("it must begin with https://")),
        }
    }

    /// The same address with one more header.
    pub fn with_header(mut self, name: &str, value: &str) -> Result<Self, GatewayError> {
        let no = |problem| GatewayError::Header { name: name.to_owned(), problem };
        let header = HeaderName::try_from(name).map_err(|_| no("this is no name of a header"))?;
        let mut value =
            HeaderValue::try_from(value).map_err(|_| no("its value has letters that headers cannot have"))?;
        value.set_sensitive(true);
        self.headers.append(header, value);
        Ok(self)
    }
}

/// Connects to a server. Nothing is sent before the agent says something.
pub(crate) fn connect(address: &Address, server: &str) -> Result<Connection, GatewayError> {
    // Only the first of several installations counts, and they are all the same.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = Client::builder()
        .default_headers(address.headers.clone())
        .redirect(redirect::Policy::none())
        .connect_timeout(Duration::from_secs(15))
        .build()
        .map_err(|error| GatewayError::Address { url: server.to_owned(), problem: plain(error) })?;
    let (outgoing, to_server) = mpsc::channel(WAITING);
    let (from_server, incoming) = mpsc::channel(WAITING);
    let remote = Arc::new(Remote {
        client,
        url: address.url.clone(),
        agreed: Arc::default(),
        to_relay: from_server,
        expired: Notify::new(),
    });
    let parting = remote.parting();
    let driving = tokio::spawn(drive(remote, to_server));
    let finish = async move {
        driving.abort();
        let words = driving.await.unwrap_or_else(|_| "the agent left".to_owned());
        parting.await;
        words
    };
    Ok(Connection { side: Side { incoming, outgoing }, finish: Box::pin(finish) })
}

struct Remote {
    client: Client,
    url: Url,
    agreed: Arc<Mutex<Agreed>>,
    to_relay: mpsc::Sender<Message>,
    /// The server has forgotten the session.
    expired: Notify,
}

/// What the server and the agent agreed on when they met.
#[derive(Clone, Debug, Default)]
struct Agreed {
    session: Option<HeaderValue>,
    version: Option<HeaderValue>,
}

/// A request that waits for its answer.
#[derive(Clone, Copy)]
struct Waiting<'a> {
    id: &'a Id,
    method: &'a str,
}

/// Sends what the agent says, each message in an exchange of its own, until the agent or the session is gone.
async fn drive(remote: Arc<Remote>, mut outgoing: mpsc::Receiver<Message>) -> String {
    let mut exchanges = JoinSet::new();
    let mut listening = JoinSet::new();
    loop {
        tokio::select! {
            message = outgoing.recv() => match message {
                None => break,
                Some(message) if message.method() == Some("notifications/initialized") => {
                    // The server must have heard this before anything else, unless it never says that it has.
                    let _ = tokio::time::timeout(PATIENCE, Arc::clone(&remote).deliver(message)).await;
                    listening.spawn(Arc::clone(&remote).listen());
                }
                Some(message) => drop(exchanges.spawn(Arc::clone(&remote).deliver(message))),
            },
            Some(_) = exchanges.join_next() => {}
            () = remote.expired.notified() => return "it has ended the session".to_owned(),
        }
    }
    listening.shutdown().await;
    while exchanges.join_next().await.is_some() {}
    "the agent left".to_owned()
}

impl Remote {
    fn agreed(&self) -> Agreed {
        self.agreed.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn dressed(&self, request: RequestBuilder, version: Option<HeaderValue>) -> RequestBuilder {
        let Agreed { session, version: agreed } = self.agreed();
        let headers = [(SESSION, session), (VERSION, version.or(agreed))];
        headers.into_iter().fold(request, |request, (name, value)| match value {
            Some(value) => request.header(name, value),
            None => request,
        })
    }

    /// Sends a message and brings back everything that is said to it. A request is always answered.
    async fn deliver(self: Arc<Self>, message: Message) {
        let waiting = match &message.kind {
            Kind::Request { id, method } => Some(Waiting { id, method }),
            Kind::Notification { .. } | Kind::Response { .. } => None,
        };
        let Err(words) = self.exchange(&message, waiting).await else { return };
        match waiting {
            Some(Waiting { id, .. }) => drop(self.to_relay.send(Message::error(id, Fault::Server, &words)).await),
            None => note(&words),
        }
    }

    async fn exchange(&self, message: &Message, waiting: Option<Waiting<'_>>) -> Result<(), String> {
        let response = self.post(message).send().await.map_err(plain)?;
        let status = response.status();
        if status == StatusCode::NOT_FOUND && self.agreed().session.is_some() {
            self.expired.notify_one();
            return Err("the server has ended the session".to_owned());
        }
        if waiting.is_some_and(|waiting| waiting.method == "initialize") && status.is_success() {
            let session = response.headers().get(SESSION).cloned();
            self.agreed.lock().unwrap_or_else(PoisonError::into_inner).session = session;
        }
        let kind = content_type(&response);
        if kind.starts_with(EVENT_STREAM) && status.is_success() {
            return self.follow(response, waiting).await;
        }
        let body = if kind.starts_with("application/json") { body(response).await? } else { String::new() };
        let answered = !body.trim().is_empty() && self.receive(body, waiting).await;
        match (waiting, status.is_success()) {
            (Some(_), _) if answered => Ok(()),
            (None, true) => Ok(()),
            (Some(_), true) => Err("the server gave no answer".to_owned()),
            (Some(_) | None, false) => Err(refusal(status)),
        }
    }

    fn post(&self, message: &Message) -> RequestBuilder {
        let params = match message.kind {
            Kind::Request { .. } => message.member("params").unwrap_or_default(),
            Kind::Notification { .. } | Kind::Response { .. } => Value::Null,
        };
        let version = sessionless::version(&params);
        let mut request = self
            .client
            .post(self.url.clone())
            .header(ACCEPT, format!("application/json, {EVENT_STREAM}"))
            .header(CONTENT_TYPE, "application/json");
        // Without sessions a request says in headers what it is.
        if version.is_some_and(|version| version >= sessionless::FIRST) {
            let name = params.get("name").or_else(|| params.get("uri")).and_then(Value::as_str);
            for (header, value) in [("mcp-method", message.method()), ("mcp-name", name)] {
                if let Some(value) = value.and_then(|value| HeaderValue::from_str(value).ok()) {
                    request = request.header(header, value);
                }
            }
        }
        let version = version.and_then(|version| HeaderValue::from_str(version).ok());
        self.dressed(request, version).body(message.text().to_owned())
    }

    /// The stream on which the server speaks unasked. Servers need not have one.
    async fn listen(self: Arc<Self>) {
        if let Ok(response) = self.take_up(None).await {
            // It ends when the server has had enough of it, which is no fault.
            let _ = self.follow(response, None).await;
        }
    }

    /// Takes a stream up after the event that came last.
    async fn take_up(&self, last: Option<&str>) -> Result<Response, String> {
        let request = self.client.get(self.url.clone()).header(ACCEPT, EVENT_STREAM);
        let request = last.into_iter().fold(request, |request, last| request.header("last-event-id", last));
        let response = self.dressed(request, None).send().await.map_err(plain)?;
        let is_stream = response.status().is_success() && content_type(&response).starts_with(EVENT_STREAM);
        if is_stream { Ok(response) } else { Err(refusal(response.status())) }
    }

    /// Follows a stream to the answer that is waited for, through interruptions.
    async fn follow(&self, mut response: Response, waiting: Option<Waiting<'_>>) -> Result<(), String> {
        let mut last = None;
        let mut pause = Duration::from_secs(1);
        let mut attempts = 0;
        loop {
            let mut events = Events::default();
            while let Ok(Some(piece)) = response.chunk().await {
                for Event { id, data, retry } in events.read(&piece).map_err(|error| error.to_string())? {
                    attempts = 0;
                    last = id.or(last);
                    pause = retry.map_or(pause, |wait| Duration::from_millis(wait.min(60_000)));
                    if !data.is_empty() && self.receive(data, waiting).await {
                        return Ok(());
                    }
                }
            }
            if waiting.is_some() && last.is_none() {
                return Err("the server's answer broke off".to_owned());
            }
            response = loop {
                attempts += 1;
                tokio::time::sleep(pause).await;
                match self.take_up(last.as_deref()).await {
                    Ok(response) => break response,
                    Err(words) if attempts >= ATTEMPTS => return Err(words),
                    Err(_) => {}
                }
            };
        }
    }

    /// Hands on what the server said; true when the answer that is waited for was in it.
    async fn receive(&self, text: String, waiting: Option<Waiting<'_>>) -> bool {
        let mut answered = false;
        for part in wire::read(text) {
            match part {
                Err(unreadable) => note(&format!("the server said what is no message: {unreadable}")),
                Ok(message) => {
                    if let Some(waiting) = waiting.filter(|waiting| answers(&message, waiting.id)) {
                        answered = true;
                        self.agree(&message, waiting.method);
                    }
                    // A relay that has ended wants nothing more.
                    let _ = self.to_relay.send(message).await;
                }
            }
        }
        answered
    }

    fn agree(&self, answer: &Message, method: &str) {
        if method == "initialize" {
            let version = answer.member("result").and_then(|result| result.get("protocolVersion").cloned());
            let version = version.as_ref().and_then(Value::as_str).and_then(|text| HeaderValue::from_str(text).ok());
            self.agreed.lock().unwrap_or_else(PoisonError::into_inner).version = version;
        }
    }

    /// Tells the server that the session is over, if there is one by then.
    fn parting(&self) -> impl Future<Output = ()> + Send + use<> {
        let (client, url, agreed) = (self.client.clone(), self.url.clone(), Arc::clone(&self.agreed));
        async move {
            let Agreed { session, version } = agreed.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let Some(session) = session else { return };
            let request = client.delete(url).timeout(Duration::from_secs(2)).header(SESSION, session);
            let request = version.into_iter().fold(request, |request, version| request.header(VERSION, version));
            // A server need not know how to end a session.
            let _ = request.send().await;
        }
    }
}

fn answers(message: &Message, id: &Id) -> bool {
    matches!(&message.kind, Kind::Response { id: Some(answered) } if answered.key() == id.key())
}

fn content_type(response: &Response) -> &str {
    response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default()
}

fn refusal(status: StatusCode) -> String {
    match status {
        StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
            format!("the server answered HTTP {status}\nhelp: give it its key with --header-env NAME=VARIABLE")
        }
        status if status.is_redirection() => {
            format!("the server answered HTTP {status}, and redirects are not followed\nhelp: give the final address")
        }
        status => format!("the server answered HTTP {status}"),
    }
}

async fn body(mut response: Response) -> Result<String, String> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await.map_err(plain)? {
        if bytes.len() + piece.len() > LONGEST {
            return Err(format!("the server's answer is longer than {} MiB", LONGEST >> 20));
        }
        bytes.extend_from_slice(&piece);
    }
    String::from_utf8(bytes).map_err(|error| error.to_string())
}

/// An error without the address, which may hold a key, and with its cause, which says more than itself.
fn plain(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut words = format!("the server cannot be reached: {error}");
    let mut cause = std::error::Error::source(&error);
    while let Some(error) = cause {
        words = format!("{words}: {error}");
        cause = error.source();
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_only_go_where_nobody_reads_along() {
        for (url, good) in [
            ("https://example.com/mcp", true),
            ("http://127.0.0.1:3000/mcp", true),
            ("http://localhost/mcp", true),
            ("http://[::1]:1/", true),
            ("http://example.com/mcp", false),
            ("http://127.0.0.1.example.com/mcp", false),
            ("file:///etc/passwd", false),
            ("mcp", false),
        ] {
            assert_eq!(Address::new(url).is_ok(), good, "{url}");
        }
    }

    #[test]
    fn a_header_is_never_shown() {
        let address = Address::new("https://example.com/?key=hush").unwrap().with_header("X-Key", "hush").unwrap();
        assert!(!format!("{address:?}").contains("hush"));
        let error = address.with_header("X-Key", "hush\n").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hush"));
    }
}
