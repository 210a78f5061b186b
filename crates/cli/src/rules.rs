//! `mayi rules`: the rules in force, changes to them, and what is wrong with them.

use anyhow::{Context, Result};
use mayi_core::policy::{Entry, Layer, Origin, Status};
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;
use mayi_settings::load::Withholding;
use mayi_settings::update::{self, PermissionUpdate, RuleValue};
use mayi_settings::{Loaded, Places, Problem, write};
use serde_json::json;
use unicode_width::UnicodeWidthStr;

use crate::arguments::{Change, Destination, Rules, RulesTask, Where};
use crate::exit::Exit;
use crate::{Out, lint, paint, suggest, surroundings};

pub(crate) fn run(rules: Rules, out: Out<'_>) -> Result<Exit> {
    match rules.task {
        RulesTask::List { json, place } => {
            let loaded = surroundings::loaded(&place)?;
            surroundings::report(&loaded);
            if json { list_json(&loaded, out) } else { list(&loaded, out) }
        }
        RulesTask::Add(change) => add(&change, out),
        RulesTask::Remove(change) => remove(&change, out),
        RulesTask::Suggest(task) => suggest::run(&task, out),
        RulesTask::Lint(task) => lint::run(&task, out),
    }
}

impl From<Destination> for update::Destination {
    fn from(destination: Destination) -> Self {
        match destination {
            Destination::Local => update::Destination::LocalSettings,
            Destination::Project => update::Destination::ProjectSettings,
            Destination::User => update::Destination::UserSettings,
        }
    }
}

impl From<Destination> for Layer {
    fn from(destination: Destination) -> Self {
        match destination {
            Destination::Local => Layer::Local,
            Destination::Project => Layer::Project,
            Destination::User => Layer::User,
        }
    }
}

/// A line of the list: verdict, rule, origin, note.
struct Row<'a> {
    verdict: Verdict,
    text: String,
    origin: &'a Origin,
    note: String,
}

fn list(loaded: &Loaded, out: Out<'_>) -> Result<Exit> {
    let mut counted: Vec<Row<'_>> = Vec::new();
    for verdict in [Verdict::Deny, Verdict::Ask, Verdict::Allow] {
        for entry in loaded.policy.entries().iter().filter(|entry| entry.verdict == verdict) {
            let text = paint::visible(&entry.text);
            counted.push(Row { verdict, text, origin: &entry.origin, note: note(entry) });
        }
    }
    if counted.is_empty() {
        writeln!(out, "no rules are in force")?;
    }
    print_rows(&counted, out)?;
    for (why, words) in [
        (Withholding::NeedsTrust, "not counted, because the folder is not trusted (mayi trust):"),
        (Withholding::ManagedOnly, "not counted, because only the organisation's rules count here:"),
    ] {
        let of_kind = loaded.withheld.iter().filter(|withheld| withheld.why == why);
        let rows: Vec<Row<'_>> = of_kind
            .map(|withheld| Row {
                verdict: withheld.written.verdict,
                text: paint::visible(&withheld.written.text),
                origin: &withheld.origin,
                note: String::new(),
            })
            .collect();
        if !rows.is_empty() {
            writeln!(out, "\n{}", paint::strong(words))?;
            print_rows(&rows, out)?;
        }
    }
    Ok(Exit::Done)
}

/// The origins stand in one column, unless a very long rule would push them off the screen.
fn print_rows(rows: &[Row<'_>], out: Out<'_>) -> Result<()> {
    let column = rows.iter().map(|row| row.text.width()).filter(|width| *width <= 60).max().unwrap_or_default();
    for Row { verdict, text, origin, note } in rows {
        let word = paint::verdict(*verdict, format!("{:<5}", verdict.word()));
        let gap = " ".repeat(column.saturating_sub(text.width()));
        let origin = paint::quiet(paint::visible(&origin.to_string()));
        writeln!(out, "{word}  {text}{gap}  {origin}{note}")?;
    }
    Ok(())
}

fn note(entry: &Entry) -> String {
    match &entry.status {
        Status::Live => String::new(),
        Status::Malformed(error) => format!("  {}", paint::alarm(error)),
        Status::Idle(_) => format!("  {}", paint::caution("can never match (mayi rules lint)")),
    }
}

fn list_json(loaded: &Loaded, out: Out<'_>) -> Result<Exit> {
    let counted = loaded.policy.entries().iter().map(|entry| {
        json!({ "rule": entry.text, "list": entry.verdict, "origin": entry.origin, "live": entry.status == Status::Live })
    });
    let withheld = loaded.withheld.iter().map(|withheld| {
        json!({ "rule": withheld.written.text, "list": withheld.written.verdict, "origin": withheld.origin, "live": false })
    });
    let rules: Vec<_> = counted.chain(withheld).collect();
    writeln!(out, "{:#}", json!(rules))?;
    Ok(Exit::Done)
}

/// Adds rules, and tells of what is odd about them as they stand now.
fn add(change: &Change, out: Out<'_>) -> Result<Exit> {
    let rules = save(change, PermissionUpdate::AddRules, out)?;
    let loaded = settings_after(change)?;
    let is_about = |problem: &&Problem| {
        let written = problem.rule.as_deref().and_then(|text| text.parse::<Rule>().ok());
        problem.origin.layer == change.to.into()
            && problem.list == Some(change.list)
            && written.is_some_and(|rule| rules.contains(&rule))
    };
    for problem in mayi_analysis::lint::lint(&loaded).iter().filter(is_about) {
        paint::tell(paint::problem(problem));
    }
    Ok(Exit::Done)
}

/// Removes rules, and tells of the same rule elsewhere: it is still in force.
fn remove(change: &Change, out: Out<'_>) -> Result<Exit> {
    let rules = save(change, PermissionUpdate::RemoveRules, out)?;
    let loaded = settings_after(change)?;
    let counted = loaded.policy.entries().iter().map(|entry| (entry.verdict, &entry.rule, &entry.origin));
    for (verdict, rule, origin) in counted.filter(|(_, rule, _)| rules.contains(rule)) {
        let origin = paint::visible(&origin.to_string());
        paint::tell(format!("note: `{rule}` is in the {verdict} list of {origin}"));
    }
    Ok(Exit::Done)
}

fn settings_after(change: &Change) -> Result<Loaded> {
    surroundings::loaded(&Where { cwd: change.cwd.clone(), ..Where::default() })
}

fn save(change: &Change, update: fn(update::Rules) -> PermissionUpdate, out: Out<'_>) -> Result<Vec<Rule>> {
    let rules = change.rules.iter().map(|text| parsed(text)).collect::<Result<Vec<_>>>()?;
    let places = Places::of_this_machine(&surroundings::directory(change.cwd.as_deref())?);
    let values = update::Rules {
        rules: rules.iter().map(RuleValue::from).collect(),
        behavior: change.list,
        destination: change.to.into(),
    };
    let files = write::save(&places, &[update(values)])?;
    if files.is_empty() {
        let (list, layer) = (change.list, Layer::from(change.to));
        writeln!(out, "nothing to change in the {list} list of {layer} settings")?;
    }
    for file in files {
        writeln!(out, "changed {}", paint::visible(&file.display().to_string()))?;
    }
    Ok(rules)
}

fn parsed(text: &str) -> Result<Rule> {
    text.parse::<Rule>().with_context(|| format!("`{}` is no rule", paint::visible(text)))
}
