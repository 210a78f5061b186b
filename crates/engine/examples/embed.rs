//! mayi in an agent's own process: settings, a call, an answer. `cargo run -p mayi-engine --example embed`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use mayi_core::call::Call;
use mayi_core::session::Session;
use mayi_engine::observe::Machine;
use mayi_engine::{Engine, Nobody, Outcome};
use mayi_settings::{Given, Places, load};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let places = Places::of_this_machine(&std::env::current_dir()?);
    let policy = load(&places, &Given { trust: places.trust(), ..Given::default() }).policy;
    let engine = Engine::new(Machine::here(&policy.workspace), Nobody);
    for command in ["git status", "rm -rf ~/", "npm publish"] {
        let Outcome { decision, permit, .. } =
            engine.decide(Call::shell(command), policy.clone(), Session::default()).await?;
        println!("{:<5} {command}: {}", decision.verdict, decision.reason);
        assert_eq!(permit.is_some(), command == "git status", "only what is allowed can be run");
    }
    Ok(())
}
