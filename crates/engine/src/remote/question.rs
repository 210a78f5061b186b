//! A question for people elsewhere: everything that they need to see, secrets hidden, and the exact rules that their
//! answer may write.

use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::catalogue::Kind;
use mayi_core::evaluation::Evaluation;
use mayi_core::policy::{Layer, Policy, Source, Written};
use mayi_core::reason::Reason;
use mayi_core::rule::Rule;
use mayi_core::session::Session;
use mayi_core::verdict::{Decision, Verdict};
use mayi_settings::{Loaded, Places};
use serde_json::Value;

use super::keeping;
use super::wire::{Offer, Part, PolicyOf, Question, digest};
use crate::decide::observe_all;
use crate::desk::Asked;
use crate::explain;
use crate::family::Member;
use crate::observe::Machine;
use crate::version::version;

/// Longer commands are answered once at a time: nobody reads such a rule.
const LONGEST_RULE: usize = 500;

/// How many rules are offered at most.
const MOST: usize = 5;

/// What is asked about, and by whom.
pub(crate) struct Matter<'a> {
    pub(crate) asked: &'a Asked,
    pub(crate) call: &'a Call,
    pub(crate) decision: &'a Decision,
    /// The agent that asks.
    pub(crate) member: &'a Member,
    pub(crate) loaded: &'a Loaded,
    pub(crate) places: &'a Places,
    pub(crate) machine: &'a Machine,
    /// Who proposes rules for the answer.
    pub(crate) propose: Propose,
}

/// The question, as it goes to the server.
pub(crate) fn question(matter: &Matter<'_>) -> Question {
    let Matter { asked, call, decision, member, loaded, machine, .. } = matter;
    let cwd = loaded.policy.workspace.directory.clone();
    let policy = version(&member.policy);
    let input = hidden(&call.input);
    let digest = digest(&call.tool, &input, (&cwd, &policy));
    let bubbles = matches!(decision.reason, Reason::Bubbled { .. });
    let child = asked.child.as_ref().map(|child| child.id.clone());
    let explanation = explain::explain(call, &member.policy, *machine);
    let parts = call.text("command").map(|text| parts(text, &input, &decision.reason)).unwrap_or_default();
    Question {
        agent: asked.agent.clone(),
        session: asked.session.clone(),
        child: child.or_else(|| bubbles.then(|| member.name.clone())),
        lead: member.lead.clone().filter(|_| bubbles),
        call_id: asked.call_id.clone(),
        host: Some(keeping::host()).filter(|host| !host.is_empty()),
        tool: call.tool.clone(),
        input,
        cwd,
        mode: member.session.mode,
        policy,
        digest,
        step: decision.step.id().to_owned(),
        reason: shown(&decision.reason),
        message: plain(&decision.reason.to_string()),
        trace: shown(&decision.trace),
        effects: effects(matter).into_iter().map(|effect| plain(&effect)).collect(),
        parts,
        risk: Some(plain(&format!("{}: {}", explanation.level, explanation.risk))),
        preview: None,
        offers: offers(matter),
        // Whoever takes the question in says these.
        policy_of: PolicyOf::Client,
        owner: String::new(),
    }
}

/// A value without secrets. They are looked for in the whole text, where a name may stand before its value; if that
/// leaves no value, in each text.
fn hidden(value: &Value) -> Value {
    let mut text = value.to_string();
    mayi_settings::secret::redact(&mut text);
    serde_json::from_str(&text).unwrap_or_else(|_| each_hidden(value))
}

fn each_hidden(value: &Value) -> Value {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
        Value::String(text) => Value::String(plain(text)),
        Value::Array(items) => items.iter().map(each_hidden).collect(),
        Value::Object(fields) => fields.iter().map(|(name, value)| (plain(name), each_hidden(value))).collect(),
    }
}

fn shown(what: &impl serde::Serialize) -> Value {
    hidden(&serde_json::to_value(what).unwrap_or_default())
}

fn plain(text: &str) -> String {
    let mut text = text.to_owned();
    mayi_settings::secret::redact(&mut text);
    text
}

fn effects(matter: &Matter<'_>) -> Vec<String> {
    let Matter { call, member, machine, .. } = matter;
    let session = Session { aborted: None, ..member.session.clone() };
    let begun = Evaluation::begin(Call::clone(call), member.policy.clone(), session);
    begun.map_or_else(
        |_| Vec::new(),
        |mut evaluation| {
            observe_all(&mut evaluation, *machine);
            evaluation.inspection().effects.iter().map(ToString::to_string).collect()
        },
    )
}

/// The part of a command that the reason is about, where it can be found in what is shown of it.
fn parts(command: &str, input: &Value, reason: &Reason) -> Vec<Part> {
    let Some(shown) = input.get("command").and_then(Value::as_str) else { return Vec::new() };
    let Some(Subject { text, note, span }) = subject(reason.root()) else { return Vec::new() };
    let place = match span.filter(|_| shown == command) {
        Some(span) => Some(span),
        None => {
            let text = plain(text);
            shown.find(&text).map(|start| (start, start + text.len()))
        }
    };
    let place = place.filter(|(start, end)| start < end && shown.get(*start..*end).is_some());
    place.map(|(start, end)| Part { start, end, note: plain(note) }).into_iter().collect()
}

/// What a reason is about, what is to be said of it, and where it stands, if that is known.
struct Subject<'a> {
    text: &'a str,
    note: &'a str,
    span: Option<(usize, usize)>,
}

fn subject(reason: &Reason) -> Option<Subject<'_>> {
    if let Reason::Silence { part: Some(part) } = reason {
        return Some(Subject { text: &part.text, note: &part.why, span: part.span });
    }
    let (text, note) = if let Reason::Rule { rule, matched: Some(matched) } = reason {
        (matched, &rule.text)
    } else if let Reason::MightMatch { rule, unknown } = reason {
        (unknown, &rule.text)
    } else if let Reason::Protected { path, entry: note } | Reason::Critical { path, why: note } = reason {
        (path, note)
    } else {
        return None;
    };
    Some(Subject { text, note, span: None })
}

/// Proposes the rules that a yes to a call may write. Whoever proposes them, each is tried before it is offered; where it
/// is written is said with the offer.
#[derive(Clone, Copy, Debug)]
pub struct Propose(pub fn(&Call, &Policy, &Machine) -> Vec<Offer>);

impl Default for Propose {
    /// The rule for exactly this call.
    fn default() -> Self {
        Self(|call, policy, _| {
            let offer = |(rule, covers): (Rule, String)| Offer {
                rule: rule.to_string(),
                layers: Vec::new(),
                covers: vec![covers],
            };
            exact(call, policy).map(offer).into_iter().collect()
        })
    }
}

/// The rules that an answer may write, and where: those that let the call pass and hold no secret.
fn offers(matter: &Matter<'_>) -> Vec<Offer> {
    let Matter { asked, call, member, loaded, places, machine, propose, .. } = matter;
    if !loaded.may_save_rules() {
        return Vec::new();
    }
    let session = (!asked.session.is_empty()).then_some(Layer::Session);
    let files = [Layer::Local, Layer::User].into_iter().filter(|layer| places.writable(*layer).is_some());
    let layers: Vec<Layer> = session.into_iter().chain(files).collect();
    let mut offers = (propose.0)(call, &member.policy, machine);
    offers.retain(|offer| plain(&offer.rule) == offer.rule && would_pass(matter, &offer.rule));
    offers.into_iter().take(MOST).map(|offer| Offer { layers: layers.clone(), ..offer }).collect()
}

/// A rule for exactly this call, and what it covers in words.
fn exact(call: &Call, policy: &Policy) -> Option<(Rule, String)> {
    let tool = policy.tool(&call.tool);
    let text = tool.field.and_then(|field| call.text(field)).filter(|text| text.len() <= LONGEST_RULE);
    match tool.kind {
        Kind::Shell => {
            let command = text.filter(|text| !text.contains(['\n', '\r', '\0']))?;
            let pattern = command.trim().replace('\\', r"\\").replace('*', r"\*");
            Some((Rule::content(&call.tool, &pattern), "exactly this command".to_owned()))
        }
        Kind::Fetch => {
            let host = reqwest::Url::parse(text?).ok()?.host_str()?.to_owned();
            let rule = Rule::content(&call.tool, &format!("domain:{host}"));
            Some((rule, format!("every page of {host}")))
        }
        Kind::Plain if call.tool.starts_with("mcp__") => {
            Some((Rule::tool(&call.tool), format!("every call of {}", call.tool)))
        }
        Kind::Powershell
        | Kind::Read
        | Kind::Search
        | Kind::Edit
        | Kind::Agent
        | Kind::Skill
        | Kind::Books
        | Kind::Person
        | Kind::Plain => None,
    }
}

/// Whether the call would pass with the rule: where the question is not a matter of allow rules, none is offered.
fn would_pass(matter: &Matter<'_>, rule: &str) -> bool {
    let Matter { call, member, machine, .. } = matter;
    let mut sources = member.policy.sources().to_vec();
    let root = member.policy.workspace.directory.clone();
    sources.push(Source::of(Layer::Session, &root, vec![Written::new(Verdict::Allow, rule)]));
    let policy = Policy::build(member.policy.workspace.clone(), sources, member.policy.options.clone());
    let session = Session { aborted: None, ..member.session.clone() };
    let begun = Evaluation::begin(Call::clone(call), Arc::new(policy), session);
    begun.is_ok_and(|mut evaluation| {
        observe_all(&mut evaluation, *machine);
        evaluation.standing().is_some_and(|decision| decision.verdict == Verdict::Allow)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayi_core::call::Workspace;
    use mayi_core::policy::Options;
    use serde_json::json;

    #[test]
    fn a_rule_for_exactly_this_call_says_no_more() {
        let policy = Policy::build(Workspace::at("/w"), Vec::new(), Options::default());
        let table = [
            (Call::shell("npm run build"), Some("Bash(npm run build)")),
            (Call::shell("rm *.o"), Some(r"Bash(rm \*.o)")),
            (Call::shell("git push:*"), Some(r"Bash(git push:\*)")),
            (Call::shell(r"grep \\* x"), Some(r"Bash(grep \\\\\\\\\* x)")),
            (Call::shell("a\nb"), None),
            (Call::shell(&"x".repeat(600)), None),
            (Call::new("WebFetch", json!({"url": "https://a.example/x"})), Some("WebFetch(domain:a.example)")),
            (Call::new("mcp__s__t", json!({})), Some("mcp__s__t")),
            (Call::new("Edit", json!({"file_path": "/w/a"})), None),
            (Call::new("Teleport", json!({})), None),
        ];
        for (call, expected) in table {
            let rule = exact(&call, &policy).map(|(rule, _)| rule.to_string());
            assert_eq!(rule.as_deref(), expected, "{call:?}");
        }
    }

    #[test]
    fn a_part_is_found_in_what_is_shown() {
        let part = mayi_core::reason::Part { text: "make".to_owned(), why: "nobody".to_owned(), span: Some((5, 9)) };
        let reason = Reason::Silence { part: Some(part) };
        let found = |command: &str, shown: &str| parts(command, &json!({ "command": shown }), &reason);
        assert_eq!(found("ls ; make", "ls ; make"), [Part { start: 5, end: 9, note: "nobody".to_owned() }]);
        assert_eq!(found("k=1; make", "k=[secret]; make"), [Part { start: 12, end: 16, note: "nobody".to_owned() }]);
        assert_eq!(found("ls ; make", "something else"), []);
    }

    #[test]
    fn secrets_are_hidden_wherever_they_stand() {
        let token = format!("ghp_{}", "a1B2".repeat(10));
        let value = json!({"command": format!("curl -H 'x: {token}'"), "deep": [{"k": token}]});
        assert!(!hidden(&value).to_string().contains(&token));
        assert!(!each_hidden(&value).to_string().contains(&token));
    }
}
