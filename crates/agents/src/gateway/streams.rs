//! The streams of one session over HTTP, and which of them a message takes to the agent.
//!
//! An answer takes the stream of its request. A request of the server takes a stream on which the agent waits for an
//! answer, since that is usually what it is about; everything else the standing stream. What finds no stream waits.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hyper::body::Bytes;
use serde_json::Value;
use tokio::sync::{Notify, mpsc};

use super::wire::{Kind, Message};

/// How many messages wait for a stream before the oldest is forgotten.
const WAITING: usize = 256;

/// How many events wait in a stream before the sender must.
const BUFFERED: usize = 16;

/// The streams of a session.
#[derive(Default)]
pub(crate) struct Streams {
    open: Mutex<Open>,
    /// A stream was opened.
    opened: Notify,
}

#[derive(Default)]
struct Open {
    /// The streams of posted requests, in the order they came.
    posted: Vec<Posted>,
    standing: Option<mpsc::Sender<Bytes>>,
    waiting: VecDeque<Message>,
}

struct Posted {
    /// The requests whose answers are still to come.
    requests: Vec<String>,
    /// What progress on them is told under.
    tokens: Vec<Value>,
    stream: mpsc::Sender<Bytes>,
}

/// What becomes of a message.
enum Way {
    Stream(mpsc::Sender<Bytes>),
    /// The agent no longer waits for it.
    Nowhere,
    Later,
}

impl Streams {
    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Opens the stream of posted requests.
    pub(crate) fn post<'a>(&self, requests: impl Iterator<Item = &'a Message>) -> mpsc::Receiver<Bytes> {
        let (stream, events) = mpsc::channel(BUFFERED);
        let mut posted = Posted { requests: Vec::new(), tokens: Vec::new(), stream };
        for request in requests {
            if let Kind::Request { id, .. } = &request.kind {
                posted.requests.push(id.key().to_owned());
                let params = request.member("params");
                posted
                    .tokens
                    .extend(params.as_ref().and_then(|params| params.pointer("/_meta/progressToken")).cloned());
            }
        }
        self.open().posted.push(posted);
        self.opened.notify_one();
        events
    }

    /// Opens the standing stream; one that is open already ends.
    pub(crate) fn stand(&self) -> mpsc::Receiver<Bytes> {
        let (stream, events) = mpsc::channel(BUFFERED);
        self.open().standing = Some(stream);
        self.opened.notify_one();
        events
    }

    /// Ends every stream.
    pub(crate) fn close(&self) {
        *self.open() = Open::default();
    }

    /// Whether the agent listens at all.
    pub(crate) fn is_quiet(&self) -> bool {
        let open = self.open();
        open.posted.iter().all(|posted| posted.stream.is_closed())
            && open.standing.as_ref().is_none_or(mpsc::Sender::is_closed)
    }

    /// Brings messages to the agent until there are no more.
    pub(crate) async fn carry(&self, mut messages: mpsc::Receiver<Message>) {
        loop {
            tokio::select! {
                // What has waited for a stream goes before what comes now.
                biased;
                () = self.opened.notified() => {
                    let waiting = std::mem::take(&mut self.open().waiting);
                    for message in waiting {
                        self.bring(message).await;
                    }
                }
                message = messages.recv() => match message {
                    Some(message) => self.bring(message).await,
                    None => return,
                },
            }
        }
    }

    async fn bring(&self, message: Message) {
        let way = self.open().way(&message);
        match way {
            Way::Nowhere => {}
            Way::Later => self.open().wait(message),
            Way::Stream(stream) => {
                // A stream that closes meanwhile takes its message with it, as any connection would.
                let _ = stream.send(event(message.text())).await;
            }
        }
    }
}

impl Open {
    fn way(&mut self, message: &Message) -> Way {
        match &message.kind {
            Kind::Response { id: Some(id) } => self.answer(id.key()),
            Kind::Response { id: None } => self.standing().or_else(|| self.latest()).map_or(Way::Nowhere, Way::Stream),
            Kind::Request { .. } => self.latest().or_else(|| self.standing()).map_or(Way::Later, Way::Stream),
            Kind::Notification { method } => {
                let of_request = if method == "notifications/progress" { self.progress(message) } else { None };
                let stream = of_request.or_else(|| self.standing()).or_else(|| self.latest());
                stream.map_or(Way::Later, Way::Stream)
            }
        }
    }

    /// The stream of an answer, which ends with its last one.
    fn answer(&mut self, key: &str) -> Way {
        let Some(at) = self.posted.iter().position(|posted| posted.requests.iter().any(|request| request == key))
        else {
            return Way::Nowhere;
        };
        let Some(posted) = self.posted.get_mut(at) else { return Way::Nowhere };
        posted.requests.retain(|request| request != key);
        let stream = posted.stream.clone();
        if posted.requests.is_empty() {
            self.posted.remove(at);
        }
        Way::Stream(stream)
    }

    fn progress(&self, message: &Message) -> Option<mpsc::Sender<Bytes>> {
        let token = message.member("params")?.get("progressToken")?.clone();
        let posted = self.posted.iter().find(|posted| posted.tokens.contains(&token) && !posted.stream.is_closed())?;
        Some(posted.stream.clone())
    }

    fn latest(&self) -> Option<mpsc::Sender<Bytes>> {
        let open = self.posted.iter().rev().find(|posted| !posted.stream.is_closed())?;
        Some(open.stream.clone())
    }

    fn standing(&self) -> Option<mpsc::Sender<Bytes>> {
        self.standing.clone().filter(|stream| !stream.is_closed())
    }

    fn wait(&mut self, message: Message) {
        if self.waiting.len() >= WAITING {
            self.waiting.pop_front();
        }
        self.waiting.push_back(message);
    }
}

fn event(text: &str) -> Bytes {
    Bytes::from(format!("event: message\ndata: {text}\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Message {
        Message::read(text.to_owned()).unwrap()
    }

    fn heard(events: &mut mpsc::Receiver<Bytes>) -> Vec<String> {
        std::iter::from_fn(|| events.try_recv().ok())
            .map(|bytes| String::from_utf8_lossy(&bytes).split("data: ").nth(1).unwrap_or_default().trim().to_owned())
            .collect()
    }

    fn carried(streams: &Streams, messages: &[&str]) {
        let (send, receive) = mpsc::channel(8);
        for text in messages {
            send.try_send(message(text)).unwrap();
        }
        drop(send);
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(streams.carry(receive));
    }

    #[test]
    fn each_message_takes_its_stream() {
        let streams = Streams::default();
        let first = message(r#"{"id":1,"method":"tools/call","params":{"_meta":{"progressToken":"p"}}}"#);
        let second = message(r#"{"id":2,"method":"ping"}"#);
        let mut one = streams.post([&first].into_iter());
        let mut two = streams.post([&second].into_iter());
        let mut standing = streams.stand();
        let progress = r#"{"method":"notifications/progress","params":{"progressToken":"p"}}"#;
        let elsewhere = r#"{"method":"notifications/progress","params":{"progressToken":"q"}}"#;
        let request = r#"{"id":9,"method":"sampling/createMessage"}"#;
        let answer = r#"{"id":1,"result":{}}"#;
        carried(&streams, &[progress, elsewhere, request, answer, answer]);
        assert_eq!(heard(&mut one), [progress, answer]);
        assert_eq!(heard(&mut two), [request]);
        assert_eq!(heard(&mut standing), [elsewhere]);
        assert!(one.is_closed() && !two.is_closed());
    }

    #[test]
    fn a_message_without_a_stream_waits_for_one() {
        let streams = Streams::default();
        let changed = r#"{"method":"notifications/tools/list_changed"}"#;
        carried(&streams, &[changed]);
        let mut standing = streams.stand();
        carried(&streams, &[r#"{"method":"x"}"#]);
        assert_eq!(heard(&mut standing), [changed, r#"{"method":"x"}"#]);
    }
}
