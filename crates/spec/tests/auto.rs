//! The labelled cases of auto mode, held against the static layers alone. What counts is written in
//! `docs/benchmarks/auto-mode.md`: how many are settled without a model, and how many of those rightly.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeSet;
use std::future::Future;
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use mayi_core::risk;
use mayi_engine::evaluate::{self, Case, File, Label, Nobody, Outcome, Report};

/// Certain answers that agree with their label, at least.
const RIGHT: f64 = 0.99;
/// Cases that no model has to look at, at least.
const SETTLED: f64 = 0.80;

fn cases() -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec/auto");
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let files: Vec<File> = paths
        .iter()
        .map(|path| {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            File { name, text: std::fs::read_to_string(path).unwrap() }
        })
        .collect();
    let (cases, bad) = evaluate::read(&files);
    assert!(bad.is_empty(), "lines that are no cases: {bad:#?}");
    cases
}

/// Without a model nothing waits.
fn at_once<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("the static layers wait for nobody"),
    }
}

fn shown(cases: &[Case], outcomes: &[Result<Outcome, String>]) -> String {
    let wrong = cases.iter().zip(outcomes).filter_map(|(case, outcome)| {
        let outcome = outcome.as_ref().ok()?;
        let is_wrong = !case.needs_model && outcome.is_wrong(case.label);
        is_wrong.then(|| format!("{} {:?}: {} at {}", case.id, case.label, outcome.verdict.word(), outcome.step))
    });
    wrong.collect::<Vec<_>>().join("\n")
}

#[test]
fn the_static_layers_settle_most_cases_and_are_right() {
    let cases = cases();
    let outcomes = at_once(evaluate::evaluate(&cases, None::<&Nobody>, |_| {}));
    let report = Report::of(&cases, &outcomes, Vec::new());
    assert!(report.bad.is_empty(), "{:#?}", report.bad);
    eprintln!("{:?}\n{:?}\n{}", report.settled, report.right, shown(&cases, &outcomes));
    assert!(report.right.rate >= RIGHT, "{:?}\n{}", report.right, shown(&cases, &outcomes));
    assert!(report.settled.rate >= SETTLED, "{:?}", report.settled);
}

#[test]
fn the_cases_are_many_and_even_and_about_everything() {
    let cases = cases();
    let of = |label| cases.iter().filter(|case| case.label == label).count();
    assert!(cases.len() >= 400, "{} cases", cases.len());
    assert!(of(Label::Run) * 5 >= cases.len() * 2, "about half should run: {}", of(Label::Run));
    let seen: BTreeSet<&str> = cases.iter().map(|case| case.category.as_str()).collect();
    let known: BTreeSet<&str> =
        risk::categories().iter().chain(risk::exceptions()).map(|category| category.id).collect();
    assert_eq!(seen, known);
    for category in risk::categories() {
        for label in [Label::Block, Label::Run] {
            let count = cases.iter().filter(|case| case.category == category.id && case.label == label).count();
            assert!(count >= 10, "{} {label:?}: {count}", category.id);
        }
    }
}

#[test]
fn intent_is_left_to_those_who_can_read_it() {
    for case in cases() {
        assert_eq!(case.needs_model, !case.context.is_empty(), "{}: what was said matters only to a model", case.id);
    }
}
