//! What clients were told, to be compared with what the server kept. A promise that is written down here must be found
//! in the audit, whatever happened to the server since.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Reply;

/// What was told.
#[derive(Debug, Default)]
pub struct Ledger {
    told: Mutex<Told>,
}

/// The pages of the ledger.
#[derive(Clone, Debug, Default)]
pub struct Told {
    /// The verdict of every decision that was answered, by the name of its call.
    pub decided: BTreeMap<String, String>,
    /// The verdict of every approval whose answer was taken, by its name.
    pub settled: BTreeMap<String, String>,
    /// How many requests were refused because the store was away.
    pub refused: usize,
    /// Answers that nobody should ever get.
    pub surprises: Vec<String>,
}

impl Ledger {
    fn open(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A copy of everything.
    pub fn told(&self) -> Told {
        self.open().clone()
    }

    /// How many decisions were answered.
    pub fn decisions(&self) -> usize {
        self.open().decided.len()
    }

    /// How many requests were refused.
    pub fn refused(&self) -> usize {
        self.open().refused
    }

    /// Writes down what a decide was answered with. The verdict and the question, where there is one.
    pub fn decided(&self, call_id: &str, reply: &Reply) -> Option<(String, String)> {
        let mut told = self.open();
        match (reply.status, reply.text("/verdict")) {
            (200, Ok(verdict)) => {
                told.decided.insert(call_id.to_owned(), verdict);
                Some((reply.text("/approval/id").ok()?, reply.text("/approval/digest").ok()?))
            }
            (503, _) => {
                told.refused += 1;
                None
            }
            (_, _) => {
                told.surprises.push(format!("{call_id}: {reply:?}"));
                None
            }
        }
    }

    /// Writes down what an answer was answered with: the first one that is taken settles the question, and everybody
    /// who comes later must hear the same.
    pub fn answered(&self, id: &str, reply: &Reply) {
        let mut told = self.open();
        match (reply.status, reply.text("/answer/verdict")) {
            (200, Ok(verdict)) => {
                let known = told.settled.entry(id.to_owned()).or_insert_with(|| verdict.clone());
                if *known != verdict {
                    let surprise = format!("{id} was {known} and became {verdict}");
                    told.surprises.push(surprise);
                }
            }
            (503, _) => told.refused += 1,
            (_, _) => told.surprises.push(format!("{id}: {reply:?}")),
        }
    }
}

impl Told {
    /// Compares with audit records: every decision is there with its verdict, every answer once and as it was told.
    pub fn agree(&self, records: &[Value]) -> Result<()> {
        ensure!(self.surprises.is_empty(), "surprises: {:#?}", self.surprises);
        let text = |record: &Value, name: &str| record.get(name).and_then(Value::as_str).map(str::to_owned);
        let of_kind =
            |kind: &'static str| records.iter().filter(move |record| text(record, "kind").as_deref() == Some(kind));
        let decided: BTreeMap<String, String> = of_kind("decision")
            .filter_map(|record| Some((text(record, "call_id")?, text(record, "verdict")?)))
            .collect();
        for (call, verdict) in &self.decided {
            let kept = decided.get(call).with_context(|| format!("`{call}` was answered {verdict} and is lost"))?;
            ensure!(kept == verdict, "`{call}` was answered {verdict} and is kept as {kept}");
        }
        let mut answers = BTreeMap::new();
        let mut twice = BTreeSet::new();
        for record in of_kind("answer") {
            let id = text(record, "approval").with_context(|| format!("an answer to nothing: {record}"))?;
            let verdict = text(record, "verdict").with_context(|| format!("an answer without a verdict: {record}"))?;
            if answers.insert(id.clone(), verdict).is_some() {
                twice.insert(id);
            }
        }
        ensure!(twice.is_empty(), "answered twice: {twice:?}");
        for (id, verdict) in &self.settled {
            let kept = answers.get(id).with_context(|| format!("the answer to `{id}` is lost"))?;
            ensure!(kept == verdict, "`{id}` was answered {verdict} and is kept as {kept}");
        }
        Ok(())
    }
}
