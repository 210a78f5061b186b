//! Who listens to the stream of events.

use anyhow::{Context, Result, bail};
use reqwest::{Method, Response};
use serde_json::Value;

use crate::{Client, PATIENCE};

/// A stream that is read.
#[derive(Debug)]
pub struct Events {
    response: Response,
    heard: String,
}

/// One event.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Event {
    /// Its kind.
    pub kind: String,
    /// What comes after it, for whoever comes back.
    pub id: Option<String>,
    /// What it says.
    pub data: Value,
}

impl Events {
    /// Begins to listen; the server has answered when this returns.
    pub async fn listen(client: &Client) -> Result<Self> {
        Self::listen_after(client, &[]).await
    }

    /// Begins to listen with headers, such as `last-event-id`.
    pub async fn listen_after(client: &Client, headers: &[(&str, &str)]) -> Result<Self> {
        let response = client.open(Method::GET, "/v1/events", (headers, "")).await?;
        if response.status() != 200 {
            bail!("no stream: {}: {}", response.status(), response.text().await?);
        }
        Ok(Self { response, heard: String::new() })
    }

    /// The next event.
    pub async fn next(&mut self) -> Result<Event> {
        loop {
            if let Some((block, rest)) = self.heard.split_once("\n\n") {
                let event = read(block);
                self.heard = rest.to_owned();
                if let Some(event) = event {
                    return Ok(event);
                }
                continue;
            }
            let piece = tokio::time::timeout(PATIENCE, self.response.chunk()).await.context("no event came")??;
            let piece = piece.context("the stream ended")?;
            self.heard.push_str(&String::from_utf8_lossy(&piece).replace("\r\n", "\n"));
        }
    }

    /// The next event that is looked for; others are passed over.
    pub async fn find(&mut self, wanted: impl Fn(&Event) -> bool) -> Result<Event> {
        loop {
            let event = self.next().await?;
            if wanted(&event) {
                return Ok(event);
            }
        }
    }
}

/// A block of lines, unless it holds only comments or a hint when to come back.
fn read(block: &str) -> Option<Event> {
    let field = |name: &str| {
        let mut values = block.lines().filter_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        values.next().map(|value| value.trim_start().to_owned())
    };
    let data = serde_json::from_str(&field("data")?).unwrap_or(Value::Null);
    Some(Event { kind: field("event").unwrap_or_default(), id: field("id"), data })
}
