//! `cargo xtask identity`: `mayi login` and what follows from it, with a certified OpenID provider, a browser and a
//! Secret Service, all real and all on loopback.
//!
//! What cannot be tried here says so loudly and is never counted as passed.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::real::npm::npm_install;
use crate::real::{Installed, LIVE_TESTS, build, confinement, debian, report, target};
use crate::run::run;

/// The provider and what drives the browser. Pinned: a new version is a change somebody looks at.
const PACKAGES: &[&str] = &["oidc-provider@9.13.3", "playwright-core@1.65.0"];

/// One part of the proof: the programs it needs, each with its Debian package, and the tests that use them.
struct Part {
    name: &'static str,
    programs: &'static [(&'static str, &'static str)],
    tests: &'static [&'static str],
}

const PARTS: &[Part] = &[
    Part {
        name: "sign-in",
        programs: &[("chromium", "chromium")],
        tests: &["--test", "signing_in", "--test", "tokens", "--test", "secrecy"],
    },
    Part {
        name: "keyring",
        programs: &[
            ("gnome-keyring-daemon", "gnome-keyring"),
            ("dbus-daemon", "dbus-daemon"),
            ("dbus-send", "dbus-bin"),
            ("chromium", "chromium"),
        ],
        tests: &["--test", "keyring"],
    },
];

/// Runs the named parts, or all of them.
pub(crate) fn identity(names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|part| part.name != **name)) {
        let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        bail!("there is no part `{unknown}`\nhelp: there are {}", known.join(", "));
    }
    build()?;
    let packages = npm_install(&packages(), PACKAGES)?;
    let mut untested = Vec::new();
    for part in PARTS.iter().filter(|part| names.is_empty() || names.contains(&part.name)) {
        match (&packages, debian::programs(part.programs)) {
            (Installed::Ready, Installed::Ready) => part.test()?,
            (Installed::Unavailable(why), _) => untested.push(format!("{} ({why})", part.name)),
            (Installed::Ready, Installed::Unavailable(why)) => untested.push(format!("{} ({why})", part.name)),
        }
    }
    report("IDENTITY", &untested)
}

impl Part {
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
            ("MAYI_IDENTITY_PACKAGES", path(packages())),
            ("MAYI_IDENTITY_SCRATCH", path(scratch)),
            ("MAYI_BINARY", path(target().join("debug/mayi"))),
        ];
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        run("cargo", &arguments, &variables)
    }
}

/// Where everything of this task is kept between runs.
fn home() -> PathBuf {
    target().join("identity")
}

fn packages() -> PathBuf {
    home().join("packages")
}
