//! GitHub Copilot CLI: a file of its own in a folder of hook files, or entries in a person's settings of a project.

use crate::install::facts::{
    Agent, Base, Canary, Entries, Failure, File, Fixed, Hooked, Kind, Lies, Off, Run, Shape, Switch,
};
use mayi_core::verdict::Verdict;

pub(super) const AGENT: Agent = Agent {
    name: "copilot",
    title: "GitHub Copilot CLI",
    programs: &["copilot"],
    base: Base { variable: Some("COPILOT_HOME"), below_home: ".copilot" },
    files: &[File {
        user: Some("hooks/mayi.json"),
        project: Some(".github/hooks/mayi.json"),
        local: None,
        kind: Kind::Entries(Entries {
            shape: Shape::Flat,
            head: &[("version", Fixed::Number(1))],
            handler: &[("type", Fixed::Text("command"))],
            command: "bash",
            failure: Failure::LeftToTheAgent,
            limit: ("timeoutSec", Fixed::Number(60)),
            events: &[
                Hooked { event: "preToolUse", matcher: None, extra: &[] },
                Hooked { event: "postToolUse", matcher: None, extra: &[] },
            ],
        }),
    }],
    notes: &[
        "Copilot reads a project's .claude/settings.json as well: install Claude Code's hook for yourself, not in a project that both use",
    ],
    switches: &[
        off(Lies::User, "settings.json"),
        off(Lies::User, "config.json"),
        off(Lies::Project, ".github/copilot/settings.json"),
        off(Lies::Project, ".github/copilot/settings.local.json"),
    ],
    approval: None,
    canary: Canary {
        event: "preToolUse",
        message: r#"{"sessionId": "mayi-doctor", "timestamp": 0, "cwd": "@FOLDER@", "toolName": "bash",
            "toolArgs": "{\"command\": \"@COMMAND@\"}"}"#,
        run: Run::Shell("bash"),
        pointer: "/permissionDecision",
        words: &[("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)],
        silence: None,
        codes: &[0],
    },
};

const fn off(lies: Lies, file: &'static str) -> Switch {
    let off = Off::Holds(Fixed::Flag(true));
    Switch { lies, file, pointer: "/disableAllHooks", off, means: "Copilot runs no hooks at all" }
}
