//! The relay between one agent and one server: passes messages both ways, stops at `tools/call` and at the answers to
//! `tools/list`, and keeps the books of what is on its way.
//!
//! INVARIANT: the text of a `tools/call` reaches the server only from [`Shared::forward`], after a ruling.
//! The two directions never wait for each other, so a side that does not read cannot stop the other.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use mayi_core::session::Attendance;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tokio::task::AbortHandle;

use super::counter::{Counter, Ruling};
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

/// How long a person may think.
const PATIENCE: Duration = Duration::from_secs(600);

/// Why a person is asked about a call that rules allow.
const WANTED: &str = "the server wants a person to see every call of this tool";

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
    });
    let from_agent = from_agent(Arc::clone(&shared), agent.incoming, server.outgoing);
    let mut from_server = std::pin::pin!(from_server(Arc::clone(&shared), server.incoming));
    let ended = tokio::select! {
        () = from_agent => {
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

struct Shared {
    counter: Arc<Counter>,
    to_agent: mpsc::Sender<Message>,
    books: Mutex<Books>,
    /// What the ids of the gateway's own questions begin with.
    own_ids: String,
}

/// What is on its way.
#[derive(Default)]
struct Books {
    /// The agent's open requests.
    open: HashMap<String, Open>,
    /// The gateway's own questions to the person.
    questions: HashMap<String, oneshot::Sender<Value>>,
    asked: u64,
    /// The agent can put questions to its person.
    can_ask: bool,
    /// Tools whose server wants a person to see every call.
    need_person: HashSet<String>,
}

struct Open {
    id: Id,
    stage: Stage,
}

enum Stage {
    /// It waits for a ruling, and perhaps for the answer to a question.
    Ruling { task: AbortHandle, question: Option<Id> },
    /// The server has it.
    Sent(Sent),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Listing,
    Other,
}

/// A call on its way to a ruling.
struct Asking {
    id: Id,
    tool: String,
    arguments: Value,
    message: Message,
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
            Kind::Response { id: Some(id) } => match shared.settle(id) {
                Some(Sent::Listing) => shared.listed(message),
                Some(Sent::Other) => message,
                // Nobody waits for it, or not yet: a server cannot answer what it was not asked.
                None => continue,
            },
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
    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn tell_agent(&self, message: Message) {
        // An agent that is gone needs no answer.
        let _ = self.to_agent.send(message).await;
    }

    async fn request(&self, id: &Id, method: &str, message: &Message) -> Passes {
        if self.is_open(id).await {
            return Passes::Not;
        }
        if method == "initialize" {
            self.books().can_ask = message.member("params").is_some_and(|params| question::can_be_put(&params));
        }
        let sent = if method == "tools/list" { Sent::Listing } else { Sent::Other };
        self.books().open.insert(id.key().to_owned(), Open { id: id.clone(), stage: Stage::Sent(sent) });
        Passes::On
    }

    /// Whether a request with this id is open already, which the agent is told.
    async fn is_open(&self, id: &Id) -> bool {
        let open = self.books().open.contains_key(id.key());
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
            Ok((tool, arguments)) => {
                let asking = Asking { id: id.clone(), tool, arguments, message: message.clone() };
                // The books stay open until the task is in them: it cannot be done before it is written down.
                let mut books = self.books();
                let task = tokio::spawn(Arc::clone(self).decide(asking, server.clone())).abort_handle();
                let stage = Stage::Ruling { task, question: None };
                books.open.insert(id.key().to_owned(), Open { id: id.clone(), stage });
            }
        }
        Passes::Not
    }

    async fn decide(self: Arc<Self>, mut asking: Asking, server: mpsc::Sender<Message>) {
        let ruling = self.counter.rule(&asking.tool, asking.arguments.clone(), asking.id.key()).await;
        let wanted = self.books().need_person.contains(&asking.tool);
        let (changed, why) = match ruling {
            Ruling::Refuse(why) => return self.refuse(&asking.id, &format!("denied by mayi: {why}")).await,
            Ruling::Question { why, changed } => (changed, Some(why)),
            Ruling::Forward(changed) => (changed, wanted.then(|| WANTED.to_owned())),
        };
        if let Some(arguments) = changed {
            match asking.message.with_arguments(&arguments) {
                Ok(message) => asking = Asking { arguments, message, ..asking },
                Err(problem) => return self.refuse(&asking.id, &problem.to_string()).await,
            }
        }
        if let Some(why) = why
            && let Err(words) = self.ask(&asking, &why).await
        {
            return self.refuse(&asking.id, &words).await;
        }
        self.forward(&asking.id, asking.message, &server).await;
    }

    /// Sends a call that may run, unless it was cancelled meanwhile.
    async fn forward(&self, id: &Id, message: Message, server: &mpsc::Sender<Message>) {
        let Ok(place) = server.reserve().await else { return };
        let mut books = self.books();
        if let Some(open) = books.open.get_mut(id.key()) {
            open.stage = Stage::Sent(Sent::Other);
            // Under the lock, so that a cancellation of this call can only come after it.
            place.send(message);
        }
    }

    /// Tells the model no, in a way it can read: as the tool's own answer, not as a failure of the protocol.
    async fn refuse(&self, id: &Id, words: &str) {
        if self.books().open.remove(id.key()).is_none() {
            return;
        }
        let result = json!({ "content": [{ "type": "text", "text": words }], "isError": true });
        self.tell_agent(Message::result(id, result)).await;
    }

    /// Asks the person at the agent. The error is what the model is told.
    async fn ask(&self, asking: &Asking, why: &str) -> Result<(), String> {
        let tool = self.counter.named(&asking.tool);
        if self.counter.attendance() == Attendance::Unattended || !self.books().can_ask {
            return Err(format!(
                "denied by mayi: a person must be asked first ({why}), and nobody can be asked here\n\
                 help: a person can allow it with `mayi rules add '{tool}'`"
            ));
        }
        let (id, answer) = self.open_question(asking)?;
        let words = question::about(&tool, &asking.arguments, why);
        self.tell_agent(Message::request(id.clone(), question::METHOD, words)).await;
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        self.books().questions.remove(id.key());
        match answer {
            Ok(result) => self.heard(asking, result.ok().as_ref().and_then(question::answer)).await,
            Err(_) => {
                self.withdraw(&id).await;
                Err("denied by mayi: a person was asked, and did not answer".to_owned())
            }
        }
    }

    /// Records what the person said. A yes that is not on record is none.
    async fn heard(&self, asking: &Asking, said: Option<Verdict>) -> Result<(), String> {
        let noted = match said {
            Some(verdict) => self.counter.note_answer(&asking.tool, asking.id.key(), verdict).await,
            None => Ok(()),
        };
        match (said, noted) {
            (Some(Verdict::Allow), Ok(())) => Ok(()),
            (Some(Verdict::Allow), Err(problem)) => Err(format!("denied by mayi: a person allowed it, but {problem}")),
            (Some(Verdict::Ask | Verdict::Deny) | None, noted) => {
                if let Err(problem) = noted {
                    note(&problem);
                }
                Err("denied by mayi: a person was asked, and did not allow it".to_owned())
            }
        }
    }

    fn open_question(&self, asking: &Asking) -> Result<(Id, oneshot::Receiver<Value>), String> {
        let mut books = self.books();
        books.asked += 1;
        let id = Id::own(format!("{}-{}", self.own_ids, books.asked));
        match books.open.get_mut(asking.id.key()).map(|open| &mut open.stage) {
            Some(Stage::Ruling { question, .. }) => *question = Some(id.clone()),
            Some(Stage::Sent(_)) | None => return Err("denied by mayi: the call was cancelled".to_owned()),
        }
        let (send, receive) = oneshot::channel();
        books.questions.insert(id.key().to_owned(), send);
        Ok((id, receive))
    }

    async fn withdraw(&self, question: &Id) {
        let params = json!({ "requestId": question.json(), "reason": "the call was cancelled" });
        self.tell_agent(Message::notification("notifications/cancelled", params)).await;
    }

    /// An answer of the agent: to a question of ours, or else to a request of the server.
    fn answered(&self, id: Option<&Id>, message: &Message) -> Passes {
        let Some(id) = id.filter(|id| id.key().starts_with(&self.own_ids)) else { return Passes::On };
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
        let listing = listing::read(message, &self.counter);
        self.books().need_person.extend(listing.need_person);
        listing.message
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
