//! `mayi token`: makes, lists and revokes a server's tokens, and makes sign-in links. Whoever may open the server's store
//! may do this; the server itself need not run.

use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use mayi_server::access::link::{self, Invited};
use mayi_server::access::token::{self, NewToken};
use mayi_server::principal::Role;
use mayi_server::problem::Problem;
use mayi_server::store::{Store, TokenState, open};
use serde_json::{Value, json};

use crate::arguments::{Kept, Token, TokenManner, TokenTask};
use crate::exit::Exit;
use crate::{Out, paint, serve};

/// Who does this, for the audit.
const BY: &str = "command line";
/// The store's own threads get this long to end.
const FAREWELL: Duration = Duration::from_secs(5);

pub(crate) fn run(task: Token, out: Out<'_>) -> Result<Exit> {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
    let done = runtime.block_on(perform(task.task, out));
    runtime.shutdown_timeout(FAREWELL);
    done
}

async fn perform(task: TokenTask, out: Out<'_>) -> Result<Exit> {
    match task {
        TokenTask::Create { role, name, expires, manner } => {
            let wanted = NewToken { name, role, expires_days: expires };
            create(wanted, &manner, out).await
        }
        TokenTask::List { manner } => list(&manner, out).await,
        TokenTask::Revoke { id, manner } => revoke(&id, &manner, out).await,
        TokenTask::SignIn { role, name, url, manner } => {
            sign_in(Invited { person: name, role }, url.as_deref(), &manner, out).await
        }
    }
}

async fn opened(kept: &Kept) -> Result<Arc<dyn Store>> {
    let settings = serve::settings(kept, None)?;
    Ok(open(&serve::store(kept, &settings)?).await?)
}

async fn create(wanted: NewToken, manner: &TokenManner, out: Out<'_>) -> Result<Exit> {
    let store = opened(&manner.store).await?;
    let made = token::make(&*store, wanted, (BY, now())).await?;
    if manner.json {
        writeln!(out, "{:#}", json!(made))?;
        return Ok(Exit::Done);
    }
    writeln!(out, "{}", made.token)?;
    paint::tell(format!("{} is shown this once; `mayi token revoke {}` ends it", made.state.name, made.state.id));
    Ok(Exit::Done)
}

async fn list(manner: &TokenManner, out: Out<'_>) -> Result<Exit> {
    let mut tokens = opened(&manner.store).await?.tokens().await?;
    tokens.sort_by_key(|token| token.created_at);
    if manner.json {
        writeln!(out, "{:#}", json!(tokens))?;
        return Ok(Exit::Done);
    }
    for token in &tokens {
        let TokenState { id, name, role, .. } = token;
        writeln!(out, "{id:<12}  {:<9} {:<8} {}", role.word(), standing(token, now()), paint::visible(name))?;
    }
    if tokens.is_empty() {
        writeln!(out, "there are no tokens")?;
    }
    Ok(Exit::Done)
}

fn standing(token: &TokenState, now: u64) -> &'static str {
    match token {
        TokenState { revoked_at: Some(_), .. } => "revoked",
        TokenState { expires_at: Some(end), .. } if *end <= now => "expired",
        TokenState { .. } => "good",
    }
}

async fn revoke(id: &str, manner: &TokenManner, out: Out<'_>) -> Result<Exit> {
    let store = opened(&manner.store).await?;
    let revoked = token::revoke(&*store, id, (BY, now())).await;
    if let Err(Problem::Absent(_)) = revoked {
        bail!("there is no token `{id}`\nhelp: `mayi token list` shows them");
    }
    let revoked = revoked?;
    if manner.json {
        writeln!(out, "{:#}", json!(revoked))?;
    } else {
        writeln!(out, "{} is revoked", paint::visible(&revoked.name))?;
    }
    Ok(Exit::Done)
}

async fn sign_in(invited: Invited, url: Option<&str>, manner: &TokenManner, out: Out<'_>) -> Result<Exit> {
    if invited.role == Role::Agent {
        bail!("an agent does not sign in\nhelp: `mayi token create --role agent` makes a token for it");
    }
    let settings = serve::settings(&manner.store, None)?;
    let said = settings.current().settings.server.clone();
    let base = match url.map(str::to_owned).or(said.url) {
        Some(url) => url,
        None => format!("http://{}", serve::listen(None, said.listen.as_deref())?),
    };
    let store = open(&serve::store(&manner.store, &settings)?).await?;
    let link = link::address(&base, &link::make(&*store, invited, now()).await?);
    if manner.json {
        writeln!(out, "{:#}", Value::from_iter([("link", link)]))?;
    } else {
        writeln!(out, "{link}")?;
    }
    Ok(Exit::Done)
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
