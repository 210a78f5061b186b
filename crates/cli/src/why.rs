//! `mayi why`: a recorded decision explained, and the smallest change that would have turned it.

use anyhow::{Result, bail};
use mayi_analysis::why::{Surroundings, Turn, Why, why};
use mayi_core::trace::Finding;
use mayi_engine::audit::Recorded;
use mayi_settings::{Given, Trust, load};
use serde_json::json;

use crate::arguments::{Records, Why as Task};
use crate::exit::Exit;
use crate::records::{self, Reading, Settings};
use crate::{Out, paint};

pub(crate) fn run(task: &Task, out: Out<'_>) -> Result<Exit> {
    let mut reading = Reading::of(&Records { file: task.file.clone(), since: None })?;
    let recorded = find(&mut reading, &task.record)?;
    let mut settings = Settings::new(task.settings.as_deref(), None)?;
    let loaded = settings.of(&recorded);
    let places = Settings::places(&recorded);
    let given = Given { flags: settings.flags(), trust: Trust::Trusted, ..Given::default() };
    let trusted = (places.trust() == Trust::Untrusted).then(|| load(&places, &given));
    let machine = records::machine();
    let around = Surroundings { loaded: &loaded, trusted: trusted.as_ref(), observer: &machine };
    let explained = why(&recorded, &around);
    if task.json {
        let Recorded { at, session, tool, input, cwd, mode, verdict, step, message, trace, .. } = &*recorded;
        let answer = json!({
            "record": recorded.name(), "at": at, "session": session, "tool": tool, "input": input, "cwd": cwd,
            "mode": mode, "verdict": verdict, "step": step, "message": message, "trace": trace,
            "today": explained.today, "lost": explained.lost, "turns": explained.turns,
            "built_in": explained.built_in,
        });
        writeln!(out, "{answer:#}")?;
    } else {
        print(&recorded, &explained, out)?;
    }
    Ok(Exit::Done)
}

/// The last record, or the newest that a word names.
fn find(reading: &mut Reading, word: &str) -> Result<Box<Recorded>> {
    let mut found = None;
    while let Some(recorded) = reading.next_decision() {
        if word == "last" || recorded.is_called(word) {
            found = Some(recorded);
        }
    }
    reading.report();
    match found {
        Some(found) => Ok(found),
        None if word == "last" => bail!("no decision is recorded"),
        None => bail!("no record is called `{word}`\nhelp: mayi audit query shows their names"),
    }
}

fn print(recorded: &Recorded, explained: &Why, out: Out<'_>) -> Result<()> {
    let Recorded { verdict, step, tool, mode, cwd, at, message, .. } = recorded;
    let word = paint::verdict(*verdict, verdict.word());
    let tool = paint::strong(paint::visible(tool));
    writeln!(out, "{word}  {tool}  {}", records::subject(&recorded.call(), 400))?;
    let place = format!("{}  {}  mode {mode}  in {}", records::shown(*at), recorded.name(), paint::visible(cwd));
    writeln!(out, "  {}", paint::quiet(place))?;
    writeln!(out, "  {step:<4} {}\n", paint::visible(message).replace('\n', "\\n"))?;
    let Some(today) = &explained.today else {
        let lost = explained.lost.map(|lost| lost.to_string()).unwrap_or_default();
        writeln!(out, "it cannot be decided again: {lost}")?;
        return Ok(());
    };
    if today.ruling.verdict != *verdict {
        let now = paint::verdict(today.ruling.verdict, today.ruling.verdict.word());
        writeln!(out, "{}: with the settings of today it is {now}", paint::caution("note"))?;
    }
    for (step, finding) in today.trace.rows() {
        let name = format!("  {:<4} {:<18}", step.id(), step.name());
        match finding {
            None => {}
            Some(Finding::Pass(note)) => {
                let row = format!("{name} pass   {}", paint::visible(&note.to_string()));
                writeln!(out, "{}", paint::quiet(row.trim_end()))?;
            }
            Some(Finding::Settle(verdict, reason)) => {
                let word = paint::verdict(*verdict, format!("{:<6}", verdict.word()));
                writeln!(out, "{name} {word} {}", paint::visible(&reason.to_string()).replace('\n', "\\n"))?;
            }
        }
    }
    print_turns(explained, out)
}

fn print_turns(Why { turns, built_in, .. }: &Why, out: Out<'_>) -> Result<()> {
    if let Some(step) = built_in {
        writeln!(out, "\nno rule turns it: step {} ({}) is built in", step.id(), step.name())?;
    }
    if turns.is_empty() {
        if built_in.is_none() {
            writeln!(out, "\nno single rule, mode or trust would have turned it")?;
        }
        return Ok(());
    }
    writeln!(out, "\n{}", paint::strong("what would have turned it, each tried"))?;
    for Turn { changes, ruling } in turns {
        let words: Vec<String> = changes.iter().map(|change| paint::visible(&change.to_string())).collect();
        let to = paint::verdict(ruling.verdict, format!("{:<5}", ruling.verdict.word()));
        writeln!(out, "  {to} {:<4} {}", ruling.step.id(), words.join("\n             and "))?;
    }
    Ok(())
}
