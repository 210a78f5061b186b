//! Messages about what has happened: a call ran, or the agent denied one by itself. Hooks of settings are told of it. Nothing is
//! decided any more, so nobody is protected by an error here.

use mayi_core::verdict::Verdict;
use mayi_engine::desk::Desk;
use mayi_engine::hooks::{After, Event};

use super::options::Options;
use super::watchdog::Watchdog;
use super::{question, words};
use crate::adapter::{self, Message, Told};

/// What the agent is told after it told us.
pub(super) fn told(desk: &Desk, options: &Options, message: &Message, watchdog: &Watchdog) -> Result<Told, String> {
    if message.event == adapter::Event::Denied {
        return denied(desk, options, message, watchdog);
    }
    ran(desk, options, message, watchdog)
}

/// A call ran: whoever was left to answer it said yes, and hooks may have something to say of it.
fn ran(desk: &Desk, options: &Options, message: &Message, watchdog: &Watchdog) -> Result<Told, String> {
    if let Some(id) = &message.call_id {
        let _ = desk.ran(&message.session, id);
    }
    let mut told = Told::new(Verdict::Allow, "");
    if !desk.tells(Event::PostToolUse) {
        return Ok(told);
    }
    watchdog.watch();
    let response = message.response.clone().unwrap_or_default();
    for call in &message.calls {
        let after = desk.tell_ran(&question(options, message, call), &response)?;
        let After { objections, context, notices, replaced, ends_run, problems } = after;
        told.objections.extend(objections);
        told.context.extend(context);
        told.notices.extend(notices);
        told.context.extend(problems.iter().map(|problem| words::plain(problem)));
        told.replaced = told.replaced.or(replaced);
        if let (false, Some(why)) = (told.ends_run, ends_run) {
            (told.ends_run, told.reason) = (true, words::plain(&why));
        }
    }
    Ok(told)
}

/// The agent denied a call by itself: hooks may let the model try again.
fn denied(desk: &Desk, options: &Options, message: &Message, watchdog: &Watchdog) -> Result<Told, String> {
    let mut told = Told::new(Verdict::Allow, "");
    if !desk.tells(Event::PermissionDenied) {
        return Ok(told);
    }
    watchdog.watch();
    let reason = message.denial.as_deref().unwrap_or_default();
    for call in &message.calls {
        told.may_retry |= desk.tell_denied(&question(options, message, call), reason)?;
    }
    Ok(told)
}
