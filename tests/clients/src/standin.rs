//! A stand-in for a model on loopback: it asks for the tool calls of its script, and writes down what came back.
//!
//! It listens on 127.0.0.1 alone and knows nothing of permissions.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;

use anyhow::{Context, Result};
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::oneshot;

use crate::api::{Answer, Api, ToolResult};
use crate::script::{self, Script, Use};

/// What the model was told.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// The result of every call that came back, by the call's name.
    pub results: BTreeMap<String, ToolResult>,
    /// The requests, in order: method and path.
    pub requests: Vec<String>,
    /// The tools the agent offered.
    pub tools: BTreeSet<String>,
}

/// A server that runs until it is closed.
pub struct StandIn {
    address: SocketAddr,
    heard: Arc<Mutex<Heard>>,
    stop: oneshot::Sender<()>,
    thread: JoinHandle<()>,
}

impl StandIn {
    /// Opens a server with a script, on a free port.
    pub fn open(api: Api, script: Script) -> Result<Self> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").context("cannot listen on loopback")?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
        let heard = Arc::new(Mutex::new(Heard::default()));
        let model = Arc::new(Model { api, script, heard: Arc::clone(&heard) });
        let (stop, stopped) = oneshot::channel();
        let thread = std::thread::spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    () = serve(listener, model) => {}
                    _ = stopped => {}
                }
            });
        });
        Ok(Self { address, heard, stop, thread })
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Closes the server.
    pub fn close(self) -> Heard {
        let _ = self.stop.send(());
        let _ = self.thread.join();
        self.heard.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Model {
    api: Api,
    script: Script,
    heard: Arc<Mutex<Heard>>,
}

async fn serve(listener: std::net::TcpListener, model: Arc<Model>) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    while let Ok((stream, _)) = listener.accept().await {
        let model = Arc::clone(&model);
        tokio::spawn(async move {
            let service = service_fn(|request| respond(Arc::clone(&model), request));
            // A client that goes away is no concern of the server's: the test looks at what was heard.
            let _ = hyper::server::conn::http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
        });
    }
}

async fn respond(model: Arc<Model>, request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path().to_owned();
    let line = format!("{} {path}", request.method());
    let body = request.into_body().collect().await.map(|body| body.to_bytes()).unwrap_or_default();
    let body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let answer = model.answer(line, &path, &body);
    let mut response = Response::new(Full::new(Bytes::from(answer.body)));
    if let Ok(kind) = answer.content_type.parse() {
        response.headers_mut().insert("content-type", kind);
    }
    Ok(response)
}

impl Model {
    fn answer(&self, line: String, path: &str, body: &Value) -> Answer {
        let mut heard = self.heard.lock().unwrap_or_else(PoisonError::into_inner);
        heard.requests.push(line);
        if !self.api.is_conversation(path) {
            // Lists of models, counts of tokens: the agents manage with little.
            return Answer::json(&json!({"data": [], "models": [], "input_tokens": 1, "totalTokens": 1}));
        }
        let tools = tool_names(body);
        if tools.is_empty() {
            // A title, a summary: a question on the side, which no script knows.
            return self.api.answer(body, path, &[]);
        }
        heard.tools.extend(tools);
        let turns = self.script.turns(&self.api.opening(body));
        let done = self.note(&mut heard, turns, body);
        self.api.answer(body, path, script::next(turns, &done).unwrap_or_default())
    }

    /// Writes down the results in a conversation, and says which calls have one.
    fn note(&self, heard: &mut Heard, turns: &[Vec<Use>], body: &Value) -> Vec<String> {
        let asked: Vec<&Use> = turns.iter().flatten().collect();
        let mut done = Vec::new();
        for (position, mut result) in self.api.results(body).into_iter().enumerate() {
            if asked.iter().all(|one| one.id != result.id)
                && let Some(one) = asked.get(position)
            {
                result.id.clone_from(&one.id);
            }
            done.push(result.id.clone());
            heard.results.entry(result.id.clone()).or_insert(result);
        }
        done
    }
}

/// The names of the tools a request offers, in whichever of the APIs.
fn tool_names(body: &Value) -> Vec<String> {
    let name = |tool: &Value| {
        let named = ["/name", "/function/name", "/type"].iter().find_map(|place| tool.pointer(place));
        named.and_then(Value::as_str).map(str::to_owned)
    };
    let tools = body.get("tools").and_then(Value::as_array).into_iter().flatten();
    tools
        .flat_map(|tool| match tool.get("functionDeclarations").and_then(Value::as_array) {
            Some(declared) => declared.iter().filter_map(name).collect(),
            None => name(tool).into_iter().collect::<Vec<_>>(),
        })
        .collect()
}
