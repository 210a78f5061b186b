//! A tool of one's own: declared in settings, ruled like any other. And a session kept in a store of one's own: it is plain
//! data. `cargo run -p mayi-engine --example custom_tool`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use std::collections::HashMap;

use mayi_core::call::{Call, Workspace};
use mayi_core::policy::Layer;
use mayi_core::session::Session;
use mayi_core::verdict::Verdict;
use mayi_engine::observe::Imagined;
use mayi_engine::{Engine, Nobody};
use mayi_settings::{Given, of_values};
use serde_json::json;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `SaveNote` writes a file, so path rules and protected paths hold for it too.
    let settings = json!({
        "tools": { "SaveNote": { "kind": "edit", "field": "path" } },
        "permissions": { "allow": ["Edit(notes/**)"] },
    });
    let policy = of_values(&[(Layer::User, &settings)], &Workspace::at("/work"), &Given::default()).policy;
    let engine = Engine::new(Imagined::default(), Nobody);
    let mut store: HashMap<String, String> = HashMap::new();
    for (path, expected) in [("notes/today.md", Verdict::Allow), (".git/hooks/pre-commit", Verdict::Ask)] {
        let kept = store.get("session").map(|text| serde_json::from_str(text)).transpose()?;
        let mut session: Session = kept.unwrap_or_default();
        let call = Call::new("SaveNote", json!({ "path": path, "text": "…" }));
        let decision = engine.decide(call, policy.clone(), session.clone()).await?.decision;
        session.note(&decision, policy.options.limits);
        store.insert("session".to_owned(), serde_json::to_string(&session)?);
        println!("{:<5} {path}: {}", decision.verdict, decision.reason);
        assert_eq!(decision.verdict, expected);
    }
    Ok(())
}
