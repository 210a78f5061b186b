//! `mayi explain`: what a call does, why an agent may want it, what could go wrong. Decides nothing.

use anyhow::{Result, bail};
use mayi_engine::explain::{self, Level};
use mayi_engine::observe::Machine;
use serde_json::json;

use crate::arguments::Explain;
use crate::check::{self, Words};
use crate::exit::Exit;
use crate::{Out, paint, surroundings};

pub(crate) fn run(task: &Explain, out: Out<'_>) -> Result<Exit> {
    let loaded = surroundings::loaded(&task.place)?;
    let words = Words {
        subcommand: "explain",
        tool: task.tool.as_deref(),
        input: task.input.as_deref(),
        command: &task.command,
    };
    let call = check::call(&words, &loaded.policy)?;
    if !explain::is_enabled(&loaded.settings) {
        bail!(
            "explanations are turned off by settings\nhelp: `permissionExplainerEnabled: false` says so; mayi check shows the decision and every step"
        );
    }
    let writable = loaded.policy.workspace.directories().map(str::to_owned).collect();
    let machine = Machine::new(writable, &std::env::var_os("PATH").unwrap_or_default());
    let explanation = explain::explain(&call, &loaded.policy, &machine);
    if task.json {
        writeln!(out, "{:#}", json!(explanation))?;
        return Ok(Exit::Done);
    }
    surroundings::report(&loaded);
    let level = match explanation.level {
        Level::Low => paint::quiet("LOW"),
        Level::Medium => paint::caution("MEDIUM"),
        Level::High => paint::alarm("HIGH"),
    };
    writeln!(out, "{}  {}", paint::strong("what  "), paint::visible(&explanation.explanation))?;
    writeln!(out, "{}  {}", paint::strong("why   "), paint::visible(&explanation.reasoning))?;
    writeln!(out, "{}  {level}  {}", paint::strong("risk  "), paint::visible(&explanation.risk))?;
    writeln!(out, "{}", paint::quiet("written from the analysis of the call, without a model"))?;
    Ok(Exit::Done)
}
