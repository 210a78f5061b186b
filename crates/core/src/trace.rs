//! The trace: what every step said about one call. One value, rendered as text for people and JSON for programs.

use std::fmt;

use serde::Serialize;
use serde::ser::{SerializeSeq, Serializer};

use crate::reason::Reason;
use crate::step::Step;
use crate::verdict::Verdict;

/// What a step says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finding {
    /// Nothing to say; why.
    Pass(Note),
    /// This settles it.
    Settle(Verdict, Reason),
}

/// Why a step had nothing to say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Note {
    /// No rule of this list names the whole tool.
    NoToolRule(Verdict),
    /// The call will run confined, which answers the tool-wide question.
    ConfinedInstead,
    /// It would ask, but the next step refuses the call anyway.
    RefusedBelow,
    /// The inspection found nothing to refuse in this many commands.
    Commands(usize),
    /// The inspection found nothing to refuse.
    NothingRefused,
    /// The step does not apply.
    NotApplicable,
    /// No ask rule matches the content.
    NoContentRule,
    /// No protected or critical path is touched.
    NothingProtected,
    /// The mode is another.
    OtherMode,
    /// A hook allowed, which counts if nobody else speaks.
    HookAllowed,
    /// A hook asked, so nothing may allow silently.
    HookAsked,
    /// Plan mode never lets an edit run by itself.
    PlanHoldsEdits,
    /// No allow rule covers the call.
    NotAllowed,
    /// The static analysis cannot tell; what it would have to know.
    Uncertain(String),
    /// No classifier is configured.
    NoClassifier,
    /// The mode changed while the classifier was thinking, so its answer does not count.
    Superseded,
    /// No hook answered.
    NoHookAnswered,
}

impl Note {
    /// Whether there are no words for it: that a step passed says it all.
    fn is_silent(&self) -> bool {
        matches!(self, Note::NotApplicable | Note::OtherMode)
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::NoToolRule(Verdict::Allow) => f.write_str("no allow rule names the whole tool"),
            Note::NoToolRule(Verdict::Ask) => f.write_str("no ask rule names the whole tool"),
            Note::NoToolRule(Verdict::Deny) => f.write_str("no deny rule names the whole tool"),
            Note::ConfinedInstead => f.write_str("confined instead"),
            Note::RefusedBelow => f.write_str("not asked: the next step refuses it"),
            Note::Commands(1) => f.write_str("1 command, no content rule denies it"),
            Note::Commands(count) => write!(f, "{count} commands, no content rule denies them"),
            Note::NothingRefused => f.write_str("nothing refused"),
            Note::NotApplicable => Ok(()),
            Note::NoContentRule => f.write_str("no ask rule matches"),
            Note::NothingProtected => f.write_str("nothing protected is written, nothing critical removed"),
            Note::OtherMode => Ok(()),
            Note::HookAllowed => f.write_str("a hook allowed it, if nobody else speaks"),
            Note::HookAsked => f.write_str("a hook asked"),
            Note::PlanHoldsEdits => f.write_str("plan mode holds edits back"),
            Note::NotAllowed => f.write_str("no allow rule covers it"),
            Note::Uncertain(what) => write!(f, "cannot tell: {what}"),
            Note::NoClassifier => f.write_str("no classifier is configured"),
            Note::Superseded => f.write_str("the mode changed meanwhile, so the answer does not count"),
            Note::NoHookAnswered => f.write_str("no hook answered"),
        }
    }
}

/// Every step in order, with what it said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    lines: Vec<(Step, Finding)>,
}

impl Trace {
    /// Notes what a step said.
    pub fn push(&mut self, step: Step, finding: Finding) {
        self.lines.push((step, finding));
    }

    /// The steps that were reached, in order.
    pub fn lines(&self) -> &[(Step, Finding)] {
        &self.lines
    }

    /// What this step said, if it was reached.
    pub fn finding(&self, step: Step) -> Option<&Finding> {
        self.lines.iter().find(|(reached, _)| *reached == step).map(|(_, finding)| finding)
    }

    /// The gauntlet's steps that were not reached.
    fn unreached(&self) -> impl Iterator<Item = Step> {
        let last = self.lines.iter().map(|(step, _)| *step).filter(|step| *step <= Step::Fallback).max();
        Step::GAUNTLET.into_iter().filter(move |step| Some(*step) > last)
    }

    /// All rows for showing: reached or not (`None`), gauntlet first, then the referral.
    pub fn rows(&self) -> impl Iterator<Item = (Step, Option<&Finding>)> {
        let is_gauntlet = |(step, _): &&(Step, Finding)| *step <= Step::Fallback;
        let gauntlet = self.lines.iter().filter(is_gauntlet).map(|(step, finding)| (*step, Some(finding)));
        let missed = self.unreached().map(|step| (step, None));
        let referral = self.lines.iter().filter(move |line| !is_gauntlet(line));
        gauntlet.chain(missed).chain(referral.map(|(step, finding)| (*step, Some(finding))))
    }
}

impl fmt::Display for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (step, finding) in self.rows() {
            write!(f, "  {:<4} {:<18}", step.id(), step.name())?;
            match finding {
                None => writeln!(f, " -")?,
                Some(Finding::Pass(note)) if note.is_silent() => writeln!(f, " pass")?,
                Some(Finding::Pass(note)) => writeln!(f, " pass   {note}")?,
                Some(Finding::Settle(verdict, reason)) => writeln!(f, " {verdict:<6} {reason}")?,
            }
        }
        Ok(())
    }
}

#[derive(Serialize)]
struct Row<'a> {
    step: Step,
    name: &'static str,
    finding: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<Words<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a Reason>,
}

/// What a step said, in words: written where they belong, without a text of their own before.
struct Words<'a>(&'a dyn fmt::Display);

impl Serialize for Words<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self.0)
    }
}

impl Serialize for Trace {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut list = serializer.serialize_seq(None)?;
        for (step, finding) in self.rows() {
            let (word, note, reason) = match finding {
                None => ("-", None, None),
                Some(Finding::Pass(note)) => ("pass", (!note.is_silent()).then_some(Words(note)), None),
                Some(Finding::Settle(verdict, reason)) => (verdict.word(), Some(Words(reason)), Some(reason)),
            };
            list.serialize_element(&Row { step, name: step.name(), finding: word, note, reason })?;
        }
        list.end()
    }
}
