//! `mayi trust`: which folders' own allow rules and added directories count.

use std::path::Path;

use anyhow::{Result, bail};
use mayi_settings::trust::TrustStore;
use mayi_settings::{Places, Trust};
use serde_json::json;

use crate::exit::Exit;
use crate::{Out, arguments, paint, surroundings};

pub(crate) fn run(task: &arguments::Trust, out: Out<'_>) -> Result<Exit> {
    let directory = surroundings::directory(task.folder.as_deref())?;
    let places = Places::of_this_machine(&directory);
    let store = store(&places)?;
    if task.list {
        return list(&store, task, out);
    }
    let before = store.trust_of(&directory)?;
    let (folder, word) = match (task.remove, before) {
        (false, Trust::Untrusted) => (store.trust(&directory, places.home.as_deref())?, "is trusted"),
        (false, Trust::Trusted) => (store.trust(&directory, places.home.as_deref())?, "was trusted already"),
        (true, Trust::Trusted) => (store.distrust(&directory)?, "is no longer trusted"),
        (true, Trust::Untrusted) => (store.distrust(&directory)?, "was not trusted"),
    };
    writeln!(out, "{} {word}", paint::strong(shown(&folder)))?;
    Ok(Exit::Done)
}

fn list(store: &TrustStore, task: &arguments::Trust, out: Out<'_>) -> Result<Exit> {
    let folders = store.folders()?;
    if task.json {
        writeln!(out, "{:#}", json!(folders))?;
        return Ok(Exit::Done);
    }
    for folder in &folders {
        writeln!(out, "{}", paint::visible(folder))?;
    }
    if folders.is_empty() {
        writeln!(out, "no folder is trusted")?;
    }
    Ok(Exit::Done)
}

/// Whether the folder of these places is trusted. A list that cannot be read trusts nobody, and is told of.
pub(crate) fn of(places: &Places) -> Trust {
    let Ok(store) = store(places) else { return Trust::Untrusted };
    store.trust_of(&places.directory).unwrap_or_else(|error| {
        paint::tell(format!("{}: {}", paint::caution("warning"), paint::visible(&error.to_string())));
        Trust::Untrusted
    })
}

fn store(places: &Places) -> Result<TrustStore> {
    match &places.state {
        Some(state) => Ok(TrustStore::in_folder(state)),
        None => bail!("there is no home directory to keep the trusted folders in\nhelp: set HOME"),
    }
}

fn shown(path: &Path) -> String {
    paint::visible(&path.display().to_string())
}
