//! Goose: a plugin folder of its own with a manifest and hooks. A hook that fails lets the call pass, unless
//! `on_failure` says `block`. Its matcher is a regular expression in which `*` alone is an error, so there is none.

use crate::install::facts::{
    Agent, Base, Canary, Entries, Failure, File, Fill, Fixed, Hooked, Kind, Run, Shape, Whole,
};
use mayi_core::verdict::Verdict;

pub(super) const AGENT: Agent = Agent {
    name: "goose",
    title: "Goose",
    programs: &["goose"],
    base: Base { variable: None, below_home: ".agents/plugins/mayi" },
    files: &[
        File {
            user: Some("plugin.json"),
            project: Some(".agents/plugins/mayi/plugin.json"),
            local: None,
            kind: Kind::Whole(Whole { text: include_str!("../../../data/goose-plugin.json"), fill: Fill::Nothing }),
        },
        File {
            user: Some("hooks/hooks.json"),
            project: Some(".agents/plugins/mayi/hooks/hooks.json"),
            local: None,
            kind: Kind::Entries(Entries {
                shape: Shape::Grouped,
                head: &[],
                handler: &[("type", Fixed::Text("command"))],
                command: "command",
                failure: Failure::LeftToTheAgent,
                limit: ("timeout", Fixed::Number(60)),
                events: &[
                    Hooked { event: "PreToolUse", matcher: None, extra: &[("on_failure", Fixed::Text("block"))] },
                    Hooked { event: "PostToolUse", matcher: None, extra: &[] },
                ],
            }),
        },
    ],
    notes: &[
        "only a Goose that runs PreToolUse hooks of plugins is held by this; for an older one, put its MCP servers behind `mayi gateway`",
        "Goose cannot ask at this hook: what mayi would ask about is denied with the reason",
    ],
    switches: &[],
    approval: None,
    canary: Canary {
        event: "PreToolUse",
        message: r#"{"event": "PreToolUse", "session_id": "mayi-doctor", "matcher_context": "developer__shell",
            "tool_name": "developer__shell", "tool_input": {"command": "@COMMAND@"}, "working_dir": "@FOLDER@",
            "tool_call_id": "mayi-doctor"}"#,
        run: Run::Shell("sh"),
        pointer: "/decision",
        words: &[("allow", Verdict::Allow), ("block", Verdict::Deny)],
        silence: Some(Verdict::Allow),
        codes: &[0],
    },
};
