//! Codex CLI: entries in `hooks.json` beside its configuration. Its answer to an allow is silence, and it runs a hook
//! of a person's only once that person has approved exactly this hook. A hook that fails lets the call pass, unless it
//! ends with 2.

use crate::install::facts::{
    Agent, Approval, Base, Canary, Entries, Failure, File, Fixed, Hooked, Kind, Lies, Off, Run, Shape, Switch,
};
use mayi_core::verdict::Verdict;

pub(super) const AGENT: Agent = Agent {
    name: "codex",
    title: "Codex CLI",
    programs: &["codex"],
    base: Base { variable: Some("CODEX_HOME"), below_home: ".codex" },
    files: &[File {
        user: Some("hooks.json"),
        project: Some(".codex/hooks.json"),
        local: None,
        kind: Kind::Entries(Entries {
            shape: Shape::Grouped,
            head: &[],
            handler: &[("type", Fixed::Text("command"))],
            command: "command",
            failure: Failure::EndsWithTwo,
            limit: ("timeout", Fixed::Number(60)),
            events: &[
                Hooked { event: "PreToolUse", matcher: Some("*"), extra: &[] },
                Hooked { event: "PermissionRequest", matcher: Some("*"), extra: &[] },
                Hooked { event: "PostToolUse", matcher: Some("*"), extra: &[] },
            ],
        }),
    }],
    notes: &[
        "Codex runs a new or changed hook only after you approved it: start codex, type /hooks and trust the mayi hooks",
        "a project's hooks count only in a project that Codex trusts",
    ],
    switches: &[
        off(Lies::User, "config.toml", "/features/hooks", Fixed::Flag(false)),
        off(Lies::User, "config.toml", "/features/codex_hooks", Fixed::Flag(false)),
        off(Lies::Project, ".codex/config.toml", "/features/hooks", Fixed::Flag(false)),
        off(Lies::Project, ".codex/config.toml", "/features/codex_hooks", Fixed::Flag(false)),
        off(Lies::System, "etc/codex/requirements.toml", "/features/hooks", Fixed::Flag(false)),
        off(Lies::System, "etc/codex/requirements.toml", "/allow_managed_hooks_only", Fixed::Flag(true)),
    ],
    approval: Some(Approval {
        file: "config.toml",
        pointer: "/hooks/state",
        named: &["hooks.json", "pre_tool_use"],
        member: "trusted_hash",
        missing: (
            "Codex has no note that you approved its hooks, and runs none before",
            "start codex, type /hooks and trust the mayi hooks",
        ),
    }),
    canary: Canary {
        event: "PreToolUse",
        message: r#"{"session_id": "mayi-doctor", "turn_id": "mayi-doctor", "transcript_path": null, "cwd": "@FOLDER@",
            "hook_event_name": "PreToolUse", "model": "none", "permission_mode": "default", "tool_name": "Bash",
            "tool_input": {"command": "@COMMAND@"}, "tool_use_id": "mayi-doctor"}"#,
        run: Run::Shell("sh"),
        pointer: "/hookSpecificOutput/permissionDecision",
        words: &[("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)],
        silence: Some(Verdict::Allow),
        codes: &[0],
    },
};

const fn off(lies: Lies, file: &'static str, pointer: &'static str, value: Fixed) -> Switch {
    Switch { lies, file, pointer, off: Off::Holds(value), means: "Codex does not run this hook" }
}
