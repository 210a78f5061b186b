//! Events of the whole fleet, on a connection of its own. When it breaks it is made again, and whoever listens is told
//! that they may have missed something.

use std::future::poll_fn;
use std::time::Duration;

use deadpool_postgres::Transaction;
use tokio::sync::broadcast;
use tokio::time::{Instant, interval_at, timeout};
use tokio_postgres::tls::MakeTlsConnect;
use tokio_postgres::{AsyncMessage, Client, Connection, Error, Socket};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::address::{Address, CONNECTING};
use super::{Event, StoreError, failure};

/// The longest that PostgreSQL carries is 8000 bytes.
const LONGEST: usize = 7900;
/// How often the connection is tried out: one that died in silence says nothing.
const TRY: Duration = Duration::from_secs(15);
/// The shortest and the longest wait before the connection is made again.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));

type Stream = <MakeRustlsConnect as MakeTlsConnect<Socket>>::Stream;

/// Tells everybody when the transaction commits. What is too long to be carried becomes a reason to look again.
pub(super) async fn notify(transaction: &Transaction<'_>, event: &Event) -> Result<(), Error> {
    let text = serde_json::to_string(event).ok().filter(|text| text.len() <= LONGEST);
    let text = text.unwrap_or_else(|| r#"{"event":"missed"}"#.to_owned());
    let statement = transaction.prepare_cached("select pg_notify('mayi', $1)").await?;
    transaction.execute(&statement, &[&text]).await?;
    Ok(())
}

/// A connection that hears events.
pub(super) struct Listener {
    address: Address,
    listeners: broadcast::Sender<Event>,
    client: Client,
    connection: Connection<Socket, Stream>,
}

impl Listener {
    /// Connects and listens.
    pub(super) async fn connect(address: &Address, listeners: &broadcast::Sender<Event>) -> Result<Self, StoreError> {
        let slow = |_| StoreError::Away("connecting took too long".to_owned());
        let (client, connection) = timeout(CONNECTING, address.config.connect(address.tls.clone()))
            .await
            .map_err(slow)?
            .map_err(|error| failure(&error))?;
        let mut listener = Self { address: address.clone(), listeners: listeners.clone(), client, connection };
        timeout(CONNECTING, listener.order("listen mayi")).await.map_err(slow)?.map_err(|error| failure(&error))?;
        Ok(listener)
    }

    /// Passes events on, for ever.
    pub(super) async fn run(mut self) {
        loop {
            // Whatever ends it, it is made again.
            let _ = self.pass_on().await;
            let Self { address, listeners, client: _, connection: _ } = self;
            self = again(&address, &listeners).await;
            // Nobody may be listening.
            let _ = self.listeners.send(Event::Missed);
        }
    }

    async fn pass_on(&mut self) -> Result<(), Error> {
        let mut tries = interval_at(Instant::now() + TRY, TRY);
        loop {
            tokio::select! {
                message = poll_fn(|context| self.connection.poll_message(context)) => match message {
                    Some(message) => hear(&self.listeners, message?),
                    None => return Ok(()),
                },
                _ = tries.tick() => match timeout(TRY, self.order("select")).await {
                    Ok(done) => done?,
                    Err(_) => return Ok(()),
                },
            }
        }
    }

    /// Runs a statement while hearing messages: the connection moves only when it is asked for them.
    async fn order(&mut self, statement: &str) -> Result<(), Error> {
        let done = self.client.batch_execute(statement);
        tokio::pin!(done);
        loop {
            tokio::select! {
                done = &mut done => return done,
                message = poll_fn(|context| self.connection.poll_message(context)) => match message {
                    Some(message) => hear(&self.listeners, message?),
                    None => return done.await,
                },
            }
        }
    }
}

async fn again(address: &Address, listeners: &broadcast::Sender<Event>) -> Listener {
    let (mut wait, longest) = WAITS;
    loop {
        match Listener::connect(address, listeners).await {
            Ok(listener) => return listener,
            Err(_) => tokio::time::sleep(wait).await,
        }
        wait = longest.min(wait * 2);
    }
}

fn hear(listeners: &broadcast::Sender<Event>, message: AsyncMessage) {
    if let AsyncMessage::Notification(heard) = message {
        // What cannot be read comes from another version of mayi: something happened.
        let _ = listeners.send(serde_json::from_str(heard.payload()).unwrap_or(Event::Missed));
    }
}
