//! The place that the browser comes back to: a server on this machine's own address that answers one request and is
//! gone. It believes nothing but an answer to our own question, and shows nothing of what it was sent.

use std::convert::Infallible;
use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use secrecy::{ExposeSecret, SecretString};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::problem::{BadCallback, Problem, cleaned_code, cleaned_description};

const PATH: &str = "/callback";
/// How long a connection may stay.
const CONNECTION: Duration = Duration::from_secs(30);
/// How long the page may take to get to the browser once the answer is known.
const GOODBYE: Duration = Duration::from_secs(2);
/// More connections at a time are not taken.
const CONNECTIONS: usize = 16;

/// What an answer must be like.
pub(super) struct Expected {
    pub(super) state: SecretString,
    pub(super) issuer: Option<String>,
    pub(super) names_itself: bool,
}

/// What the browser brought.
type Brought = Result<SecretString, Problem>;

/// A server that waits for one answer.
#[derive(Debug)]
pub(super) struct Callback {
    listener: TcpListener,
    port: u16,
}

impl Callback {
    pub(super) async fn open() -> Result<Self, Problem> {
        let failed = |_| Problem::Machine("no port on this machine could be opened for the browser to come back to");
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.map_err(failed)?;
        let port = listener.local_addr().map_err(failed)?.port();
        Ok(Self { listener, port })
    }

    pub(super) fn address(&self) -> String {
        format!("http://127.0.0.1:{}{PATH}", self.port)
    }

    /// Waits for the answer and gives the code in it.
    pub(super) async fn code(self, expected: Expected, within: Duration) -> Brought {
        let timed_out = |_| Problem::Callback(BadCallback::TimedOut);
        tokio::time::timeout(within, self.serve(Arc::new(expected))).await.map_err(timed_out)?
    }

    async fn serve(self, expected: Arc<Expected>) -> Brought {
        let (tell, mut told) = mpsc::channel(1);
        let mut connections = JoinSet::new();
        let brought = loop {
            tokio::select! {
                Some(brought) = told.recv() => break brought,
                Ok((stream, _)) = self.listener.accept(), if connections.len() < CONNECTIONS => {
                    connections.spawn(converse(stream, self.port, Arc::clone(&expected), tell.clone()));
                }
                Some(_) = connections.join_next() => {}
            }
        };
        drop(self.listener);
        // The person should see the page; whoever is slower than this sees a closed connection.
        let _ = tokio::time::timeout(GOODBYE, async { while connections.join_next().await.is_some() {} }).await;
        brought
    }
}

/// Answers the requests of one connection.
async fn converse(stream: TcpStream, port: u16, expected: Arc<Expected>, tell: mpsc::Sender<Brought>) {
    let answer = service_fn(move |request: Request<Incoming>| {
        let brought = if is_ours(&request, port) { Some(judged(request.uri().query(), &expected)) } else { None };
        let response = page(brought.as_ref());
        // Only the first answer counts; what comes after it finds nobody.
        if let Some(brought) = brought {
            let _ = tell.try_send(brought);
        }
        async move { Ok::<_, Infallible>(response) }
    });
    let connection = hyper::server::conn::http1::Builder::new()
        .keep_alive(false)
        .max_buf_size(16 * 1024)
        .serve_connection(TokioIo::new(stream), answer);
    let _ = tokio::time::timeout(CONNECTION, connection).await;
}

/// Whether a request is for us: a page that another name led here is not.
fn is_ours(request: &Request<Incoming>, port: u16) -> bool {
    let host = request.headers().get("host").and_then(|host| host.to_str().ok());
    request.method() == Method::GET
        && request.uri().path() == PATH
        && host == Some(format!("127.0.0.1:{port}").as_str())
}

/// The code in an answer, if it is an answer to our question.
fn judged(query: Option<&str>, expected: &Expected) -> Brought {
    let bad = |what| Err(Problem::Callback(what));
    let address = reqwest::Url::parse(&format!("http://127.0.0.1/?{}", query.unwrap_or_default()));
    let Ok(address) = address else { return bad(BadCallback::NoCode) };
    let mut found: [Option<String>; 5] = Default::default();
    for (name, value) in address.query_pairs() {
        let names = ["state", "iss", "error", "error_description", "code"];
        let Some(place) = names.iter().position(|own| *own == name) else { continue };
        match found.get_mut(place) {
            Some(Some(_)) => return bad(BadCallback::Twice),
            Some(place) => *place = Some(value.into_owned()),
            None => {}
        }
    }
    let [state, issuer, error, description, code] = found;
    if state.as_deref() != Some(expected.state.expose_secret()) {
        return bad(BadCallback::State);
    }
    match (issuer, &expected.issuer) {
        (Some(said), Some(issuer)) if said != *issuer => return bad(BadCallback::Issuer),
        (None, _) if expected.names_itself => return bad(BadCallback::NoIssuer),
        (Some(_) | None, _) => {}
    }
    if let Some(error) = error {
        let description = description.as_deref().and_then(cleaned_description);
        return Err(Problem::Service { code: cleaned_code(&error), description });
    }
    match code {
        Some(code) if !code.is_empty() => Ok(code.into()),
        Some(_) | None => bad(BadCallback::NoCode),
    }
}

/// A page for the person. It holds nothing that came with the request.
fn page(brought: Option<&Brought>) -> Response<Full<Bytes>> {
    let (status, title, text) = match brought {
        Some(Ok(_)) => (StatusCode::OK, "Almost done", "You can close this window and go back to the terminal."),
        Some(Err(_)) => {
            (StatusCode::BAD_REQUEST, "That did not work", "Nothing was kept. The terminal says what went wrong.")
        }
        None => (StatusCode::NOT_FOUND, "Nothing here", "This address waits for a sign-in and for nothing else."),
    };
    let html = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>mayi: {title}</title>\
         <style>body{{font:1.1rem system-ui,sans-serif;max-width:32rem;margin:20vh auto;padding:0 1rem;\
         color-scheme:light dark}}</style><h1>{title}</h1><p>{text}</p></html>\n"
    );
    let mut response = Response::new(Full::new(Bytes::from(html)));
    *response.status_mut() = status;
    let headers = [
        ("content-type", "text/html; charset=utf-8"),
        ("cache-control", "no-store"),
        ("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"),
        ("referrer-policy", "no-referrer"),
        ("x-content-type-options", "nosniff"),
    ];
    for (name, value) in headers {
        response.headers_mut().insert(name, hyper::header::HeaderValue::from_static(value));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    fn expected() -> Expected {
        Expected { state: "s1".into(), issuer: Some("https://id.example".to_owned()), names_itself: false }
    }

    #[test]
    fn only_an_answer_to_our_question_is_believed() {
        let bad = |what| Err(Problem::Callback(what));
        let no = |code: &str, text: Option<&str>| {
            Err(Problem::Service { code: code.to_owned(), description: text.map(str::to_owned) })
        };
        let table = [
            (false, "code=c1&state=s1", Ok("c1")),
            (false, "code=c1&state=s1&iss=https%3A%2F%2Fid.example", Ok("c1")),
            (true, "code=c1&state=s1&iss=https%3A%2F%2Fid.example", Ok("c1")),
            (true, "code=c1&state=s1", bad(BadCallback::NoIssuer)),
            (false, "code=c1&state=s1&iss=https%3A%2F%2Fevil.example", bad(BadCallback::Issuer)),
            (false, "code=c1&state=s1&iss=", bad(BadCallback::Issuer)),
            (false, "code=c1&state=s2", bad(BadCallback::State)),
            (false, "code=c1&state=", bad(BadCallback::State)),
            (false, "code=c1", bad(BadCallback::State)),
            (false, "error=access_denied", bad(BadCallback::State)),
            (false, "", bad(BadCallback::State)),
            (false, "state=s1", bad(BadCallback::NoCode)),
            (false, "code=&state=s1", bad(BadCallback::NoCode)),
            (false, "code=c1&state=s1&code=c2", bad(BadCallback::Twice)),
            (false, "code=c1&state=s2&state=s1", bad(BadCallback::Twice)),
            (false, "error=access_denied&state=s1&error_description=not+you", no("access_denied", Some("not you"))),
            (false, "error=%1b%5B31m&state=s1", no("an unknown error", None)),
        ];
        for (names_itself, query, wanted) in table {
            let found = judged(Some(query), &Expected { names_itself, ..expected() })
                .map(|code| code.expose_secret().to_owned());
            assert_eq!(found, wanted.map(str::to_owned), "{query}");
        }
    }

    async fn ask(port: u16, request: &str) -> String {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stream.write_all(request.replace("PORT", &port.to_string()).as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    #[tokio::test]
    async fn it_answers_one_answer_and_is_gone() {
        let callback = Callback::open().await.unwrap();
        let port = callback.port;
        let waiting = tokio::spawn(callback.code(expected(), Duration::from_secs(30)));
        // A browser opens connections ahead of time and says nothing on them.
        let silent = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        for stray in [
            "GET /favicon.ico HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\n\r\n",
            "POST /callback?code=c1&state=s1 HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\ncontent-length: 0\r\n\r\n",
            "GET /callback?code=c1&state=s1 HTTP/1.1\r\nhost: evil.example\r\n\r\n",
            "GET /callback?code=c1&state=s1 HTTP/1.0\r\n\r\n",
        ] {
            assert!(ask(port, stray).await.contains(" 404 "), "{stray}");
        }
        let page = ask(port, "GET /callback?code=c1&state=s1 HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\n\r\n").await;
        assert!(page.starts_with("HTTP/1.1 200") && page.contains("no-store"), "{page}");
        assert!(!page.contains("c1") && !page.contains("s1"), "{page}");
        drop(silent);
        assert_eq!(waiting.await.unwrap().unwrap().expose_secret(), "c1");
        assert!(TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.is_err());
    }

    #[tokio::test]
    async fn a_wrong_state_ends_the_sign_in_and_a_person_sees_it() {
        let callback = Callback::open().await.unwrap();
        let port = callback.port;
        let waiting = tokio::spawn(callback.code(expected(), Duration::from_secs(30)));
        let page = ask(port, "GET /callback?code=c1&state=zzz HTTP/1.1\r\nhost: 127.0.0.1:PORT\r\n\r\n").await;
        assert!(page.starts_with("HTTP/1.1 400") && !page.contains("zzz"), "{page}");
        assert_eq!(waiting.await.unwrap().unwrap_err(), Problem::Callback(BadCallback::State));
    }

    #[tokio::test]
    async fn nobody_is_waited_for_for_ever() {
        let callback = Callback::open().await.unwrap();
        let problem = callback.code(expected(), Duration::from_millis(10)).await.unwrap_err();
        assert_eq!(problem, Problem::Callback(BadCallback::TimedOut));
    }
}
