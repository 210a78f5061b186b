//! A call on its way to a ruling: what the counter says of it, and what the person says whom it lets ask.
//!
//! No call goes to the server from here. One that may run is handed back to the relay, and every other is answered in the
//! server's place.

use std::sync::Arc;
use std::time::Duration;

use mayi_core::session::Attendance;
use mayi_core::verdict::Verdict;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};

use super::counter::Ruling;
use super::relay::{Shared, Stage};
use super::sessionless::{self, Postponed, Speech};
use super::wire::{Id, Message};
use super::{note, question};
use crate::remedy::Remedy;

/// How long a person may think.
const PATIENCE: Duration = Duration::from_secs(600);

/// A call on its way to a ruling.
pub(super) struct Asking {
    id: Id,
    tool: String,
    /// As the agent wrote them.
    arguments: Value,
    /// What a hook made of them.
    changed: Option<Value>,
    params: Value,
    message: Message,
    speech: Speech,
}

/// What the agent is answered in the server's place.
struct Instead(Value);

impl Asking {
    pub(super) fn new(id: &Id, (tool, arguments): (String, Value), message: &Message) -> Self {
        let params = message.member("params").unwrap_or_default();
        let speech = Speech::of(&params);
        Self { id: id.clone(), tool, arguments, changed: None, params, message: message.clone(), speech }
    }

    /// Tells the model no, in a way it can read: as the tool's own answer, not as a failure of the protocol.
    fn refused(&self, words: &str) -> Instead {
        Instead(self.speech.refusal(words))
    }
}

impl Shared {
    /// Takes a call to its ruling, and from there to the server or back to the agent.
    pub(super) async fn decide(self: Arc<Self>, asking: Asking, server: mpsc::Sender<Message>) {
        let id = asking.id.clone();
        let ruled = match sessionless::answers(&asking.params, &self.own_ids) {
            Some(question) => self.resumed(&asking, question).await,
            None => self.ruled(asking, &server).await,
        };
        match ruled {
            Ok(message) => self.forward(&id, message, &server).await,
            Err(Instead(result)) => self.answer(&id, result).await,
        }
    }

    /// The message that may go to the server.
    async fn ruled(&self, mut asking: Asking, server: &mpsc::Sender<Message>) -> Result<Message, Instead> {
        let ruling = self.counter.rule(&asking.tool, asking.arguments.clone(), asking.id.key()).await;
        let (changed, why) = match ruling {
            Ruling::Refuse(why) => return Err(asking.refused(&format!("denied by mayi: {why}"))),
            Ruling::Question { why, remedy, changed } => (changed, Some((why, remedy))),
            Ruling::Forward(changed) => {
                let wish = self.wish(&asking.tool, &asking.params, server).await;
                (changed, wish.map(|why| (why.to_owned(), Remedy::Person)))
            }
        };
        if let Some(arguments) = changed {
            let message = asking.message.with_params(&[("arguments", Some(&arguments))]);
            let message = message.map_err(|problem| asking.refused(&problem.to_string()))?;
            asking = Asking { changed: Some(arguments), message, ..asking };
        }
        match why {
            Some((why, remedy)) => self.ask(asking, &why, remedy).await,
            None => Ok(asking.message),
        }
    }

    /// Asks the person at the agent, in the way that the agent's protocol has for it.
    async fn ask(&self, asking: Asking, why: &str, remedy: Remedy) -> Result<Message, Instead> {
        let tool = self.counter.named(&asking.tool);
        let can_ask = match asking.speech {
            Speech::Session => self.books().can_ask,
            Speech::Sessionless { can_ask } => can_ask,
        };
        if self.counter.attendance() == Attendance::Unattended || !can_ask {
            let help = if remedy == Remedy::AllowRule {
                format!("a person can allow it with `mayi rules add '{tool}'`")
            } else {
                format!("{remedy}; use an agent that can ask a person")
            };
            return Err(asking.refused(&format!(
                "denied by mayi: a person must be asked first ({why}), and nobody can be asked here\nhelp: {help}"
            )));
        }
        let words = question::about(&tool, asking.changed.as_ref().unwrap_or(&asking.arguments), why);
        match asking.speech {
            Speech::Session => match self.put(&asking, words).await {
                Ok(()) => Ok(asking.message),
                Err(words) => Err(asking.refused(&words)),
            },
            Speech::Sessionless { .. } => Err(self.postpone(asking, words)),
        }
    }

    /// Puts a question to the agent, and waits for its answer. The error is what the model is told.
    async fn put(&self, asking: &Asking, words: Value) -> Result<(), String> {
        let (id, answer) = self.open_question(asking)?;
        self.tell_agent(Message::request(id.clone(), question::METHOD, words)).await;
        let answer = tokio::time::timeout(PATIENCE, answer).await;
        self.books().questions.remove(id.key());
        match answer {
            Ok(result) => self.heard((&asking.tool, &asking.id), result.ok().as_ref()).await,
            Err(_) => {
                self.withdraw(&id).await;
                Err("denied by mayi: a person was asked, and did not answer".to_owned())
            }
        }
    }

    /// Answers a call with the question about it, and keeps it until it is sent again.
    fn postpone(&self, asking: Asking, words: Value) -> Instead {
        let mut books = self.books();
        let question = self.own_id(&mut books);
        let Asking { id, tool, arguments, changed, params, .. } = asking;
        books.postponed.put(&question, Postponed::new((id, tool), &params, arguments, changed));
        Instead(sessionless::input_required(&question, words))
    }

    /// A call that comes back with the answer to the question about it. It was decided when it first came.
    async fn resumed(&self, asking: &Asking, question: &str) -> Result<Message, Instead> {
        let postponed = self.books().postponed.take(question, PATIENCE);
        let Some(postponed) = postponed else {
            return Err(asking.refused("denied by mayi: the question that this answers is no longer open"));
        };
        if (&postponed.tool, &postponed.arguments) != (&asking.tool, &asking.arguments) {
            return Err(asking.refused("denied by mayi: a person was asked about another call than this"));
        }
        let response = sessionless::response(&asking.params, question);
        let heard = self.heard((&postponed.tool, &postponed.id), response).await;
        heard.map_err(|words| asking.refused(&words))?;
        postponed.restored(&asking.message).map_err(|problem| asking.refused(&problem.to_string()))
    }

    /// Records what the person said. A yes that is not on record is none.
    async fn heard(&self, (tool, id): (&str, &Id), answer: Option<&Value>) -> Result<(), String> {
        let said = answer.and_then(question::answer);
        let noted = match said {
            Some(verdict) => self.counter.note_answer(tool, id.key(), verdict).await,
            None => Ok(()),
        };
        match (said, noted) {
            // What ended the run while the person thought ends this, too.
            (Some(Verdict::Allow), Ok(())) => self.counter.goes_on(),
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
        let id = self.own_id(&mut books);
        match books.open.get_mut(asking.id.key()).map(|open| &mut open.stage) {
            Some(Stage::Ruling { question, .. }) => *question = Some(id.clone()),
            Some(Stage::Sent(_)) | None => return Err("denied by mayi: the call was cancelled".to_owned()),
        }
        let (send, receive) = oneshot::channel();
        books.questions.insert(id.key().to_owned(), send);
        Ok((id, receive))
    }

    pub(super) async fn withdraw(&self, question: &Id) {
        let params = json!({ "requestId": question.json(), "reason": "the call was cancelled" });
        self.tell_agent(Message::notification("notifications/cancelled", params)).await;
    }
}
