//! Gemini CLI: entries in its settings files. Its time-outs are milliseconds, and a late hook lets the call pass. So does
//! one that fails, unless it ends with 2.

use crate::install::facts::{
    Agent, Base, Canary, Entries, Failure, File, Fixed, Hooked, Kind, Lies, Off, Run, Shape, Switch,
};
use mayi_core::verdict::Verdict;

pub(super) const AGENT: Agent = Agent {
    name: "gemini",
    title: "Gemini CLI",
    programs: &["gemini"],
    base: Base { variable: None, below_home: ".gemini" },
    files: &[File {
        user: Some("settings.json"),
        project: Some(".gemini/settings.json"),
        local: None,
        kind: Kind::Entries(Entries {
            shape: Shape::Grouped,
            head: &[],
            handler: &[("name", Fixed::Text("mayi")), ("type", Fixed::Text("command"))],
            command: "command",
            failure: Failure::EndsWithTwo,
            limit: ("timeout", Fixed::Number(60_000)),
            events: &[
                Hooked { event: "BeforeTool", matcher: Some("*"), extra: &[] },
                Hooked { event: "AfterTool", matcher: Some("*"), extra: &[] },
            ],
        }),
    }],
    notes: &[
        "sessions that are open already read it when they start again",
        "without a person (gemini -p) a question ends the run without a word: install with --unattended there, and it is a denial with the reason",
    ],
    switches: &[
        disabled(Lies::User, "settings.json"),
        disabled(Lies::Project, ".gemini/settings.json"),
        off(Lies::User, "settings.json", "/hooksConfig/enabled"),
        off(Lies::Project, ".gemini/settings.json", "/hooksConfig/enabled"),
        off(Lies::User, "settings.json", "/tools/enableHooks"),
        off(Lies::Project, ".gemini/settings.json", "/tools/enableHooks"),
        off(Lies::System, "etc/gemini-cli/settings.json", "/hooksConfig/enabled"),
    ],
    approval: None,
    canary: Canary {
        event: "BeforeTool",
        message: r#"{"session_id": "mayi-doctor", "transcript_path": "", "cwd": "@FOLDER@",
            "hook_event_name": "BeforeTool", "timestamp": "1970-01-01T00:00:00.000Z",
            "tool_name": "run_shell_command", "tool_input": {"command": "@COMMAND@", "description": ""}}"#,
        run: Run::Shell("bash"),
        pointer: "/decision",
        words: &[
            ("allow", Verdict::Allow),
            ("approve", Verdict::Allow),
            ("ask", Verdict::Ask),
            ("deny", Verdict::Deny),
            ("block", Verdict::Deny),
        ],
        silence: Some(Verdict::Allow),
        codes: &[0],
    },
};

const fn off(lies: Lies, file: &'static str, pointer: &'static str) -> Switch {
    Switch { lies, file, pointer, off: Off::Holds(Fixed::Flag(false)), means: "Gemini CLI runs no hooks at all" }
}

const fn disabled(lies: Lies, file: &'static str) -> Switch {
    let means = "Gemini CLI leaves out the hook named mayi";
    Switch { lies, file, pointer: "/hooksConfig/disabled", off: Off::Lists("mayi"), means }
}
