//! Any bytes as a settings file give a whole policy, and one that is no JSON never allows anything.
#![no_main]

use std::sync::Arc;

use libfuzzer_sys::fuzz_target;
use mayi_core::call::Call;
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::session::Session;
use mayi_core::verdict::Verdict;
use mayi_settings::document::Document;
use mayi_settings::{Flag, Given, Places, load};
use mayi_shell::observe::Answer;

fuzz_target!(|text: &str| {
    let broken = Document::parse(text).is_err();
    let places = Places { directory: "/nonexistent/w".into(), ..Places::default() };
    let given = Given { flags: vec![Flag::Inline(text.to_owned())], ..Given::default() };
    let loaded = load(&places, &given);
    let call = Call::shell("ls");
    let Ok(mut evaluation) = Evaluation::begin(call, Arc::clone(&loaded.policy), Session::default()) else { return };
    while let Progress::Observe(questions) = evaluation.progress() {
        evaluation.observe(questions.into_iter().map(|question| (question, Answer::Absent)));
    }
    if broken {
        assert_ne!(evaluation.standing().map(|decision| decision.verdict), Some(Verdict::Allow));
    }
});
