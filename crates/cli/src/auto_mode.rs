//! `mayi auto-mode`: the lists that auto mode judges by.

use anyhow::Result;
use mayi_settings::auto_mode::{Entry, List, Remark, critique, in_force};
use serde_json::{Map, Value, json};

use crate::arguments::{AutoMode, AutoModeTask, Lists};
use crate::exit::Exit;
use crate::{Out, paint, surroundings};

pub(crate) fn run(task: AutoMode, out: Out<'_>) -> Result<Exit> {
    match task.task {
        AutoModeTask::Defaults(lists) => defaults(&lists, out),
        AutoModeTask::Config(lists) => config(&lists, out),
        AutoModeTask::Critique(lists) => criticise(&lists, out),
    }
}

impl Lists {
    /// Whether an entry is asked for.
    fn wants(&self, text: &str) -> bool {
        self.label.as_ref().is_none_or(|label| text.to_lowercase().starts_with(&label.to_lowercase()))
    }
}

fn defaults(lists: &Lists, out: Out<'_>) -> Result<Exit> {
    let wanted = |list: List| -> Vec<Entry> {
        let entries = list.built_in().into_iter().filter(|text| lists.wants(text));
        entries.map(|text| Entry { text, origin: None }).collect()
    };
    if lists.json {
        let texts = |list: List| wanted(list).into_iter().map(|entry| entry.text).collect::<Vec<_>>();
        let members: Map<String, Value> =
            List::ALL.into_iter().map(|list| (list.key().to_owned(), json!(texts(list)))).collect();
        writeln!(out, "{:#}", json!({ "autoMode": members }))?;
        return Ok(Exit::Done);
    }
    for list in List::ALL {
        print_list(list, &wanted(list), out)?;
    }
    Ok(Exit::Done)
}

fn config(lists: &Lists, out: Out<'_>) -> Result<Exit> {
    let loaded = surroundings::loaded(&lists.place)?;
    surroundings::report(&loaded);
    let wanted = |list: List| -> Vec<Entry> {
        in_force(&loaded, list).into_iter().filter(|entry| lists.wants(&entry.text)).collect()
    };
    if lists.json {
        let members: Map<String, Value> =
            List::ALL.into_iter().map(|list| (list.key().to_owned(), json!(wanted(list)))).collect();
        writeln!(out, "{:#}", Value::Object(members))?;
        return Ok(Exit::Done);
    }
    for list in List::ALL {
        print_list(list, &wanted(list), out)?;
    }
    Ok(Exit::Done)
}

fn print_list(list: List, entries: &[Entry], out: Out<'_>) -> Result<()> {
    writeln!(out, "{}  {}", paint::strong(list.key()), paint::quiet(list.purpose()))?;
    for Entry { text, origin } in entries {
        let origin = origin.as_ref().map(|origin| format!("  {}", paint::quiet(paint::visible(&origin.to_string()))));
        let text = if text.trim().is_empty() { paint::quiet("(empty)") } else { paint::visible(text) };
        writeln!(out, "  - {text}{}", origin.unwrap_or_default())?;
    }
    if entries.is_empty() {
        writeln!(out, "  {}", paint::quiet("none"))?;
    }
    Ok(())
}

fn criticise(lists: &Lists, out: Out<'_>) -> Result<Exit> {
    let loaded = surroundings::loaded(&lists.place)?;
    surroundings::report(&loaded);
    let wanted = |remark: &Remark| remark.entry.as_ref().is_none_or(|entry| lists.wants(entry));
    let remarks: Vec<Remark> = critique(&loaded).into_iter().filter(wanted).collect();
    if lists.json {
        writeln!(out, "{:#}", json!(remarks))?;
    } else {
        print_remarks(&remarks, out)?;
    }
    Ok(if remarks.is_empty() { Exit::Done } else { Exit::Error })
}

fn print_remarks(remarks: &[Remark], out: Out<'_>) -> Result<()> {
    for remark in remarks {
        writeln!(out, "{}: {}", paint::caution("doubtful"), paint::visible(&remark.to_string()))?;
        if let Some(origin) = &remark.origin {
            writeln!(out, "  --> {}", paint::visible(&origin.to_string()))?;
        }
        writeln!(out, "  help: {}", remark.flaw.help())?;
    }
    if remarks.is_empty() {
        writeln!(out, "nothing is doubtful about the entries")?;
    }
    Ok(())
}
