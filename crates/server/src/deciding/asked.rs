//! A call as it comes to the server: a line of the batch format, and who makes it.

use mayi_core::verdict::Verdict;
use mayi_engine::batch::Line;
use mayi_engine::batch::SandboxState;
use serde::Deserialize;
use serde_json::Value;

/// Names that agents choose are short.
const LONGEST_NAME: usize = 200;

/// A call, and who makes it.
#[derive(Debug)]
pub struct Asked {
    /// The call and the circumstances it names.
    pub line: Line,
    /// Who makes it, and what is to become of it.
    pub about: About,
}

/// Who makes a call, and what is to become of it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct About {
    /// The session that it belongs to.
    pub session: Option<String>,
    /// The agent program.
    pub agent: Option<String>,
    /// The agent within the session.
    pub child: Option<String>,
    /// The agent's name for the call.
    pub call_id: Option<String>,
    /// The machine.
    pub host: Option<String>,
    /// How long the answer may wait for a person.
    pub wait_seconds: Option<u64>,
    /// Nothing is recorded and nobody is asked.
    pub dry_run: bool,
}

/// A line that nothing can be decided about: what it is known by, and why.
#[derive(Debug)]
pub struct Unreadable {
    /// What it is known by.
    pub id: Value,
    /// Why.
    pub problem: String,
}

impl Asked {
    /// Reads a call.
    pub fn read(bytes: &[u8]) -> Result<Self, Unreadable> {
        let line = Line::read(bytes).map_err(|(id, error)| Unreadable { id, problem: error.to_string() })?;
        let about: About = match serde_json::from_slice(bytes) {
            Ok(about) => about,
            Err(error) => {
                let problem = format!("not a call of the batch format: {error}");
                return Err(Unreadable { id: line.id, problem });
            }
        };
        if let Some(name) = about.odd_name() {
            let problem = format!("`{name}` is empty, longer than {LONGEST_NAME} bytes or no plain text");
            return Err(Unreadable { id: line.id, problem });
        }
        Ok(Self { line, about }.tamed())
    }

    /// A line that brings its own settings says everything itself. One that leaves the policy to the server cannot at
    /// the same time bring answers that would loosen it: a hook's yes, a classifier's, a sandbox that it switched on.
    fn tamed(mut self) -> Self {
        if !self.line.brings_settings() {
            self.line.classifier = None;
            self.line.hook = self.line.hook.filter(|verdict| *verdict != Verdict::Allow);
            self.line.sandbox = self.line.sandbox.map(|sandbox| SandboxState { enabled: false, ..sandbox });
        }
        self
    }
}

impl About {
    /// The agent program; `api` where it does not say.
    pub fn agent(&self) -> &str {
        self.agent.as_deref().unwrap_or("api")
    }

    fn odd_name(&self) -> Option<&'static str> {
        let names = [
            ("session", &self.session),
            ("agent", &self.agent),
            ("child", &self.child),
            ("call_id", &self.call_id),
            ("host", &self.host),
        ];
        let is_odd = |name: &String| !is_name(name);
        names.into_iter().find(|(_, name)| name.as_ref().is_some_and(is_odd)).map(|(field, _)| field)
    }
}

/// Whether a text can name something: not empty, not long, and nothing in it that no store could keep.
pub fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= LONGEST_NAME && !text.contains(char::is_control)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_that_leaves_the_policy_to_the_server_brings_no_answers() {
        let read = |extra: &str| {
            Asked::read(format!(r#"{{"id":1,"tool":"Bash","input":{{"command":"x"}}{extra}}}"#).as_bytes()).unwrap()
        };
        let tame = read(r#","hook":"allow","classifier":"allow","sandbox":{"enabled":true,"available":true}"#);
        assert_eq!((tame.line.hook, tame.line.classifier), (None, None));
        assert!(tame.line.sandbox.is_some_and(|sandbox| !sandbox.enabled && sandbox.available));
        assert_eq!(read(r#","hook":"deny""#).line.hook, Some(Verdict::Deny));
        let own = read(r#","settings":{},"hook":"allow","classifier":"allow""#);
        assert!(own.line.hook.is_some() && own.line.classifier.is_some());
    }

    #[test]
    fn what_cannot_be_read_keeps_its_id() {
        for (text, says) in [
            (r#"{"id":"a","tool":"Bash"}"#, "input"),
            (r#"{"id":"a","tool":"Bash","input":{},"session":7}"#, "not a call"),
            (r#"{"id":"a","tool":"Bash","input":{},"session":""}"#, "`session` is empty"),
        ] {
            let Unreadable { id, problem } = Asked::read(text.as_bytes()).unwrap_err();
            assert_eq!(id, "a", "{text}");
            assert!(problem.contains(says), "{text}: {problem}");
        }
    }
}
