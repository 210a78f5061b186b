//! opencode: a plugin of its own, which asks mayi before every tool.

use crate::install::facts::{Agent, Base, Canary, File, Fill, Kind, Run, Whole};
use mayi_core::verdict::Verdict;

pub(super) const AGENT: Agent = Agent {
    name: "opencode",
    title: "opencode",
    programs: &["opencode"],
    base: Base { variable: Some("XDG_CONFIG_HOME"), below_home: ".config" },
    files: &[File {
        user: Some("opencode/plugins/mayi.js"),
        project: Some(".opencode/plugins/mayi.js"),
        local: None,
        kind: Kind::Whole(Whole { text: include_str!("../../../data/opencode-plugin.js"), fill: Fill::List }),
    }],
    notes: &["opencode cannot ask before a tool runs: what mayi would ask about is denied with the reason"],
    switches: &[],
    approval: None,
    canary: Canary {
        event: "before",
        message: r#"{"event": "before", "session": "mayi-doctor", "directory": "@FOLDER@", "tool": "bash",
            "input": {"command": "@COMMAND@", "description": ""}, "callId": "mayi-doctor"}"#,
        run: Run::Words,
        pointer: "/verdict",
        words: &[("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)],
        silence: None,
        codes: &[0],
    },
};
