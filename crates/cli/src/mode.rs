//! `mayi mode`: the mode a session starts in, and what each mode does.

use anyhow::Result;
use mayi_core::mode::Mode;
use mayi_core::policy::Origin;
use mayi_core::session::{Availability, Refused, Session};
use mayi_settings::update::PermissionUpdate;
use mayi_settings::{Loaded, Places, write};
use serde_json::json;

use crate::arguments::{ModeTask, Where};
use crate::exit::Exit;
use crate::{Out, paint, surroundings};

pub(crate) fn run(task: ModeTask, out: Out<'_>) -> Result<Exit> {
    let directory = surroundings::directory(task.cwd.as_deref())?;
    let before = surroundings::loaded(&Where { cwd: task.cwd.clone(), ..Where::default() })?;
    let before = starting(&before).0;
    if let Some(mode) = task.mode {
        let update = PermissionUpdate::SetMode { mode, destination: task.to.into() };
        let changed = write::save(&Places::of_this_machine(&directory), &[update])?;
        for file in &changed {
            paint::tell(format!("changed {}", paint::visible(&file.display().to_string())));
        }
    }
    let loaded = surroundings::loaded(&Where { cwd: task.cwd, ..Where::default() })?;
    surroundings::report(&loaded);
    let (starting, origin) = starting(&loaded);
    if task.json {
        writeln!(out, "{:#}", json!({ "mode": starting, "origin": origin }))?;
        return Ok(Exit::Done);
    }
    let origin = origin.map_or("built in".to_owned(), |origin| paint::visible(&origin.to_string()));
    writeln!(out, "sessions start in {}  {}", paint::mode(starting, starting), paint::quiet(origin))?;
    match task.mode {
        Some(mode) if mode != starting => {
            paint::tell(format!("note: {mode} is saved, and the settings named above are stronger"));
        }
        Some(_) => tell_of_grants(before, starting, &loaded, out)?,
        None => overview(&loaded, out)?,
    }
    Ok(Exit::Done)
}

/// The mode a session starts in, and the setting that says so.
fn starting(loaded: &Loaded) -> (Mode, Option<&Origin>) {
    match loaded.policy.options.default_mode {
        Some(mode) => {
            let setting = loaded.effective.setting("permissions.defaultMode");
            (mode, setting.and_then(|setting| setting.origins.first()))
        }
        None => (Mode::default(), None),
    }
}

/// Allow rules that auto mode sets aside, when it is entered; the same rules again, when it is left.
fn tell_of_grants(from: Mode, to: Mode, loaded: &Loaded, out: Out<'_>) -> Result<()> {
    let availability = Availability { auto: true, bypass: true, ..Availability::default() };
    let mut session = Session { availability, ..Session::in_mode(from) };
    let Ok(change) = session.transition(to, &loaded.policy) else { return Ok(()) };
    for (words, rules) in [("set aside while in auto mode:", &change.set_aside), ("count again:", &change.restored)] {
        if !rules.is_empty() {
            writeln!(out, "\n{}", paint::strong(words))?;
        }
        for rule in rules {
            let origin = paint::quiet(paint::visible(&rule.origin.to_string()));
            writeln!(out, "  {}  {origin}", paint::visible(&rule.text))?;
        }
    }
    Ok(())
}

fn overview(loaded: &Loaded, out: Out<'_>) -> Result<()> {
    writeln!(out)?;
    for mode in Mode::ALL {
        let note = match Session::default().may_enter(mode, &loaded.policy) {
            Err(refused @ (Refused::BypassDisabled | Refused::AutoDisabled)) => format!("  ({refused})"),
            Err(Refused::BypassUnavailable | Refused::AutoUnavailable) | Ok(()) => String::new(),
        };
        writeln!(out, "  {} {}{note}", paint::mode(mode, format!("{mode:<18}")), mode.summary())?;
    }
    Ok(())
}
