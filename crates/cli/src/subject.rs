//! What a call is about, shown: the command or path, every character of it visible, with the part underlined that
//! made the decision.

use mayi_core::call::Call;
use mayi_core::policy::Policy;
use mayi_core::reason::{Part, Reason};
use mayi_core::verdict::Decision;
use unicode_width::UnicodeWidthStr;

use crate::paint;

/// The text of the call's primary field; the whole input of a tool that has none.
pub(crate) fn subject(call: &Call, policy: &Policy) -> String {
    let field = policy.tool(&call.tool).field;
    let text = field.and_then(|field| call.text(field)).map(str::to_owned);
    text.unwrap_or_else(|| call.input.to_string())
}

/// The first lines of the answer: verdict, tool and subject. Further lines of the subject stand under its first.
pub(crate) fn heading(call: &Call, decision: &Decision, policy: &Policy) -> String {
    let text = subject(call, policy);
    let indent = " ".repeat(decision.verdict.word().len() + 2 + call.tool.width() + 2);
    let part = part(decision).filter(|(_, (start, end))| text.get(*start..*end).is_some());
    let mut lines = Vec::new();
    let mut at = 0;
    for line in text.split('\n') {
        lines.push(format!("{}{}", if at == 0 { "" } else { &indent }, paint::visible(line)));
        if let Some((part, (start, end))) = part
            && (at..=at + line.len()).contains(&start)
        {
            let width = |from: usize, to: usize| text.get(from..to).map_or(0, |piece| paint::visible(piece).width());
            let (lead, length) = (width(at, start), width(start, end.min(at + line.len())).max(1));
            let mark = paint::verdict(decision.verdict, "^".repeat(length));
            lines.push(format!("{indent}{}{mark} {}", " ".repeat(lead), paint::visible(&part.why)));
        }
        at += line.len() + 1;
    }
    let tool = paint::strong(paint::visible(&call.tool));
    format!("{}  {tool}  {}", paint::verdict(decision.verdict, decision.verdict.word()), lines.join("\n"))
}

/// The part of a command that nobody speaks for, and where it stands.
fn part(decision: &Decision) -> Option<(&Part, (usize, usize))> {
    let Reason::Silence { part: Some(part) } = decision.reason.root() else { return None };
    part.span.map(|span| (part, span))
}
