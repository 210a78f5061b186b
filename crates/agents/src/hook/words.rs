//! What an agent's model and its user are told, in words.

use mayi_core::reason::Reason;
use mayi_core::verdict::Verdict;
use mayi_engine::desk::Answered;

use crate::adapter::Message;

/// Longer reasons are cut: they are for reading.
const LONGEST: usize = 2_000;

/// Why, with what would be acceptable instead of a denied call, or what a call does that a person is asked about.
pub(super) fn reason(answered: &Answered, message: &Message) -> String {
    let decision = &answered.decision;
    let child = message.child.as_ref().map(|child| format!("[{}] ", child.kind.as_ref().unwrap_or(&child.id)));
    let why = match &answered.aborted {
        Some(aborted) => format!("{aborted} ({})", decision.reason),
        None => decision.reason.to_string(),
    };
    let advice = match decision.verdict {
        Verdict::Deny => advice(decision.reason.root()),
        Verdict::Allow | Verdict::Ask => None,
    };
    let advice = advice.map(|advice| format!(" {advice}")).unwrap_or_default();
    let instead = answered.instead.as_ref().map(|command| format!(" This would pass: `{command}`."));
    let explanation = answered.explanation.as_ref().map(|explanation| format!("\n{explanation}"));
    let after = instead.or(explanation).unwrap_or_default();
    let unsaid = answered.unanswered.iter().filter(|problem| !why.contains(problem.as_str()));
    let unanswered = unsaid.flat_map(|problem| ["\n", problem.as_str()]).collect::<String>();
    plain(&["mayi: ", &child.unwrap_or_default(), &why, &advice, &after, &unanswered].concat())
}

/// What would be acceptable instead, so that the model can find a safer way.
fn advice(reason: &Reason) -> Option<String> {
    if let Some(category) = reason.category() {
        let category = mayi_core::risk::categories().iter().find(|known| known.id == category)?;
        // What the guidance names was not decided, so nothing is promised of it.
        let guidance = category.guidance.replace("Acceptable instead:", "Rather, to be decided anew:");
        return Some(format!("[{}] {guidance}", category.title));
    }
    let silence = matches!(reason, Reason::Silence { .. });
    silence.then(|| "A rule in settings can allow it; until then, find another way.".to_owned())
}

/// One visible text: control characters shown, secrets hidden, not too long.
pub(super) fn plain(text: &str) -> String {
    // Half a secret is not found any more, so what will be cut has its secrets hidden before.
    let mut hidden = String::new();
    let text = if text.len() > LONGEST {
        hidden.push_str(text);
        mayi_settings::secret::redact(&mut hidden);
        &hidden
    } else {
        text
    };
    let mut shown = String::with_capacity(text.len().min(LONGEST));
    for letter in text.chars() {
        if shown.len() >= LONGEST {
            shown.push('…');
            break;
        }
        if letter == '\n' || !(letter.is_control() || is_invisible(letter)) {
            shown.push(letter);
        } else {
            shown.extend(letter.escape_unicode());
        }
    }
    mayi_settings::secret::redact(&mut shown);
    shown
}

/// Characters that change how the text around them is read without being seen.
fn is_invisible(letter: char) -> bool {
    matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_half_of_a_secret_is_left_where_a_long_text_is_cut() {
        let token = format!("sk-ant-{}", "a1B2".repeat(10));
        for before in LONGEST - 30..LONGEST {
            let shown = plain(&format!("{} {token}", "x".repeat(before)));
            assert!(!shown.contains("sk-ant"), "{before}: {}", &shown[before..]);
        }
    }
}
