//! The golden matrix: what a handful of policies make of a handful of calls in every mode, as text.
//!
//! It is written from what the code does and kept in `spec/matrix.txt`, so that any change of behaviour is a small
//! diff that a person reads. It must never be a place where verdicts are made to fit.

use std::fmt::Write as _;
use std::sync::Arc;

use mayi_core::call::{Call, Workspace};
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::mode::Mode;
use mayi_core::pipeline::Said;
use mayi_core::policy::{Layer, Options, Policy, Source, Written};
use mayi_core::referral::{Answer, Referral};
use mayi_core::session::{Attendance, Availability, Session};
use mayi_core::verdict::Verdict;
use mayi_shell::observe::Answer as Observed;
use serde_json::{Value, json};

const DIRECTORY: &str = "/home/u/project";

const HEAD: &str = "\
# What a handful of policies make of a handful of calls, in every mode.
# Written by `UPDATE=1 cargo test -p mayi-spec`; read the diff before you commit it.
#
# A cell is the verdict and the step that settled it, or that asks. `model 4b.5`: the classifier model must answer.
# Nobody answers here: no person, no permission hook.
# plan/b: plan with bypassPermissions available. plan/a: plan with auto available. auto/m: auto with a model.
# The working directory is /home/u/project, on an empty machine.
";

/// A column: a mode, and what else is available in the session.
struct Column {
    title: &'static str,
    mode: Mode,
    availability: Availability,
}

const NOTHING: Availability = Availability { bypass: false, auto: false, model: false, sandbox: false };

const COLUMNS: [Column; 9] = [
    Column { title: "default", mode: Mode::Default, availability: NOTHING },
    Column { title: "acceptEdits", mode: Mode::AcceptEdits, availability: NOTHING },
    Column { title: "plan", mode: Mode::Plan, availability: NOTHING },
    Column { title: "plan/b", mode: Mode::Plan, availability: Availability { bypass: true, ..NOTHING } },
    Column { title: "plan/a", mode: Mode::Plan, availability: Availability { auto: true, ..NOTHING } },
    Column { title: "bypass", mode: Mode::BypassPermissions, availability: Availability { bypass: true, ..NOTHING } },
    Column { title: "dontAsk", mode: Mode::DontAsk, availability: NOTHING },
    Column { title: "auto", mode: Mode::Auto, availability: Availability { auto: true, ..NOTHING } },
    Column { title: "auto/m", mode: Mode::Auto, availability: Availability { auto: true, model: true, ..NOTHING } },
];

/// A policy of the matrix, and what a hook before the call says.
struct Setting {
    title: &'static str,
    rules: &'static [(Verdict, &'static [&'static str])],
    hook: Option<Verdict>,
}

/// Every tool of the calls, by name.
const WHOLE_TOOLS: &[&str] =
    &["Bash", "Read", "Grep", "Edit", "Write", "WebFetch", "Agent", "Skill", "REPL", "ExitPlanMode", "mcp__db"];

const SETTINGS: [Setting; 7] = [
    Setting { title: "no rule at all", rules: &[], hook: None },
    Setting { title: "allow whole tools", rules: &[(Verdict::Allow, WHOLE_TOOLS)], hook: None },
    Setting {
        title: "allow by content",
        rules: &[(
            Verdict::Allow,
            &[
                "Read(//etc/**)",
                "Edit(src/**)",
                "Edit(.git/**)",
                "WebFetch(domain:example.com)",
                "Agent(Explore)",
                "Skill(deploy *)",
                "mcp__db__query",
            ],
        )],
        hook: None,
    },
    Setting {
        title: "ask by content, allow whole tools",
        rules: &[
            (Verdict::Allow, WHOLE_TOOLS),
            (
                Verdict::Ask,
                &[
                    "Read(secret/**)",
                    "Edit(src/**)",
                    "WebFetch(domain:*.example.com)",
                    "Agent(model:opus)",
                    "mcp__*__drop",
                ],
            ),
        ],
        hook: None,
    },
    Setting {
        title: "deny by content, ask and allow whole tools",
        rules: &[
            (Verdict::Allow, WHOLE_TOOLS),
            (Verdict::Ask, &["Edit", "WebFetch"]),
            (
                Verdict::Deny,
                &[
                    "Read(secret/**)",
                    "Edit(src/**)",
                    "WebFetch(domain:*.example.com)",
                    "Agent(model:opus)",
                    "mcp__*__drop",
                ],
            ),
        ],
        hook: None,
    },
    Setting { title: "a hook allows", rules: &[], hook: Some(Verdict::Allow) },
    Setting {
        title: "a hook asks, allow whole tools",
        rules: &[(Verdict::Allow, WHOLE_TOOLS)],
        hook: Some(Verdict::Ask),
    },
];

/// The calls, each with the words that stand for it in the matrix.
fn calls() -> Vec<(&'static str, &'static str, Value)> {
    vec![
        ("Read src/main.rs", "Read", json!({ "file_path": "src/main.rs" })),
        ("Read secret/key", "Read", json!({ "file_path": "secret/key" })),
        ("Read /etc/passwd", "Read", json!({ "file_path": "/etc/passwd" })),
        ("Read ~/.ssh/id_rsa", "Read", json!({ "file_path": "~/.ssh/id_rsa" })),
        ("Grep", "Grep", json!({ "pattern": "x" })),
        ("Edit src/main.rs", "Edit", json!({ "file_path": "src/main.rs" })),
        ("Edit .git/config", "Edit", json!({ "file_path": ".git/config" })),
        ("Write /etc/hosts", "Write", json!({ "file_path": "/etc/hosts", "content": "" })),
        ("WebFetch example.com", "WebFetch", json!({ "url": "https://example.com/a" })),
        ("WebFetch api.example.com", "WebFetch", json!({ "url": "https://api.example.com/a" })),
        ("WebFetch docs.rs", "WebFetch", json!({ "url": "https://docs.rs/serde" })),
        ("WebSearch", "WebSearch", json!({ "query": "x" })),
        ("Agent Explore", "Agent", json!({ "subagent_type": "Explore", "prompt": "x" })),
        ("Agent Explore (opus)", "Agent", json!({ "subagent_type": "Explore", "model": "opus", "prompt": "x" })),
        ("Skill deploy prod", "Skill", json!({ "skill": "deploy", "args": "prod" })),
        ("REPL", "REPL", json!({ "code": "1" })),
        ("TodoWrite", "TodoWrite", json!({ "todos": [] })),
        ("ExitPlanMode", "ExitPlanMode", json!({})),
        ("mcp__db__query", "mcp__db__query", json!({})),
        ("mcp__db__drop", "mcp__db__drop", json!({})),
        ("an unknown tool", "Frobnicate", json!({})),
        ("Bash ls -la src", "Bash", json!({ "command": "ls -la src" })),
        ("Bash cat secret/key", "Bash", json!({ "command": "cat secret/key" })),
        ("Bash rm -r build", "Bash", json!({ "command": "rm -r build" })),
        ("Bash rm -rf ~", "Bash", json!({ "command": "rm -rf ~" })),
        ("Bash echo x > .git/config", "Bash", json!({ "command": "echo x > .git/config" })),
        ("Bash make deploy", "Bash", json!({ "command": "make deploy" })),
        ("Read without a path", "Read", json!({})),
    ]
}

/// The whole matrix.
pub fn matrix() -> String {
    let mut text = HEAD.to_owned();
    for setting in &SETTINGS {
        for attendance in [Attendance::Attended, Attendance::Unattended] {
            write_table(&mut text, setting, attendance);
        }
    }
    text
}

fn write_table(text: &mut String, setting: &Setting, attendance: Attendance) {
    let word = match attendance {
        Attendance::Attended => "attended",
        Attendance::Unattended => "unattended",
    };
    let policy = Arc::new(policy(setting));
    let _ = writeln!(text, "\n## {}, {word}", setting.title);
    for (list, rules) in setting.rules.iter().filter(|_| attendance == Attendance::Attended) {
        let _ = writeln!(text, "#  {list}: {}", rules.join(" "));
    }
    let titles = COLUMNS.iter().map(|column| column.title.to_owned());
    write_row(text, "", titles);
    for (label, tool, input) in calls() {
        let call = Call::new(tool, input);
        let cells = COLUMNS.iter().map(|column| {
            let Column { mode, availability, .. } = *column;
            let session = Session { mode, availability, attendance, ..Session::default() };
            cell(Evaluation::begin(call.clone(), policy.clone(), session).ok(), setting.hook)
        });
        write_row(text, label, cells);
    }
}

fn write_row(text: &mut String, label: &str, cells: impl Iterator<Item = String>) {
    let mut line = format!("{label:<27}");
    for cell in cells {
        let _ = write!(line, "{cell:<12}");
    }
    let _ = writeln!(text, "{}", line.trim_end());
}

fn policy(setting: &Setting) -> Policy {
    let lists = setting.rules.iter();
    let rules = lists.flat_map(|(list, rules)| rules.iter().map(|rule| Written::new(*list, rule))).collect();
    let workspace = Workspace::at(DIRECTORY).with_home("/home/u");
    Policy::build(workspace, vec![Source::of(Layer::User, DIRECTORY, rules)], Options::default())
}

/// What becomes of a call when nobody answers.
fn cell(evaluation: Option<Evaluation>, hook: Option<Verdict>) -> String {
    let Some(mut evaluation) = evaluation else { return "aborted".to_owned() };
    if let Some(verdict) = hook {
        evaluation = evaluation.with_hook(Said { verdict, message: "a hook".to_owned() });
    }
    loop {
        match evaluation.progress() {
            Progress::Observe(questions) => evaluation.observe(questions.into_iter().map(|q| (q, Observed::Absent))),
            Progress::Refer(Referral::Hooks) => evaluation.answer(Answer::Hooks(None)),
            Progress::Refer(Referral::Classifier) => return "model 4b.5".to_owned(),
            Progress::Refer(_) | Progress::Done(_) | Progress::Abort(_) => break,
        }
    }
    evaluation.standing().map_or_else(String::new, |decision| format!("{} {}", decision.verdict, decision.step))
}
