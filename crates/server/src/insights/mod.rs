//! Figures from the audit: what was decided and where, how often people were asked, what the classifier was asked. Read
//! from the newest records on, up to a bound, and honest about where it stopped.

mod classifier;

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use mayi_analysis::suggest::{Past, Suggestion};
use mayi_core::call::Workspace;
use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use mayi_engine::audit::{Record, Recorded};
use mayi_engine::classifier::Spent;
use mayi_engine::observe::Imagined;
use mayi_engine::remote::wire::Moment;
use mayi_engine::settler::Settler;
use mayi_settings::Loaded;
use serde::{Deserialize, Serialize};

use crate::api::workbench::in_turn;
use crate::app::App;
use crate::deciding::policies::Policies;
use crate::problem::Problem;
use crate::store::RecordFilter;
use classifier::{Books, ClassifierUse};

/// How many decisions are read at most.
const MOST: usize = 50_000;
/// How many are read at a time.
const PAGE: usize = 2000;
/// How many columns a plot has at most.
const COLUMNS: u64 = 48;
const HOUR: u64 = 60 * 60 * 1000;

/// Figures.
#[derive(Debug, Default, Serialize, utoipa::ToSchema)]
pub struct Insights {
    /// From when on.
    since: Moment,
    /// How many decisions were counted.
    decisions: u64,
    /// There were more, which were not counted.
    truncated: bool,
    /// By verdict, over time.
    verdicts: Vec<Column>,
    /// Questions an hour, over time.
    prompts: Vec<Prompts>,
    /// By step.
    steps: Vec<StepCount>,
    /// By who settled them.
    settlers: Vec<SettlerCount>,
    /// The model behind auto mode.
    classifier: ClassifierUse,
    /// Rules that would have saved questions.
    suggestions: Vec<Suggested>,
}

/// Decisions of a span of time.
#[derive(Clone, Copy, Debug, Default, Serialize, utoipa::ToSchema)]
struct Column {
    at: Moment,
    allow: u64,
    ask: u64,
    deny: u64,
}

/// Questions an hour.
#[derive(Clone, Copy, Debug, Default, Serialize, utoipa::ToSchema)]
struct Prompts {
    at: Moment,
    count: f64,
}

/// Decisions of a step.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
struct StepCount {
    step: String,
    allow: u64,
    ask: u64,
    deny: u64,
}

/// Decisions that somebody settled.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
struct SettlerCount {
    settler: String,
    count: u64,
}

/// A rule that would have saved questions.
#[derive(Clone, Debug, Default, Serialize, utoipa::ToSchema)]
struct Suggested {
    rule: String,
    saved: u64,
    covers: Vec<String>,
}

/// The part of a record that is looked at.
#[derive(Deserialize)]
struct Read {
    verdict: Option<Verdict>,
    step: Option<String>,
    ground: Option<Ground>,
}

/// The part of what a decision rested on that is looked at.
#[derive(Deserialize)]
struct Ground {
    heard: Option<Heard>,
}

#[derive(Deserialize)]
struct Heard {
    spent: Option<Spent>,
}

/// Counts while reading.
struct Counting {
    since: Moment,
    width: u64,
    columns: Vec<Column>,
    classifier: Books,
    steps: BTreeMap<Step, Column>,
    settlers: BTreeMap<Settler, u64>,
    decisions: u64,
}

/// Reads the audit from its newest record back to a moment.
pub async fn gather(app: &App, since: Moment) -> Result<Insights, Problem> {
    let now = app.now();
    let mut counting = Counting::new(since.min(now), now);
    let mut filter = RecordFilter {
        since: Some(since),
        kind: Some("decision".to_owned()),
        newest_first: true,
        limit: PAGE,
        ..RecordFilter::default()
    };
    let mut read = 0;
    let truncated = loop {
        let found = app.store.records(filter.clone()).await?;
        for record in &found {
            counting.note(record.at, &record.text);
        }
        read += found.len();
        filter.before = found.last().map(|record| record.number);
        if found.len() < PAGE {
            break false;
        }
        if read >= MOST {
            break true;
        }
    };
    let suggestions = suggestions(app, since).await?;
    Ok(Insights { truncated, suggestions, ..counting.done() })
}

/// Rules that would have saved questions, each tried on what was asked. None while others are at such work: figures
/// must not wait for it.
async fn suggestions(app: &App, since: Moment) -> Result<Vec<Suggested>, Problem> {
    let mut past = Past::default();
    for (kind, verdict) in [("decision", Some("ask")), ("decision", Some("deny")), ("answer", None)] {
        let filter = RecordFilter {
            since: Some(since),
            kind: Some(kind.to_owned()),
            verdict: verdict.map(str::to_owned),
            newest_first: true,
            limit: PAGE,
            ..RecordFilter::default()
        };
        for record in app.store.records(filter).await? {
            if let Ok(record) = Record::read(&record.text) {
                past.add(record);
            }
        }
    }
    let settings = app.settings.clone();
    let report = in_turn(app, move || {
        let policies = Policies::new(settings);
        let mut seen: HashMap<(String, Option<String>), Arc<Loaded>> = HashMap::new();
        let mut settings = |recorded: &Recorded| {
            let home = recorded.ground.as_ref().and_then(|ground| ground.home.clone());
            let workspace = || Workspace { home: home.clone(), ..Workspace::at(&recorded.cwd) };
            seen.entry((recorded.cwd.clone(), home.clone())).or_insert_with(|| policies.seen_from(workspace())).clone()
        };
        Ok(past.suggest(&mut settings, &Imagined::default()))
    });
    let suggested = |suggestion: Suggestion| Suggested {
        rule: suggestion.rule,
        saved: u64::try_from(suggestion.saves).unwrap_or(u64::MAX),
        covers: suggestion.covers,
    };
    match report.await {
        Ok(report) => Ok(report.suggestions.into_iter().map(suggested).collect()),
        Err(Problem::TooMany { .. }) => Ok(Vec::new()),
        Err(problem) => Err(problem),
    }
}

impl Counting {
    fn new(since: Moment, now: Moment) -> Self {
        let span = now.saturating_sub(since).max(HOUR);
        // Whole hours, so that columns of one plot are the same hours in the next.
        let width = span.div_ceil(COLUMNS).div_ceil(HOUR).max(1) * HOUR;
        let first = since - since % HOUR;
        let columns = (now - first) / width + 1;
        let at = |index| first + index * width;
        Self {
            since: first,
            width,
            columns: (0..columns).map(|index| Column { at: at(index), ..Column::default() }).collect(),
            classifier: Books::over((0..columns).map(at)),
            steps: BTreeMap::new(),
            settlers: BTreeMap::new(),
            decisions: 0,
        }
    }

    fn note(&mut self, at: Moment, text: &str) {
        let Ok(Read { verdict: Some(verdict), step: Some(step), ground }) = serde_json::from_str(text) else { return };
        let Some(step) = Settler::step(&step) else { return };
        self.decisions += 1;
        let index = usize::try_from(at.saturating_sub(self.since) / self.width).unwrap_or(usize::MAX);
        if let Some(column) = self.columns.get_mut(index) {
            count(column, verdict);
        }
        let spent = ground.and_then(|ground| ground.heard?.spent);
        if step == Step::Classifier || spent.is_some() {
            self.classifier.note(index, spent.as_ref());
        }
        count(self.steps.entry(step).or_default(), verdict);
        *self.settlers.entry(Settler::of_verdict(verdict, step)).or_default() += 1;
    }

    fn done(self) -> Insights {
        let hours = self.width / HOUR;
        #[expect(clippy::cast_precision_loss, reason = "a figure for people")]
        let prompts = |column: &Column| Prompts { at: column.at, count: column.ask as f64 / hours as f64 };
        let step = |(step, column): (Step, Column)| StepCount {
            step: step.id().to_owned(),
            allow: column.allow,
            ask: column.ask,
            deny: column.deny,
        };
        let settler = |(settler, count): (Settler, u64)| SettlerCount { settler: settler.title().to_owned(), count };
        Insights {
            since: self.since,
            decisions: self.decisions,
            truncated: false,
            prompts: self.columns.iter().map(prompts).collect(),
            verdicts: self.columns,
            steps: self.steps.into_iter().map(step).collect(),
            settlers: self.settlers.into_iter().map(settler).collect(),
            classifier: self.classifier.close(),
            suggestions: Vec::new(),
        }
    }
}

fn count(column: &mut Column, verdict: Verdict) {
    match verdict {
        Verdict::Allow => column.allow += 1,
        Verdict::Ask => column.ask += 1,
        Verdict::Deny => column.deny += 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decisions_fall_into_their_hours_and_steps() {
        let now = 100 * HOUR + 5;
        let mut counting = Counting::new(now - 24 * HOUR, now);
        counting.note(now, r#"{"verdict":"allow","step":"2b"}"#);
        counting.note(now - HOUR, r#"{"verdict":"ask","step":"3"}"#);
        counting.note(now - HOUR, r#"{"verdict":"deny","step":"4b.5"}"#);
        let spent = r#""ground":{"heard":{"spent":{"model":"m","requests":1,"input":9,"usd":0.5,"took_ms":7}}}"#;
        counting.note(now, &format!(r#"{{"verdict":"ask","step":"4e",{spent}}}"#));
        counting.note(now, r#"{"verdict":"maybe","step":"2b"}"#);
        counting.note(now, "no record");
        let found = counting.done();
        assert_eq!(found.decisions, 4);
        assert_eq!(found.verdicts.len(), 25);
        let [.., before, last] = found.verdicts.as_slice() else { panic!("no columns") };
        assert_eq!((last.allow, before.ask, before.deny), (1, 1, 1));
        assert_eq!(found.steps.iter().map(|step| step.step.as_str()).collect::<Vec<_>>(), ["2b", "3", "4b.5", "4e"]);
        let classifier = serde_json::to_value(&found.classifier).unwrap();
        assert_eq!((&classifier["calls"], &classifier["untold"]), (&2.into(), &1.into()), "{classifier}");
        assert_eq!(classifier["models"][0]["usd"], 0.5, "{classifier}");
        assert!((found.prompts[23].count - 1.0).abs() < f64::EPSILON);
    }

    #[test]
    fn a_long_time_has_few_columns() {
        let now = 10_000 * HOUR;
        let counting = Counting::new(0, now);
        assert!(counting.columns.len() <= 49, "{}", counting.columns.len());
        assert_eq!(counting.width % HOUR, 0);
    }
}
