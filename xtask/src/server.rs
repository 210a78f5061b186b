//! `cargo xtask server`: `mayi serve` with a real PostgreSQL, a real browser, a fuzzer of its API, processes that are
//! killed and clients that misbehave, all on loopback.
//!
//! What cannot be tried here says so loudly and is never counted as passed.

use std::path::PathBuf;

use anyhow::Result;

use crate::real::python::pip_install;
use crate::real::{Installed, Trial, are_known, browser, build, debian, postgres, report, target};

/// What tries the API against its own description.
const FUZZER: &[&str] = &["schemathesis==4.32.5"];

/// Something that a part needs and that others publish.
#[derive(Clone, Copy)]
enum Need {
    /// PostgreSQL's server.
    Postgres,
    /// Chromium, what drives it, and an OpenID provider.
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

const PARTS: &[Part] = &[
    Part { name: "store", needs: &[Need::Postgres], tests: &["--test", "postgres", "--test", "retention"] },
    Part { name: "fleet", needs: &[Need::Postgres], tests: &["--test", "fleet", "--test", "outage"] },
    Part { name: "crash", needs: &[], tests: &["--test", "crash"] },
    Part { name: "attacks", needs: &[], tests: &["--test", "attacks", "--test", "crowd"] },
    Part { name: "clients", needs: &[], tests: &["--test", "clients"] },
    Part { name: "guide", needs: &[Need::Shell], tests: &["--test", "guide"] },
    Part { name: "openapi", needs: &[Need::Fuzzer], tests: &["--test", "openapi"] },
    Part { name: "access", needs: &[Need::Browser], tests: &["--test", "people"] },
    Part { name: "page", needs: &[Need::Browser], tests: &["--test", "page"] },
];

/// Runs the named parts, or all of them.
pub(crate) fn server(names: &[&str]) -> Result<()> {
    let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
    are_known(names, &known)?;
    build()?;
    let mut untested = Vec::new();
    for part in PARTS.iter().filter(|part| names.is_empty() || names.contains(&part.name)) {
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
            Need::Browser => browser::installed(),
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

    fn test(&self) -> Result<()> {
        let places = vec![
            ("MAYI_BROWSER_PACKAGES", browser::packages()),
            ("MAYI_SERVER_FUZZER", fuzzer().join("bin/schemathesis")),
            ("MAYI_POSTGRES_BIN", postgres::programs().unwrap_or_default()),
        ];
        let (part, tests) = (self.name, self.tests);
        Trial { task: "server", part, tests, scratch: "MAYI_SERVER_SCRATCH", places }.run()
    }
}

fn fuzzer() -> PathBuf {
    target().join("server/fuzzer")
}
