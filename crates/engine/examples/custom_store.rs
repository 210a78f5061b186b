//! Sessions and records in a store of one's own. mayi keeps nothing by itself: a session is data that goes into a decision,
//! and a decision is data that comes out. `cargo run -p mayi-engine --example custom_store`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use std::collections::HashMap;
use std::sync::Arc;

use mayi_core::call::{Call, Workspace};
use mayi_core::mode::Mode;
use mayi_core::policy::{Layer, Policy};
use mayi_core::session::{Availability, Session};
use mayi_core::verdict::{Decision, Permit};
use mayi_engine::observe::Imagined;
use mayi_engine::{Engine, Nobody};
use mayi_settings::{Given, of_values};
use serde_json::{Value, json};

/// Stands for a database: sessions as JSON by their name, and one record a decision.
#[derive(Default)]
struct Store {
    sessions: HashMap<String, Value>,
    records: Vec<Value>,
}

impl Store {
    /// A session that is not there is new. One that cannot be read is an error: a fresh one would forget its denials.
    fn session(&self, id: &str) -> Result<Session, serde_json::Error> {
        match self.sessions.get(id) {
            Some(kept) => serde_json::from_value(kept.clone()),
            None => Ok(Session {
                availability: Availability { auto: true, ..Availability::default() },
                ..Session::in_mode(Mode::Auto)
            }),
        }
    }

    /// What a transaction would do: the counters and the record together, or neither.
    fn keep(&mut self, id: &str, session: &Session, record: Value) -> Result<(), serde_json::Error> {
        self.sessions.insert(id.to_owned(), serde_json::to_value(session)?);
        self.records.push(record);
        Ok(())
    }
}

/// Decides a call of a session. The permit is handed out only after the store has the record.
async fn decide(
    store: &mut Store,
    id: &str,
    call: Call,
    policy: &Arc<Policy>,
) -> Result<(Decision, Option<Permit>), Box<dyn std::error::Error>> {
    let mut session = store.session(id)?;
    let outcome = Engine::new(Imagined::default(), Nobody).decide(call, policy.clone(), session.clone()).await?;
    session.note(&outcome.decision, policy.options.limits);
    session.aborted = outcome.aborted;
    let Decision { verdict, step, reason, trace, .. } = &outcome.decision;
    let record = json!({ "session": id, "call": outcome.call.input, "verdict": verdict, "step": step,
        "because": reason.to_string(), "trace": trace });
    store.keep(id, &session, record)?;
    Ok((outcome.decision, outcome.permit))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let settings = json!({ "permissions": { "allow": ["Bash(npm test:*)"] } });
    let policy = of_values(&[(Layer::User, &settings)], &Workspace::at("/work"), &Given::default()).policy;
    let mut store = Store::default();
    for command in ["npm test", "git push --force origin main", "git push --force origin main"] {
        let (decision, permit) = decide(&mut store, "first", Call::shell(command), &policy).await?;
        println!("{:<5} {command}: {}", decision.verdict, decision.reason);
        assert_eq!(permit.is_some(), command == "npm test", "only what is allowed can be run");
    }
    assert_eq!(store.session("first")?.denials.in_a_row, 2, "the next process finds what this one counted");
    assert_eq!(store.records.len(), 3, "every decision is on record");
    Ok(())
}
