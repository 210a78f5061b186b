//! `mayi explain`: what a call does, why an agent may want it, what could go wrong. Decides nothing.

use std::time::Duration;

use anyhow::{Result, bail};
use mayi_core::call::Call;
use mayi_engine::explain::model::Explainer;
use mayi_engine::explain::{self, Explanation, Level, Source};
use mayi_engine::observe::Machine;
use mayi_settings::Loaded;
use serde_json::json;

use crate::arguments::Explain;
use crate::check::{self, Words};
use crate::exit::Exit;
use crate::{Out, paint, surroundings};

/// How long a model may take.
const PATIENCE: Duration = Duration::from_secs(30);

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
    let by_model = by_model(task, &loaded, &call).unwrap_or_else(|problem| {
        paint::tell(format!("note: the model does not explain this: {}", paint::visible(&format!("{problem:#}"))));
        None
    });
    let explanation = by_model.unwrap_or_else(|| explain::explain(&call, &loaded.policy, &machine));
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
    writeln!(out, "{}", paint::quiet(author(explanation.source)))?;
    Ok(Exit::Done)
}

fn author(source: Source) -> &'static str {
    match source {
        Source::Static => "written from the analysis of the call, without a model",
        Source::Model => "written by a model, which may be wrong; --static shows what the analysis says",
    }
}

/// The words of the model that settings name; `None` where they name none or it shall not be asked.
fn by_model(task: &Explain, loaded: &Loaded, call: &Call) -> Result<Option<Explanation>> {
    if task.without_model {
        return Ok(None);
    }
    let environment: Vec<_> = std::env::vars_os().collect();
    let Some(explainer) = Explainer::configured(&loaded.settings, &environment)? else { return Ok(None) };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let explained = runtime.block_on(explainer.explain(call, "", PATIENCE));
    surroundings::report_credential(explainer.warning());
    let (explanation, _) = explained?;
    Ok(Some(explanation))
}
