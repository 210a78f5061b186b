//! `mayi audit`: the record of decisions, looked at, written out and verified.

use std::collections::VecDeque;
use std::time::Duration;

use anyhow::{Context, Result};
use mayi_engine::audit::reading::{Line, Lines};
use mayi_engine::audit::verify::{Verified, verify};
use mayi_engine::audit::{Filter, Record, Recorded, files};
use mayi_server::store::Verified as Chain;
use serde_json::{Value, json};

use crate::arguments::{Audit, AuditTask, Export, Query, Verify, Wanted};
use crate::exit::Exit;
use crate::records::{self, counted};
use crate::{Out, approvals, identity, paint, replay};

/// How long a server may take to read its whole chain.
const READING: Duration = Duration::from_secs(30 * 60);

pub(crate) fn run(task: &Audit, out: Out<'_>) -> Result<Exit> {
    match &task.task {
        AuditTask::Query(query) => show(query, out),
        AuditTask::Export(export) => write(export, out),
        AuditTask::Verify(verify) => check(verify, out),
        AuditTask::Replay(task) => replay::run(task, out),
    }
}

fn filter(wanted: &Wanted) -> Filter {
    Filter {
        since: records::moment(wanted.records.since),
        until: records::moment(wanted.until),
        session: wanted.session.clone(),
        tool: wanted.tool.clone(),
        verdict: wanted.verdict,
        step: wanted.step,
        text: wanted.text.clone(),
    }
}

/// The decisions that are wanted, with their text, and how many lines cannot be read.
fn each(wanted: &Wanted, mut visit: impl FnMut(Box<Recorded>, &str) -> Result<()>) -> Result<usize> {
    let filter = filter(wanted);
    let mut broken = 0;
    for line in Lines::of(&records::file(wanted.records.file.as_deref())?) {
        let Ok(Line { place, text }) = line else {
            broken += 1;
            continue;
        };
        match Record::read(&text) {
            Ok(Record::Decision(recorded)) if filter.holds(&recorded) => visit(recorded, &text)?,
            Ok(_) => {}
            Err(error) => {
                broken += 1;
                if broken == 1 {
                    let what = paint::visible(&error.to_string());
                    paint::tell(format!("{}: {place} is no record: {what}", paint::caution("warning")));
                }
            }
        }
    }
    Ok(broken)
}

fn show(query: &Query, out: Out<'_>) -> Result<Exit> {
    let mut last: VecDeque<(Box<Recorded>, String)> = VecDeque::new();
    let mut found = 0;
    each(&query.wanted, |recorded, text| {
        found += 1;
        if query.limit > 0 && last.len() == query.limit {
            last.pop_front();
        }
        last.push_back((recorded, if query.json { text.to_owned() } else { String::new() }));
        Ok(())
    })?;
    if query.json {
        let records: Vec<Value> = last.iter().filter_map(|(_, text)| serde_json::from_str(text).ok()).collect();
        writeln!(out, "{:#}", json!(records))?;
        return Ok(Exit::Done);
    }
    for (recorded, _) in &last {
        let Recorded { verdict, step, tool, .. } = &**recorded;
        let word = paint::verdict(*verdict, format!("{:<5}", verdict.word()));
        let name = paint::quiet(recorded.name());
        let subject = records::subject(&recorded.call(), 72);
        let tool = paint::visible(tool);
        writeln!(out, "{}  {name}  {word} {:<4}  {tool}  {subject}", records::shown(recorded.at), step.id())?;
    }
    match found {
        0 => writeln!(out, "no decision of that kind is recorded")?,
        _ if found > last.len() => {
            paint::tell(format!("note: {} of {found} are shown (--limit 0 for all)", last.len()));
        }
        _ => {}
    }
    Ok(Exit::Done)
}

/// Every record as it stands in its file; only decisions where a filter speaks of them.
fn write(export: &Export, out: Out<'_>) -> Result<Exit> {
    if filter(&export.wanted) != Filter::default() {
        each(&export.wanted, |_, text| Ok(writeln!(out, "{text}")?))?;
        return Ok(Exit::Done);
    }
    let mut broken = 0;
    for line in Lines::of(&records::file(export.wanted.records.file.as_deref())?) {
        match line {
            Ok(Line { text, .. }) => writeln!(out, "{text}")?,
            Err(_) => broken += 1,
        }
    }
    if broken > 0 {
        paint::tell(format!("{}: {} cannot be read", paint::caution("warning"), counted(broken, "line")));
    }
    Ok(Exit::Done)
}

/// Verifies the audit of a server: it reads its chain itself, and says how far that reaches.
fn check_there(task: &Verify, url: &str, out: Out<'_>) -> Result<Exit> {
    let client = approvals::client(None, Some(url.to_owned()))?;
    let found = identity::runtime()?.block_on(client.verify(READING))?;
    let chain: Chain = serde_json::from_value(found.clone()).context("the server's answer cannot be read")?;
    let exit = if chain.broken.is_some() { Exit::Error } else { Exit::Done };
    if task.json {
        writeln!(out, "{found:#}")?;
        return Ok(exit);
    }
    let place = paint::visible(&client.host());
    if let Some((number, fault)) = chain.broken {
        writeln!(out, "{}  {}", paint::alarm("broken"), paint::visible(&fault))?;
        writeln!(out, "  --> record {number} at {place}")?;
        writeln!(out, "  help: what stands from there on proves nothing; a copy may")?;
        return Ok(exit);
    }
    let records = counted(usize::try_from(chain.records).unwrap_or(usize::MAX), "record");
    writeln!(out, "{}  {records} at {place}", paint::strong("whole"))?;
    if let Some(first) = chain.first.filter(|first| *first > 1) {
        writeln!(out, "  from record {first} on; older ones are no longer kept")?;
    }
    writeln!(out, "  last link {}", paint::visible(&chain.head))?;
    Ok(exit)
}

fn check(task: &Verify, out: Out<'_>) -> Result<Exit> {
    if let Some(url) = &task.server {
        return check_there(task, url, out);
    }
    let file = records::file(task.file.as_deref())?;
    let verified = verify(&file);
    let exit = if verified.broken.is_some() { Exit::Error } else { Exit::Done };
    if task.json {
        writeln!(out, "{:#}", json!(verified))?;
        return Ok(exit);
    }
    let Verified { records, first, unlinked, follows_removed, last, broken } = verified;
    if let Some(broken) = broken {
        let place = paint::visible(&broken.place.to_string());
        writeln!(out, "{}  {}", paint::alarm("broken"), paint::visible(&broken.fault.to_string()))?;
        writeln!(out, "  --> {place}")?;
        writeln!(out, "  help: what stands from there on proves nothing; a copy or a server's audit may")?;
        return Ok(exit);
    }
    let files = counted(files(&file).len(), "file");
    writeln!(out, "{}  {} in {files}", paint::strong("whole"), counted(records, "record"))?;
    if unlinked > 0 {
        writeln!(out, "  the first {unlinked} were written before there were links")?;
    }
    if let (true, Some(first)) = (follows_removed, first) {
        writeln!(out, "  from {} on; older ones are no longer kept", paint::visible(&first.to_string()))?;
    }
    if let Some(last) = last {
        writeln!(out, "  last link {last}")?;
    }
    Ok(exit)
}
