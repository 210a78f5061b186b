//! Telling somebody that a question waits: a webhook for each address that settings name. Off the path of every
//! decision, bounded, tried a few times, and of no consequence: a question that nobody was told of waits like any other.
//!
//! What is sent holds no secret, and nothing in it acts where it is shown. Redirects are not followed.

mod words;

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use mayi_engine::remote::wire::Approval;
use mayi_identity::http::{Address, client};
use mayi_settings::settings::Notify;
use tokio::sync::mpsc::error::TrySendError;
use tokio::sync::mpsc::{Receiver, Sender, channel};

use crate::app::App;
use words::Message;

/// How many notifications may wait.
const WAITING: usize = 256;
/// How long one attempt may take.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long to wait before each further attempt.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(5)];

/// Questions on their way to those who are told.
#[derive(Debug)]
pub struct Notices {
    sender: Sender<Approval>,
    receiver: Mutex<Option<Receiver<Approval>>>,
}

impl Default for Notices {
    fn default() -> Self {
        let (sender, receiver) = channel(WAITING);
        Self { sender, receiver: Mutex::new(Some(receiver)) }
    }
}

impl Notices {
    /// Leaves a question to be told of. One too many is counted and left out.
    pub fn leave(&self, app: &App, approval: &Approval) {
        if app.settings.current().settings.server.notify.is_empty() {
            return;
        }
        if let Err(TrySendError::Full(_)) = self.sender.try_send(approval.clone()) {
            app.tally.unsent.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn take(&self) -> Option<Receiver<Approval>> {
        self.receiver.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Tells of questions until the server stops.
pub async fn run(app: Arc<App>) {
    let Some(mut questions) = app.notices.take() else { return };
    let mut stopping = app.stopping();
    loop {
        let question = tokio::select! {
            question = questions.recv() => question,
            _ = stopping.changed() => None,
        };
        let Some(approval) = question else { return };
        for target in app.settings.current().settings.server.notify.clone() {
            let (app, approval) = (app.clone(), approval.clone());
            // One that is slow does not keep the others waiting.
            tokio::spawn(async move {
                if !send(&target, &approval, app.address.as_deref()).await {
                    app.tally.unsent.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
    }
}

/// Whether it was taken.
async fn send(target: &Notify, approval: &Approval, page: Option<&str>) -> bool {
    let Ok(address) = Address::of(&target.url) else { return false };
    let Some(client) = client(address.url(), None) else { return false };
    let message = Message::of(approval, page);
    let mut pauses = PAUSES.iter();
    loop {
        let mut request = client.post(address.url().clone()).timeout(PATIENCE);
        for (name, value) in message.headers(target.format) {
            request = request.header(name, value);
        }
        match request.body(message.body(target.format)).send().await {
            Ok(response) if response.status().is_success() => return true,
            // What was refused once is refused again.
            Ok(response) if response.status().is_client_error() && response.status().as_u16() != 429 => return false,
            Ok(_) | Err(_) => {}
        }
        let Some(pause) = pauses.next() else { return false };
        tokio::time::sleep(*pause).await;
    }
}
