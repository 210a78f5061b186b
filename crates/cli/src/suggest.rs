//! `mayi rules suggest`: the few rules that would have saved most questions; and the rules that people at a server are
//! offered with a question of this machine.

use anyhow::Result;
use mayi_analysis::suggest::{Closed, Past, PastCall, Report, Suggestion, offers_seeing};
use mayi_engine::audit::Recorded;
use mayi_engine::observe::Imagined;
use mayi_engine::remote::Propose;
use serde_json::json;

use crate::arguments::Suggest;
use crate::exit::Exit;
use crate::records::{self, Reading, Settings, counted};
use crate::{Out, paint};

/// So many calls of a rule are shown.
const SHOWN: usize = 5;

/// The narrowest rules that help beyond this one call, and the call itself.
pub(crate) const AT_A_SERVER: Propose = Propose(offers_seeing);

pub(crate) fn run(task: &Suggest, out: Out<'_>) -> Result<Exit> {
    let mut past = Past::default();
    let mut reading = Reading::of(&task.records)?;
    while let Some(record) = reading.next() {
        past.add(record);
    }
    reading.report();
    let mut settings = Settings::new(task.place.settings.as_deref(), None)?;
    // What was seen then is in the records; a rule must hold on any machine.
    let report = past.suggest(&mut |recorded: &Recorded| settings.of(recorded), &Imagined::default());
    if task.json {
        writeln!(out, "{:#}", json!(report))?;
        return Ok(Exit::Done);
    }
    print(&report, out)?;
    Ok(Exit::Done)
}

fn print(report: &Report, out: Out<'_>) -> Result<()> {
    for suggestion in &report.suggestions {
        print_one(suggestion, out)?;
    }
    let asked = counted(report.asked, "recorded question");
    match (report.asked, report.suggestions.len()) {
        (0, _) => writeln!(out, "no question is recorded")?,
        (_, 0) => writeln!(out, "no safe rule would have saved two of {asked}")?,
        (_, rules) => {
            let would = format!("{} would have saved {} of {asked}", counted(rules, "rule"), report.saved);
            writeln!(out, "{}", paint::strong(would))?;
        }
    }
    for Closed { rule, about, lets_pass } in &report.closed {
        let about = counted(*about, "question");
        let passes = records::subject(lets_pass, 72);
        writeln!(out, "not suggested: `{}` ({about}) would let `{passes}` pass", paint::visible(rule))?;
    }
    if report.left_out > 0 {
        let words = "not looked at: refused by a person, too many, or not to be decided again";
        writeln!(out, "{}", paint::quiet(format!("{} {words}", counted(report.left_out, "question"))))?;
    }
    Ok(())
}

fn print_one(suggestion: &Suggestion, out: Out<'_>) -> Result<()> {
    let rule = paint::strong(paint::visible(&suggestion.rule));
    writeln!(out, "{rule}  {}", paint::quiet(format!("saves {}", counted(suggestion.saves, "question"))))?;
    for covers in &suggestion.covers {
        writeln!(out, "  lets pass  {}", paint::visible(covers))?;
    }
    print_calls("asked", &suggestion.calls, out)?;
    print_calls("was denied", &suggestion.newly, out)?;
    let add = format!("mayi rules add --to {} '{}'", suggestion.layer, suggestion.rule.replace('\'', "'\\''"));
    writeln!(out, "  add it     {}\n", paint::visible(&add))?;
    Ok(())
}

fn print_calls(word: &str, calls: &[PastCall], out: Out<'_>) -> Result<()> {
    for call in calls.iter().take(SHOWN) {
        let times = paint::quiet(format!("×{}", call.times));
        writeln!(out, "  {word:<10} {} {times}", records::subject(&call.call, 72))?;
    }
    if calls.len() > SHOWN {
        writeln!(out, "  {}", paint::quiet(format!("and {} more", calls.len() - SHOWN)))?;
    }
    Ok(())
}
