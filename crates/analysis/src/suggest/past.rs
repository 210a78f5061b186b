//! Rules from the past: the questions that were recorded, and the few rules that would have saved most of them. Each is
//! tried on every recorded call, in the settings of its own directory.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::policy::{Layer, Written};
use mayi_core::risk::Assessment;
use mayi_core::verdict::Verdict;
use mayi_engine::audit::reading::Answered;
use mayi_engine::audit::{Recorded, reading::Record};
use mayi_engine::observe::Observer;
use mayi_settings::Loaded;
use serde::Serialize;

use super::safety::{Refused, tried};
use super::shape::{Shape, parts};
use crate::again;
use crate::replay::retried;

/// So many different calls are looked at; the rest is counted.
const CALLS: usize = 5_000;
/// So many rules are tried, those first that more calls speak for.
const TRIED: usize = 40;
/// So many are suggested.
const SUGGESTED: usize = 10;
/// So many that are not suggested are named.
const CLOSED: usize = 3;
/// A rule that saves fewer questions is not worth its line.
const LEAST: usize = 2;

/// What the past suggests.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Report {
    /// How many questions were recorded.
    pub asked: usize,
    /// How many of them the suggested rules would have saved.
    pub saved: usize,
    /// The rules, those first that save most.
    pub suggestions: Vec<Suggestion>,
    /// Rules that would have saved more, and why they are not suggested.
    pub closed: Vec<Closed>,
    /// How many questions were not looked at: they cannot be decided again, a person said no, or there were too many.
    pub left_out: usize,
}

/// A rule that is worth adding.
#[derive(Clone, Debug, Serialize)]
pub struct Suggestion {
    /// The rule.
    pub rule: String,
    /// The settings it would go to: those of the project, or the person's where several projects ask.
    pub layer: Layer,
    /// How many questions it would have saved, beyond the rules before it.
    pub saves: usize,
    /// What it would let pass, in words.
    pub covers: Vec<String>,
    /// The recorded calls that asked and would now be allowed.
    pub calls: Vec<PastCall>,
    /// Recorded calls that were denied and would now be allowed as well.
    pub newly: Vec<PastCall>,
}

/// A rule that leaves operands open and must not: it would let pass what the static risk analysis blocks.
#[derive(Clone, Debug, Serialize)]
pub struct Closed {
    /// The rule.
    pub rule: String,
    /// How many recorded questions it is about.
    pub about: usize,
    /// A call that it would let pass.
    pub lets_pass: Call,
}

/// A recorded call, however often it was made.
#[derive(Clone, Debug, Serialize)]
pub struct PastCall {
    /// The call.
    #[serde(flatten)]
    pub call: Call,
    /// Where it was made.
    pub cwd: String,
    /// How often.
    pub times: usize,
}

struct Group {
    recorded: Recorded,
    times: usize,
}

/// The calls of the past, gathered one by one.
#[derive(Default)]
pub struct Past {
    groups: BTreeMap<(String, String, String, Verdict), Group>,
    refused: BTreeSet<(String, Option<String>)>,
    left_out: usize,
    asked: usize,
}

impl Past {
    /// Adds a record.
    pub fn add(&mut self, record: Record) {
        match record {
            Record::Decision(recorded) => self.add_decision(*recorded),
            Record::Answer(Answered { session, call_id, verdict: Verdict::Deny | Verdict::Ask }) => {
                self.refused.insert((session, call_id));
            }
            Record::Answer(Answered { verdict: Verdict::Allow, .. }) | Record::Other(_) => {}
        }
    }

    fn add_decision(&mut self, recorded: Recorded) {
        if recorded.verdict == Verdict::Allow {
            return;
        }
        self.asked += usize::from(recorded.verdict == Verdict::Ask);
        let key = (recorded.cwd.clone(), recorded.tool.clone(), recorded.input.to_string(), recorded.verdict);
        let is_full = self.groups.len() >= CALLS;
        match self.groups.get_mut(&key) {
            Some(group) => *group = Group { recorded, times: group.times + 1 },
            None if is_full => self.left_out += 1,
            None => {
                self.groups.insert(key, Group { recorded, times: 1 });
            }
        }
    }

    /// What the past suggests under settings that apply to each call.
    pub fn suggest(mut self, settings: &mut dyn FnMut(&Recorded) -> Arc<Loaded>, observer: &dyn Observer) -> Report {
        let refused = std::mem::take(&mut self.refused);
        let (no, groups): (Vec<Group>, Vec<Group>) = self.groups.into_values().partition(|group| {
            let key = (group.recorded.session.clone(), group.recorded.call_id.clone());
            key.1.is_some() && refused.contains(&key)
        });
        let left_out = self.left_out + no.iter().map(|group| group.times).sum::<usize>();
        let mut report = Report { asked: self.asked, left_out, ..Report::default() };
        let mut open: Vec<Open> = Vec::new();
        for group in groups {
            let loaded = settings(&group.recorded);
            // What would no longer ask today needs no rule.
            match retried(&group.recorded, &loaded, None, observer) {
                Ok(again) if again.decision.verdict != Verdict::Allow => open.push(Open { group, loaded }),
                Ok(_) => {}
                Err(_) => report.left_out += group.times,
            }
        }
        let Candidates { candidates, closed } = candidates(&open, observer);
        while report.suggestions.len() < SUGGESTED {
            let best = candidates.iter().map(|candidate| trial(candidate, &open, observer));
            let Some(best) = best.flatten().max_by_key(|trial| trial.saves).filter(|best| best.saves >= LEAST) else {
                break;
            };
            report.saved += best.saves;
            let taken: BTreeSet<usize> = best.calls.iter().chain(&best.newly).copied().collect();
            let suggestion = best.suggestion(&open);
            let mut index = 0;
            open.retain(|_| {
                index += 1;
                !taken.contains(&(index - 1))
            });
            // What is suggested next comes beside it: some calls take several rules.
            add_rule(&mut open, &suggestion.rule);
            report.suggestions.push(suggestion);
        }
        // Of those that are not suggested, only what is still asked about is worth a word.
        let left: BTreeMap<String, usize> =
            spoken(&open).into_iter().map(|spoken| (spoken.shape.rule.to_string(), spoken.times)).collect();
        let still = closed.into_iter().map(|closed| {
            let about = left.get(&closed.rule).copied().unwrap_or_default();
            Closed { about, ..closed }
        });
        report.closed = still.filter(|closed| closed.about >= LEAST).take(CLOSED).collect();
        report
    }
}

/// Puts a rule into the settings of every call.
fn add_rule(open: &mut [Open], rule: &str) {
    let mut with: BTreeMap<*const Loaded, Arc<Loaded>> = BTreeMap::new();
    for call in open {
        let changed = with.entry(Arc::as_ptr(&call.loaded)).or_insert_with(|| Arc::new(with_rule(&call.loaded, rule)));
        call.loaded = Arc::clone(changed);
    }
}

fn with_rule(loaded: &Loaded, rule: &str) -> Loaded {
    let mut changed = loaded.clone();
    let written = Written::new(Verdict::Allow, rule);
    changed.policy = Arc::new(again::with_rule(&loaded.policy, Layer::Session, written));
    changed
}

/// A call that still asks, or is denied, and the settings it is decided under.
struct Open {
    group: Group,
    loaded: Arc<Loaded>,
}

/// A rule to try.
struct Candidate {
    shape: Shape,
}

/// Rules to try, and those that must stay closed.
struct Candidates {
    candidates: Vec<Candidate>,
    closed: Vec<Closed>,
}

/// A rule that calls speak for.
struct Spoken {
    shape: Shape,
    times: usize,
    /// A call that it would cover alone.
    example: Option<usize>,
}

/// The rules that most calls speak for, and that may be suggested at all.
fn candidates(open: &[Open], observer: &dyn Observer) -> Candidates {
    let mut found = Candidates { candidates: Vec::new(), closed: Vec::new() };
    for Spoken { shape, times, example } in spoken(open) {
        if found.candidates.len() >= TRIED || times < LEAST {
            break;
        }
        let Some(Open { group, loaded }) = example.and_then(|example| open.get(example)) else { continue };
        match tried(&shape, &group.recorded.call(), &loaded.policy, &observer) {
            Ok(()) => found.candidates.push(Candidate { shape }),
            Err(Refused::LetsPass(lets_pass)) => {
                found.closed.push(Closed { rule: shape.rule.to_string(), about: times, lets_pass });
            }
            Err(Refused::Otherwise) => {}
        }
    }
    found
}

/// The rules that calls speak for, those first that most do.
fn spoken(open: &[Open]) -> Vec<Spoken> {
    let mut found: BTreeMap<String, Spoken> = BTreeMap::new();
    let asked = open.iter().enumerate().filter(|(_, open)| open.group.recorded.verdict == Verdict::Ask);
    for (index, Open { group, loaded }) in asked {
        let parts = parts(&group.recorded.call(), &loaded.policy);
        let is_alone = parts.len() == 1;
        for shape in parts.into_iter().flatten() {
            let rule = shape.rule.to_string();
            let spoken = found.entry(rule).or_insert(Spoken { shape, times: 0, example: None });
            spoken.times += group.times;
            spoken.example = spoken.example.or(is_alone.then_some(index));
        }
    }
    let mut found: Vec<Spoken> = found.into_values().collect();
    found.sort_by_key(|spoken| std::cmp::Reverse(spoken.times));
    found
}

/// What a rule does to the calls that are still open.
struct Trial<'a> {
    candidate: &'a Candidate,
    saves: usize,
    calls: Vec<usize>,
    newly: Vec<usize>,
}

/// Tries a rule on every open call. `None` when it would let one pass that the static risk analysis blocks.
fn trial<'a>(candidate: &'a Candidate, open: &[Open], observer: &dyn Observer) -> Option<Trial<'a>> {
    let mut trial = Trial { candidate, saves: 0, calls: Vec::new(), newly: Vec::new() };
    let rule = candidate.shape.rule.to_string();
    let mut with: BTreeMap<*const Loaded, Loaded> = BTreeMap::new();
    for (index, Open { group, loaded }) in open.iter().enumerate() {
        if group.recorded.tool != candidate.shape.rule.tool {
            continue;
        }
        let changed = with.entry(Arc::as_ptr(loaded)).or_insert_with(|| with_rule(loaded, &rule));
        let again = retried(&group.recorded, changed, None, observer).ok();
        if again.is_none_or(|again| again.decision.verdict != Verdict::Allow) {
            continue;
        }
        let risk = again::risk(&group.recorded.call(), &loaded.policy, &observer);
        if matches!(risk, Assessment::Blocked { .. }) {
            return None;
        }
        match group.recorded.verdict {
            Verdict::Ask => {
                trial.saves += group.times;
                trial.calls.push(index);
            }
            Verdict::Deny | Verdict::Allow => trial.newly.push(index),
        }
    }
    Some(trial)
}

impl Trial<'_> {
    fn suggestion(&self, open: &[Open]) -> Suggestion {
        let past = |indexes: &[usize]| -> Vec<PastCall> {
            let groups = indexes.iter().filter_map(|index| open.get(*index)).map(|open| &open.group);
            let mut calls: Vec<PastCall> = groups
                .map(|Group { recorded, times }| PastCall {
                    call: recorded.call(),
                    cwd: recorded.cwd.clone(),
                    times: *times,
                })
                .collect();
            calls.sort_by_key(|call| std::cmp::Reverse(call.times));
            calls
        };
        let calls = past(&self.calls);
        let folders: BTreeSet<&str> = calls.iter().map(|call| call.cwd.as_str()).collect();
        Suggestion {
            rule: self.candidate.shape.rule.to_string(),
            layer: if folders.len() > 1 { Layer::User } else { Layer::Local },
            saves: self.saves,
            covers: vec![self.candidate.shape.covers.clone()],
            newly: past(&self.newly),
            calls,
        }
    }
}
