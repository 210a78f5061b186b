//! `cargo xtask clients`: real agent programs, driven headless against stand-in model servers on loopback, with the
//! real `mayi` as their hook. They are black boxes: published packages, documented flags, settings and variables.
//!
//! What cannot be tried here says so loudly and is never counted as passed.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, bail};

use crate::real::npm::{npm_finish, npm_install};
use crate::real::{Installed, LIVE_TESTS, build, confinement, report, target};
use crate::run::run;

/// One part of the proof: the programs it needs, and the test that drives them.
struct Part {
    name: &'static str,
    /// Packages as `name@version`. Pinned: a new version of an agent is a change somebody looks at.
    packages: &'static [&'static str],
    /// Packages that the program would fetch by itself while it runs, kept in `companion` below its own.
    companion: &'static [&'static str],
    /// The package whose install script must run, because its program is not whole without it.
    finished_by_script: Option<&'static str>,
    /// Its test.
    test: &'static str,
}

const PARTS: &[Part] = &[
    Part {
        name: "claude-code",
        packages: &["@anthropic-ai/claude-code@2.1.325"],
        companion: &[],
        finished_by_script: Some("@anthropic-ai/claude-code"),
        test: "claude_code",
    },
    Part {
        name: "codex",
        packages: &["@openai/codex@0.166.0"],
        companion: &[],
        finished_by_script: None,
        test: "codex",
    },
    Part {
        name: "gemini",
        packages: &["@google/gemini-cli@0.61.0"],
        companion: &[],
        finished_by_script: None,
        test: "gemini",
    },
    Part {
        name: "mcp",
        packages: &[
            "@modelcontextprotocol/sdk@1.32.2",
            "@modelcontextprotocol/server-everything@2026.8.31",
            "@modelcontextprotocol/server-filesystem@2026.8.31",
        ],
        companion: &[],
        finished_by_script: None,
        test: "mcp",
    },
    Part {
        name: "opencode",
        packages: &["opencode-ai@1.18.33"],
        companion: &["@opencode-ai/plugin@1.18.33"],
        finished_by_script: Some("opencode-ai"),
        test: "opencode",
    },
];

/// Runs the named parts, or all of them.
pub(crate) fn clients(names: &[&str]) -> Result<()> {
    if let Some(unknown) = names.iter().find(|name| PARTS.iter().all(|part| part.name != **name)) {
        let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
        bail!("there is no client `{unknown}`\nhelp: there are {}", known.join(", "));
    }
    build()?;
    let mut untested = Vec::new();
    for part in PARTS.iter().filter(|part| names.is_empty() || names.contains(&part.name)) {
        if let Installed::Unavailable(why) = part.install()? {
            untested.push(format!("{} ({why})", part.name));
        } else {
            part.test()?;
        }
    }
    report("CLIENTS", &untested)
}

impl Part {
    /// Where the part's packages are kept between runs.
    fn prefix(&self) -> PathBuf {
        home().join(self.name)
    }

    fn install(&self) -> Result<Installed> {
        let installed = npm_install(&self.prefix(), self.packages)?;
        if let (Installed::Ready, Some(package)) = (&installed, self.finished_by_script) {
            npm_finish(&self.prefix(), package)?;
        }
        if matches!(installed, Installed::Ready) && !self.companion.is_empty() {
            return npm_install(&self.prefix().join("companion"), self.companion);
        }
        Ok(installed)
    }

    /// Runs the test, confined where this machine can, with at most two clients at a time.
    fn test(&self) -> Result<()> {
        let scratch = home().join("runs").join(self.name);
        if scratch.exists() {
            fs::remove_dir_all(&scratch)?;
        }
        fs::create_dir_all(&scratch)?;
        let path = |path: PathBuf| path.display().to_string();
        let runner = confinement::runner(&scratch, &target())?.map(path);
        let mut arguments = [LIVE_TESTS.as_slice(), &["--test", self.test]].concat();
        if let Some(runner) = &runner {
            arguments.extend(["--config", runner]);
        }
        arguments.extend(["--", "--test-threads=2"]);
        let variables = [
            ("MAYI_CLIENT_PREFIX", path(self.prefix())),
            ("MAYI_CLIENT_SCRATCH", path(scratch)),
            ("MAYI_BINARY", path(target().join("debug/mayi"))),
        ];
        let variables: Vec<(&str, &str)> = variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        run("cargo", &arguments, &variables)
    }
}

/// Where clients are installed and run.
fn home() -> PathBuf {
    target().join("clients")
}
