//! What installing or uninstalling would change, worked out before anything is touched: one step a file.

use std::path::{Path, PathBuf};

use mayi_settings::document;
use mayi_settings::own_hook;
use mayi_settings::write::SaveError;
use mayi_settings::write::replace::{self, Privacy};

use super::entries::Sheet;
use super::facts::{Agent, File, Fill, Kind};
use super::ground::{Location, can_run};
use super::{Ground, InstallError, Order, Scope, change, kept, whole};

/// What becomes of one file.
#[derive(Clone, Debug)]
pub(super) struct Step {
    /// Its real path.
    pub(super) path: PathBuf,
    /// Where it was looked for, and the folder it must stay in.
    pub(super) location: Location,
    /// What it holds; `None` when it is not there.
    pub(super) before: Option<String>,
    /// What it shall hold; `None` when it shall not be there.
    pub(super) after: Option<String>,
    /// Who may read a new one.
    pub(super) privacy: Privacy,
    /// What becomes of the old text.
    pub(super) old: Old,
}

/// What becomes of a file's old text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Old {
    /// It is kept beside the file.
    Kept,
    /// It was ours, or nothing of it is lost.
    Dropped,
    /// The file becomes what this copy of it holds, and the copy goes.
    Restored(PathBuf),
}

impl Step {
    /// Whether there is nothing to do.
    pub(super) fn is_idle(&self) -> bool {
        self.before == self.after && !self.must_become_runnable()
    }

    pub(super) fn must_become_runnable(&self) -> bool {
        let is_ours = self.after.as_deref().is_some_and(whole::is_ours);
        self.privacy == Privacy::Program && is_ours && self.before.is_some() && !can_run(&self.path)
    }
}

/// The steps of installing.
pub(super) fn install(order: &Order, ground: &Ground) -> Result<Vec<Step>, InstallError> {
    let command = settled(order, ground);
    let step = |file: &'static File, location: Location| {
        let (path, before) = read(&location)?;
        let (after, old) = match &file.kind {
            Kind::Entries(entries) => {
                let sheet = Sheet { agent: order.agent.name, entries, path: &path };
                let words: Vec<String> = command.iter().map(|word| own_hook::quoted(word)).collect();
                let after = sheet.with(before.as_deref(), &words.join(" "))?;
                // Where entries of ours are there already, nothing but those changes.
                let has_ours = before.as_deref().is_some_and(|text| sheet.found(text).is_ok_and(|f| !f.is_empty()));
                (after, if has_ours { Old::Dropped } else { Old::Kept })
            }
            Kind::Whole(file) => {
                whole::check(&path, before.as_deref())?;
                (whole::text(file, &command), Old::Dropped)
            }
        };
        let privacy = privacy(&file.kind, order.scope);
        Ok(Step { path, location, before, after: Some(after), privacy, old })
    };
    steps(order.agent, order.scope, ground, &step)
}

/// The words that installing writes: those of the order, and the options that a hook has which is there already.
pub(super) fn settled(order: &Order, ground: &Ground) -> Vec<String> {
    let present = present(order, ground).unwrap_or_default();
    match order.scope {
        // Who wrote that file nobody knows, and what is kept of it would be this person's word from now on.
        Scope::Project => kept::merged(&order.command, &kept::tightening(&present)),
        Scope::User | Scope::Local => kept::merged(&order.command, &present),
    }
}

/// The words of the hook of ours that is there; of several, those of the one that decides. What cannot be read has none,
/// and the step for it says why.
fn present(order: &Order, ground: &Ground) -> Option<Vec<String>> {
    let mut present = None;
    for file in order.agent.files {
        let location = ground.file(order.agent, file, order.scope).ok().flatten()?;
        let Ok((path, Some(text))) = read(&location) else { continue };
        let found = match &file.kind {
            Kind::Entries(entries) => {
                let found = Sheet { agent: order.agent.name, entries, path: &path }.found(&text).unwrap_or_default();
                let decides = found.iter().find(|found| found.event == order.agent.canary.event);
                let command = decides.or(found.first()).map(|found| own_hook::unguarded(&found.command));
                command.map(own_hook::words)
            }
            Kind::Whole(file) => whole::command(file, &text).filter(|_| whole::is_ours(&text)),
        };
        present = present.or(found);
    }
    present
}

/// The steps of uninstalling.
pub(super) fn uninstall(agent: &'static Agent, scope: Scope, ground: &Ground) -> Result<Vec<Step>, InstallError> {
    let step = |file: &'static File, location: Location| {
        let (path, before) = read(&location)?;
        let (after, old) = match (&file.kind, before.as_deref()) {
            (_, None) => (None, Old::Dropped),
            (Kind::Whole(_), Some(text)) if whole::is_ours(text) => (None, Old::Dropped),
            (Kind::Whole(_), Some(_)) => (before.clone(), Old::Dropped),
            (Kind::Entries(entries), Some(text)) => {
                taken_out(&Sheet { agent: agent.name, entries, path: &path }, text)?
            }
        };
        let privacy = privacy(&file.kind, scope);
        Ok(Step { path, location, before, after, privacy, old })
    };
    steps(agent, scope, ground, &step)
}

/// A text without our entries. Where the file is still what installation made of the copy beside it, it becomes that
/// copy again, byte for byte.
fn taken_out(sheet: &Sheet<'_>, text: &str) -> Result<(Option<String>, Old), InstallError> {
    let found = sheet.found(text)?;
    let Some(first) = found.first() else { return Ok((Some(text.to_owned()), Old::Dropped)) };
    let without = sheet.without(text)?;
    for copy in change::backups(sheet.path).into_iter().rev() {
        let Ok(Some(kept)) = document::read_text(&copy) else { continue };
        let is_pristine = sheet.found(&kept).is_ok_and(|found| found.is_empty());
        let again = sheet.with(Some(&kept), &first.command).and_then(|text| sheet.without(&text));
        if is_pristine && again.is_ok_and(|again| again == without) {
            return Ok((Some(kept), Old::Restored(copy)));
        }
    }
    Ok((without, Old::Dropped))
}

/// A step for each file of the agent in a scope.
fn steps(
    agent: &'static Agent,
    scope: Scope,
    ground: &Ground,
    step: &dyn Fn(&'static File, Location) -> Result<Step, InstallError>,
) -> Result<Vec<Step>, InstallError> {
    let mut steps = Vec::new();
    for file in agent.files {
        let location = ground.file(agent, file, scope)?.ok_or_else(|| no_scope(agent, scope))?;
        steps.push(step(file, location)?);
    }
    Ok(steps)
}

fn no_scope(agent: &'static Agent, scope: Scope) -> InstallError {
    let has = |scope: &Scope| {
        agent.files.iter().all(|file| {
            let name = match scope {
                Scope::User => file.user,
                Scope::Project => file.project,
                Scope::Local => file.local,
            };
            name.is_some()
        })
    };
    let offered: Vec<String> = Scope::ALL.iter().filter(|scope| has(scope)).map(Scope::to_string).collect();
    InstallError::NoScope { agent: agent.title, scope, offered: offered.join(" or ") }
}

/// The real path of a file and what it holds. Nothing is made.
fn read(location: &Location) -> Result<(PathBuf, Option<String>), InstallError> {
    let path = replace::located(&location.path, &location.within)?;
    let before = text(&path)?;
    Ok((path, before))
}

fn text(path: &Path) -> Result<Option<String>, SaveError> {
    document::read_text(path).map_err(|error| SaveError::Unreadable { path: path.to_owned(), error })
}

fn privacy(kind: &Kind, scope: Scope) -> Privacy {
    match (kind, scope) {
        (Kind::Whole(file), _) if file.fill == Fill::Script => Privacy::Program,
        (Kind::Whole(_) | Kind::Entries(_), Scope::User | Scope::Local) => Privacy::Own,
        (Kind::Whole(_) | Kind::Entries(_), Scope::Project) => Privacy::Shared,
    }
}
