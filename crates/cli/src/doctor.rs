//! `mayi doctor`: what is installed, whether it really fires, and what is wrong.

mod server;

use std::time::Duration;

use anyhow::{Context, Result};
use mayi_agents::install::doctor::{Examination, Finding, LIMITS, MAYI, Presence, SANDBOX, Section, State};
use mayi_agents::install::{Ground, agents};
use mayi_settings::settings::Settings;
use mayi_settings::{Given, Places, load};
use serde_json::{Value, json};

use crate::exit::Exit;
use crate::identity::{self, Of, Row};
use crate::{Out, arguments, paint, surroundings};

/// How long a hook may take before it counts as hanging. Agents wait longer; a person at a terminal does not.
const DEADLINE: Duration = Duration::from_secs(10);

pub(crate) fn run(task: &arguments::Doctor, out: Out<'_>) -> Result<Exit> {
    let ground = Ground::of_this_machine(&surroundings::project(task.cwd.as_deref())?);
    let places = Places::of_this_machine(&surroundings::directory(task.cwd.as_deref())?);
    let program = std::env::current_exe().context("where mayi itself is cannot be found out")?;
    let version = concat!("mayi ", env!("CARGO_PKG_VERSION"));
    let examination = Examination {
        ground: &ground,
        places: &places,
        program: (&program, version),
        deadline: DEADLINE,
        lint: mayi_analysis::lint::lint,
    };
    let mut sections = vec![examination.machine()];
    sections.extend(credentials(&places)?);
    sections.extend(server::section(&places)?);
    match task.agent {
        Some(agent) => sections.push(examination.agent(agent)),
        None => {
            sections.push(examination.sandbox());
            let all = agents::ALL.iter().filter(|agent| !agent.files.is_empty());
            sections.extend(all.map(|agent| examination.agent(agent)));
            sections.push(examination.limits());
        }
    }
    let is_well = sections.iter().all(Section::is_well)
        && (task.agent.is_none() || sections.iter().all(|section| section.presence == Presence::Installed));
    if task.json {
        let sections: Vec<Value> = sections.iter().map(section_json).collect();
        writeln!(out, "{:#}", json!({ "well": is_well, "sections": sections }))?;
    } else {
        told(&sections, task, out)?;
    }
    Ok(if is_well { Exit::Done } else { Exit::Error })
}

/// What is to be said about credentials, where mayi needs one or has one.
fn credentials(places: &Places) -> Result<Option<Section>> {
    let settings = load(places, &Given { trust: places.trust(), ..Given::default() }).settings;
    let rows = identity::rows(&settings)?;
    let wanted = rows.iter().filter(|row| row.is_needed(&settings) || row.standing.source.is_some());
    let findings: Vec<Finding> = wanted.flat_map(|row| of_row(row, &settings)).collect();
    let section = Section { name: "identity", title: "credentials", presence: Presence::Installed, findings };
    Ok((!section.findings.is_empty()).then_some(section))
}

fn of_row(row: &Row, settings: &Settings) -> Vec<Finding> {
    let line = format!("{}: {}", row.title(), row.line());
    if !row.standing.problems.is_empty() {
        let problem = |text: &String| {
            let (what, help) = text.split_once("\nhelp: ").unwrap_or((text, "mayi whoami shows more"));
            Finding { state: State::Wrong, what: format!("{}: {what}", row.title()), help: Some(help.to_owned()) }
        };
        return row.standing.problems.iter().map(problem).collect();
    }
    let (state, help) = match &row.standing.source {
        // A server of one's own may want no key.
        None if row.of == Of::Model && settings.classifier.base_url.is_some() => (State::Fine, None),
        None => (State::Wrong, Some("mayi login, or mayi login --api-key".to_owned())),
        Some(_) if row.is_in_file() => {
            let help = "start a Secret Service (GNOME Keyring, KDE Wallet), then sign in again";
            (State::Warning, Some(help.to_owned()))
        }
        Some(_) => (State::Fine, None),
    };
    vec![Finding { state, what: line, help }]
}

fn told(sections: &[Section], task: &arguments::Doctor, out: Out<'_>) -> Result<()> {
    let is_shown =
        |section: &&Section| task.agent.is_some() || section.presence != Presence::Absent || !section.is_well();
    for section in sections.iter().filter(is_shown) {
        writeln!(out, "{}", paint::strong(section.title))?;
        for finding in &section.findings {
            told_of(finding, out)?;
        }
    }
    let absent: Vec<&str> = sections.iter().filter(|section| !is_shown(section)).map(|section| section.title).collect();
    let asks = |section: &Section| {
        ![MAYI, SANDBOX, LIMITS, server::NAME].contains(&section.name) && section.presence == Presence::Installed
    };
    if task.agent.is_none() && !sections.iter().any(asks) {
        writeln!(out, "no agent asks mayi yet: mayi install AGENT")?;
    }
    if !absent.is_empty() {
        writeln!(out, "{}", paint::quiet(format!("not found: {}", absent.join(", "))))?;
    }
    Ok(())
}

fn told_of(finding: &Finding, out: Out<'_>) -> Result<()> {
    let word = format!("{:<7}", finding.state.word());
    let word = match finding.state {
        State::Fine => paint::verdict(mayi_core::verdict::Verdict::Allow, word),
        State::Limit => paint::strong(word),
        State::Warning => paint::caution(word),
        State::Wrong => paint::alarm(word),
    };
    let mut lines = finding.what.lines();
    writeln!(out, "  {word}  {}", paint::visible(lines.next().unwrap_or_default()))?;
    for line in lines {
        writeln!(out, "           {}", paint::visible(line))?;
    }
    if let Some(help) = &finding.help {
        writeln!(out, "           help: {}", paint::visible(help))?;
    }
    Ok(())
}

fn section_json(section: &Section) -> Value {
    let finding =
        |finding: &Finding| json!({ "state": finding.state.word(), "what": finding.what, "help": finding.help });
    let presence = match section.presence {
        Presence::Installed => "installed",
        Presence::Without => "without",
        Presence::Absent => "absent",
    };
    json!({
        "name": section.name,
        "presence": presence,
        "findings": section.findings.iter().map(finding).collect::<Vec<_>>(),
    })
}
