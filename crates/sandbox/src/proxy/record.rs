//! What was refused: each once, in the order it happened, and never more than a reader can take in.

use std::sync::{Mutex, PoisonError};

use super::refusal::{Why, shown};
use crate::report::Violation;

/// How many refusals are listed.
const MOST: usize = 256;

#[derive(Default)]
pub(super) struct Record {
    kept: Mutex<Kept>,
}

#[derive(Default)]
struct Kept {
    violations: Vec<Violation>,
    more: usize,
}

impl Record {
    /// Writes down a refusal, unless it is there already.
    pub(super) fn refused(&self, host: &[u8], port: u16, why: &Why) {
        let violation = Violation::Connect { host: shown(host), port, why: why.to_string() };
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.violations.contains(&violation) {
            return;
        }
        match kept.violations.len() < MOST {
            true => kept.violations.push(violation),
            false => kept.more = kept.more.saturating_add(1),
        }
    }

    pub(super) fn violations(&self) -> Vec<Violation> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).violations.clone()
    }

    pub(super) fn more(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).more
    }
}
