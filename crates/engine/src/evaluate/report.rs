//! What an evaluation found, counted: per category and in all, by who settled it, with times and tokens.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Serialize;

use super::statistics::{Share, percentile};
use super::{BadCase, Case, Label, Outcome, Tokens};
use crate::settler::Settler;
use mayi_core::verdict::Verdict;

/// What an evaluation found.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// Cases that were counted.
    pub cases: usize,
    /// Cases that only a model can judge, and there was none.
    pub left_out: usize,
    /// Lines that are no cases, and cases that could not be decided.
    pub bad: Vec<BadCase>,
    /// Every case together.
    pub total: Row,
    /// By category, in the order of their names.
    pub categories: Vec<Row>,
    /// Allowed or denied without a model.
    pub settled: Share,
    /// Of those, how many agree with their label.
    pub right: Share,
    /// Calls that the model was asked about, or would have been.
    pub reached_model: Share,
    /// How many each settled.
    pub settlers: BTreeMap<Settler, Share>,
    /// The cases that contradict their label.
    pub wrong: Vec<Wrong>,
    /// The time of the static layers.
    pub latency: Option<Latency>,
    /// The time of the model, over the calls that reached it.
    pub model_latency: Option<Latency>,
    /// The tokens of the model.
    pub tokens: Tokens,
}

/// The figures of a category.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Row {
    /// The category or exception.
    pub category: String,
    /// Of the cases labelled block: denied.
    pub blocked: Share,
    /// Of the cases labelled block: stopped, by a denial or by a question that only a person may answer.
    pub stopped: Share,
    /// Of the cases labelled block: allowed. The rate of false negatives.
    pub missed: Share,
    /// Of the cases labelled allow: allowed.
    pub allowed: Share,
    /// Of the cases labelled allow: denied. The rate of false positives.
    pub false_alarms: Share,
    /// Of all cases: left open.
    pub open: Share,
}

/// A case that contradicts its label.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// Its name.
    pub id: String,
    /// Its label.
    pub label: Label,
    /// What was decided.
    pub verdict: Verdict,
    /// Why.
    pub message: String,
}

/// How long it took, in microseconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Latency {
    /// Half took less.
    pub p50: f64,
    /// Nine of ten took less.
    pub p90: f64,
    /// All but one of a hundred took less.
    pub p99: f64,
    /// The longest.
    pub max: f64,
}

impl Latency {
    fn of(mut times: Vec<Duration>) -> Option<Self> {
        times.sort_unstable();
        let at = |share| percentile(&times, share).map(|time| time.as_secs_f64() * 1e6);
        Some(Self { p50: at(0.5)?, p90: at(0.9)?, p99: at(0.99)?, max: at(1.0)? })
    }
}

impl Report {
    /// Counts the outcomes of cases, which stand in the same order. `asked_model`: cases that need one count.
    pub fn of(cases: &[Case], outcomes: &[Result<Outcome, String>], bad: Vec<BadCase>) -> Self {
        let asked_model = outcomes.iter().flatten().any(|outcome| outcome.model.is_some());
        let mut report = Self { bad, ..Self::default() };
        let mut counted = Vec::new();
        for (case, outcome) in cases.iter().zip(outcomes) {
            match outcome {
                Ok(_) if case.needs_model && !asked_model => report.left_out += 1,
                Ok(outcome) => counted.push((case, outcome)),
                Err(problem) => {
                    let (file, line) = case.place.clone();
                    report.bad.push(BadCase { file, line, problem: problem.clone() });
                }
            }
        }
        report.count(&counted);
        report
    }

    fn count(&mut self, counted: &[(&Case, &Outcome)]) {
        let all = counted.len();
        self.cases = all;
        self.total = row("all", counted);
        let mut by_category: BTreeMap<&str, Vec<(&Case, &Outcome)>> = BTreeMap::new();
        for (case, outcome) in counted {
            by_category.entry(&case.category).or_default().push((case, outcome));
        }
        self.categories = by_category.into_iter().map(|(category, cases)| row(category, &cases)).collect();
        let without_model = |outcome: &Outcome| outcome.model.is_none() && outcome.verdict != Verdict::Ask;
        let settled = counted.iter().filter(|(_, outcome)| without_model(outcome)).count();
        let wrong = counted.iter().filter(|(case, outcome)| without_model(outcome) && outcome.is_wrong(case.label));
        self.right = Share::of(settled - wrong.count(), settled);
        self.settled = Share::of(settled, all);
        let reached = |outcome: &Outcome| outcome.model.is_some() || outcome.is_open();
        self.reached_model = Share::of(counted.iter().filter(|(_, outcome)| reached(outcome)).count(), all);
        self.settlers = Settler::ALL
            .into_iter()
            .map(|settler| {
                let count = counted.iter().filter(|(_, outcome)| outcome.settler == settler).count();
                (settler, Share::of(count, all))
            })
            .collect();
        self.wrong = counted.iter().filter(|(case, outcome)| outcome.is_wrong(case.label)).map(wrong_of).collect();
        self.latency = Latency::of(counted.iter().map(|(_, outcome)| outcome.took).collect());
        let asked = counted.iter().filter_map(|(_, outcome)| outcome.model);
        self.model_latency = Latency::of(asked.clone().map(|(took, _)| took).collect());
        self.tokens = asked.fold(Tokens::default(), |sum, (_, tokens)| Tokens {
            input: sum.input.saturating_add(tokens.input),
            output: sum.output.saturating_add(tokens.output),
        });
    }
}

fn wrong_of((case, outcome): &(&Case, &Outcome)) -> Wrong {
    Wrong { id: case.id.clone(), label: case.label, verdict: outcome.verdict, message: outcome.message.clone() }
}

fn row(category: &str, cases: &[(&Case, &Outcome)]) -> Row {
    let labelled = |label| cases.iter().filter(move |(case, _)| case.label == label).map(|(_, outcome)| *outcome);
    let share = |label, what: fn(&Outcome) -> bool| {
        Share::of(labelled(label).filter(|outcome| what(outcome)).count(), labelled(label).count())
    };
    Row {
        category: category.to_owned(),
        blocked: share(Label::Block, |outcome| outcome.verdict == Verdict::Deny),
        stopped: share(Label::Block, |outcome| outcome.verdict == Verdict::Deny || outcome.is_for_people()),
        missed: share(Label::Block, |outcome| outcome.verdict == Verdict::Allow),
        allowed: share(Label::Run, |outcome| outcome.verdict == Verdict::Allow),
        false_alarms: share(Label::Run, |outcome| outcome.verdict == Verdict::Deny),
        open: Share::of(cases.iter().filter(|(_, outcome)| outcome.is_open()).count(), cases.len()),
    }
}
