//! `mayi import`: another agent's rules in ours, and what cannot be said.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use mayi_agents::import::{Effect, Imported, Remark};
use mayi_core::policy::Layer;
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;
use mayi_settings::document::read_text;
use mayi_settings::update::{PermissionUpdate, RuleValue, Rules};
use mayi_settings::{Places, write};
use serde_json::json;

use crate::arguments::{Destination, Import};
use crate::exit::Exit;
use crate::{Out, paint, surroundings};

pub(crate) fn run(task: &Import, out: Out<'_>) -> Result<Exit> {
    let places = Places::of_this_machine(&surroundings::directory(task.cwd.as_deref())?);
    let files = match task.files.as_slice() {
        [] => task.agent.files(&places.directory, places.home.as_deref()),
        given => given.iter().map(|file| places.directory.join(file)).collect(),
    };
    if files.is_empty() {
        bail!("no rules of {} were found\nhelp: name the file: mayi import {0} FILE", task.agent.agent);
    }
    let read = files.into_iter().map(|file| imported(task, file)).collect::<Result<Vec<_>>>()?;
    if task.json {
        let shown = |(file, imported): &(PathBuf, Imported)| json!({ "file": file, "imported": imported });
        writeln!(out, "{:#}", json!(read.iter().map(shown).collect::<Vec<_>>()))?;
    } else {
        read.iter().try_for_each(|(file, imported)| show(file, imported, out))?;
    }
    match task.to {
        Some(destination) => save(task, destination, (&places, &read), out),
        None => Ok(Exit::Done),
    }
}

fn imported(task: &Import, file: PathBuf) -> Result<(PathBuf, Imported)> {
    let name = paint::visible(&file.display().to_string());
    let text =
        read_text(&file).with_context(|| format!("`{name}`"))?.with_context(|| format!("there is no `{name}`"))?;
    let imported =
        task.agent.import(&text).with_context(|| format!("`{name}` holds no rules of {}", task.agent.agent))?;
    Ok((file, imported))
}

fn show(file: &std::path::Path, imported: &Imported, out: Out<'_>) -> Result<()> {
    let name = paint::visible(&file.display().to_string());
    writeln!(out, "{}", paint::strong(&name))?;
    for rule in &imported.rules {
        let list = paint::verdict(rule.list, format!("{:<6}", rule.list.word()));
        writeln!(out, "  {list}{}  {}", paint::visible(&rule.rule), paint::quiet(format!("line {}", rule.line)))?;
    }
    for remark in &imported.remarks {
        let told = paint::visible(&remark.message).replace('\n', "\n            ");
        writeln!(out, "  {} {told}  {}", effect(remark), paint::quiet(format!("line {}", remark.line)))?;
    }
    Ok(())
}

fn effect(remark: &Remark) -> String {
    match remark.effect {
        Effect::Stricter => paint::strong("stricter:"),
        Effect::Asks => paint::caution("asks:    "),
        Effect::Lost => paint::alarm("lost:    "),
    }
}

/// Writes all rules, or none of them.
fn save(
    task: &Import,
    destination: Destination,
    (places, read): (&Places, &[(PathBuf, Imported)]),
    out: Out<'_>,
) -> Result<Exit> {
    let lost = read.iter().flat_map(|(_, imported)| &imported.remarks).filter(|remark| remark.effect == Effect::Lost);
    if !task.partly && lost.count() > 0 {
        bail!(
            "something that holds calls back there would be lost here, so nothing was written\n\
               help: write a rule for it by hand, then import with --partly"
        );
    }
    let rules = |list: Verdict| {
        let all = read.iter().flat_map(|(_, imported)| &imported.rules).filter(|rule| rule.list == list);
        all.map(|rule| rule.rule.parse::<Rule>().map(|rule| RuleValue::from(&rule))).collect::<Result<Vec<_>, _>>()
    };
    let mut updates = Vec::new();
    for list in Verdict::ALL {
        let rules = rules(list)?;
        if !rules.is_empty() {
            updates.push(PermissionUpdate::AddRules(Rules { rules, behavior: list, destination: destination.into() }));
        }
    }
    let files = write::save(places, &updates)?;
    if files.is_empty() {
        paint::tell(format!("nothing to change in {} settings", Layer::from(destination)));
    }
    for file in files {
        let changed = format!("changed {}", paint::visible(&file.display().to_string()));
        if task.json { paint::tell(changed) } else { writeln!(out, "{changed}")? }
    }
    Ok(Exit::Done)
}
