//! Questions whose time is over. Every server looks for them; the store lets exactly one of them write.

use std::sync::atomic::Ordering;

use mayi_engine::remote::wire::{Approval, State};

use super::{NOBODY, no};
use crate::app::App;
use crate::problem::Problem;
use crate::record;
use crate::store::Settled;

/// Settles everything that is overdue.
pub async fn sweep(app: &App) -> Result<(), Problem> {
    for approval in app.store.overdue(app.now()).await? {
        expire(app, &approval).await?;
    }
    Ok(())
}

/// Settles one question as unanswered, unless somebody was faster. How it stands then.
pub async fn expire(app: &App, approval: &Approval) -> Result<Option<Approval>, Problem> {
    let answer = no(NOBODY, app.now(), "nobody answered in time");
    let records = vec![record::answer(approval, &answer)];
    let settled = app.store.settle(approval.id.clone(), State::Expired, Some(answer), records).await?;
    Ok(settled.map(|settled| match settled {
        Settled::Now(approval) => {
            app.tally.expired.fetch_add(1, Ordering::Relaxed);
            approval
        }
        Settled::Before(approval) => approval,
    }))
}
