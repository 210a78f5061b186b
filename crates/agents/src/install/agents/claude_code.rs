//! Claude Code: entries in its settings files. A hook that fails there lets the call pass, unless `onFailure` says
//! `block`; versions that do not know the member pass over it.

use crate::install::facts::{
    Agent, Base, Canary, Entries, Failure, File, Fixed, Hooked, Kind, Lies, Off, Run, Shape, Switch,
};
use mayi_core::verdict::Verdict;

const BLOCK: &[(&str, Fixed)] = &[("onFailure", Fixed::Text("block"))];

pub(super) const AGENT: Agent = Agent {
    name: "claude-code",
    title: "Claude Code",
    programs: &["claude"],
    base: Base { variable: Some("CLAUDE_CONFIG_DIR"), below_home: ".claude" },
    files: &[File {
        user: Some("settings.json"),
        project: Some(".claude/settings.json"),
        local: Some(".claude/settings.local.json"),
        kind: Kind::Entries(Entries {
            shape: Shape::Grouped,
            head: &[],
            handler: &[("type", Fixed::Text("command"))],
            command: "command",
            failure: Failure::LeftToTheAgent,
            limit: ("timeout", Fixed::Number(60)),
            events: &[
                // Agents that the session starts are told who their lead is.
                Hooked { event: "SessionStart", matcher: None, extra: &[] },
                Hooked { event: "PreToolUse", matcher: Some("*"), extra: BLOCK },
                Hooked { event: "PermissionRequest", matcher: Some("*"), extra: BLOCK },
                Hooked { event: "PermissionDenied", matcher: Some("*"), extra: &[] },
                // An approved call is only noticed when it comes back.
                Hooked { event: "PostToolUse", matcher: Some("*"), extra: &[] },
            ],
        }),
    }],
    notes: &["sessions that are open already read it when they start again"],
    switches: &[
        off("disableAllHooks", Lies::User, "settings.json"),
        off("disableAllHooks", Lies::Project, ".claude/settings.json"),
        off("disableAllHooks", Lies::Project, ".claude/settings.local.json"),
        off("disableAllHooks", Lies::System, LINUX),
        off("disableAllHooks", Lies::System, MACOS),
        off("allowManagedHooksOnly", Lies::System, LINUX),
        off("allowManagedHooksOnly", Lies::System, MACOS),
    ],
    approval: None,
    canary: Canary {
        event: "PreToolUse",
        message: r#"{"session_id": "mayi-doctor", "transcript_path": "", "cwd": "@FOLDER@",
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": "Bash",
            "tool_input": {"command": "@COMMAND@"}, "tool_use_id": "toolu_mayi_doctor"}"#,
        run: Run::Shell("bash"),
        pointer: "/hookSpecificOutput/permissionDecision",
        words: &[("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)],
        silence: None,
        codes: &[0],
    },
};

const LINUX: &str = "etc/claude-code/managed-settings.json";
const MACOS: &str = "Library/Application Support/ClaudeCode/managed-settings.json";

const fn off(member: &'static str, lies: Lies, file: &'static str) -> Switch {
    let (pointer, means) = match member.as_bytes() {
        b"disableAllHooks" => ("/disableAllHooks", "Claude Code runs no hooks at all"),
        _ => ("/allowManagedHooksOnly", "Claude Code runs hooks of managed settings only"),
    };
    Switch { lies, file, pointer, off: Off::Holds(Fixed::Flag(true)), means }
}
