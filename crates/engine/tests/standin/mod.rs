//! A stand-in for a model's API, on loopback. It takes what the public documentation of the Anthropic Messages API and
//! of OpenAI's chat API allows and refuses everything else, keeps the prompt cache's books as they are documented, and
//! misbehaves as it is told to.

mod cache;
mod http;
mod strict;
mod tls;

use std::collections::VecDeque;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};

pub(crate) use http::Seen;
pub(crate) use strict::violation;
pub(crate) use tls::Authority;

/// The key that it takes.
pub(crate) const KEY: &str = "sk-standin-0123456789";

/// Whose API it stands in for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Api {
    Anthropic,
    OpenAi,
}

/// What it does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    /// Says this, and comes to its end.
    Say(String),
    /// Says this, and ends for another reason.
    Ends(String, &'static str),
    /// Calls a tool with this input.
    Call(String, Value),
    /// Sends this: status, headers, body.
    Raw(u16, Vec<(&'static str, String)>, Vec<u8>),
    /// Sends the answer as a stream of events, though nobody asked for one.
    Stream(String),
    /// Promises a body and hangs up in the middle of it.
    Truncate(String),
    /// Hangs up at once.
    HangUp,
    /// Never answers.
    Stall,
}

/// A running stand-in. It ends with the test's process.
pub(crate) struct Standin {
    pub(crate) address: SocketAddr,
    api: Api,
    state: Arc<State>,
}

pub(crate) struct State {
    api: Api,
    acts: Mutex<VecDeque<Act>>,
    seen: Mutex<Vec<Seen>>,
    connections: Mutex<usize>,
    cache: Mutex<cache::Cache>,
}

impl Standin {
    /// One that does these things, in this order. It refuses what comes after the last.
    pub(crate) fn new(api: Api, acts: impl IntoIterator<Item = Act>) -> Self {
        Self::listen(api, acts, |stream, state| http::serve(stream, &state))
    }

    /// One that speaks TLS with this authority's certificate for a name.
    pub(crate) fn with_tls(api: Api, acts: impl IntoIterator<Item = Act>, authority: &Authority, name: &str) -> Self {
        let config = authority.server(name);
        Self::listen(api, acts, move |stream, state| {
            let session = rustls::ServerConnection::new(config.clone()).unwrap();
            http::serve(rustls::StreamOwned::new(session, stream), &state);
        })
    }

    fn listen(
        api: Api,
        acts: impl IntoIterator<Item = Act>,
        serve: impl Fn(TcpStream, Arc<State>) + Send + Clone + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            api,
            acts: Mutex::new(acts.into_iter().collect()),
            seen: Mutex::default(),
            connections: Mutex::default(),
            cache: Mutex::default(),
        });
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                *shared.connections.lock().unwrap() += 1;
                let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
                let _ = stream.set_nodelay(true);
                let (serve, shared) = (serve.clone(), shared.clone());
                std::thread::spawn(move || serve(stream, shared));
            }
        });
        Self { address, api, state }
    }

    /// Settings that lead here.
    pub(crate) fn settings(&self) -> Value {
        json!({"classifier": {
            "provider": match self.api { Api::Anthropic => "anthropic", Api::OpenAi => "openai" },
            "baseUrl": match self.api {
                Api::Anthropic => format!("http://{}", self.address),
                Api::OpenAi => format!("http://{}/v1", self.address),
            },
            "model": "test-model",
            "timeoutSeconds": 10,
            "retries": 0,
        }})
    }

    /// Tells it what to do next.
    pub(crate) fn then(&self, acts: impl IntoIterator<Item = Act>) {
        self.state.acts.lock().unwrap().extend(acts);
    }

    /// Forgets what it was told to do.
    pub(crate) fn forget(&self) {
        self.state.acts.lock().unwrap().clear();
        self.state.seen.lock().unwrap().clear();
    }

    /// The requests so far. Each must have been one that the API takes.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        let seen = self.state.seen.lock().unwrap().clone();
        for request in &seen {
            assert_eq!(request.violation, None, "the API would refuse this request");
        }
        seen
    }

    /// How many connections were made.
    pub(crate) fn connections(&self) -> usize {
        *self.state.connections.lock().unwrap()
    }
}

impl State {
    /// The answer's body and how the books stand after it.
    fn body(&self, request: &Seen, act: &Act) -> Option<Vec<u8>> {
        let (text, ending, call) = match act {
            Act::Say(text) | Act::Stream(text) | Act::Truncate(text) => (text.clone(), None, None),
            Act::Ends(text, ending) => (text.clone(), Some(*ending), None),
            Act::Call(name, input) => (String::new(), None, Some((name.clone(), input.clone()))),
            Act::Raw(..) | Act::HangUp | Act::Stall => return None,
        };
        let counted = self.cache.lock().unwrap().count(self.api, &request.json());
        let output = text.len() / 4 + 1;
        let body = match self.api {
            Api::Anthropic => {
                let content = match &call {
                    Some((name, input)) => json!([{"type": "tool_use", "id": "toolu_1", "name": name, "input": input}]),
                    None => json!([{"type": "text", "text": text}]),
                };
                let ending = ending.unwrap_or(if call.is_some() { "tool_use" } else { "end_turn" });
                json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "test-model-20260101",
                    "content": content, "stop_reason": ending, "stop_sequence": null,
                    "usage": {"input_tokens": counted.fresh, "output_tokens": output,
                        "cache_creation_input_tokens": counted.written, "cache_read_input_tokens": counted.read,
                        "service_tier": "standard"}})
            }
            Api::OpenAi => {
                let mut message = json!({"role": "assistant", "content": text, "refusal": null, "annotations": []});
                if let Some((name, input)) = &call {
                    message["content"] = Value::Null;
                    message["tool_calls"] = json!([{"id": "call_1", "type": "function",
                        "function": {"name": name, "arguments": input.to_string()}}]);
                }
                json!({"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "test-model",
                    "choices": [{"index": 0, "message": message, "logprobs": null,
                        "finish_reason": ending.unwrap_or("stop")}],
                    "usage": {"prompt_tokens": counted.fresh + counted.read, "completion_tokens": output,
                        "total_tokens": counted.fresh + counted.read + output,
                        "prompt_tokens_details": {"cached_tokens": counted.read}}})
            }
        };
        Some(body.to_string().into_bytes())
    }
}
