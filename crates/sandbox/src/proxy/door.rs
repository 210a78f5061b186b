//! Asks about hosts that are not listed: once per host, however many connections wait for the answer.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

use super::names::Target;
use super::refusal::Why;

/// How many hosts are asked about in the life of a proxy. Who is asked should not be worn down.
const MOST: usize = 64;

/// Answers about hosts that are not listed.
pub trait Doorkeeper: Send + Sync {
    /// Whether a host may be reached. Asked once per host on a thread of its own, where it may wait for a person; the
    /// answer stands for the host's other ports too, for the life of the proxy. A panic is a no.
    fn may_reach(&self, host: &str, port: u16) -> bool;
}

/// The questions that were asked, with their answers.
pub(super) struct Door {
    keeper: Option<Arc<dyn Doorkeeper>>,
    patience: Duration,
    asked: Mutex<HashMap<String, Question>>,
}

/// Empty until the answer is there.
type Question = watch::Receiver<Option<bool>>;

impl Door {
    pub(super) fn new(keeper: Option<Arc<dyn Doorkeeper>>, patience: Duration) -> Self {
        Self { keeper, patience, asked: Mutex::default() }
    }

    /// Waits for the answer about a host; asks if nobody has.
    pub(super) async fn ask(&self, target: &Target) -> Result<(), Why> {
        let mut question = self.question(target)?;
        let answer = tokio::time::timeout(self.patience, question.wait_for(Option::is_some)).await;
        match answer {
            Ok(Ok(said)) => match *said {
                Some(true) => Ok(()),
                Some(false) => Err(Why::SaidNo),
                None => Err(Why::NoAnswer),
            },
            // It took too long, or the doorkeeper panicked.
            Ok(Err(_)) | Err(_) => Err(Why::NoAnswer),
        }
    }

    fn question(&self, target: &Target) -> Result<Question, Why> {
        let keeper = self.keeper.as_ref().ok_or(Why::NotListed)?;
        let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
        let count = asked.len();
        match asked.entry(target.host.to_string()) {
            Entry::Occupied(known) => Ok(known.get().clone()),
            Entry::Vacant(_) if count >= MOST => Err(Why::TooManyAsked),
            Entry::Vacant(place) => {
                let (answer, question) = watch::channel(None);
                let (keeper, target) = (Arc::clone(keeper), target.clone());
                let asking = move || {
                    let said = keeper.may_reach(&target.host.to_string(), target.port);
                    answer.send_replace(Some(said));
                };
                thread::Builder::new().name("doorkeeper".to_owned()).spawn(asking).map_err(|_| Why::NoAnswer)?;
                Ok(place.insert(question).clone())
            }
        }
    }
}
