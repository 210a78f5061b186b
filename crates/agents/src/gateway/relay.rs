//! The relay between one agent and one server: passes messages both ways, stops at `tools/call` and at the answers to
//! `tools/list`, and keeps the books of what is on its way.
//!
//! INVARIANT: the text of a `tools/call` reaches the server only from [`Shared::forward`], after a ruling.
//! The two directions never wait for each other, so a side that does not read cannot stop the other.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::asking::Asking;
use super::counter::Counter;
use super::listing::Tools;
use super::sessionless::Shelf;
use super::wire::{Fault, Id, Kind, Message};
use super::{listing, note, question};

/// How many messages wait between two sides before the sender must.
pub(crate) const WAITING: usize = 64;

/// How long the server may still answer open requests after the agent has said its last.
const GRACE: Duration = Duration::from_secs(30);

/// How often it is looked whether something is still open then.
const LOOK: Duration = Duration::from_millis(100);

/// How long an agent may take to hear that the server is gone.
const LAST_WORDS: Duration = Duration::from_secs(1);

/// One side of the relay. It is gone when `incoming` ends; dropping `outgoing` says goodbye to it.
pub(crate) struct Side {
    pub(crate) incoming: mpsc::Receiver<Message>,
    pub(crate) outgoing: mpsc::Sender<Message>,
}

/// Which side ended the relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    ByAgent,
    ByServer,
}

/// Relays until a side is gone. Requests that the server left open are answered with an error.
pub(crate) async fn relay(agent: Side, server: Side, counter: Arc<Counter>) -> Ended {
    let shared = Arc::new(Shared {
        counter,
        to_agent: agent.outgoing,
        books: Mutex::default(),
        own_ids: format!("mayi-{}", unguessable()),
        inquiry_ids: format!("mayi-{}", unguessable()),
        inquiring: tokio::sync::Mutex::default(),
    });
    let from_agent = from_agent(Arc::clone(&shared), agent.incoming, server.outgoing);
    let mut from_server = std::pin::pin!(from_server(Arc::clone(&shared), server.incoming));
    let ended = tokio::select! {
        () = from_agent => {
            shared.nobody_answers();
            tokio::select! {
                () = &mut from_server => {}
                () = shared.quiet() => {}
                () = tokio::time::sleep(GRACE) => {}
            }
            Ended::ByAgent
        }
        () = &mut from_server => Ended::ByServer,
    };
    shared.close().await;
    ended
}

/// Letters that nobody can guess, for names of the gateway's own.
pub(crate) fn unguessable() -> String {
    let mut bytes = [0_u8; 16];
    // Without randomness the time must do; what is named so is checked by other means as well.
    if getrandom::fill(&mut bytes).is_err() {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
        bytes = now.as_nanos().to_be_bytes();
    }
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(super) struct Shared {
    pub(super) counter: Arc<Counter>,
    to_agent: mpsc::Sender<Message>,
    books: Mutex<Books>,
    /// What the ids of questions to the person begin with. INVARIANT: the server never sees one. Whoever knew the next could ask
    /// under it, and be taken for us.
    pub(super) own_ids: String,
    /// What the ids of questions to the server begin with.
    inquiry_ids: String,
    /// Held while the server is asked for its tools.
    pub(super) inquiring: tokio::sync::Mutex<()>,
}

/// What is on its way.
#[derive(Default)]
pub(super) struct Books {
    /// The agent's open requests.
    pub(super) open: HashMap<String, Open>,
    /// The gateway's own questions to the person.
    pub(super) questions: HashMap<String, oneshot::Sender<Value>>,
    /// Calls whose questions are answered when they are sent again.
    pub(super) postponed: Shelf,
    asked: u64,
    /// The agent said when its session began that it can put questions to its person.
    pub(super) can_ask: bool,
    /// The gateway's own questions to the server.
    pub(super) inquiries: HashMap<String, oneshot::Sender<Message>>,
    pub(super) tools: Tools,
}

pub(super) struct Open {
    id: Id,
    pub(super) stage: Stage,
}

pub(super) enum Stage {
    /// It waits for a ruling, and perhaps for the answer to a question.
    Ruling { task: AbortHandle, question: Option<Id> },
    /// The server has it.
    Sent(Sent),
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Sent {
    Listing,
    Other,
}

async fn from_agent(shared: Arc<Shared>, mut incoming: mpsc::Receiver<Message>, server: mpsc::Sender<Message>) {
    while let Some(message) = incoming.recv().await {
        let passes = match &message.kind {
            Kind::Request { id, .. } if message.is_call() => shared.call(id, &message, &server).await,
            Kind::Request { id, method } => shared.request(id, method, &message).await,
            Kind::Notification { .. } if message.is_call() => {
                note("a call without an id was dropped: it could not be refused");
                Passes::Not
            }
            Kind::Notification { method } if method == "notifications/cancelled" => shared.cancelled(&message).await,
            Kind::Notification { .. } => Passes::On,
            Kind::Response { id } => shared.answered(id.as_ref(), &message),
        };
        if passes == Passes::On && server.send(message).await.is_err() {
            // The other direction notices the same, and ends the relay.
            return std::future::pending().await;
        }
    }
}

async fn from_server(shared: Arc<Shared>, mut incoming: mpsc::Receiver<Message>) {
    while let Some(message) = incoming.recv().await {
        let message = match &message.kind {
            Kind::Response { id: Some(id) } if shared.is_inquiry(id) => {
                shared.told(id, &message);
                continue;
            }
            Kind::Request { id, .. } if shared.is_own(id) => {
                note("a request of the server was dropped: its id is one of the gateway's");
                continue;
            }
            Kind::Response { id: Some(id) } => match shared.settle(id) {
                Some(Sent::Listing) => shared.listed(message),
                Some(Sent::Other) => message,
                // Nobody waits for it, or not yet: a server cannot answer what it was not asked.
                None => continue,
            },
            Kind::Notification { method } if method == "notifications/tools/list_changed" => {
                shared.books().tools.forget();
                message
            }
            Kind::Response { id: None } | Kind::Request { .. } | Kind::Notification { .. } => message,
        };
        if shared.to_agent.send(message).await.is_err() {
            return std::future::pending().await;
        }
    }
}

/// Whether a message goes on to the other side.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Passes {
    On,
    Not,
}

impl Shared {
    pub(super) fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The id of the next question to the person.
    pub(super) fn own_id(&self, books: &mut Books) -> Id {
        books.asked += 1;
        Id::own(format!("{}-{}", self.own_ids, books.asked))
    }

    /// The id of the next question to the server.
    pub(super) fn inquiry_id(&self, books: &mut Books) -> Id {
        books.asked += 1;
        Id::own(format!("{}-{}", self.inquiry_ids, books.asked))
    }

    fn is_own(&self, id: &Id) -> bool {
        id.key().starts_with(&self.own_ids)
    }

    fn is_inquiry(&self, id: &Id) -> bool {
        id.key().starts_with(&self.inquiry_ids)
    }

    pub(super) async fn tell_agent(&self, message: Message) {
        // An agent that is gone needs no answer.
        let _ = self.to_agent.send(message).await;
    }

    async fn request(&self, id: &Id, method: &str, message: &Message) -> Passes {
        if self.is_open(id).await {
            return Passes::Not;
        }
        if method == "initialize" {
            self.books().can_ask = message
                .member("params")
                .and_then(|params| params.get("capabilities").map(question::can_be_put))
                .unwrap_or(false);
        }
        let sent = if method == "tools/list" { Sent::Listing } else { Sent::Other };
        self.books().open.insert(id.key().to_owned(), Open { id: id.clone(), stage: Stage::Sent(sent) });
        Passes::On
    }

    /// Whether a request with this id is open already, which the agent is told.
    async fn is_open(&self, id: &Id) -> bool {
        let open = self.is_own(id) || self.is_inquiry(id) || self.books().open.contains_key(id.key());
        if open {
            self.tell_agent(Message::error(id, Fault::Request, "a request with this id is still open")).await;
        }
        open
    }

    /// Takes a call to its ruling.
    async fn call(self: &Arc<Self>, id: &Id, message: &Message, server: &mpsc::Sender<Message>) -> Passes {
        if self.is_open(id).await {
            return Passes::Not;
        }
        match message.call() {
            Err(problem) => self.tell_agent(Message::error(id, Fault::Params, &problem.to_string())).await,
            Ok(called) => {
                let asking = Asking::new(id, called, message);
                // The books stay open until the task is in them: it cannot be done before it is written down.
                let mut books = self.books();
                let task = tokio::spawn(Arc::clone(self).decide(asking, server.clone())).abort_handle();
                let stage = Stage::Ruling { task, question: None };
                books.open.insert(id.key().to_owned(), Open { id: id.clone(), stage });
            }
        }
        Passes::Not
    }

    /// Sends a call that may run, unless it was cancelled meanwhile.
    pub(super) async fn forward(&self, id: &Id, message: Message, server: &mpsc::Sender<Message>) {
        let Ok(place) = server.reserve().await else { return };
        let mut books = self.books();
        if let Some(open) = books.open.get_mut(id.key()) {
            open.stage = Stage::Sent(Sent::Other);
            // Under the lock, so that a cancellation of this call can only come after it.
            place.send(message);
        }
    }

    /// Answers a call in the server's place, unless it was cancelled meanwhile.
    pub(super) async fn answer(&self, id: &Id, result: Value) {
        if self.books().open.remove(id.key()).is_some() {
            self.tell_agent(Message::result(id, result)).await;
        }
    }

    /// An answer of the agent: to a question of ours, or else to a request of the server.
    fn answered(&self, id: Option<&Id>, message: &Message) -> Passes {
        let Some(id) = id.filter(|id| self.is_own(id)) else { return Passes::On };
        // The call may have been cancelled meanwhile; then nobody waits for the answer.
        if let Some(question) = self.books().questions.remove(id.key()) {
            let _ = question.send(message.member("result").unwrap_or_default());
        }
        Passes::Not
    }

    /// The agent takes a request back. The server hears of it only if it has the request.
    async fn cancelled(&self, message: &Message) -> Passes {
        let named = message.member("params").and_then(|params| params.get("requestId").cloned());
        let Some(id) = named.and_then(Id::new) else { return Passes::On };
        let open = self.books().open.remove(id.key());
        match open.map(|open| open.stage) {
            None | Some(Stage::Sent(_)) => Passes::On,
            Some(Stage::Ruling { task, question }) => {
                task.abort();
                if let Some(question) = question {
                    self.books().questions.remove(question.key());
                    self.withdraw(&question).await;
                }
                Passes::Not
            }
        }
    }

    /// An answer of the server to a question of the gateway's own. Nobody may wait for it any more.
    fn told(&self, id: &Id, message: &Message) {
        if let Some(inquiry) = self.books().inquiries.remove(id.key()) {
            let _ = inquiry.send(message.clone());
        }
    }

    /// Takes a request out of the books because its answer has come.
    fn settle(&self, id: &Id) -> Option<Sent> {
        let mut books = self.books();
        match books.open.get(id.key())?.stage {
            Stage::Ruling { .. } => None,
            Stage::Sent(sent) => {
                books.open.remove(id.key());
                Some(sent)
            }
        }
    }

    fn listed(&self, message: Message) -> Message {
        let Some(result) = message.member("result") else { return message };
        self.books().tools.learn(&result);
        listing::shown(message, result, &self.counter)
    }

    /// The agent says nothing any more, so nobody can be asked, and nobody who was asked will answer.
    fn nobody_answers(&self) {
        let mut books = self.books();
        books.can_ask = false;
        books.questions.clear();
    }

    /// Waits until nothing is open.
    async fn quiet(&self) {
        loop {
            tokio::time::sleep(LOOK).await;
            if self.books().open.is_empty() {
                return;
            }
        }
    }

    /// Ends everything that is open.
    async fn close(&self) {
        let open = std::mem::take(&mut self.books().open);
        for Open { id, stage } in open.into_values() {
            if let Stage::Ruling { task, .. } = stage {
                task.abort();
            }
            let words = format!("the server `{}` is gone", self.counter.server());
            let told = self.to_agent.send(Message::error(&id, Fault::Server, &words));
            if tokio::time::timeout(LAST_WORDS, told).await.is_err() {
                // The agent does not read any more.
                return;
            }
        }
    }
}
