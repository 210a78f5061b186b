//! `mayi gateway`: stands before an MCP server and decides every call of its tools.

use std::time::Duration;

use anyhow::{Result, bail};
use mayi_agents::gateway::{Address, Face, Plan, Upstream, naming, run as serve};
use mayi_core::session::Attendance;
use mayi_engine::desk::{Bypass, Desk, Manner};
use mayi_settings::store::Store;

use crate::arguments::Gateway;
use crate::exit::{Exit, usage};
use crate::{suggest, surroundings};

/// How long hooks may take in all: a little less than a decision may, so that theirs is heard.
const PATIENCE: Duration = Duration::from_secs(25);

pub(crate) fn run(arguments: Gateway) -> Result<Exit> {
    let (places, given) = surroundings::sources(&arguments.place)?;
    let lead = mayi_agents::lead::of_this_process().map_err(|unknown| usage("gateway", unknown))?;
    let attendance = if arguments.unattended { Attendance::Unattended } else { Attendance::Attended };
    sensible(&arguments)?;
    let upstream = upstream(&arguments)?;
    let plan = Plan {
        name: arguments.name,
        upstream,
        face: match arguments.listen {
            Some(address) => Face::Listen { address, path: arguments.path },
            None => Face::Stdio,
        },
        session: arguments.session,
        attendance,
    };
    let manner = Manner {
        attendance,
        mode: arguments.mode,
        lead,
        patience: Some(PATIENCE),
        propose: suggest::AT_A_SERVER,
        bypass: Bypass::NotAsRoot,
        settings: given.flags.clone(),
        options: given.cli.clone(),
        ..Manner::default()
    };
    let settings = Store::open(places.clone(), given);
    let desk = Desk::lasting(places, settings, manner);
    surroundings::report(&desk.settings());
    serve(plan, desk)?;
    Ok(Exit::Done)
}

/// Refuses what could never work: a path that no request names, and a name under which no rule is about the server.
fn sensible(arguments: &Gateway) -> Result<()> {
    let is_path = |path: &str| path.starts_with('/') && path.chars().all(|letter| letter.is_ascii_graphic());
    if !is_path(&arguments.path) || arguments.path.contains(['?', '#']) {
        let problem =
            format!("a --path begins with `/`, and has neither blanks nor a query, unlike `{}`", arguments.path);
        return Err(usage("gateway", problem));
    }
    match &arguments.name {
        Some(name) if naming::server(name).is_none() => {
            let problem = format!("no rule can say the name `{name}`: use letters from a to z, digits, `-` and `_`");
            Err(usage("gateway", problem))
        }
        Some(_) | None => Ok(()),
    }
}

fn upstream(arguments: &Gateway) -> Result<Upstream> {
    let Some(url) = &arguments.url else { return Ok(Upstream::Command(arguments.command.clone())) };
    let mut address = Address::new(url)?;
    // A header may be a secret, so an error never repeats it.
    for header in &arguments.header {
        let (name, value) =
            header.split_once(':').ok_or_else(|| usage("gateway", "a --header is written 'Name: value'"))?;
        address = address.with_header(name.trim(), value.trim())?;
    }
    for header in &arguments.header_env {
        let (name, variable) =
            header.split_once('=').ok_or_else(|| usage("gateway", "a --header-env is written NAME=VARIABLE"))?;
        // The error of the variable itself would show its value.
        let Ok(value) = std::env::var(variable) else {
            bail!("the variable `{variable}` for the header `{name}` is not set, or is no text");
        };
        address = address.with_header(name, &value)?;
    }
    Ok(Upstream::Remote(address))
}
