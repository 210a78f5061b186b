//! What was read a moment ago. When a store fails in passing, the last good value is served and the failure is said
//! beside it: a keyring that restarts signs nobody out.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

use super::StoreProblem;
use super::chain::{Chain, Found};

/// How long a value is served without asking again.
const FRESH: Duration = Duration::from_secs(30);
/// How long a store that failed is left alone.
const PAUSE: Duration = Duration::from_secs(5);

/// Whether a value of a moment ago will do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Freshness {
    /// It will.
    Recent,
    /// The store is asked.
    Now,
}

/// A value, and the failure that it was served in spite of.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The value.
    pub found: Option<Found>,
    /// The failure.
    pub warning: Option<StoreProblem>,
}

/// The last values, by slot.
#[derive(Debug, Default)]
pub struct Cache {
    values: Mutex<HashMap<String, Value>>,
}

#[derive(Clone, Debug)]
struct Value {
    found: Option<Found>,
    until: Instant,
    failure: Option<StoreProblem>,
}

impl Cache {
    /// The value of a slot.
    pub async fn load(&self, chain: &Chain, slot: &str, freshness: Freshness) -> Result<Loaded, StoreProblem> {
        let last = self.last(slot);
        // That there is nothing is read from the card each time: it costs little, and somebody may have signed in.
        if let (Freshness::Recent, Some(value)) = (freshness, &last)
            && value.found.is_some()
            && Instant::now() < value.until
        {
            return Ok(Loaded { found: value.found.clone(), warning: value.failure.clone() });
        }
        match (chain.load(slot).await, last) {
            (Ok(found), _) => {
                self.put(slot, found.clone());
                Ok(Loaded { found, warning: None })
            }
            (Err(problem), Some(value)) if problem.may_pass() && value.found.is_some() => {
                let failure = Some(problem.clone());
                self.set(slot, Value { found: value.found.clone(), until: Instant::now() + PAUSE, failure });
                Ok(Loaded { found: value.found, warning: Some(problem) })
            }
            (Err(problem), _) => Err(problem),
        }
    }

    /// Remembers a value.
    pub fn put(&self, slot: &str, found: Option<Found>) {
        self.set(slot, Value { found, until: Instant::now() + FRESH, failure: None });
    }

    fn set(&self, slot: &str, value: Value) {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).insert(slot.to_owned(), value);
    }

    fn last(&self, slot: &str) -> Option<Value> {
        self.values.lock().unwrap_or_else(PoisonError::into_inner).get(slot).cloned()
    }
}
