//! `cargo xtask clients`: real agent programs, driven headless against stand-in model servers on loopback, with the
//! real `mayi` as their hook. They are black boxes: published packages, documented flags, settings and variables.
//!
//! What cannot be tried here says so loudly and is never counted as passed.

use std::path::PathBuf;

use anyhow::Result;

use crate::real::npm::{npm_finish, npm_install};
use crate::real::{Installed, Trial, are_known, build, report, target};

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
    let known: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
    are_known(names, &known)?;
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
        target().join("clients").join(self.name)
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

    fn test(&self) -> Result<()> {
        let places = vec![("MAYI_CLIENT_PREFIX", self.prefix())];
        let (part, tests) = (self.name, &["--test", self.test]);
        Trial { task: "clients", part, tests, scratch: "MAYI_CLIENT_SCRATCH", places }.run()
    }
}
