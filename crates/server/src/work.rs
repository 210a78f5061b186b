//! What runs beside requests: questions whose time is over, settings that change, records and sessions that grow old.
//! Each goes on whatever fails: a store that is away is tried again.

use std::sync::Arc;
use std::time::Duration;

use mayi_core::session::Aborted;
use mayi_settings::Severity;
use serde_json::json;
use tokio::time::{MissedTickBehavior, interval};

use crate::api::news;
use crate::app::App;
use crate::approvals::{SERVER, overdue, withdraw_outdated};
use crate::notify;
use crate::problem::Problem;
use crate::record;
use crate::store::Event;

/// How often overdue questions and changed settings are looked for.
const OFTEN: Duration = Duration::from_millis(500);
/// How often old things are looked for.
const SELDOM: Duration = Duration::from_secs(60 * 60);
/// A day, in milliseconds.
const DAY: u64 = 24 * 60 * 60 * 1000;
/// How long a session that is not seen goes on, in milliseconds.
const IDLE: u64 = 30 * DAY;

/// Starts everything, on the present runtime. It ends with [`App::stop`].
pub(crate) fn start(app: &Arc<App>) {
    tokio::spawn(notify::run(app.clone()));
    tokio::spawn(news::run(app.clone()));
    let app = app.clone();
    tokio::spawn(async move {
        let mut stopping = app.stopping();
        let (mut often, mut seldom) = (interval(OFTEN), interval(SELDOM));
        often.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut known = app.policies.version();
        while !*stopping.borrow() {
            tokio::select! {
                _ = often.tick() => {
                    // Whatever fails here is tried again at the next turn, and answers look for themselves.
                    let _ = overdue::sweep(&app).await;
                    let _ = look_at_settings(&app, &mut known).await;
                }
                _ = seldom.tick() => {
                    let _ = forget(&app).await;
                }
                _ = stopping.changed() => {}
            }
        }
    });
}

/// Takes up changed settings: told to everybody, in the audit, and no question of the old ones is answered any more.
async fn look_at_settings(app: &Arc<App>, known: &mut Arc<str>) -> Result<(), Problem> {
    let settings = app.settings.clone();
    let before = app.settings.current();
    let loaded = tokio::task::spawn_blocking(move || settings.refresh()).await.map_err(|_| Problem::Broken)?;
    let version = app.policies.version();
    if Arc::ptr_eq(&before, &loaded) && version == *known {
        return Ok(());
    }
    let problems: Vec<String> = loaded
        .problems()
        .iter()
        .filter(|problem| problem.severity == Severity::Error)
        .map(|problem| format!("{}: {}", problem.origin, problem.message))
        .collect();
    for problem in &problems {
        eprintln!("mayi: settings: {problem}");
    }
    if version == *known && problems.is_empty() {
        return Ok(());
    }
    let members = json!({"by": SERVER, "from": **known, "to": *version, "problems": problems});
    app.store.append(vec![record::of("policy", app.now(), None, members)]).await?;
    app.store.tell(Event::Policy { version: version.to_string() }).await?;
    withdraw_outdated(app).await?;
    *known = version;
    Ok(())
}

/// Forgets records as settings say, and ends sessions that nobody has seen for long.
async fn forget(app: &App) -> Result<(), Problem> {
    let now = app.now();
    if let Some(days) = app.settings.current().settings.audit.retention_days {
        app.store.forget_before(now.saturating_sub(u64::from(days) * DAY)).await?;
    }
    for mut state in app.store.sessions(0, usize::from(u16::MAX)).await? {
        if state.ended.is_some() || now.saturating_sub(state.seen) < IDLE {
            continue;
        }
        state.ended = Some(now);
        state.record.session.aborted.get_or_insert(Aborted::Stopped);
        let members = json!({"by": SERVER, "from": state.record.session.mode, "to": "ended"});
        let records = vec![record::of("mode", now, Some(&state.id), members)];
        // One that was seen just now is not old.
        let _ = app.store.put_session(state, records).await;
    }
    Ok(())
}
