//! Questions in words for a terminal. Everything that comes from an agent is made visible first.

use mayi_core::verdict::Verdict;
use mayi_engine::remote::wire::{Approval, Question, State};
use serde_json::Value;

use crate::paint;

/// How much of a text is shown on one line.
const LINE: usize = 100;
/// How much of an input is shown at all.
const WHOLE: usize = 4000;

/// One question on one line.
pub(super) fn line(approval: &Approval) -> String {
    let question = &approval.question;
    let what = format!("{} {}", question.tool, what(question));
    let state = match approval.state {
        State::Pending => paint::caution("waits"),
        State::Answered | State::Expired | State::Withdrawn => outcome_word(approval),
    };
    format!(
        "{}  {state}  {}  {}",
        paint::strong(&approval.id),
        who(question),
        cut(&paint::visible(&what).replace('\n', "\\n"), LINE)
    )
}

/// What a question is about: the one field that says it, or the whole input.
fn what(question: &Question) -> String {
    let named = ["command", "file_path", "url", "path", "pattern"];
    let text = named.into_iter().find_map(|name| question.input.get(name).and_then(Value::as_str));
    text.map_or_else(|| question.input.to_string(), str::to_owned)
}

fn who(question: &Question) -> String {
    let child = question.child.as_deref().map(|child| format!("/{child}")).unwrap_or_default();
    let host = question.host.as_deref().map(|host| format!(" on {host}")).unwrap_or_default();
    paint::visible(&format!("{}{child}{host}", question.agent))
}

fn cut(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most).chain(['…']).collect()
}

/// A question with everything that is known of it but its trace.
pub(super) fn whole(approval: &Approval) -> String {
    let question = &approval.question;
    let shown = |text: &str| paint::visible(text);
    let mut lines = vec![
        format!("{}  {}", paint::strong(&approval.id), outcome_word(approval)),
        format!("  who     {}, session {}", who(question), shown(&question.session)),
        format!("  where   {}", shown(&question.cwd)),
        format!(
            "  what    {} {}",
            paint::strong(shown(&question.tool)),
            indented(&cut(&shown(&what(question)), WHOLE))
        ),
        format!("  why     {} (step {}, mode {})", shown(&question.message), shown(&question.step), question.mode),
    ];
    lines.extend(question.effects.iter().map(|effect| format!("          {}", paint::quiet(shown(effect)))));
    lines.extend(question.risk.as_ref().map(|risk| format!("  risk    {}", shown(risk))));
    lines.extend(question.parts.iter().map(|part| format!("          {}", paint::caution(shown(&part.note)))));
    lines.extend(
        question.preview.as_ref().map(|preview| format!("  change  {}", indented(&cut(&shown(preview), WHOLE)))),
    );
    for offer in &question.offers {
        let layers: Vec<&str> = offer.layers.iter().map(|layer| layer.word()).collect();
        lines.push(format!("  offers  {} ({})", shown(&offer.rule), layers.join(", ")));
    }
    if let Some(comment) = approval.answer.as_ref().and_then(|answer| answer.comment.as_ref()) {
        lines.push(format!("  said    {}", shown(comment)));
    }
    lines.join("\n")
}

fn indented(text: &str) -> String {
    text.replace('\n', "\n          ")
}

/// The path through the steps.
pub(super) fn trace(question: &Question) -> String {
    let text = |row: &Value, name: &str| paint::visible(row.get(name).and_then(Value::as_str).unwrap_or_default());
    let row = |row: &Value| {
        let line = format!(
            "  {:<4} {:<18} {:<6} {}",
            text(row, "step"),
            text(row, "name"),
            text(row, "finding"),
            text(row, "note")
        );
        line.trim_end().to_owned()
    };
    question.trace.as_array().into_iter().flatten().map(row).collect::<Vec<_>>().join("\n")
}

/// How a question stands, in a word or two.
fn outcome_word(approval: &Approval) -> String {
    match (approval.state, &approval.answer) {
        (State::Pending, _) => paint::caution("waits"),
        (State::Answered, Some(answer)) => paint::verdict(answer.verdict, answer.verdict.word()),
        (State::Answered, None) => paint::quiet("answered"),
        (State::Expired, _) => paint::verdict(Verdict::Deny, "expired"),
        (State::Withdrawn, _) => paint::quiet("withdrawn"),
    }
}

/// What became of a question that was answered.
pub(super) fn outcome(approval: &Approval) -> String {
    let by = approval.answer.as_ref().map(|answer| format!(", by {}", paint::visible(&answer.by))).unwrap_or_default();
    let rule = approval.answer.as_ref().and_then(|answer| Some((answer.rule.as_ref()?, answer.layer?)));
    let rule = rule.map(|(rule, layer)| format!(", with {} for {layer}", paint::visible(rule))).unwrap_or_default();
    format!("{}: {}{by}{rule}", approval.id, outcome_word(approval))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_agents_write_is_visible_and_stays_on_its_line() {
        let question = Question {
            agent: "a\u{202e}b".to_owned(),
            tool: "Bash".to_owned(),
            input: json!({"command": "ls\n\u{1b}[2J\u{200b}rm"}),
            message: "m\u{7}".to_owned(),
            ..Question::default()
        };
        let approval = Approval {
            id: "ap_1".to_owned(),
            created_at: 0,
            expires_at: 1,
            state: State::Pending,
            question,
            answer: None,
        };
        for text in [line(&approval), whole(&approval)] {
            assert!(!text.contains(['\u{202e}', '\u{200b}', '\u{7}']) && !text.contains("\u{1b}[2J"), "{text:?}");
            assert!(text.contains("\\u{1b}[2J") && text.contains("\\u{202e}"), "{text:?}");
        }
        assert_eq!(line(&approval).lines().count(), 1);
    }
}
