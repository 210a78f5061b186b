//! `mayi ship`: carries records to the server and fetches its policy, for hooks that have no time for it and for people
//! who want it now.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use mayi_engine::desk::{Desk, Manner};
use mayi_engine::remote::courier::{Round, round};
use mayi_engine::remote::spool::Shipped;
use mayi_engine::remote::{self, Haste, Served};
use serde_json::json;

use crate::arguments::Ship;
use crate::exit::Exit;
use crate::{Out, identity, paint, surroundings};

/// How long carrying may take. What is left is carried the next time.
const WITHIN: Duration = Duration::from_secs(120);

pub(crate) fn run(task: &Ship, out: Out<'_>) -> Result<Exit> {
    let (places, given) = surroundings::sources(&task.place)?;
    let Served { loaded, server } = remote::load(&places, &given, Haste::Answer);
    let Some(mut server) = server else { bail!("settings name no server\nhelp: set `server.url`") };
    let host = server.client().map(remote::client::Client::host).context(server.trouble().unwrap_or_default())?;
    let spool = Desk::once(places, loaded.clone(), Manner::default()).spool(&loaded);
    let Round { shipped, policy } = identity::runtime()?.block_on(round(&mut server, spool.as_ref(), WITHIN));
    if let Some(problem) = &policy {
        paint::tell(format!("{}: {}", paint::caution("warning"), paint::visible(problem)));
    }
    let shipped = shipped.transpose()?;
    if task.json {
        let (records, all) = match shipped {
            Some(Shipped::All(records)) => (records, true),
            Some(Shipped::Some(records)) => (records, false),
            Some(Shipped::Busy) | None => (0, false),
        };
        writeln!(out, "{}", json!({ "server": host, "records": records, "all": all, "problem": policy }))?;
    } else {
        writeln!(out, "{}", told(shipped, &host))?;
    }
    Ok(if policy.is_some() { Exit::Error } else { Exit::Done })
}

fn told(shipped: Option<Shipped>, host: &str) -> String {
    match shipped {
        Some(Shipped::All(0)) => format!("{host} has every record"),
        Some(Shipped::All(records)) => format!("{host} has every record, {records} of them since now"),
        Some(Shipped::Some(records)) => format!("{host} has {records} more records, and others are waiting"),
        Some(Shipped::Busy) => "another process is carrying records".to_owned(),
        None => "nothing is recorded here".to_owned(),
    }
}
