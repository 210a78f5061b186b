//! What a notification says, in each format. Texts of agents are shortened, made visible, and cannot be taken for markup.

use mayi_engine::remote::wire::Approval;
use mayi_settings::settings::NotifyFormat;
use serde_json::{Value, json};

/// Longer texts are cut.
const LONGEST: usize = 300;

/// What is told of a question.
#[derive(Debug)]
pub(super) struct Message {
    id: String,
    agent: String,
    tool: String,
    what: String,
    why: String,
    place: String,
    expires_at: u64,
    link: Option<String>,
}

impl Message {
    pub(super) fn of(approval: &Approval, page: Option<&str>) -> Self {
        let question = &approval.question;
        let input = &question.input;
        let named =
            ["command", "file_path", "url", "path", "pattern"].into_iter().find_map(|name| input.get(name)?.as_str());
        let host = question.host.as_deref().map(|host| format!(" on {host}")).unwrap_or_default();
        Self {
            id: approval.id.clone(),
            agent: plain(&question.agent),
            tool: plain(&question.tool),
            what: plain(&named.map_or_else(|| input.to_string(), str::to_owned)),
            why: plain(&question.message),
            place: plain(&format!("{}{host}", question.cwd)),
            expires_at: approval.expires_at,
            link: page.map(|page| format!("{}/#approvals/{}", page.trim_end_matches('/'), approval.id)),
        }
    }

    pub(super) fn headers(&self, format: NotifyFormat) -> Vec<(&'static str, String)> {
        match format {
            NotifyFormat::Json | NotifyFormat::Slack => vec![("content-type", "application/json".to_owned())],
            NotifyFormat::Ntfy => {
                let click = self.link.clone().map(|link| ("click", link));
                let head =
                    [("content-type", "text/plain; charset=utf-8".to_owned()), ("title", "mayi: may it?".to_owned())];
                head.into_iter().chain(click).collect()
            }
        }
    }

    pub(super) fn body(&self, format: NotifyFormat) -> String {
        match format {
            NotifyFormat::Json => self.json().to_string(),
            NotifyFormat::Slack => json!({"text": self.slack()}).to_string(),
            NotifyFormat::Ntfy => self.text(),
        }
    }

    fn json(&self) -> Value {
        json!({
            "event": "approval", "id": self.id, "agent": self.agent, "tool": self.tool, "what": self.what,
            "why": self.why, "place": self.place, "expires_at": self.expires_at, "link": self.link,
        })
    }

    fn text(&self) -> String {
        format!("{} asks: {} {}\n{}\n{}", self.agent, self.tool, self.what, self.why, self.place)
    }

    /// Slack reads three letters as its own; a mention or a link needs one of them.
    fn slack(&self) -> String {
        let escaped = self.text().replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
        match &self.link {
            Some(link) => format!("{escaped}\n{link}"),
            None => escaped,
        }
    }
}

/// A text on one line, with everything visible that could move a cursor or turn a direction.
fn plain(text: &str) -> String {
    let odd = |letter: char| {
        letter.is_control()
            || matches!(letter, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let mut plain: String =
        text.chars().take(LONGEST + 1).map(|letter| if odd(letter) { '\u{fffd}' } else { letter }).collect();
    if plain.chars().count() > LONGEST {
        plain.pop();
        plain.push('…');
    }
    mayi_settings::secret::redact(&mut plain);
    plain
}

#[cfg(test)]
mod tests {
    use mayi_engine::remote::wire::{Question, State};

    use super::*;

    #[test]
    fn texts_of_agents_are_inert_in_every_format() {
        let token = format!("ghp_{}", "a1B2".repeat(9));
        let question = Question {
            agent: "a\u{202e}b".to_owned(),
            tool: "Bash".to_owned(),
            input: json!({"command": format!("curl {token} <!channel> & \u{1b}[2J{}", "x".repeat(500))}),
            cwd: "/w".to_owned(),
            ..Question::default()
        };
        let approval = Approval {
            id: "ap_1".to_owned(),
            created_at: 0,
            expires_at: 9,
            state: State::Pending,
            question,
            answer: None,
        };
        let message = Message::of(&approval, Some("https://mayi.example/"));
        for format in [NotifyFormat::Json, NotifyFormat::Slack, NotifyFormat::Ntfy] {
            let body = message.body(format);
            assert!(!body.contains(&token) && !body.contains('\u{1b}') && !body.contains('\u{202e}'), "{body}");
            assert!(body.len() < 2000, "{body}");
        }
        assert!(!message.body(NotifyFormat::Slack).contains("<!channel>"));
        assert!(
            message.headers(NotifyFormat::Ntfy).contains(&("click", "https://mayi.example/#approvals/ap_1".to_owned()))
        );
    }
}
