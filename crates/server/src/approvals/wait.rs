//! Waiting for an answer: woken by what the store tells, on whichever server the answer was given, and looking again
//! now and then in case nobody told.

use std::time::Duration;

use mayi_engine::remote::wire::{Approval, State};
use tokio::time::Instant;

use super::overdue;
use crate::app::App;
use crate::problem::Problem;

/// How long at most until a waiting question is looked at again.
const LOOK: Duration = Duration::from_secs(20);

/// How a question stands when it no longer waits, or when the time is over, or when the server stops.
pub async fn settled(app: &App, id: &str, within: Duration) -> Result<Option<Approval>, Problem> {
    // Listening begins before the first look, so that nothing falls in between.
    app.herald.listen(&*app.store, app.stopping());
    let mut bell = app.herald.bell(id);
    let mut stopping = app.stopping();
    let end = Instant::now() + within;
    loop {
        let Some(found) = app.store.approval(id.to_owned()).await? else { return Ok(None) };
        if found.state != State::Pending {
            return Ok(Some(found));
        }
        let left = found.expires_at.saturating_sub(app.now());
        if left == 0 {
            return overdue::expire(app, &found).await;
        }
        let now = Instant::now();
        if now >= end || *stopping.borrow() {
            return Ok(Some(found));
        }
        let look = (now + LOOK.min(Duration::from_millis(left))).min(end);
        tokio::select! {
            () = bell.rings() => {}
            () = tokio::time::sleep_until(look) => {}
            _ = stopping.changed() => {}
        }
    }
}
