//! What the record of decisions says about auto mode: who settled the calls, what was denied and why, what the
//! classifier used. Reading is tolerant: a line that is no decision is counted and passed over.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use mayi_core::verdict::Verdict;
use serde::{Deserialize, Serialize};

use crate::audit::reading::Bounded;
use crate::classifier::Ledger;
use crate::evaluate::Share;
use crate::settler::Settler;

/// What the record says.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Stats {
    /// Decisions that were counted.
    pub decisions: usize,
    /// Sessions they belong to.
    pub sessions: usize,
    /// How many each settled.
    pub settlers: BTreeMap<Settler, Share>,
    /// How many ended with each verdict.
    pub verdicts: BTreeMap<Verdict, Share>,
    /// Denials of auto mode by category, most first.
    pub denials: Vec<Denied>,
    /// What the classifier used, over all sessions that are still kept.
    pub ledger: Option<Used>,
    /// Lines that are something else than decisions.
    pub other: usize,
    /// Lines that cannot be read.
    pub broken: usize,
}

/// The denials of one category.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Denied {
    /// The category.
    pub category: String,
    /// How many.
    pub count: usize,
}

/// What the classifier used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Used {
    /// Calls that it judged.
    pub judged: u64,
    /// Requests to the model.
    pub requests: u64,
    /// Tokens, read and written.
    pub tokens: u64,
    /// Money, as far as prices are known.
    pub usd: f64,
}

/// Counts while reading.
#[derive(Debug, Default)]
pub struct Tally {
    decisions: usize,
    settlers: BTreeMap<Settler, usize>,
    verdicts: BTreeMap<Verdict, usize>,
    categories: BTreeMap<String, usize>,
    sessions: std::collections::BTreeSet<String>,
    ledger: Option<Used>,
    other: usize,
    broken: usize,
}

/// The part of a record that is looked at.
#[derive(Deserialize)]
struct Record {
    kind: String,
    #[serde(default)]
    at: u64,
    #[serde(default)]
    session: String,
    verdict: Option<String>,
    step: Option<String>,
    #[serde(default)]
    reason: Reason,
}

#[derive(Default, Deserialize)]
struct Reason {
    category: Option<String>,
}

impl Tally {
    /// Reads records since a moment, in milliseconds of the Unix clock.
    pub fn read(&mut self, lines: impl BufRead, since: u64) -> io::Result<()> {
        let mut lines = Bounded::new(lines);
        while let Some(line) = lines.next_line()? {
            if !line.trim_ascii().is_empty() {
                self.note(line, since);
            }
        }
        Ok(())
    }

    fn note(&mut self, line: &[u8], since: u64) {
        let Ok(record) = serde_json::from_slice::<Record>(line) else {
            self.broken += 1;
            return;
        };
        if record.at < since {
            return;
        }
        if record.kind != "decision" {
            self.other += 1;
            return;
        }
        let verdict = Verdict::ALL.into_iter().find(|verdict| Some(verdict.word()) == record.verdict.as_deref());
        let step = record.step.as_deref().and_then(Settler::step);
        let (Some(verdict), Some(step)) = (verdict, step) else {
            self.broken += 1;
            return;
        };
        let settler = Settler::of_verdict(verdict, step);
        self.decisions += 1;
        *self.settlers.entry(settler).or_default() += 1;
        *self.verdicts.entry(verdict).or_default() += 1;
        self.sessions.insert(record.session);
        if verdict == Verdict::Deny && matches!(settler, Settler::StaticRisk | Settler::Classifier) {
            let category = record.reason.category.unwrap_or_else(|| "none named".to_owned());
            *self.categories.entry(category).or_default() += 1;
        }
    }

    /// Adds the classifier's books of a session. Books that cannot be read are passed over.
    pub fn add_books(&mut self, text: &str) {
        let Ok(books) = serde_json::from_str::<Ledger>(text) else { return };
        let used = self.ledger.get_or_insert_with(Used::default);
        // Figures come from servers, and one that is absurd must not end the counting.
        used.judged = used.judged.saturating_add(books.judged);
        used.requests = used.requests.saturating_add(books.usage.requests);
        used.tokens = used.tokens.saturating_add(books.usage.tokens());
        used.usd += books.usd;
    }

    /// What was counted.
    pub fn stats(&self) -> Stats {
        let all = self.decisions;
        let denied = |(category, count): (&String, &usize)| Denied { category: category.clone(), count: *count };
        let mut denials: Vec<Denied> = self.categories.iter().map(denied).collect();
        // Equal counts stay in the order of their names.
        denials.sort_by_key(|denied| std::cmp::Reverse(denied.count));
        let of_settler = |settler| Share::of(self.settlers.get(&settler).copied().unwrap_or_default(), all);
        let of_verdict = |verdict| Share::of(self.verdicts.get(&verdict).copied().unwrap_or_default(), all);
        Stats {
            decisions: all,
            sessions: self.sessions.len(),
            settlers: Settler::ALL.into_iter().map(|settler| (settler, of_settler(settler))).collect(),
            verdicts: Verdict::ALL.into_iter().map(|verdict| (verdict, of_verdict(verdict))).collect(),
            denials,
            ledger: self.ledger,
            other: self.other,
            broken: self.broken,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RECORD: &str = r#"
{"v":1,"at":1000,"kind":"decision","session":"a","verdict":"allow","step":"2b","reason":{"kind":"read-only"}}
{"v":1,"at":2000,"kind":"decision","session":"a","verdict":"allow","step":"4b.2","reason":{"kind":"accepted-edit"}}
{"v":1,"at":2000,"kind":"decision","session":"b","verdict":"deny","step":"4b.4","reason":{"kind":"risk","category":"exfiltration","detail":"x"}}
{"v":1,"at":2000,"kind":"decision","session":"b","verdict":"deny","step":"4b.5","reason":{"kind":"classified","category":"exfiltration","message":"x"}}
{"v":1,"at":2000,"kind":"decision","session":"b","verdict":"deny","step":"4b.5","reason":{"kind":"classifier-failed","problem":"x"}}
{"v":1,"at":2000,"kind":"decision","session":"b","verdict":"ask","step":"1g","reason":{"kind":"protected"}}
{"v":1,"at":2000,"kind":"session","session":"b"}
{"v":1,"at":2000,"kind":"answer","session":"b","verdict":"allow","by":"elicitation"}
{"v":1,"at":2000,"kind":"decision","session":"b","verdict":"perhaps","step":"1g"}
{"v":1,"at":2000,"kind":"decision","session":"b","verdict":"ask","step":"99"}
not json
"#;

    fn tally(since: u64) -> Tally {
        let mut tally = Tally::default();
        tally.read(RECORD.as_bytes(), since).unwrap();
        tally
    }

    #[test]
    fn each_decision_is_counted_for_whoever_settled_it() {
        let stats = tally(0).stats();
        let counts: Vec<_> = stats.settlers.values().map(|share| share.count).collect();
        assert_eq!(counts, [1, 1, 0, 1, 2, 1]);
        assert_eq!((stats.decisions, stats.sessions, stats.other, stats.broken), (6, 2, 2, 3));
        let denials: Vec<_> = stats.denials.iter().map(|denied| (denied.category.as_str(), denied.count)).collect();
        assert_eq!(denials, [("exfiltration", 2), ("none named", 1)]);
    }

    #[test]
    fn what_is_older_does_not_count() {
        let stats = tally(1500).stats();
        assert_eq!(stats.decisions, 5);
        assert_eq!(tally(3000).stats().decisions, 0);
    }

    #[test]
    fn the_books_of_sessions_are_added_up() {
        let mut tally = tally(0);
        assert_eq!(tally.stats().ledger, None);
        for _ in 0..2 {
            tally.add_books(r#"{"usage":{"requests":3,"input":100,"output":5,"cache_read":50},"usd":0.25,"judged":2}"#);
        }
        tally.add_books("broken");
        assert_eq!(tally.stats().ledger, Some(Used { judged: 4, requests: 6, tokens: 310, usd: 0.5 }));
        for _ in 0..2 {
            tally.add_books(&format!(r#"{{"usage":{{"input":{0},"output":{0}}}}}"#, u64::MAX));
        }
        assert_eq!(tally.stats().ledger.unwrap().tokens, u64::MAX);
    }

    #[test]
    fn a_line_without_end_does_not_fill_the_memory() {
        let mut tally = Tally::default();
        let long = std::io::repeat(b'x').take(12 << 20);
        tally.read(std::io::BufReader::new(std::io::Read::chain(long, RECORD.as_bytes())), 0).unwrap();
        assert_eq!(tally.stats().broken, 4);
    }

    use std::io::Read as _;
}
