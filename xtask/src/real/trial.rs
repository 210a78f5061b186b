//! One part of a proof with real parts: tests that run in a scratch folder of their own, confined where this machine can,
//! and that are told where the parts are.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::run::run;

use super::{LIVE_TESTS, confinement, target};

/// A part of a proof, ready to run.
pub(crate) struct Trial<'a> {
    /// The folder of the task that it belongs to, below `target`.
    pub(crate) task: &'a str,
    /// Its name.
    pub(crate) part: &'a str,
    /// The tests, as arguments for cargo.
    pub(crate) tests: &'a [&'a str],
    /// The variable that says where its tests may write.
    pub(crate) scratch: &'a str,
    /// Where the parts are, by the variables that say so.
    pub(crate) places: Vec<(&'a str, PathBuf)>,
}

impl Trial<'_> {
    /// Runs the tests, two at a time.
    pub(crate) fn run(self) -> Result<()> {
        let scratch = target().join(self.task).join("runs").join(self.part);
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(&scratch)?;
        let path = |path: PathBuf| path.display().to_string();
        let runner = confinement::runner(&scratch, &target())?.map(path);
        let mut arguments = [&LIVE_TESTS, self.tests].concat();
        if let Some(runner) = &runner {
            arguments.extend(["--config", runner]);
        }
        arguments.extend(["--", "--test-threads=2"]);
        let own = [(self.scratch, scratch), ("MAYI_BINARY", target().join("debug/mayi"))];
        let places = self.places.into_iter().chain(own).map(|(name, place)| (name, path(place)));
        let variables: Vec<(&str, String)> = places.collect();
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        run("cargo", &arguments, &variables)
    }
}

/// Whether every name is one of those that are known.
pub(crate) fn are_known(names: &[&str], known: &[&str]) -> Result<()> {
    match names.iter().find(|name| !known.contains(name)) {
        Some(unknown) => bail!("there is no part `{unknown}`\nhelp: there are {}", known.join(", ")),
        None => Ok(()),
    }
}
