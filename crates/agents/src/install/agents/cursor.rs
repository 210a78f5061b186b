//! Cursor: entries in `hooks.json`. The hook before every tool is used and not those before single kinds of tools,
//! because with both a call would be judged twice. A hook that fails lets the call pass, unless `failClosed` is set.

use crate::install::facts::{Agent, Base, Canary, Entries, Failure, File, Fixed, Hooked, Kind, Run, Shape};
use mayi_core::verdict::Verdict;

pub(super) const AGENT: Agent = Agent {
    name: "cursor",
    title: "Cursor",
    programs: &["cursor-agent", "cursor"],
    base: Base { variable: None, below_home: ".cursor" },
    files: &[File {
        user: Some("hooks.json"),
        project: Some(".cursor/hooks.json"),
        local: None,
        kind: Kind::Entries(Entries {
            shape: Shape::Flat,
            head: &[("version", Fixed::Number(1))],
            handler: &[],
            command: "command",
            failure: Failure::LeftToTheAgent,
            limit: ("timeout", Fixed::Number(60)),
            events: &[
                Hooked { event: "preToolUse", matcher: None, extra: &[("failClosed", Fixed::Flag(true))] },
                Hooked { event: "postToolUse", matcher: None, extra: &[] },
            ],
        }),
    }],
    notes: &["Cursor cannot ask at this hook: what mayi would ask about is denied with the reason"],
    switches: &[],
    approval: None,
    canary: Canary {
        event: "preToolUse",
        message: r#"{"conversation_id": "mayi-doctor", "generation_id": "mayi-doctor", "model": "none",
            "hook_event_name": "preToolUse", "cursor_version": "0", "workspace_roots": ["@FOLDER@"],
            "user_email": null, "tool_name": "Shell", "tool_input": {"command": "@COMMAND@", "working_directory": "@FOLDER@"},
            "tool_use_id": "mayi-doctor", "cwd": "@FOLDER@"}"#,
        run: Run::Shell("sh"),
        pointer: "/permission",
        words: &[("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)],
        silence: None,
        codes: &[0],
    },
};
