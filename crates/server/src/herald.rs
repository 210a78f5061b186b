//! The one listener to the store's events in this process. It wakes those who wait for one question and nobody else, hands
//! events on to pages, and keeps how far the audit has come: thousands may wait, and a busy store has much to tell.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use rustc_hash::FxHashMap;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::{broadcast, watch};

use crate::store::{Event, Store};

/// How many events a page may be behind.
const BEHIND: usize = 1024;

/// Who tells.
#[derive(Debug)]
pub struct Herald {
    bells: Mutex<FxHashMap<String, watch::Sender<()>>>,
    events: broadcast::Sender<Event>,
    recorded: watch::Sender<u64>,
    begun: Mutex<Begun>,
}

/// Whether somebody listens to the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Begun {
    NotYet,
    Already,
}

impl Default for Herald {
    fn default() -> Self {
        let (events, _) = broadcast::channel(BEHIND);
        let (recorded, _) = watch::channel(0);
        Self { bells: Mutex::default(), events, recorded, begun: Mutex::new(Begun::NotYet) }
    }
}

/// Rings when a question may have changed. The herald forgets it when the last one is dropped.
#[derive(Debug)]
pub struct Bell {
    id: String,
    herald: Arc<Herald>,
    rung: Option<watch::Receiver<()>>,
}

impl Herald {
    /// Listens to the store from now on, on the present runtime, until it is time to stop.
    pub fn listen(self: &Arc<Self>, store: &dyn Store, mut stopping: watch::Receiver<bool>) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        if *begun == Begun::Already {
            return;
        }
        *begun = Begun::Already;
        let mut events = store.listen();
        let herald = self.clone();
        tokio::spawn(async move {
            while !*stopping.borrow() {
                tokio::select! {
                    event = events.recv() => match event {
                        Ok(event) => herald.tell(event),
                        Err(RecvError::Lagged(_)) => herald.tell(Event::Missed),
                        Err(RecvError::Closed) => break,
                    },
                    _ = stopping.changed() => {}
                }
            }
        });
    }

    fn tell(&self, event: Event) {
        match &event {
            Event::Recorded { number } => {
                self.recorded.send_replace(*number);
                return;
            }
            Event::Approval { id, .. } => {
                if let Some(bell) = self.bells().get(id) {
                    bell.send_replace(());
                }
            }
            // Whoever waits may have missed what they wait for.
            Event::Missed => self.bells().values().for_each(|bell| bell.send_replace(())),
            Event::Session { .. } | Event::Policy { .. } => {}
        }
        // Nobody may be listening.
        let _ = self.events.send(event);
    }

    fn bells(&self) -> MutexGuard<'_, FxHashMap<String, watch::Sender<()>>> {
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A bell for a question. It counts from now on: what happens before the first look at the question is not missed.
    pub fn bell(self: &Arc<Self>, id: &str) -> Bell {
        let mut bells = self.bells();
        let sender = bells.entry(id.to_owned()).or_insert_with(|| watch::channel(()).0);
        Bell { id: id.to_owned(), herald: self.clone(), rung: Some(sender.subscribe()) }
    }

    /// Every event but new records.
    pub fn events(&self) -> broadcast::Receiver<Event> {
        self.events.subscribe()
    }

    /// The number of the newest record that was told of.
    pub fn recorded(&self) -> u64 {
        *self.recorded.borrow()
    }
}

impl Bell {
    /// Waits until it rings.
    pub async fn rings(&mut self) {
        match &mut self.rung {
            // The sender stays as long as somebody has a bell.
            Some(rung) => drop(rung.changed().await),
            None => std::future::pending().await,
        }
    }
}

impl Drop for Bell {
    fn drop(&mut self) {
        let mut bells = self.herald.bells();
        self.rung.take();
        if bells.get(&self.id).is_some_and(|bell| bell.receiver_count() == 0) {
            bells.remove(&self.id);
        }
    }
}

#[cfg(test)]
mod tests {
    use mayi_engine::remote::wire::State;

    use super::*;

    #[tokio::test]
    async fn a_bell_rings_for_its_question_and_is_forgotten_with_its_last_owner() {
        let herald = Arc::new(Herald::default());
        let (mut first, mut second, other) = (herald.bell("a"), herald.bell("a"), herald.bell("b"));
        herald.tell(Event::Approval { id: "a".to_owned(), state: State::Answered });
        first.rings().await;
        second.rings().await;
        assert!(other.rung.as_ref().is_some_and(|rung| !rung.has_changed().unwrap()));
        drop((first, other));
        assert_eq!(herald.bells().len(), 1);
        herald.tell(Event::Missed);
        second.rings().await;
        drop(second);
        assert!(herald.bells().is_empty());
    }

    #[tokio::test]
    async fn records_are_counted_and_not_told_one_by_one() {
        let herald = Arc::new(Herald::default());
        let mut events = herald.events();
        herald.tell(Event::Recorded { number: 7 });
        herald.tell(Event::Session { id: "s".to_owned() });
        assert_eq!(events.recv().await.unwrap(), Event::Session { id: "s".to_owned() });
        assert_eq!(herald.recorded(), 7);
    }
}
