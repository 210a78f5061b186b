//! Random but realistic worlds for the laws: rules of several layers over a small alphabet, so that they collide;
//! calls they are about; sessions; and people, hooks and classifiers with their answers ready.
//!
//! Patterns with `!` are left out on purpose: they re-open what an earlier pattern of their own list matched, so
//! their order counts and adding one may allow more. They have their own tests beside the path patterns.

use std::sync::Arc;

use mayi_core::call::{Call, Workspace};
use mayi_core::evaluation::{Evaluation, Progress};
use mayi_core::mode::Mode;
use mayi_core::pipeline::Said;
use mayi_core::policy::{Layer, Options, Origin, Policy, Sandbox, Source, Written};
use mayi_core::referral::{Answer, Classified, HookAnswer, OnFailure, PersonAnswer, Referral};
use mayi_core::session::{Attendance, Availability, Denials, Session};
use mayi_core::verdict::{Decision, Verdict};
use mayi_shell::observe::Answer as Observed;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

/// Where everything happens.
pub(crate) const DIRECTORY: &str = "/home/u/project";

/// Rules that every list takes.
const RULES: &[&str] = &[
    "Bash",
    "Bash(ls:*)",
    "Bash(rm:*)",
    "Bash(git push:*)",
    "Bash(git *)",
    "Bash(npm test)",
    "PowerShell",
    "PowerShell(Get-Content:*)",
    "Read",
    "Read(src/**)",
    "Read(secret/**)",
    "Read(~/.ssh/**)",
    "Read(//etc/**)",
    "Edit",
    "Edit(src/**)",
    "Edit(/src/main.rs)",
    "Edit(.git/**)",
    "Edit(*.env)",
    "Write",
    "Grep",
    "WebFetch",
    "WebFetch(domain:example.com)",
    "WebFetch(domain:*.example.com)",
    "WebFetch(domain:docs.rs)",
    "Agent",
    "Agent(Explore)",
    "Skill(deploy *)",
    "REPL",
    "Frobnicate",
    "TodoWrite",
    "ExitPlanMode",
    "mcp__db",
    "mcp__db__*",
    "mcp__db__query",
    "mcp__db__drop",
    "mcp__mail__send",
];

/// Rules for deny and ask alone: wide names, parameters, and entries that cannot be read.
const TIGHT_RULES: &[&str] = &[
    "*",
    "mcp__*",
    "mcp__*__drop",
    "Agent(model:opus)",
    "Bash(run_in_background:true)",
    "Bash(rm",
    "WebFetch(example.com)",
    "mcp__db__query(x)",
];

/// A call, and deny rules that are certainly about it.
pub(crate) struct Known {
    pub(crate) tool: &'static str,
    pub(crate) input: Value,
    pub(crate) matched_by: &'static [&'static str],
    /// It changes something, and nothing but a rule or a mode speaks for it.
    pub(crate) changes: bool,
}

/// Every call the worlds make.
pub(crate) fn calls() -> Vec<Known> {
    let reads = |path: &str, matched_by| known("Read", json!({ "file_path": path }), matched_by);
    let edits = |path: &str, matched_by| known("Edit", json!({ "file_path": path }), matched_by).changing();
    let fetches = |url: &str, matched_by| known("WebFetch", json!({ "url": url }), matched_by);
    let runs = |command: &str, matched_by| known("Bash", json!({ "command": command }), matched_by);
    let shell = |command: &str, matched_by| known("PowerShell", json!({ "command": command }), matched_by);
    vec![
        reads("src/main.rs", &["Read", "*", "Read(src/**)", "Read(main.rs)", "Read(//home/u/project/src/main.rs)"]),
        reads("secret/key", &["Read", "Read(secret/**)", "Read(key)"]),
        reads("/etc/passwd", &["Read(//etc/**)", "Read(//etc/passwd)"]),
        reads("~/.ssh/id_rsa", &["Read(~/.ssh/**)", "Read(~/.ssh)"]),
        reads("src/../secret/key", &["Read(secret/**)"]),
        known("Read", json!({}), &["Read"]),
        known("Read", json!("src/main.rs"), &["Read"]),
        known("Grep", json!({ "pattern": "x" }), &["Grep", "*"]),
        known("Grep", json!({ "pattern": "x", "path": "secret" }), &["Grep", "Read(secret)"]),
        edits("src/main.rs", &["Edit", "*", "Edit(src/**)", "Edit(/src/main.rs)", "Read(src/**)"]),
        edits(".git/config", &["Edit(.git/**)", "Edit(config)", "Read(.git)"]),
        edits("prod.env", &["Edit(*.env)", "Edit"]),
        edits("/etc/hosts", &["Edit(//etc/**)", "Read(//etc/**)"]),
        edits("../elsewhere/x", &["Edit(../elsewhere/**)", "Edit"]),
        known("Write", json!({ "file_path": "src/new.rs", "content": "" }), &["Write", "Edit(src/**)"]).changing(),
        known("NotebookEdit", json!({ "notebook_path": "src/a.ipynb" }), &["NotebookEdit", "Edit(src/**)"]).changing(),
        fetches("https://example.com/a", &["WebFetch", "WebFetch(domain:example.com)", "WebFetch(domain:*)"])
            .changing(),
        fetches("https://API.example.com./a", &["WebFetch(domain:*.example.com)"]).changing(),
        fetches("https://docs.rs/serde", &["WebFetch(domain:docs.rs)"]),
        fetches("no address", &["WebFetch"]),
        known(
            "Agent",
            json!({ "subagent_type": "Explore", "model": "opus" }),
            &["Agent(Explore)", "Agent(model:opus)"],
        ),
        known("Task", json!({ "prompt": "x" }), &["Agent", "Task", "Agent(general-purpose)"]),
        known("Skill", json!({ "skill": "deploy", "args": "prod" }), &["Skill", "Skill(deploy *)"]).changing(),
        known("REPL", json!({ "code": "1" }), &["REPL", "*"]).changing(),
        known("Frobnicate", json!({ "x": 1 }), &["Frobnicate", "Fro*"]).changing(),
        known("TodoWrite", json!({ "todos": [] }), &["TodoWrite", "*"]),
        known("AskUserQuestion", json!({}), &["AskUserQuestion"]),
        known("ExitPlanMode", json!({}), &["ExitPlanMode", "*"]),
        known("mcp__db__query", json!({}), &["mcp__db", "mcp__db__*", "mcp__db__query", "mcp__*"]).changing(),
        known("mcp__db__drop", json!({}), &["mcp__db", "mcp__*__drop", "mcp__db__drop"]).changing(),
        known("mcp__mail__send", json!({}), &["mcp__mail__send", "mcp__mail", "*"]).changing(),
        runs("ls -la src", &["Bash", "*", "Bash(*)", "Bash(ls:*)", "Bash(ls -la *)"]),
        runs("cat secret/key", &["Bash(cat:*)", "Read(secret/**)"]),
        runs("cat /etc/passwd | head -n 1", &["Bash(head:*)", "Bash(cat *)", "Read(//etc/**)"]),
        runs("rm -rf build", &["Bash", "Bash(rm:*)", "Bash(rm -rf *)", "Edit(build)"]).changing(),
        runs("sudo /bin/rm -rf build", &["Bash(rm:*)", "Bash(sudo:*)"]).changing(),
        runs("rm -rf ~", &["Bash(rm:*)"]).changing(),
        runs("git push origin main", &["Bash(git push:*)", "Bash(git *)"]).changing(),
        runs("cd src && git -C .. push", &["Bash(git push:*)", "Bash(cd:*)"]).changing(),
        runs("echo x > src/main.rs", &["Edit(src/**)", "Bash(echo:*)"]).changing(),
        runs("bash -c 'rm x; make'", &["Bash(rm:*)", "Bash(make)", "Bash(bash:*)"]).changing(),
        runs("echo \"$(curl https://example.com)\"", &["Bash(curl:*)"]).changing(),
        runs("if", &["Bash"]),
        shell("Get-Content secret/key", &["PowerShell(Get-Content:*)", "PowerShell(gc *)", "Read(secret/**)"]),
        shell("gc Src\\Main.rs | sort", &["PowerShell", "PowerShell(sort-object)", "Read(Src/**)"]),
        shell("foo; cat -Path:secret/key", &["PowerShell(foo)", "Read(secret/**)"]).changing(),
        shell("Set-Content src/main.rs x", &["PowerShell(sc:*)", "Edit(src/**)"]).changing(),
        shell("ri .git/config", &["PowerShell(Remove-Item *)", "Edit(.git/**)"]).changing(),
        known("Bash", json!({ "command": "npm test", "run_in_background": true }), &["Bash(run_in_background:true)"]),
    ]
}

fn known(tool: &'static str, input: Value, matched_by: &'static [&'static str]) -> Known {
    Known { tool, input, matched_by, changes: false }
}

impl Known {
    fn changing(mut self) -> Self {
        self.changes = true;
        self
    }

    pub(crate) fn call(&self) -> Call {
        Call::new(self.tool, self.input.clone())
    }
}

/// A rule in a list of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) layer: Layer,
    pub(crate) list: Verdict,
    pub(crate) text: &'static str,
}

/// Everything a decision depends on.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub(crate) rules: Vec<Listed>,
    pub(crate) options: Options,
    pub(crate) session: Session,
    pub(crate) call: Call,
    pub(crate) hook: Option<Verdict>,
    pub(crate) script: Script,
}

/// What those who are asked will answer.
#[derive(Clone, Debug)]
pub(crate) struct Script {
    pub(crate) classifier: Classified,
    /// One after the other; none when there is nothing left.
    pub(crate) hooks: Vec<HookAnswer>,
    pub(crate) person: Option<Verdict>,
}

impl Script {
    /// Only a classifier that says yes to everything: no person and no permission hook answers.
    pub(crate) fn eager_classifier() -> Self {
        Self { classifier: judged(Verdict::Allow), hooks: Vec::new(), person: None }
    }
}

/// What became of a call.
#[derive(Clone, Debug)]
pub(crate) struct End {
    pub(crate) decision: Decision,
    /// A person was asked, whether or not they answered.
    pub(crate) asked_person: bool,
    pub(crate) aborted: bool,
}

impl End {
    pub(crate) fn verdict(&self) -> Verdict {
        self.decision.verdict
    }
}

impl World {
    pub(crate) fn policy(&self) -> Arc<Policy> {
        let sources = Layer::ALL.into_iter().map(|layer| source(layer, &self.rules)).collect();
        Arc::new(Policy::build(workspace(), sources, self.options.clone()))
    }

    pub(crate) fn with_rule(&self, rule: Listed) -> Self {
        let mut world = self.clone();
        world.rules.push(rule);
        world
    }

    /// The call from start to end. The machine it happens on is empty.
    pub(crate) fn end(&self) -> End {
        let begun = Evaluation::begin(self.call.clone(), self.policy(), self.session.clone());
        let mut evaluation = begun.expect("no generated session is aborted");
        if let Some(verdict) = self.hook {
            evaluation = evaluation.with_hook(Said { verdict, message: "a hook".to_owned() });
        }
        let mut hooks = self.script.hooks.iter().cloned();
        let (mut asked_person, mut aborted) = (false, false);
        loop {
            let answer = match evaluation.progress() {
                Progress::Observe(questions) => {
                    evaluation.observe(questions.into_iter().map(|question| (question, Observed::Absent)));
                    continue;
                }
                Progress::Done(_) => break,
                Progress::Abort(_) => {
                    aborted = true;
                    break;
                }
                Progress::Refer(Referral::Classifier) => Answer::Classifier(self.script.classifier.clone()),
                Progress::Refer(Referral::Hooks) => Answer::Hooks(hooks.next()),
                Progress::Refer(Referral::Person) => {
                    asked_person = true;
                    let Some(verdict) = self.script.person else { break };
                    Answer::Person(PersonAnswer { verdict, comment: None })
                }
                Progress::Refer(to @ (Referral::Nobody | Referral::Abort(_))) => panic!("nobody can answer {to:?}"),
            };
            evaluation.answer(answer);
        }
        let decision = evaluation.standing().cloned().expect("a call that is at its end has a decision");
        End { decision, asked_person, aborted }
    }
}

pub(crate) fn workspace() -> Workspace {
    Workspace::at(DIRECTORY).with_home("/home/u")
}

fn source(layer: Layer, rules: &[Listed]) -> Source {
    let own = rules.iter().filter(|rule| rule.layer == layer);
    Source::of(layer, DIRECTORY, own.map(|rule| Written::new(rule.list, rule.text)).collect())
}

pub(crate) fn any_world() -> impl Strategy<Value = World> {
    let hook = option::of(select(Verdict::ALL.to_vec()));
    (any_rules(), any_options(), any_session(), any_call(), hook, any_script())
        .prop_map(|(rules, options, session, call, hook, script)| World { rules, options, session, call, hook, script })
}

pub(crate) fn any_rules() -> impl Strategy<Value = Vec<Listed>> {
    prop::collection::vec(any_rule(), 0..8)
}

pub(crate) fn any_rule() -> impl Strategy<Value = Listed> {
    prop_oneof![3 => any_rule_of(Verdict::Allow), 1 => any_rule_of(Verdict::Ask), 1 => any_rule_of(Verdict::Deny)]
}

pub(crate) fn any_rule_of(list: Verdict) -> impl Strategy<Value = Listed> {
    let texts = match list {
        Verdict::Allow => RULES.to_vec(),
        Verdict::Ask | Verdict::Deny => [RULES, TIGHT_RULES].concat(),
    };
    (any_layer(), select(texts)).prop_map(move |(layer, text)| Listed { layer, list, text })
}

pub(crate) fn any_layer() -> impl Strategy<Value = Layer> {
    select(Layer::ALL.to_vec())
}

pub(crate) fn any_call() -> impl Strategy<Value = Call> {
    select(calls().iter().map(Known::call).collect::<Vec<_>>())
}

pub(crate) fn any_mode() -> impl Strategy<Value = Mode> {
    select(Mode::ALL.to_vec())
}

pub(crate) fn any_session() -> impl Strategy<Value = Session> {
    let attendance = select(vec![Attendance::Attended, Attendance::Unattended]);
    let availability =
        any::<[bool; 4]>().prop_map(|[bypass, auto, model, sandbox]| Availability { bypass, auto, model, sandbox });
    let denials = (0..4_u32, 0..21_u32).prop_map(|(in_a_row, total)| Denials { in_a_row, total });
    (any_mode(), attendance, availability, denials).prop_map(|(mode, attendance, availability, denials)| Session {
        mode,
        attendance,
        availability,
        denials,
        ..Session::default()
    })
}

fn any_options() -> impl Strategy<Value = Options> {
    let broken = prop_oneof![12 => Just(None), 1 => any_layer().prop_map(Some)];
    (any::<[bool; 5]>(), any::<bool>(), broken).prop_map(
        |([enabled, auto_allow, bypass, auto, strict], reads, broken)| Options {
            sandbox: Sandbox { enabled, auto_allow, ..Sandbox::default() },
            bypass_disabled: bypass,
            auto_disabled: auto,
            strict_grants: strict,
            block_outside_reads: reads,
            broken: broken.into_iter().map(Origin::of).collect(),
            ..Options::default()
        },
    )
}

pub(crate) fn any_script() -> impl Strategy<Value = Script> {
    let person = option::of(select(Verdict::ALL.to_vec()));
    let hooks = prop::collection::vec(any_hook_answer(), 0..4);
    (any_classified(), hooks, person).prop_map(|(classifier, hooks, person)| Script { classifier, hooks, person })
}

fn any_classified() -> impl Strategy<Value = Classified> {
    let failed = |then| Classified::Failed { problem: "no answer".to_owned(), then };
    select(vec![
        judged(Verdict::Allow),
        judged(Verdict::Ask),
        judged(Verdict::Deny),
        failed(OnFailure::Closed),
        failed(OnFailure::Person),
        Classified::TooLong,
        Classified::Superseded,
    ])
}

fn judged(verdict: Verdict) -> Classified {
    Classified::Judged { verdict, category: None, message: "judged".to_owned() }
}

fn any_hook_answer() -> impl Strategy<Value = HookAnswer> {
    let verdict = select(Verdict::ALL.to_vec());
    (verdict, any::<bool>(), option::of(any_call())).prop_map(|(verdict, interrupt, changed)| HookAnswer {
        verdict,
        message: "a permission hook".to_owned(),
        interrupt,
        changed,
    })
}
