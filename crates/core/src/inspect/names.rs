//! Agents and skills: only their name decides here; what they do comes back call by call.

use crate::inspect::{Inspection, View};
use crate::policy::Text;
use crate::reason::{Part, Reason};
use crate::verdict::Verdict;

/// Starting an agent changes nothing by itself: each of its calls is decided on its own. Only where a classifier
/// answers, it must read the task first.
pub(super) fn inspect_agent(view: &View<'_>) -> Inspection {
    let field = view.tool.field.unwrap_or_default();
    // The type may be left out: then the agent's default one is meant.
    let name = view.call.text(field).unwrap_or("general-purpose").trim();
    let mut inspection = judge(view, &[name.to_owned()]);
    if inspection.allow.is_none() && !view.session.classifies(view.policy) {
        inspection.allow = Some(Reason::Harmless);
    }
    inspection
}

/// A skill's rule is compared with its name, and with its name and arguments.
pub(super) fn inspect_skill(view: &View<'_>) -> Inspection {
    let name = match view.primary() {
        Ok(name) => name.trim().trim_start_matches('/'),
        Err(refusal) => return *refusal,
    };
    let whole = match view.call.text("args").map(str::trim) {
        Some(arguments) if !arguments.is_empty() => format!("{name} {arguments}"),
        Some(_) | None => name.to_owned(),
    };
    judge(view, &[whole, name.to_owned()])
}

/// `names`: the fullest first. Allow needs that one; deny and ask hold for any.
fn judge(view: &View<'_>, names: &[String]) -> Inspection {
    let grants = view.session.grants(view.policy);
    let rule = |list, name: &String| {
        let rule = view.policy.text(list, &view.call.tool, Text { grants, ..Text::every(name) })?;
        Some(Reason::Rule { rule: rule.clone(), matched: Some(name.clone()) })
    };
    let fullest = names.first();
    Inspection {
        deny: names.iter().find_map(|name| rule(Verdict::Deny, name)),
        ask: names.iter().find_map(|name| rule(Verdict::Ask, name)),
        allow: fullest.and_then(|name| rule(Verdict::Allow, name)),
        open: fullest.map(|name| Part { text: name.clone(), why: "no rule speaks for it".to_owned(), span: None }),
        ..Inspection::default()
    }
}
