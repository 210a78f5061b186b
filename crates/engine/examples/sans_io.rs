//! The evaluation without any runtime: it says what it needs, and whoever drives it brings that, from wherever they have it.
//! `cargo run -p mayi-engine --example sans_io`
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "an example shows what it does")]

use std::sync::Arc;

use mayi_core::call::{Call, Workspace};
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::policy::{Layer, Options, Policy, Source, Written};
use mayi_core::referral::{Answer, PersonAnswer};
use mayi_core::session::{Aborted, Session};
use mayi_core::verdict::Verdict;
use mayi_shell::observe::Answer as Seen;

fn main() -> Result<(), Aborted> {
    let rules = vec![Written::new(Verdict::Allow, "Bash(npm test:*)"), Written::new(Verdict::Deny, "Read(.env)")];
    let sources = vec![Source::of(Layer::User, "/work", rules)];
    let policy = Arc::new(Policy::build(Workspace::at("/work"), sources, Options::default()));
    let mut evaluation = Evaluation::begin(Call::shell("npm test && git push"), policy, Session::default())?;
    let decision = loop {
        match evaluation.progress() {
            // Links, small files, repository configuration: an agent in a browser has its own idea of a file system.
            Progress::Observe(questions) => {
                evaluation.observe(questions.into_iter().map(|asked| (asked, Seen::Absent)))
            }
            // Who must answer is named, and never called from inside.
            Progress::Refer(referral) => {
                println!("to be answered: {referral:?}");
                evaluation.answer(Answer::Person(PersonAnswer::denied("not today")));
            }
            Progress::Done(decision) => break decision,
            Progress::Abort(why) => return Err(why),
        }
    };
    println!("{} at step {}: {}", decision.verdict, decision.step, decision.reason);
    Ok(())
}
