//! `cargo xtask identity`: `mayi login` and what follows from it, with a certified OpenID provider, a browser and a
//! Secret Service, all real and all on loopback.
//!
//! What cannot be tried here says so loudly and is never counted as passed.

use anyhow::Result;

use crate::real::{Installed, Trial, are_known, browser, build, debian, report};

/// One part of the proof: the programs it needs beside the browser, each with its Debian package, and the tests that use
/// them.
struct Part {
    name: &'static str,
    programs: &'static [(&'static str, &'static str)],
    tests: &'static [&'static str],
}

const PARTS: &[Part] = &[
    Part { name: "sign-in", programs: &[], tests: &["--test", "signing_in", "--test", "tokens", "--test", "secrecy"] },
    Part {
        name: "keyring",
        programs: &[
            ("gnome-keyring-daemon", "gnome-keyring"),
            ("dbus-daemon", "dbus-daemon"),
            ("dbus-send", "dbus-bin"),
        ],
        tests: &["--test", "keyring"],
    },
];

/// Runs the named parts, or all of them.
pub(crate) fn identity(names: &[&str]) -> Result<()> {
    let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
    are_known(names, &known)?;
    build()?;
    let browser = browser::installed()?;
    let mut untested = Vec::new();
    for part in PARTS.iter().filter(|part| names.is_empty() || names.contains(&part.name)) {
        match (&browser, debian::programs(part.programs)) {
            (Installed::Ready, Installed::Ready) => part.test()?,
            (Installed::Unavailable(why), _) => untested.push(format!("{} ({why})", part.name)),
            (Installed::Ready, Installed::Unavailable(why)) => untested.push(format!("{} ({why})", part.name)),
        }
    }
    report("IDENTITY", &untested)
}

impl Part {
    fn test(&self) -> Result<()> {
        let places = vec![("MAYI_BROWSER_PACKAGES", browser::packages())];
        let (part, tests) = (self.name, self.tests);
        Trial { task: "identity", part, tests, scratch: "MAYI_IDENTITY_SCRATCH", places }.run()
    }
}
