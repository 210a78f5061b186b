//! The peers that are measured, one entry each, and those that cannot be, with the reason. Versions are pinned, and each
//! name was compared with the project's own page before it was entered: registries hold strangers of the same name.

/// Where a peer is installed from.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// A crate, built with its own lock file, and variables for its build.
    Crate(&'static str, &'static [(&'static str, &'static str)]),
    /// A package of npm, and programs from Debian that it calls.
    Npm(&'static str, &'static [(&'static str, &'static str)]),
    /// A package of PyPI.
    PyPi(&'static str),
    /// A program of a Debian package.
    Debian(&'static str),
}

/// How a peer is asked about a command.
#[derive(Clone, Copy)]
pub(super) enum Asked {
    /// As a hook of Claude Code: the message on standard input, arguments before it.
    Hook(&'static [&'static str]),
    /// In its own words, with rules that we give it: its time can be measured, its verdicts would be ours.
    Words(&'static [&'static str]),
    /// Not at all.
    Never,
}

/// A peer.
pub(super) struct Peer {
    pub(super) name: &'static str,
    /// Its own page, and under which licence it can be had.
    pub(super) project: &'static str,
    pub(super) source: Source,
    /// Its program, below the folder it is installed in.
    pub(super) program: &'static str,
    pub(super) asked: Asked,
    /// How it runs a command confined, if it does; the command comes after it.
    pub(super) confines: Option<&'static [&'static str]>,
}

/// Placeholder for the scratch home in arguments.
pub(super) const HOME: &str = "{home}";

pub(super) const PEERS: [Peer; 8] = [
    Peer {
        name: "nah 0.11.0",
        project: "github.com/manuelschipper/nah, MIT; the newer 1.x is not in a registry",
        source: Source::PyPi("nah==0.11.0"),
        program: "bin/nah",
        asked: Asked::Hook(&["_claude-hook"]),
        confines: None,
    },
    Peer {
        name: "cc-safety-net 2.4.5",
        project: "github.com/kenryu42/cc-safety-net, MIT",
        source: Source::Npm("cc-safety-net@2.4.5", &[]),
        program: "node_modules/.bin/cc-safety-net",
        asked: Asked::Hook(&["hook", "--claude-code"]),
        confines: None,
    },
    Peer {
        name: "safe-chains 0.241.2",
        project: "github.com/michaeldhopkins/safe-chains, MIT or Apache-2.0",
        source: Source::Crate("safe-chains@0.241.2", &[]),
        program: "bin/safe-chains",
        asked: Asked::Hook(&[]),
        confines: None,
    },
    Peer {
        name: "dcg 0.4.1",
        project: "github.com/Dicklesworthstone/destructive_command_guard, MIT up to this version; later ones are not",
        // It uses features of the language that are not stable.
        source: Source::Crate("destructive_command_guard@0.4.1", &[("RUSTC_BOOTSTRAP", "1")]),
        program: "bin/dcg",
        asked: Asked::Hook(&[]),
        confines: None,
    },
    Peer {
        name: "Codex 0.166.0",
        project: "github.com/openai/codex, Apache-2.0; the program itself, without its launcher in JavaScript",
        source: Source::Npm("@openai/codex@0.166.0", &[]),
        program: "node_modules/@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
        asked: Asked::Words(&["execpolicy", "check", "--rules", "{home}/codex.rules", "git", "status", "--short"]),
        confines: Some(&["sandbox", "--"]),
    },
    Peer {
        name: "sandbox-runtime 0.0.83",
        project: "github.com/anthropics/sandbox-runtime, Apache-2.0",
        source: Source::Npm("@anthropic-ai/sandbox-runtime@0.0.83", &[("rg", "ripgrep"), ("socat", "socat")]),
        program: "node_modules/.bin/srt",
        asked: Asked::Never,
        confines: Some(&[]),
    },
    Peer {
        name: "nono 0.81.0",
        project: "github.com/nolabs-ai/nono, Apache-2.0",
        source: Source::Crate("nono-cli@0.81.0", &[]),
        program: "bin/nono",
        asked: Asked::Never,
        confines: Some(&["run", "--allow", ".", "--"]),
    },
    Peer {
        name: "bubblewrap",
        project: "github.com/containers/bubblewrap, LGPL; all namespaces, a fresh /proc and /dev, nothing hidden",
        source: Source::Debian("bubblewrap"),
        program: "bwrap",
        asked: Asked::Never,
        confines: Some(&["--ro-bind", "/", "/", "--unshare-all", "--proc", "/proc", "--dev", "/dev"]),
    },
];

/// Rules for peers that have none of their own, written into the scratch home.
pub(super) const FILES: [(&str, &str); 2] = [
    ("codex.rules", "prefix_rule(pattern = [\"git\", \"status\"], decision = \"allow\")\n"),
    (
        ".srt-settings.json",
        "{\"network\": {\"allowedDomains\": [], \"deniedDomains\": []}, \
          \"filesystem\": {\"denyRead\": [], \"allowWrite\": [\".\"], \"denyWrite\": []}}\n",
    ),
];

/// Peers that were looked for and cannot be measured here.
pub(super) const ABSENT: [(&str, &str); 11] = [
    ("nah 1.x", "not on crates.io, npm or PyPI: the crate and the npm package of that name are other projects"),
    ("tool-gates", "not in a registry"),
    ("dcg, later than 0.4.1", "its licence no longer lets everybody compare it"),
    ("Dippy", "not in a registry: `dippy` on PyPI is another project"),
    ("Rampart", "a Go module; the packages of that name on crates.io and PyPI are other projects"),
    ("AgentShield", "a Go module; `agentshield` on PyPI is another project"),
    ("fence, landrun, agentsh, leash", "Go modules, not in these registries"),
    ("cupcake, sondera", "not in a registry; they need an OPA or a model besides"),
    ("tirith 0.5.0", "its lock file names a version of a crate that the registry does not offer"),
    ("firejail", "needs a program with the superuser's rights installed for the whole machine"),
    ("Claude Code, Gemini CLI, opencode, Cline", "their permission systems cannot be called without the agent"),
];
