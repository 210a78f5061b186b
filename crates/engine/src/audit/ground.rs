//! What a decision rested on beside its call: the version of the policy, who was there, what hooks and the classifier
//! said, what was seen of the machine. Written with each decision, so that it can be made again later and elsewhere.

use std::sync::{Mutex, PoisonError};

use mayi_core::lineage::Inheritance;
use mayi_core::mode::Mode;
use mayi_core::pipeline::Said;
use mayi_core::referral::{Classified, HookAnswer};
use mayi_core::session::{Attendance, Availability, Denials, Session};
use mayi_core::verdict::Verdict;
use mayi_settings::update::SessionPermissions;
use mayi_shell::observe::{Answer, Question};
use serde::{Deserialize, Serialize};

use crate::classifier::Spent;
use crate::observe::Observer;

/// A text beyond this is not kept: a record is no copy of the project.
const LONGEST_TEXT: usize = 2 * 1024;

/// What a decision rested on. What is as it mostly is takes no room in a line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Ground {
    /// The version of the policy (see [`crate::version`]).
    pub policy: String,
    /// The user's home.
    #[serde(skip_serializing_if = "is_usual")]
    pub home: Option<String>,
    /// Directories that counted as working directories too.
    #[serde(skip_serializing_if = "is_usual")]
    pub directories: Vec<String>,
    /// Whether a person could be asked.
    #[serde(skip_serializing_if = "is_usual")]
    pub attendance: Attendance,
    /// What was available to the session.
    #[serde(skip_serializing_if = "is_usual")]
    pub availability: Availability,
    /// Its denials before this call.
    #[serde(skip_serializing_if = "is_usual")]
    pub denials: Denials,
    /// Protected paths that a person had cleared.
    #[serde(skip_serializing_if = "is_usual")]
    pub cleared: Vec<String>,
    /// Rules and directories that answers had added to the session.
    #[serde(skip_serializing_if = "is_usual")]
    pub added: SessionPermissions,
    /// The leads that bound the agent, nearest first.
    #[serde(skip_serializing_if = "is_usual")]
    pub leads: Vec<Lead>,
    /// What was said about the call.
    #[serde(skip_serializing_if = "is_usual")]
    pub heard: Heard,
    /// What was seen of the machine.
    #[serde(skip_serializing_if = "is_usual")]
    pub facts: Vec<Fact>,
}

fn is_usual<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl Ground {
    /// What of a session a decision rests on.
    pub fn of_session(session: &Session) -> Self {
        Self {
            attendance: session.attendance,
            availability: session.availability,
            denials: session.denials,
            cleared: session.cleared.clone(),
            ..Self::default()
        }
    }

    /// A session as it was, in a mode.
    pub fn session(&self, mode: Mode) -> Session {
        Session {
            mode,
            attendance: self.attendance,
            availability: self.availability,
            denials: self.denials,
            cleared: self.cleared.clone(),
            ..Session::default()
        }
    }
}

/// A lead, as far as a decision looked at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lead {
    /// Its name.
    pub name: String,
    /// Its mode.
    pub mode: Mode,
    /// What became of the asks of the agent below it.
    pub inheritance: Inheritance,
    /// The version of its policy.
    pub policy: String,
}

/// What was said about a call by those who were asked before a person.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Heard {
    /// Hooks before the call.
    #[serde(skip_serializing_if = "is_usual")]
    pub before: Option<Said>,
    /// The classifier.
    #[serde(skip_serializing_if = "is_usual")]
    pub classified: Option<Classified>,
    /// What asking the classifier used.
    #[serde(skip_serializing_if = "is_usual")]
    pub spent: Option<Spent>,
    /// Permission hooks.
    #[serde(skip_serializing_if = "is_usual")]
    pub hooks: Option<HookAnswer>,
    /// What went wrong with hooks.
    #[serde(skip_serializing_if = "is_usual")]
    pub problems: Vec<String>,
}

impl Heard {
    /// Notes what permission hooks said. A changed call is recorded in place of the first one and was decided from the
    /// top, with the hook's yes standing before it.
    pub fn note_request(&mut self, answer: Option<&HookAnswer>) {
        match answer {
            Some(HookAnswer { verdict: Verdict::Allow, message, changed: Some(_), .. }) => {
                self.before = Some(Said { verdict: Verdict::Allow, message: message.clone() });
                self.hooks = None;
            }
            Some(answer) => self.hooks = Some(HookAnswer { changed: None, ..answer.clone() }),
            None => self.hooks = None,
        }
    }
}

/// One thing that was looked at, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fact(Subject, String, Seen);

/// What kind of thing was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Subject {
    Path,
    File,
    Repository,
    Program,
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Seen {
    /// The path is what it seems to be.
    Itself,
    Real(String),
    Loop,
    Text(String),
    /// A text of so many bytes, too long to be kept.
    Long(usize),
    Absent,
    Configuration(Vec<(String, String)>),
    System,
    Planted(String),
    Unknown,
}

impl Fact {
    /// What an observer answered.
    pub fn of(question: &Question, answer: &Answer) -> Self {
        let (subject, name) = named(question);
        let seen = match answer {
            Answer::Real(path) if path == name => Seen::Itself,
            Answer::Real(path) => Seen::Real(path.clone()),
            Answer::Loop => Seen::Loop,
            Answer::Text(text) if text.len() > LONGEST_TEXT => Seen::Long(text.len()),
            Answer::Text(text) => Seen::Text(text.clone()),
            Answer::Absent => Seen::Absent,
            Answer::Configuration(keys) => Seen::Configuration(keys.clone()),
            Answer::System => Seen::System,
            Answer::Planted(path) => Seen::Planted(path.clone()),
            Answer::Unknown => Seen::Unknown,
        };
        Self(subject, name.to_owned(), seen)
    }

    /// The answer to a question, if this fact is about it and was kept.
    fn answer(&self, question: &Question) -> Option<Answer> {
        let Self(subject, name, seen) = self;
        if named(question) != (*subject, name) {
            return None;
        }
        Some(match seen {
            Seen::Itself => Answer::Real(name.clone()),
            Seen::Real(path) => Answer::Real(path.clone()),
            Seen::Loop => Answer::Loop,
            Seen::Text(text) => Answer::Text(text.clone()),
            Seen::Long(_) => return None,
            Seen::Absent => Answer::Absent,
            Seen::Configuration(keys) => Answer::Configuration(keys.clone()),
            Seen::System => Answer::System,
            Seen::Planted(path) => Answer::Planted(path.clone()),
            Seen::Unknown => Answer::Unknown,
        })
    }
}

fn named(question: &Question) -> (Subject, &str) {
    match question {
        Question::Path(path) => (Subject::Path, path),
        Question::File(path) => (Subject::File, path),
        Question::Repository(path) => (Subject::Repository, path),
        Question::Program(name) => (Subject::Program, name),
    }
}

/// An observer that keeps what it saw.
#[derive(Debug)]
pub struct Watching<O> {
    observer: O,
    seen: Mutex<Vec<Fact>>,
}

impl<O> Watching<O> {
    /// Watches an observer.
    pub fn new(observer: O) -> Self {
        Self { observer, seen: Mutex::default() }
    }

    /// What was seen, each thing once. It is handed over: whoever asks again is told what was seen since.
    pub fn take_facts(&self) -> Vec<Fact> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl<O: Observer> Observer for Watching<O> {
    fn look(&self, question: &Question) -> Answer {
        let answer = self.observer.look(question);
        let fact = Fact::of(question, &answer);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !seen.contains(&fact) {
            seen.push(fact);
        }
        answer
    }
}

/// An observer that remembers what was seen at the time, and looks with another one at what was not.
#[derive(Clone, Copy, Debug)]
pub struct Remembering<'a, O> {
    /// What was seen.
    pub facts: &'a [Fact],
    /// Who looks otherwise.
    pub otherwise: O,
}

impl<O: Observer> Observer for Remembering<'_, O> {
    fn look(&self, question: &Question) -> Answer {
        let known = self.facts.iter().find_map(|fact| fact.answer(question));
        known.unwrap_or_else(|| self.otherwise.look(question))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Blind;

    impl Observer for Blind {
        fn look(&self, _: &Question) -> Answer {
            Answer::Unknown
        }
    }

    #[test]
    fn what_is_usual_takes_no_room() {
        let ground = Ground { policy: "abc".to_owned(), ..Ground::default() };
        assert_eq!(serde_json::to_string(&ground).unwrap(), r#"{"policy":"abc"}"#);
        assert_eq!(serde_json::from_str::<Ground>("{}").unwrap(), Ground::default());
    }

    #[test]
    fn facts_are_written_and_read_as_they_were() {
        let cases = [
            (Question::Path("/w/a".into()), Answer::Real("/w/a".into())),
            (Question::Path("/w/l".into()), Answer::Real("/etc".into())),
            (Question::Path("/w/o".into()), Answer::Loop),
            (Question::File("/w/f".into()), Answer::Text("x".into())),
            (Question::File("/w/g".into()), Answer::Absent),
            (Question::Repository("/w".into()), Answer::Configuration(vec![("a".into(), "b".into())])),
            (Question::Program("ls".into()), Answer::System),
            (Question::Program("x".into()), Answer::Planted("/w/x".into())),
        ];
        let facts: Vec<Fact> = cases.iter().map(|(question, answer)| Fact::of(question, answer)).collect();
        let text = serde_json::to_string(&facts).unwrap();
        let read: Vec<Fact> = serde_json::from_str(&text).unwrap();
        assert_eq!(read, facts, "{text}");
        let observer = Remembering { facts: &read, otherwise: Blind };
        for (question, answer) in &cases {
            assert_eq!(observer.look(question), *answer, "{question:?}");
        }
        assert_eq!(observer.look(&Question::File("/w/a".into())), Answer::Unknown, "a path is no file's text");
    }

    #[test]
    fn a_long_text_is_looked_at_anew() {
        let question = Question::File("/w/f".into());
        let facts = [Fact::of(&question, &Answer::Text("x".repeat(LONGEST_TEXT + 1)))];
        assert_eq!(Remembering { facts: &facts, otherwise: Blind }.look(&question), Answer::Unknown);
    }
}
