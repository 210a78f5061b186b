//! The proxy for HTTP: `CONNECT`, and plain requests with an absolute address.
//!
//! Every request is judged by its own target, also on a connection that stays open. Requests are read and written anew,
//! never passed as bytes, so that the host sees the request that was judged.

use std::convert::Infallible;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, Incoming, SizeHint};
use hyper::ext::ReasonPhrase;
use hyper::header::{CONNECTION, CONTENT_TYPE, EXPECT, HOST, HeaderMap, HeaderName, HeaderValue};
use hyper::http::uri::{PathAndQuery, Scheme};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode, Uri, Version};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use super::gate::Gate;
use super::names::Target;
use super::refusal::{Failure, Obstacle, Why, shown};
use super::serve::Visit;
use super::tunnel::{Pulse, Watched, relay, unless_idle};

/// How long the head of a request may be, and how many fields it may have.
const HEAD: usize = 64 * 1024;
const FIELDS: usize = 128;

/// Fields that are meant for the next hop alone, besides those that `Connection` names.
const HOP_BY_HOP: [&str; 10] = [
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authentication-info",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Serves one connection of a program.
pub(super) async fn serve(visit: Visit, stream: TcpStream) {
    let gate = Arc::clone(&visit.gate);
    let pulse = Pulse::default();
    let service = service_fn(|request| {
        let visit = visit.clone();
        async move { Ok::<_, Infallible>(answer(visit, request).await.unwrap_or_else(Refusal::response)) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(gate.patience.greeting)
        .max_buf_size(HEAD)
        .max_headers(FIELDS)
        .serve_connection(TokioIo::new(Watched::new(stream, pulse.clone())), service)
        .with_upgrades();
    // A program that breaks off needs no answer.
    let _ = unless_idle(&pulse, gate.patience.idle, connection).await;
}

async fn answer(visit: Visit, request: Request<Incoming>) -> Result<Response<Reply>, Refusal> {
    let gate = &visit.gate;
    let target = target(gate, &request)?;
    check_header(gate, &target, request.headers())?;
    let upstream = gate.reach(&target).await.map_err(|obstacle| Refusal::of(&target, &obstacle))?;
    match *request.method() == Method::CONNECT {
        true => Ok(tunnel(visit, request, (target, upstream))),
        false => forward(request, &target, upstream).await.map_err(|failure| {
            let obstacle = Obstacle::Failed(failure);
            Refusal::of(&target, &obstacle)
        }),
    }
}

/// Where a request is to go.
fn target(gate: &Gate, request: &Request<Incoming>) -> Result<Target, Refusal> {
    let uri = request.uri();
    let Some(authority) = uri.authority() else {
        return Err(Refusal::malformed("this is a proxy: it takes CONNECT, and requests for `http://host/path`"));
    };
    let implied = match uri.scheme() {
        None if *request.method() == Method::CONNECT => None,
        Some(scheme) if *scheme == Scheme::HTTP && *request.method() != Method::CONNECT => Some(80),
        Some(_) | None => {
            return Err(Refusal::malformed("this proxy takes `http://` addresses; use CONNECT for everything else"));
        }
    };
    Target::read(authority.as_str(), implied).map_err(|bad| {
        let (host, port) = (authority.host(), authority.port_u16().or(implied).unwrap_or_default());
        let why = Why::Unreadable(bad);
        gate.record.refused(host.as_bytes(), port, &why);
        Refusal::forbidden(&format!("{}:{port}", shown(host.as_bytes())), &why)
    })
}

/// The `Host` header, when there is one, must name the target: some servers go by it.
fn check_header(gate: &Gate, target: &Target, headers: &HeaderMap) -> Result<(), Refusal> {
    for value in headers.get_all(HOST) {
        // Some programs leave out the port, whatever it is.
        let named = value.to_str().ok().and_then(|text| Target::read(text, Some(target.port)).ok());
        if named.as_ref() != Some(target) {
            let why = Why::OtherHeader(shown(value.as_bytes()));
            gate.refused(target, &why);
            return Err(Refusal::forbidden(&target.to_string(), &why));
        }
    }
    Ok(())
}

/// Says yes to `CONNECT`, and passes bytes from then on.
fn tunnel(visit: Visit, request: Request<Incoming>, (target, upstream): (Target, TcpStream)) -> Response<Reply> {
    tokio::spawn(async move {
        if let Ok(upgraded) = hyper::upgrade::on(request).await {
            relay(&visit.gate, &target, TokioIo::new(upgraded), upstream).await;
        }
    });
    Response::new(Reply::Whole(None))
}

/// Sends a plain request on, over a connection of its own.
async fn forward(request: Request<Incoming>, target: &Target, upstream: TcpStream) -> Result<Response<Reply>, Failure> {
    let mut builder = hyper::client::conn::http1::Builder::new();
    builder.max_buf_size(HEAD).max_headers(FIELDS);
    let handshake = builder.handshake(TokioIo::new(upstream)).await;
    let (mut sender, connection) = handshake.map_err(|_| Failure::Unreachable)?;
    let work = Work(tokio::spawn(async move {
        // What goes wrong shows in the response.
        let _ = connection.await;
    }));
    let response = sender.send_request(rewritten(request, target)?).await.map_err(|_| Failure::Unreachable)?;
    // No upgrade was asked for.
    if response.status() == StatusCode::SWITCHING_PROTOCOLS {
        return Err(Failure::Unreachable);
    }
    let (mut head, body) = response.into_parts();
    drop_hop_by_hop(&mut head.headers);
    head.version = Version::HTTP_11;
    Ok(Response::from_parts(head, Reply::Stream(body, work)))
}

/// The request as the host is to see it.
fn rewritten(request: Request<Incoming>, target: &Target) -> Result<Request<Incoming>, Failure> {
    let (mut head, body) = request.into_parts();
    let path = head.uri.path_and_query().cloned().unwrap_or_else(|| PathAndQuery::from_static("/"));
    drop_hop_by_hop(&mut head.headers);
    // The program's wish to be told to go on was granted here.
    head.headers.remove(EXPECT);
    let host = target.to_string();
    let host = host.strip_suffix(":80").unwrap_or(&host);
    head.headers.insert(HOST, HeaderValue::from_str(host).map_err(|_| Failure::Unreachable)?);
    head.uri = Uri::from(path);
    head.version = Version::HTTP_11;
    Ok(Request::from_parts(head, body))
}

fn drop_hop_by_hop(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|name| HeaderName::from_bytes(name.trim().as_bytes()).ok())
        .collect();
    for name in named {
        headers.remove(name);
    }
    for name in HOP_BY_HOP {
        headers.remove(name);
    }
}

/// A request that is not served, in words.
struct Refusal {
    status: StatusCode,
    /// For programs that show no more than the status line.
    reason: String,
    body: String,
}

impl Refusal {
    fn malformed(words: &str) -> Self {
        Self { status: StatusCode::BAD_REQUEST, reason: words.to_owned(), body: format!("mayi: {words}\n") }
    }

    fn forbidden(target: &str, why: &Why) -> Self {
        let host = target.rsplit_once(':').map_or(target, |(host, _)| host);
        let reason = format!("mayi refused {target}: {why}");
        let help = why.help(host);
        let body = format!("mayi refused the connection to `{target}`: {why}\nhelp: {help}\n");
        Self { status: StatusCode::FORBIDDEN, reason, body }
    }

    fn of(target: &Target, obstacle: &Obstacle) -> Self {
        let failure = match obstacle {
            Obstacle::Refused(why) => return Self::forbidden(&target.to_string(), why),
            Obstacle::Failed(failure) => failure,
        };
        let status = match failure {
            Failure::Unresolved | Failure::Refused | Failure::Unreachable => StatusCode::BAD_GATEWAY,
            Failure::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        };
        let reason = format!("{target}: {failure}");
        Self { status, body: format!("mayi may connect to `{target}`, but {failure}\n"), reason }
    }

    fn response(self) -> Response<Reply> {
        let mut response = Response::new(Reply::Whole(Some(Bytes::from(self.body))));
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
        // The standard way to tell a proxy's no from the host's.
        let error = match self.status == StatusCode::FORBIDDEN {
            true => "mayi; error=http_request_denied",
            false => "mayi; error=destination_unavailable",
        };
        headers.insert("proxy-status", HeaderValue::from_static(error));
        if let Ok(reason) = ReasonPhrase::try_from(self.reason) {
            response.extensions_mut().insert(reason);
        }
        response
    }
}

/// The connection to a host, which ends with the response that it brings.
struct Work(JoinHandle<()>);

impl Drop for Work {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The body of a response.
enum Reply {
    Whole(Option<Bytes>),
    Stream(Incoming, #[expect(dead_code, reason = "held until the body is done")] Work),
}

impl Body for Reply {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        match self.get_mut() {
            Reply::Whole(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Reply::Stream(body, _) => Pin::new(body).poll_frame(context),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Reply::Whole(bytes) => bytes.is_none(),
            Reply::Stream(body, _) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Reply::Whole(bytes) => {
                let length = bytes.as_ref().map_or(0, Bytes::len);
                SizeHint::with_exact(u64::try_from(length).unwrap_or(u64::MAX))
            }
            Reply::Stream(body, _) => body.size_hint(),
        }
    }
}
