//! The keys below `autoMode`.

use super::{Key, Shape};

const LIMITS: &[Key] = &[
    Key::new("inARow", Shape::Count { least: 1, most: 1000 }, "Denials in a row after which auto mode steps back."),
    Key::new("total", Shape::Count { least: 1, most: 100_000 }, "Denials in a session after which it steps back."),
];

pub(super) const KEYS: &[Key] = &[
    Key::new("environment", Shape::Texts, "What is trusted here, in prose. `$defaults` keeps what is built in."),
    Key::new("allow", Shape::Texts, "Exceptions to what is blocked, in prose. `$defaults` keeps what is built in."),
    Key::new("soft_deny", Shape::Texts, "What is blocked unless the user asks for it by name, in prose."),
    Key::new("hard_deny", Shape::Texts, "What is blocked whatever the user says, in prose."),
    Key::new("classifyAllShell", Shape::Flag, "Sets every allow rule for shell commands aside."),
    Key::new(
        "strictGrants",
        Shape::Flag,
        "Sets the stricter list of grants aside too: forge, cloud and cluster tools.",
    ),
    Key::new("safeTools", Shape::Texts, "MCP tools that only read, by name: they need no classifier."),
    Key::new("limits", Shape::Object(LIMITS), "When auto mode steps back."),
];
