//! What the doctor says about the server: whether it answers and whom it takes us for, which policy of it is known here
//! and since when, and what it still has to be told.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Result;
use mayi_agents::install::doctor::{Finding, Presence, Section, State};
use mayi_engine::desk::{Desk, Manner};
use mayi_engine::remote::client::{Client, ServerError};
use mayi_engine::remote::spool::Spool;
use mayi_engine::remote::{self, Haste, Served, Server};
use mayi_settings::{Given, Places};

use crate::identity;

/// The section's name.
pub(super) const NAME: &str = "server";
/// How long the server may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// Records that wait longer than this are worth a look.
const WAITING: Duration = Duration::from_secs(10 * 60);

/// The section about the server; `None` where settings name none.
pub(super) fn section(places: &Places) -> Result<Option<Section>> {
    let given = Given { trust: places.trust(), ..Given::default() };
    let Served { loaded, server } = remote::load(places, &given, Haste::Leisure);
    let Some(server) = server else { return Ok(None) };
    let spool = Desk::once(places.clone(), loaded.clone(), Manner::default()).spool(&loaded);
    let mut findings = Vec::new();
    if let Some(client) = server.client() {
        let runtime = identity::runtime()?;
        findings.push(reached(client, runtime.block_on(client.healthy(PATIENCE))));
        findings.push(known_as(runtime.block_on(client.me(PATIENCE))));
    }
    findings.push(policy(&server));
    findings.extend(spool.map(|spool| backlog(&spool)));
    Ok(Some(Section { name: NAME, title: "server", presence: Presence::Installed, findings }))
}

fn reached(client: &Client, health: Result<(), ServerError>) -> Finding {
    match health {
        Ok(()) => fine(format!("{} answers", client.host())),
        Err(error) => of_text(State::Wrong, &error.to_string()),
    }
}

fn known_as(me: Result<remote::client::Me, ServerError>) -> Finding {
    match me {
        Ok(me) if me.role == "agent" => fine(format!("the token is `{}`, of the role agent", me.name)),
        Ok(me) => {
            let what = format!("the token is `{}`, of the role {}", me.name, me.role);
            let help = "give agents a token of the role agent: it can ask, and never answer";
            Finding { state: State::Warning, what, help: Some(help.to_owned()) }
        }
        Err(error) => of_text(State::Wrong, &error.to_string()),
    }
}

fn policy(server: &Server) -> Finding {
    if let Some(trouble) = server.trouble() {
        return of_text(State::Wrong, &trouble);
    }
    let known = server.known().map(|known| {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let age = known.age(u64::try_from(now.as_millis()).unwrap_or(u64::MAX)).unwrap_or_default();
        format!("policy {}, confirmed {} seconds ago", known.bundle.version, age.as_secs())
    });
    match (&server.warning, known) {
        (Some(warning), known) => {
            let finding = of_text(State::Wrong, warning);
            let what = known.map_or(finding.what.clone(), |known| format!("{}\nin force: {known}", finding.what));
            Finding { what, ..finding }
        }
        (None, Some(known)) => fine(known),
        (None, None) => of_text(State::Wrong, "its policy is not known here"),
    }
}

fn backlog(spool: &Spool) -> Finding {
    match spool.backlog() {
        Ok(backlog) if backlog.refused > 0 => {
            let what = format!("it refused {} records, which are in the local audit alone", backlog.refused);
            let help = "check that the server is no older than mayi here";
            Finding { state: State::Warning, what, help: Some(help.to_owned()) }
        }
        Ok(backlog) if backlog.bytes == 0 => fine("it has every record".to_owned()),
        Ok(backlog) => {
            let waited = backlog.lag();
            let what = format!("{} bytes of records wait, the oldest for {} seconds", backlog.bytes, waited.as_secs());
            let state = if waited > WAITING { State::Warning } else { State::Fine };
            Finding { state, what, help: (state != State::Fine).then(|| "mayi ship says why they do".to_owned()) }
        }
        Err(error) => of_text(State::Wrong, &error.to_string()),
    }
}

fn fine(what: String) -> Finding {
    Finding { state: State::Fine, what, help: None }
}

fn of_text(state: State, text: &str) -> Finding {
    let (what, help) = text.split_once("\nhelp: ").unwrap_or((text, "mayi ship says more"));
    Finding { state, what: what.to_owned(), help: Some(help.to_owned()) }
}
