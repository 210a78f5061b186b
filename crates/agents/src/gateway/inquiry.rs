//! What the gateway itself asks the server, without the agent: its tools, when a call comes of one that no list has named
//! yet. Otherwise an agent that calls without looking would get round the server's wish that a person sees the call.

use std::time::Duration;

use serde_json::{Map, Value};
use tokio::sync::{mpsc, oneshot};

use super::relay::Shared;
use super::sessionless;
use super::wire::Message;

/// How long the server may take to list its tools, and how many pages the list may have.
const PATIENCE: Duration = Duration::from_secs(10);
const PAGES: usize = 100;

/// Why a person is asked about a call that rules allow.
const WANTED: &str = "the server wants a person to see every call of this tool";
const UNSAID: &str = "the server does not say whether it wants a person to see the calls of this tool";

impl Shared {
    /// Why a person is asked about a call that rules allow, if the server wants one or nobody knows.
    pub(super) async fn wish(
        &self,
        tool: &str,
        params: &Value,
        server: &mpsc::Sender<Message>,
    ) -> Option<&'static str> {
        let is_wanted = || self.books().tools.needs_person(tool);
        if is_wanted() {
            return Some(WANTED);
        }
        let looked = tokio::time::timeout(PATIENCE, self.look_up(tool, params, server)).await;
        match (is_wanted(), looked) {
            (true, _) => Some(WANTED),
            (false, Ok(Some(()))) => None,
            (false, Ok(None) | Err(_)) => Some(UNSAID),
        }
    }

    /// Reads the server's list as far as the tool, if no list has named it yet. Nothing when the server gives no list.
    async fn look_up(&self, tool: &str, params: &Value, server: &mpsc::Sender<Message>) -> Option<()> {
        if self.books().tools.has(tool) {
            return Some(());
        }
        // Calls that come together find in the books what the first of them has looked up.
        let _alone = self.inquiring.lock().await;
        let mut cursor = None;
        for _ in 0..PAGES {
            if self.books().tools.has(tool) {
                return Some(());
            }
            let result = self.page(cursor, params, server).await?;
            if !self.books().tools.learn(&result) {
                return None;
            }
            cursor = result.get("nextCursor").filter(|cursor| !cursor.is_null()).cloned();
            if cursor.is_none() {
                return Some(());
            }
        }
        None
    }

    /// One page of the list.
    async fn page(&self, cursor: Option<Value>, params: &Value, server: &mpsc::Sender<Message>) -> Option<Value> {
        let meta = sessionless::introduction(params).map(|meta| ("_meta", meta));
        let members = meta.into_iter().chain(cursor.map(|cursor| ("cursor", cursor)));
        let params: Map<String, Value> = members.map(|(name, value)| (name.to_owned(), value)).collect();
        let (send, answer) = oneshot::channel();
        let id = {
            let mut books = self.books();
            // Whoever gave up waiting wants no answer any more.
            books.inquiries.retain(|_, inquiry| !inquiry.is_closed());
            let id = self.inquiry_id(&mut books);
            books.inquiries.insert(id.key().to_owned(), send);
            id
        };
        server.send(Message::request(id, "tools/list", Value::Object(params))).await.ok()?;
        answer.await.ok()?.member("result")
    }
}
