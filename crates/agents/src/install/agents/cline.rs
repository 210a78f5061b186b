//! Cline: a program per event in a folder of hooks. A hook can only cancel or let go.

use crate::install::facts::{Agent, Base, Canary, File, Fill, Kind, Run, Whole};
use mayi_core::verdict::Verdict;

const SCRIPT: &str = include_str!("../../../data/cline-hook.sh");

pub(super) const AGENT: Agent = Agent {
    name: "cline",
    title: "Cline",
    programs: &["cline"],
    base: Base { variable: None, below_home: "Documents/Cline" },
    files: &[
        File {
            user: Some("Hooks/PreToolUse"),
            project: Some(".clinerules/hooks/PreToolUse"),
            local: None,
            kind: Kind::Whole(Whole { text: SCRIPT, fill: Fill::Script }),
        },
        File {
            user: Some("Hooks/PostToolUse"),
            project: Some(".clinerules/hooks/PostToolUse"),
            local: None,
            kind: Kind::Whole(Whole { text: SCRIPT, fill: Fill::Script }),
        },
    ],
    notes: &[
        "hooks must be switched on in Cline's settings",
        "Cline cannot ask at this hook: what mayi would ask about is cancelled with the reason",
    ],
    switches: &[],
    approval: None,
    canary: Canary {
        event: "PreToolUse",
        message: r#"{"clineVersion": "0", "hookName": "PreToolUse", "timestamp": "0", "taskId": "mayi-doctor",
            "workspaceRoots": ["@FOLDER@"], "userId": "",
            "preToolUse": {"toolName": "execute_command", "parameters": {"command": "@COMMAND@"}}}"#,
        run: Run::File,
        pointer: "/cancel",
        words: &[("false", Verdict::Allow), ("true", Verdict::Deny)],
        silence: None,
        codes: &[0],
    },
};
