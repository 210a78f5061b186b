//! Any other agent: there is no file to write, so a person is told what to configure.

use crate::install::facts::{Agent, Base, Canary, Run};
use mayi_core::verdict::Verdict;

pub(super) const AGENT: Agent = Agent {
    name: "generic",
    title: "another agent",
    programs: &[],
    base: Base { variable: None, below_home: "" },
    files: &[],
    notes: &[
        "run the command above before every tool call and write one JSON object to its standard input:",
        r#"  {"event": "before", "session": "…", "cwd": "…", "tool": "Bash", "input": {"command": "ls"}}"#,
        r#"it answers {"verdict": "allow|ask|deny", "reason": "…"}; run the call on an allow, and on nothing else"#,
        "anything but that answer, a failure and a time-out among them, means no",
    ],
    switches: &[],
    approval: None,
    canary: Canary {
        event: "before",
        message: r#"{"event": "before", "session": "mayi-doctor", "cwd": "@FOLDER@", "tool": "Bash",
            "input": {"command": "@COMMAND@"}}"#,
        run: Run::Words,
        pointer: "/verdict",
        words: &[("allow", Verdict::Allow), ("ask", Verdict::Ask), ("deny", Verdict::Deny)],
        silence: None,
        codes: &[0, 10, 11],
    },
};
