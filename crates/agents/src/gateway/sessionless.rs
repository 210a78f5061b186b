//! The protocol without sessions: nobody introduces themselves, every request says which version it is written in and what
//! its agent can do, every result says what it is, and a server that wants to know something answers the request with its
//! question; the agent then sends the request again, with the answer.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::question;
use super::wire::{Id, Message, Unreadable};

/// The first version without sessions.
pub(crate) const FIRST: &str = "2026-07-28";

const VERSION: &str = "/_meta/io.modelcontextprotocol~1protocolVersion";
const CAPABILITIES: &str = "/_meta/io.modelcontextprotocol~1clientCapabilities";
const STATE: &str = "requestState";
const RESPONSES: &str = "inputResponses";

/// How many questions may wait for their answers. The oldest is forgotten for a new one: its answer is a refusal then.
const WAITING: usize = 64;

/// How an agent speaks, by one of its requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Speech {
    /// In a session, which began with what the agent can do.
    Session,
    /// Without one, and whether its person can be asked.
    Sessionless { can_ask: bool },
}

/// The version that a request says it is written in.
pub(crate) fn version(params: &Value) -> Option<&str> {
    params.pointer(VERSION).and_then(Value::as_str)
}

impl Speech {
    /// How the agent speaks that sent these parameters.
    pub(crate) fn of(params: &Value) -> Self {
        match version(params) {
            Some(version) if version >= FIRST => {
                Speech::Sessionless { can_ask: params.pointer(CAPABILITIES).is_some_and(question::can_be_put) }
            }
            Some(_) | None => Speech::Session,
        }
    }

    /// The result of a call that does not run.
    pub(crate) fn refusal(self, words: &str) -> Value {
        let mut result = json!({ "content": [{ "type": "text", "text": words }], "isError": true });
        if let (Speech::Sessionless { .. }, Some(members)) = (self, result.as_object_mut()) {
            members.insert("resultType".to_owned(), json!("complete"));
        }
        result
    }
}

/// What a request of the gateway's own must say about the agent that it is made for, where every request must.
pub(crate) fn introduction(params: &Value) -> Option<Value> {
    version(params)?;
    let meta = params.get("_meta")?.as_object()?;
    let own = meta.iter().filter(|(name, _)| name.starts_with("io.modelcontextprotocol/"));
    Some(Value::Object(own.map(|(name, value)| (name.clone(), value.clone())).collect()))
}

/// The result of a call that waits for an answer: the question, under a name by which its answer is known again.
pub(crate) fn input_required(question: &Id, words: Value) -> Value {
    let mut requests = Map::new();
    requests.insert(question.key().to_owned(), json!({ "method": question::METHOD, "params": words }));
    json!({ "resultType": "input_required", "inputRequests": requests, STATE: question.key() })
}

/// The question that a call comes back with, if it is one of the gateway's own.
pub(crate) fn answers<'a>(params: &'a Value, own_ids: &str) -> Option<&'a str> {
    params.get(STATE).and_then(Value::as_str).filter(|state| state.starts_with(own_ids))
}

/// What the agent brings back to a question.
pub(crate) fn response<'a>(params: &'a Value, question: &str) -> Option<&'a Value> {
    params.get(RESPONSES)?.get(question)
}

/// A call that a person was asked about, until the agent sends it again.
pub(crate) struct Postponed {
    /// The request that was decided.
    pub(crate) id: Id,
    pub(crate) tool: String,
    /// As the agent wrote them, and will write them again.
    pub(crate) arguments: Value,
    /// What a hook made of them, which is what the person was asked about.
    pub(crate) changed: Option<Value>,
    /// What the agent told the server in it that the server had wanted to know.
    state: Option<Value>,
    responses: Option<Value>,
}

impl Postponed {
    pub(crate) fn new((id, tool): (Id, String), params: &Value, arguments: Value, changed: Option<Value>) -> Self {
        let (state, responses) = (params.get(STATE).cloned(), params.get(RESPONSES).cloned());
        Self { id, tool, arguments, changed, state, responses }
    }

    /// The call as the server gets it: as it was sent again, but with what was decided, and without what the gateway
    /// alone wanted to know.
    pub(crate) fn restored(&self, again: &Message) -> Result<Message, Unreadable> {
        let own = [(STATE, self.state.as_ref()), (RESPONSES, self.responses.as_ref())];
        let message = again.with_params(&own)?;
        match &self.changed {
            Some(arguments) => message.with_params(&[("arguments", Some(arguments))]),
            None => Ok(message),
        }
    }
}

/// Calls that wait for the answers to their questions.
#[derive(Default)]
pub(crate) struct Shelf {
    waiting: VecDeque<(String, Instant, Postponed)>,
}

impl Shelf {
    /// Keeps a call until its question is answered.
    pub(crate) fn put(&mut self, question: &Id, call: Postponed) {
        if self.waiting.len() >= WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back((question.key().to_owned(), Instant::now(), call));
    }

    /// Takes out the call that a question was about. An answer counts once, and not after `patience`.
    pub(crate) fn take(&mut self, question: &str, patience: Duration) -> Option<Postponed> {
        self.waiting.retain(|(_, since, _)| since.elapsed() < patience);
        let at = self.waiting.iter().position(|(key, _, _)| key == question)?;
        self.waiting.remove(at).map(|(_, _, call)| call)
    }
}
