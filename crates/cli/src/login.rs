//! `mayi login`: signing in by a browser or another device, or keeping an API key.

mod opener;
mod prompt;

use std::time::Duration;

use anyhow::{Result, bail};
use mayi_identity::login::code::CodeSignIn;
use mayi_identity::login::device::DeviceSignIn;
use mayi_identity::{Identity, Kept, Problem, Purpose, SignedIn, Vendor};
use mayi_settings::settings::Settings;
use serde_json::json;

use crate::arguments::{Login, Whom};
use crate::exit::{self, Exit};
use crate::{Out, identity, paint};

/// How long a person may take in the browser.
const PATIENCE: Duration = Duration::from_secs(10 * 60);

pub(crate) fn run(task: &Login, out: Out<'_>) -> Result<Exit> {
    if !task.stray.is_empty() {
        let why = "a key is never an argument: everybody on this machine can read those\n\
                   help: revoke it, then give the next one on standard input: mayi login --api-key < FILE";
        return Err(exit::usage("login", why));
    }
    let mut settings = identity::settings(&task.manner)?;
    if let Some(issuer) = &task.issuer {
        settings.identity.issuer = Some(issuer.clone());
        // The endpoints of another service are none of this one's.
        settings.identity.authorization_endpoint = None;
        settings.identity.token_endpoint = None;
        settings.identity.device_endpoint = None;
        settings.identity.revocation_endpoint = None;
    }
    if task.api_key { keep_key(task, &settings, out) } else { sign_in(task, &settings, out) }
}

fn keep_key(task: &Login, settings: &Settings, out: Out<'_>) -> Result<Exit> {
    let purpose = purpose(task.whom, settings)?;
    let whom = match &purpose {
        Purpose::Model(vendor) => vendor.word().to_owned(),
        Purpose::Server(url) => url.clone(),
    };
    let key = prompt::key(&format!("API key for {} (not shown): ", paint::visible(&whom)))?;
    let kept = identity::runtime()?.block_on(identity::open_attended(settings).keep_key(&purpose, key))?;
    warn(&kept);
    if task.manner.json {
        writeln!(out, "{:#}", json!({ "for": whom, "store": kept.store }))?;
    } else {
        writeln!(out, "the key for {} is kept in the {}", paint::strong(paint::visible(&whom)), kept.store)?;
    }
    Ok(Exit::Done)
}

/// Who a key is for.
fn purpose(whom: Option<Whom>, settings: &Settings) -> Result<Purpose> {
    match whom {
        None => Ok(Purpose::Model(identity::vendor(settings))),
        Some(Whom::Anthropic) => Ok(Purpose::Model(Vendor::Anthropic)),
        Some(Whom::Openai) => Ok(Purpose::Model(Vendor::OpenAi)),
        Some(Whom::Server) if settings.server.url.is_none() => {
            bail!("no mayi server is configured\nhelp: set `server.url` in your settings")
        }
        Some(Whom::Server) => Ok(identity::server(settings)),
    }
}

fn sign_in(task: &Login, settings: &Settings, out: Out<'_>) -> Result<Exit> {
    let identity = identity::open_attended(settings);
    let signed_in = identity::runtime()?.block_on(async {
        tokio::select! {
            signed_in = signed_in(&identity, task) => Ok(signed_in?),
            _ = tokio::signal::ctrl_c() => bail!("cancelled; nothing was kept"),
        }
    })?;
    warn(&signed_in.kept);
    let SignedIn { who, at, expires, kept } = signed_in;
    if task.manner.json {
        writeln!(out, "{:#}", json!({ "who": who, "at": at, "expires": expires, "store": kept.store }))?;
        return Ok(Exit::Done);
    }
    let who = who.map(|who| format!(" as {}", paint::strong(paint::visible(&who)))).unwrap_or_default();
    writeln!(out, "signed in{who} at {}, kept in the {}", paint::visible(&at), kept.store)?;
    Ok(Exit::Done)
}

async fn signed_in(identity: &Identity, task: &Login) -> Result<SignedIn, Problem> {
    if task.device {
        let waiting = identity.begin_device_sign_in().await?;
        show_code(&waiting);
        return waiting.finish().await;
    }
    let waiting = identity.begin_sign_in().await?;
    show_address(&waiting, task);
    waiting.finish(PATIENCE).await
}

fn show_address(waiting: &CodeSignIn<'_>, task: &Login) {
    let asked = !task.no_browser && opener::open(waiting.address());
    paint::tell(if asked { "your browser was asked to open this address:" } else { "open this address to sign in:" });
    // Alone on its line and whole, however narrow the terminal is: it is copied from here.
    paint::tell(format!("  {}", paint::visible(waiting.address())));
    paint::tell(paint::quiet("waiting for the browser to come back; Ctrl-C cancels"));
}

fn show_code(waiting: &DeviceSignIn<'_>) {
    paint::tell("open this address on any device:");
    paint::tell(format!("  {}", paint::visible(&waiting.address())));
    paint::tell(format!("and enter this code: {}", paint::strong(paint::visible(&waiting.code()))));
    let minutes = waiting.good_for().as_secs().div_ceil(60);
    paint::tell(paint::quiet(format!("waiting for {minutes} minutes at most; Ctrl-C cancels")));
}

/// Says once that a plain file is the best there is, and why.
fn warn(kept: &Kept) {
    if !kept.newly_in_file {
        return;
    }
    paint::tell(format!("{}: it is kept in a private file that is not encrypted", paint::caution("warning")));
    for problem in &kept.passed_over {
        paint::tell(format!("  {}", paint::visible(problem.to_string().lines().next().unwrap_or_default())));
    }
}
