//! `cargo xtask server`: `mayi serve` with a real PostgreSQL, a real browser, a fuzzer of its API, processes that are
//! killed and clients that misbehave, all on loopback.
//!
//! What cannot be tried here says so loudly and is never counted as passed.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::real::npm::npm_install;
use crate::real::python::pip_install;
use crate::real::{Installed, LIVE_TESTS, build, confinement, debian, postgres, report, target};
use crate::run::run;

/// What drives the browser. Pinned: a new version is a change somebody looks at.
const PACKAGES: &[&str] = &["playwright-core@1.65.0"];

/// What tries the API against its own description.
const FUZZER: &[&str] = &["schemathesis==4.32.5"];

/// Something that a part needs and that others publish.
#[derive(Clone, Copy)]
enum Need {
    /// PostgreSQL's server.
    Postgres,
    /// Chromium, and what drives it.
    Browser,
    /// The fuzzer of the API.
    Fuzzer,
    /// What people type examples into.
    Shell,
}

/// One part of the proof: what it needs, and the tests that use it.
struct Part {
    name: &'static str,
    needs: &'static [Need],
    tests: &'static [&'static str],
}

/// Parts that take too long for every change, and are run by their names.
const BY_NAME: &[&str] = &["openapi"];

const PARTS: &[Part] = &[
    Part { name: "store", needs: &[Need::Postgres], tests: &["--test", "postgres"] },
    Part { name: "fleet", needs: &[Need::Postgres], tests: &["--test", "fleet", "--test", "outage"] },
    Part { name: "crash", needs: &[], tests: &["--test", "crash"] },
    Part { name: "attacks", needs: &[], tests: &["--test", "attacks", "--test", "crowd"] },
    Part { name: "clients", needs: &[], tests: &["--test", "clients"] },
    Part { name: "guide", needs: &[Need::Shell], tests: &["--test", "guide"] },
    Part { name: "openapi", needs: &[Need::Fuzzer], tests: &["--test", "openapi"] },
    Part { name: "page", needs: &[Need::Browser], tests: &["--test", "page"] },
];

/// Runs the named parts, or all of them.
pub(crate) fn server(names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|part| part.name != **name)) {
        let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        bail!("there is no part `{unknown}`\nhelp: there are {}", known.join(", "));
    }
    build()?;
    let mut untested = Vec::new();
    let is_meant = |part: &&Part| names.contains(&part.name) || names.is_empty() && !BY_NAME.contains(&part.name);
    for part in PARTS.iter().filter(is_meant) {
        match part.install()? {
            Installed::Ready => part.test()?,
            Installed::Unavailable(why) => untested.push(format!("{} ({why})", part.name)),
        }
    }
    report("SERVER", &untested)
}

impl Need {
    fn install(self) -> Result<Installed> {
        match self {
            Need::Postgres => Ok(postgres::installed()),
            Need::Browser => match debian::programs(&[("chromium", "chromium")]) {
                Installed::Ready => npm_install(&packages(), PACKAGES),
                Installed::Unavailable(why) => Ok(Installed::Unavailable(why)),
            },
            Need::Fuzzer => pip_install(&fuzzer(), FUZZER),
            Need::Shell => Ok(debian::programs(&[("bash", "bash"), ("curl", "curl"), ("jq", "jq")])),
        }
    }
}

impl Part {
    fn install(&self) -> Result<Installed> {
        for need in self.needs {
            if let Installed::Unavailable(why) = need.install()? {
                return Ok(Installed::Unavailable(why));
            }
        }
        Ok(Installed::Ready)
    }

    /// Runs the tests, confined where this machine can, two at a time.
    fn test(&self) -> Result<()> {
        let scratch = home().join("runs").join(self.name);
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
        let variables = [
            ("MAYI_SERVER_PACKAGES", path(packages())),
            ("MAYI_SERVER_SCRATCH", path(scratch)),
            ("MAYI_SERVER_FUZZER", path(fuzzer().join("bin/schemathesis"))),
            ("MAYI_POSTGRES_BIN", path(postgres::programs().unwrap_or_default())),
            ("MAYI_BINARY", path(target().join("debug/mayi"))),
        ];
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        run("cargo", &arguments, &variables)
    }
}

/// Where everything of this task is kept between runs.
fn home() -> PathBuf {
    target().join("server")
}

fn packages() -> PathBuf {
    home().join("packages")
}

fn fuzzer() -> PathBuf {
    home().join("fuzzer")
}
