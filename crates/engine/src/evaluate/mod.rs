//! Measuring auto mode: labelled cases through the static layers alone, or through a model as well.
//!
//! It only watches: each case is decided exactly as a session in auto mode would decide it.

mod case;
mod model;
mod plot;
mod report;
mod statistics;

use std::future::Future;
use std::time::{Duration, Instant};

use mayi_core::evaluation::Progress;
use mayi_core::referral::{Answer, Classified, Referral};
use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use serde::Serialize;

use crate::batch::{Batch, Classifier};
use crate::decide::observe_all;
use crate::settler::Settler;

pub use case::{BadCase, Before, Case, File, Label, read};
pub use plot::svg;
pub use report::{Latency, Report, Row};
pub use statistics::Share;

/// A model that judges what the static layers leave open.
pub trait Judge {
    /// Judges the call of a case, knowing what came before it.
    fn judge(&self, case: &Case) -> impl Future<Output = Judged> + Send;
}

/// What a model said, and what it cost.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Judged {
    /// Its answer.
    pub classified: Classified,
    /// The tokens it read and wrote.
    pub tokens: Tokens,
}

/// Tokens of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Tokens {
    /// Read by it.
    pub input: u64,
    /// Written by it.
    pub output: u64,
}

/// No model at all: the static layers alone.
#[derive(Clone, Copy, Debug)]
pub enum Nobody {}

impl Judge for Nobody {
    async fn judge(&self, _: &Case) -> Judged {
        match *self {}
    }
}

/// What became of a case.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The decision.
    pub verdict: Verdict,
    /// The step that spoke last.
    pub step: Step,
    /// Who settled it.
    pub settler: Settler,
    /// The category or exception it was settled by, where one was named.
    pub category: Option<String>,
    /// For people.
    pub message: String,
    /// The time of the static layers.
    pub took: Duration,
    /// What the model took, when it was asked.
    pub model: Option<(Duration, Tokens)>,
}

impl Outcome {
    /// The static layers neither allowed nor denied, and no step above the line asked a person: it is open, for a
    /// model or for whoever is there.
    pub fn is_open(&self) -> bool {
        self.verdict == Verdict::Ask && !self.step.is_above_the_line()
    }

    /// A person must be asked, whatever a model would say: a rule, a protected path, the tool itself.
    pub fn is_for_people(&self) -> bool {
        self.verdict == Verdict::Ask && self.step.is_above_the_line()
    }

    /// It is settled and contradicts the label. A case that somebody should look at may be stopped, not let through.
    pub fn is_wrong(&self, label: Label) -> bool {
        match (self.verdict, label) {
            (Verdict::Deny, Label::Run) | (Verdict::Allow, Label::Block | Label::Unsure) => true,
            (Verdict::Deny, Label::Block | Label::Unsure) | (Verdict::Allow, Label::Run) | (Verdict::Ask, _) => false,
        }
    }
}

/// Decides every case. `seen` is told after each one. Cases that need a model are left out where there is none.
pub async fn evaluate<J: Judge>(
    cases: &[Case],
    judge: Option<&J>,
    mut seen: impl FnMut(usize),
) -> Vec<Result<Outcome, String>> {
    let mut batch = Batch::new("/");
    let mut outcomes = Vec::with_capacity(cases.len());
    for case in cases {
        outcomes.push(decide(&mut batch, case, judge).await);
        seen(outcomes.len());
    }
    outcomes
}

async fn decide<J: Judge>(batch: &mut Batch, case: &Case, judge: Option<&J>) -> Result<Outcome, String> {
    let classifier = judge.map_or(Classifier::None, |_| Classifier::Block);
    let start = Instant::now();
    let begun = batch.begin_with(&case.line, Some(classifier)).map_err(|error| error.to_string())?;
    let (mut evaluation, observer) = begun.map_err(|aborted| aborted.to_string())?;
    let mut progress = observe_all(&mut evaluation, &observer);
    let took = start.elapsed();
    let mut model = None;
    if let (Progress::Refer(Referral::Classifier), Some(judge)) = (&progress, judge) {
        let start = Instant::now();
        let judged = judge.judge(case).await;
        model = Some((start.elapsed(), judged.tokens));
        evaluation.answer(Answer::Classifier(judged.classified));
        progress = observe_all(&mut evaluation, &observer);
    }
    if let Progress::Abort(aborted) = progress {
        return Err(aborted.to_string());
    }
    let decision = evaluation.standing().ok_or("nothing was decided")?;
    Ok(Outcome {
        verdict: decision.verdict,
        step: decision.step,
        settler: Settler::of_verdict(decision.verdict, decision.step),
        category: decision.reason.category().map(str::to_owned),
        message: decision.reason.to_string(),
        took,
        model,
    })
}

#[cfg(test)]
mod tests;
