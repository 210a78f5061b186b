//! What a run of the command line stands in: the directory, the settings that apply there, whether it is trusted.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use mayi_core::policy::Written;
use mayi_core::verdict::Verdict;
use mayi_engine::remote::{self, Haste, Served};
use mayi_settings::{Cli, Flag, Given, Loaded, Places, Severity, load};

use crate::arguments::Where;
use crate::{paint, trust};

fn present() -> Result<PathBuf> {
    std::env::current_dir().context("the present directory cannot be found")
}

/// The directory of a run: given, or the present one; absolute.
pub(crate) fn directory(given: Option<&Path>) -> Result<PathBuf> {
    let directory = match given {
        Some(given) => present()?.join(given),
        None => present()?,
    };
    if !directory.is_dir() {
        bail!("`{}` is no directory", directory.display());
    }
    Ok(directory)
}

/// The root of the project around a directory: its repository, or else the directory itself.
pub(crate) fn project(given: Option<&Path>) -> Result<PathBuf> {
    let directory = directory(given)?;
    Ok(Places::of_this_machine(&directory).repository.unwrap_or(directory))
}

/// The settings that apply, and a word where the policy of the server that they name is missing from them.
pub(crate) fn loaded(place: &Where) -> Result<Loaded> {
    let (places, given) = sources(place)?;
    let Served { loaded, server } = remote::load(&places, &given, Haste::Answer);
    let problem = server.and_then(|server| server.trouble().or(server.warning));
    if let Some(problem) = problem {
        paint::tell(format!("{}: {}", paint::caution("warning"), paint::visible(&problem)));
    }
    Ok(loaded)
}

/// The settings of this machine alone, for whoever is about to reach the server in the first place.
pub(crate) fn local(place: &Where) -> Result<Loaded> {
    let (places, given) = sources(place)?;
    Ok(load(&places, &given))
}

/// The settings that apply, for whoever decides by them: with the server's policy, or not at all.
pub(crate) fn governed((places, given): &(Places, Given), haste: Haste) -> Result<Served> {
    let served = remote::load(places, given, haste);
    if let Some(server) = &served.server {
        if let Some(trouble) = server.trouble() {
            bail!(trouble);
        }
        if let Some(warning) = &server.warning {
            paint::tell(format!("{}: {}", paint::caution("warning"), paint::visible(warning)));
        }
    }
    Ok(served)
}

/// Where the settings that apply come from.
pub(crate) fn sources(place: &Where) -> Result<(Places, Given)> {
    let directory = directory(place.cwd.as_deref())?;
    let places = Places::of_this_machine(&directory);
    let allowed = place.allowed_tools.iter().map(|text| Written::new(Verdict::Allow, text));
    let denied = place.disallowed_tools.iter().map(|text| Written::new(Verdict::Deny, text));
    let given = Given {
        flags: place.settings.as_deref().map(flag).transpose()?.into_iter().collect(),
        cli: Cli {
            rules: allowed.chain(denied).collect(),
            mode: None,
            directories: place.add_dir.iter().map(|folder| directory.join(folder).display().to_string()).collect(),
        },
        trust: trust::of(&places),
        ..Given::default()
    };
    Ok((places, given))
}

/// `--settings`. A file is meant from where the command is run, wherever `--cwd` leads.
fn flag(argument: &str) -> Result<Flag> {
    match Flag::of_argument(argument) {
        Flag::File(file) if file.exists() => Ok(Flag::File(present()?.join(file))),
        Flag::File(file) => {
            bail!("the settings file `{}` does not exist\nhelp: settings themselves begin with `{{`", file.display())
        }
        inline @ Flag::Inline(_) => Ok(inline),
    }
}

/// Tells of settings that cannot be read. What is only odd about them is for `mayi rules lint`.
pub(crate) fn report(loaded: &Loaded) {
    for problem in loaded.problems().iter().filter(|problem| problem.severity == Severity::Error) {
        paint::tell(paint::problem(problem));
    }
}

/// Tells of a credential that was used although something was wrong with it.
pub(crate) fn report_credential(warning: Option<&str>) {
    if let Some(warning) = warning {
        paint::tell(format!("{}: {}", paint::caution("warning"), paint::visible(warning)));
    }
}
