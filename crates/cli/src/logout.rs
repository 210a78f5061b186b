//! `mayi logout`: tokens are revoked where they came from, and everything that is kept is removed.

use anyhow::Result;
use mayi_identity::SignedOut;
use serde_json::{Value, json};

use crate::arguments::Logout;
use crate::exit::Exit;
use crate::{Out, identity, paint};

pub(crate) fn run(task: &Logout, out: Out<'_>) -> Result<Exit> {
    let identity = identity::open_attended(&identity::settings(&task.manner)?);
    let done = identity::runtime()?.block_on(identity.sign_out());
    if task.manner.json {
        writeln!(out, "{:#}", report(&done))?;
    } else {
        told(&done, out)?;
    }
    Ok(if done.problems.is_empty() { Exit::Done } else { Exit::Error })
}

fn told(done: &SignedOut, out: Out<'_>) -> Result<()> {
    for service in &done.revoked {
        writeln!(out, "revoked at {}", paint::visible(service))?;
    }
    for (slot, store) in &done.removed {
        writeln!(out, "removed from the {store}: {}", paint::visible(slot))?;
    }
    if done.removed.is_empty() && done.problems.is_empty() {
        writeln!(out, "nobody is signed in, and no key is kept")?;
    }
    for problem in &done.problems {
        paint::tell(format!("{}: {}", paint::caution("warning"), paint::visible(&problem.to_string())));
    }
    Ok(())
}

fn report(done: &SignedOut) -> Value {
    let removed = |(slot, store): &(String, mayi_identity::StoreName)| json!({ "what": slot, "store": store });
    json!({
        "revoked": done.revoked,
        "removed": done.removed.iter().map(removed).collect::<Vec<_>>(),
        "problems": done.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
    })
}
