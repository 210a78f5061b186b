//! The same job for every engine.

use casbin::{CoreApi, DefaultModel, Enforcer, MemoryAdapter, MgmtApi};
use mayi_core::call::{Call, Workspace};
use mayi_core::inspect::inspect;
use mayi_core::pipeline::{Case, decide};
use mayi_core::policy::{Layer, Options, Policy, Source, Written};
use mayi_core::session::Session;
use mayi_core::verdict::Verdict;
use mayi_shell::observe::Observations;

/// Decides one call that a rule near the end is about, and one that no rule is about.
pub(crate) trait Engine {
    fn decide_hit(&mut self) -> Verdict;
    fn decide_miss(&mut self) -> Verdict;

    /// The answers must be right before they are timed.
    fn check(&mut self, size: usize) {
        assert_eq!(self.decide_hit(), verdict_of(hit(size)), "hit among {size}");
        assert_ne!(self.decide_miss(), Verdict::Deny, "miss among {size}");
    }
}

fn verdict_of(rule: usize) -> Verdict {
    match rule % 20 {
        7 => Verdict::Ask,
        13 => Verdict::Deny,
        _ => Verdict::Allow,
    }
}

fn prefix(rule: usize) -> String {
    format!("prog{rule} sub{rule}")
}

/// An allow rule near the end.
fn hit(size: usize) -> usize {
    size - 2
}

fn hit_text(size: usize) -> String {
    format!("{} --flag value", prefix(hit(size)))
}

const MISS_TEXT: &str = "other command --flag value";

/// mayi: every step, on a call whose rules are matched as the other engines match theirs.
pub(crate) struct Mayi {
    policy: Policy,
    session: Session,
    facts: Observations,
    hit: Call,
    miss: Call,
}

impl Mayi {
    pub(crate) fn new(size: usize) -> Self {
        Self::of_tool("Skill", size, |text| {
            let (skill, arguments) = text.split_once(' ').unwrap();
            serde_json::json!({ "skill": skill, "args": arguments })
        })
    }

    fn of_tool(tool: &str, size: usize, input: impl Fn(&str) -> serde_json::Value) -> Self {
        let rules = (0..size).map(|rule| Written::new(verdict_of(rule), &format!("{tool}({}:*)", prefix(rule))));
        let source = Source::of(Layer::User, "/w", rules.collect());
        Self {
            policy: Policy::build(Workspace::at("/w"), vec![source], Options::default()),
            session: Session::default(),
            facts: Observations::of_nothing(),
            hit: Call::new(tool, input(&hit_text(size))),
            miss: Call::new(tool, input(MISS_TEXT)),
        }
    }

    fn decide(&self, call: &Call) -> Verdict {
        let inspection = inspect(call, &self.policy, &self.session, &self.facts);
        let case = Case { call, policy: &self.policy, session: &self.session, inspection: &inspection, hook: None };
        decide(&case).verdict
    }
}

impl Engine for Mayi {
    fn decide_hit(&mut self) -> Verdict {
        self.decide(&self.hit)
    }

    fn decide_miss(&mut self) -> Verdict {
        self.decide(&self.miss)
    }
}

/// mayi on a shell command: parsed, walked, its effects found, then judged.
pub(crate) struct MayiShell(Mayi);

impl MayiShell {
    pub(crate) fn new(size: usize) -> Self {
        Self(Mayi::of_tool("Bash", size, |text| serde_json::json!({ "command": text })))
    }
}

impl Engine for MayiShell {
    fn decide_hit(&mut self) -> Verdict {
        self.0.decide_hit()
    }

    fn decide_miss(&mut self) -> Verdict {
        self.0.decide_miss()
    }
}

/// Cedar: one policy a rule. It knows no ask, which is a permit here, and no rule is no permit.
pub(crate) struct Cedar {
    authorizer: cedar_policy::Authorizer,
    policies: cedar_policy::PolicySet,
    entities: cedar_policy::Entities,
    hit: cedar_policy::Request,
    miss: cedar_policy::Request,
    expected: Verdict,
}

impl Cedar {
    pub(crate) fn new(size: usize) -> Self {
        let text: String = (0..size)
            .map(|rule| {
                let effect = if verdict_of(rule) == Verdict::Deny { "forbid" } else { "permit" };
                format!("{effect}(principal, action, resource) when {{ context.command like \"{} *\" }};\n", prefix(rule))
            })
            .collect();
        Self {
            authorizer: cedar_policy::Authorizer::new(),
            policies: text.parse().unwrap(),
            entities: cedar_policy::Entities::empty(),
            hit: cedar_request(&hit_text(size)),
            miss: cedar_request(MISS_TEXT),
            expected: verdict_of(hit(size)),
        }
    }

    fn decide(&self, request: &cedar_policy::Request) -> Verdict {
        match self.authorizer.is_authorized(request, &self.policies, &self.entities).decision() {
            cedar_policy::Decision::Allow => self.expected,
            cedar_policy::Decision::Deny => Verdict::Ask,
        }
    }
}

fn cedar_request(command: &str) -> cedar_policy::Request {
    let context = cedar_policy::Context::from_json_value(serde_json::json!({ "command": command }), None).unwrap();
    let uid = |text: &str| text.parse().unwrap();
    cedar_policy::Request::new(uid("Agent::\"a\""), uid("Action::\"run\""), uid("Shell::\"s\""), context, None).unwrap()
}

impl Engine for Cedar {
    fn decide_hit(&mut self) -> Verdict {
        self.decide(&self.hit)
    }

    fn decide_miss(&mut self) -> Verdict {
        self.decide(&self.miss)
    }
}

/// Rego: three lists as data, scanned, strictest first.
pub(crate) struct Regorus {
    engine: regorus::Engine,
    hit: regorus::Value,
    miss: regorus::Value,
}

const REGO: &str = r#"package mayi
import rego.v1
default verdict := "ask"
matches(list) if { some prefix in data.rules[list]; startswith(input.command, prefix) }
verdict := "deny" if matches("deny")
else := "ask" if matches("ask")
else := "allow" if matches("allow")
"#;

impl Regorus {
    pub(crate) fn new(size: usize) -> Self {
        let list = |wanted| -> Vec<String> {
            (0..size).filter(|rule| verdict_of(*rule) == wanted).map(|rule| format!("{} ", prefix(rule))).collect()
        };
        let data = serde_json::json!({ "rules": {
            "allow": list(Verdict::Allow), "ask": list(Verdict::Ask), "deny": list(Verdict::Deny),
        }});
        let mut engine = regorus::Engine::new();
        engine.add_policy("mayi.rego".to_owned(), REGO.to_owned()).unwrap();
        engine.add_data(regorus::Value::from_json_str(&data.to_string()).unwrap()).unwrap();
        let input = |command: &str| {
            regorus::Value::from_json_str(&serde_json::json!({ "command": command }).to_string()).unwrap()
        };
        Self { engine, hit: input(&hit_text(size)), miss: input(MISS_TEXT) }
    }

    fn decide(&mut self, input: regorus::Value) -> Verdict {
        self.engine.set_input(input);
        let value = self.engine.eval_rule("data.mayi.verdict".to_owned()).unwrap();
        match value.as_string().unwrap().as_ref() {
            "allow" => Verdict::Allow,
            "deny" => Verdict::Deny,
            _ => Verdict::Ask,
        }
    }
}

impl Engine for Regorus {
    fn decide_hit(&mut self) -> Verdict {
        self.decide(self.hit.clone())
    }

    fn decide_miss(&mut self) -> Verdict {
        self.decide(self.miss.clone())
    }
}

/// Casbin: one policy line a rule. It knows no ask, which is an allow here.
pub(crate) struct Casbin {
    enforcer: Enforcer,
    hit: String,
    expected: Verdict,
}

const MODEL: &str = "
[request_definition]
r = sub, obj, act
[policy_definition]
p = sub, obj, act, eft
[policy_effect]
e = some(where (p.eft == allow)) && !some(where (p.eft == deny))
[matchers]
m = r.sub == p.sub && keyMatch(r.obj, p.obj) && r.act == p.act
";

impl Casbin {
    pub(crate) fn new(size: usize) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let enforcer = runtime.block_on(async {
            let model = DefaultModel::from_str(MODEL).await.unwrap();
            let mut enforcer = Enforcer::new(model, MemoryAdapter::default()).await.unwrap();
            let lines = (0..size).map(|rule| {
                let effect = if verdict_of(rule) == Verdict::Deny { "deny" } else { "allow" };
                let words = ["agent".to_owned(), format!("{} *", prefix(rule)), "run".to_owned(), effect.to_owned()];
                words.to_vec()
            });
            enforcer.add_policies(lines.collect()).await.unwrap();
            enforcer
        });
        Self { enforcer, hit: hit_text(size), expected: verdict_of(hit(size)) }
    }

    fn decide(&self, command: &str) -> Verdict {
        match self.enforcer.enforce(("agent", command, "run")).unwrap() {
            true => self.expected,
            false => Verdict::Ask,
        }
    }
}

impl Engine for Casbin {
    fn decide_hit(&mut self) -> Verdict {
        self.decide(&self.hit)
    }

    fn decide_miss(&mut self) -> Verdict {
        self.decide(MISS_TEXT)
    }
}

