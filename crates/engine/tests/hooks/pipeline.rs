//! What becomes of a call when hooks and rules both speak: the answers of real hooks, carried through a decision.

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::pipeline::Said;
use mayi_core::policy::Layer;
use mayi_core::referral::{Classified, HookAnswer, PersonAnswer};
use mayi_core::session::{Availability, Session};
use mayi_core::verdict::{Decision, Verdict};
use mayi_engine::hooks::{Occasion, Runner};
use mayi_engine::observe::Machine;
use mayi_engine::{Engine, Outcome, Respond};
use serde_json::{Value, json};

use crate::support::{Stage, command, decides, environment, on, prints, with};

/// Answers with hooks; the classifier would allow anything, and nobody else is there.
struct Hooked {
    runner: Runner,
    occasion: Occasion,
}

impl Respond for Hooked {
    async fn before(&self, call: &Call) -> (Option<Said>, Option<Call>) {
        let before = self.runner.before(call, &self.occasion).await.unwrap_or_default();
        (before.said, before.changed)
    }
    async fn classify(&self, _: &Call) -> Classified {
        Classified::Judged { verdict: Verdict::Allow, category: None, message: "fine".to_owned() }
    }
    async fn hooks(&self, call: &Call) -> Option<HookAnswer> {
        self.runner.request(call, &self.occasion).await?.answer
    }
    async fn person(&self, _: &Call, _: &Decision) -> Option<PersonAnswer> {
        None
    }
}

async fn decided(hook: &str, rules: Value, mode: Mode, line: &str) -> Outcome {
    let stage = Stage::new();
    let settings = with(on("PreToolUse", &[command(hook)]), json!({ "permissions": rules }));
    let loaded = stage.loaded(&[(Layer::User, settings)]);
    let hooked = Hooked { runner: Runner::new(&loaded, environment()), occasion: stage.occasion() };
    let availability = Availability { bypass: true, auto: true, model: true, sandbox: false };
    let session = Session { mode, availability, ..Session::default() };
    let engine = Engine::new(Machine::default(), hooked);
    engine.decide(Call::shell(line), loaded.policy.clone(), session).await.unwrap()
}

#[tokio::test]
async fn hooks_and_rules_together() {
    let allow = prints(&decides("allow"));
    let changes = prints(&json!({"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "allow",
        "updatedInput": {"command": "rm -rf x"}}}));
    let ask = prints(&decides("ask"));
    let denied = json!({"deny": ["Bash(rm *)"]});
    let allowed = json!({"allow": ["Bash(make *)"]});
    let none = json!({});
    let table = [
        (
            "exit 2 in bypass",
            format!("{allow}; exit 2"),
            none.clone(),
            Mode::BypassPermissions,
            "make x",
            Verdict::Deny,
        ),
        ("a failure beside an allow rule", "exit 1".into(), allowed.clone(), Mode::Default, "make x", Verdict::Ask),
        ("silence beside an allow rule", "exit 0".into(), allowed, Mode::Default, "make x", Verdict::Allow),
        ("a change into what is denied", changes, denied.clone(), Mode::Default, "make x", Verdict::Deny),
        ("an allow of what is denied", allow.clone(), denied, Mode::Default, "rm -rf x", Verdict::Deny),
        ("an ask in bypass", ask.clone(), none.clone(), Mode::BypassPermissions, "make x", Verdict::Ask),
        ("an ask in auto", ask, none.clone(), Mode::Auto, "make x", Verdict::Ask),
        ("an allow of a critical removal", allow.clone(), none.clone(), Mode::Default, "rm -rf /", Verdict::Ask),
        ("an allow of what nobody else knows", allow, none, Mode::Default, "make x", Verdict::Allow),
    ];
    for (name, hook, rules, mode, line, expected) in table {
        let outcome = decided(&hook, rules, mode, line).await;
        assert_eq!(outcome.decision.verdict, expected, "{name}: {:?}", outcome.decision);
    }
}
