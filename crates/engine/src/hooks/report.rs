//! What a hook reported, whichever way it was asked: exit code or status, and the JSON object it answered with.
//! Nothing here knows what an event makes of it.

use std::os::unix::process::ExitStatusExt;

use serde_json::{Map, Value};

use crate::hooks::Event;
use crate::hooks::failure::Failure;
use crate::hooks::process::{Ended, Extent};
use crate::hooks::unique::Unique;

/// Longer words of a hook are cut.
const WORDS: usize = 10_000;

/// A report of a hook that was asked and ended.
#[derive(Debug)]
pub(super) struct Report {
    pub(super) manner: Manner,
    /// Its answer, when it gave one.
    pub(super) object: Option<Object>,
    /// What it complained about.
    pub(super) stderr: String,
}

/// How a hook ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// Exit code 0, or a status of success.
    Well,
    /// Exit code 2: it blocks.
    Blocking,
    /// Another way, although it gave an answer.
    Badly(Failure),
}

/// A JSON object that a hook answered with.
#[derive(Clone, Debug, Default)]
pub(super) struct Object(Map<String, Value>);

impl Report {
    /// Reads how a program ended. Plain text is no answer, and no failure either.
    pub(super) fn of_program(ended: &Ended) -> Result<Self, Failure> {
        let stderr = words(&String::from_utf8_lossy(&ended.stderr));
        let manner = match (ended.status.code(), ended.status.signal()) {
            (Some(0), _) => Manner::Well,
            (Some(2), _) => Manner::Blocking,
            (Some(code), _) => Manner::Badly(Failure::Exit { code, stderr: stderr.clone() }),
            (None, signal) => {
                Manner::Badly(Failure::Signal { signal: signal.unwrap_or_default(), stderr: stderr.clone() })
            }
        };
        let answer = Object::read(&ended.stdout);
        let object = match (&manner, answer) {
            (Manner::Well, Ok(None)) if ended.extent == Extent::CutOff => return Err(Failure::LeftRunning),
            (Manner::Badly(failure), Ok(None) | Err(_)) => return Err(failure.clone()),
            (Manner::Blocking, Err(_)) => None,
            (Manner::Well | Manner::Blocking | Manner::Badly(_), answer) => answer?,
        };
        Ok(Self { manner, object, stderr })
    }

    /// Reads the body of a successful response: empty, or a JSON object.
    pub(super) fn of_response(body: &[u8]) -> Result<Self, Failure> {
        let object = Object::read(body)?;
        if object.is_none() && !body.trim_ascii().is_empty() {
            return Err(Failure::NoObject);
        }
        Ok(Self { manner: Manner::Well, object, stderr: String::new() })
    }
}

impl Object {
    /// The object that a text is, if it begins like one.
    fn read(text: &[u8]) -> Result<Option<Self>, Failure> {
        let text = text.trim_ascii();
        // Some programs put a byte order mark before everything they write.
        let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text).trim_ascii();
        if !text.starts_with(b"{") {
            return Ok(None);
        }
        match serde_json::from_slice(text) {
            Ok(Unique(Value::Object(object))) => Ok(Some(Self(object))),
            Ok(Unique(_)) => Ok(None),
            Err(error) if error.is_data() => Err(not_understood(&error.to_string())),
            Err(error) => Err(Failure::BadJson(error.to_string())),
        }
    }

    /// The part that is about one event. It must say so: an answer to another question is no answer to this one.
    pub(super) fn about(&self, event: Event) -> Result<Object, Failure> {
        let part = match self.0.get("hookSpecificOutput") {
            None | Some(Value::Null) => return Ok(Self::default()),
            Some(Value::Object(part)) => part,
            Some(_) => return Err(not_understood("`hookSpecificOutput` is no object")),
        };
        match part.get("hookEventName") {
            Some(Value::String(name)) if name == event.word() => Ok(Self(part.clone())),
            None if part.is_empty() => Ok(Self::default()),
            None => Err(not_understood("`hookEventName` is missing")),
            Some(other) => Err(not_understood(&format!("`hookEventName` is `{other}`, not `{}`", event.word()))),
        }
    }

    /// A field's words, cut to what anybody reads. Blank ones are none.
    pub(super) fn words(&self, field: &str) -> Option<String> {
        self.0.get(field).and_then(Value::as_str).map(words).filter(|words| !words.is_empty())
    }

    /// A field with one of a few words in it.
    pub(super) fn choice(&self, field: &str) -> Result<Option<&str>, Failure> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(word)) => Ok(Some(word)),
            Some(other) => Err(not_understood(&format!("`{field}` is `{other}`, which is no text"))),
        }
    }

    /// A field that is true or false.
    pub(super) fn flag(&self, field: &str) -> Result<Option<bool>, Failure> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(other) => Err(not_understood(&format!("`{field}` is `{other}`, not true or false"))),
        }
    }

    /// A field that holds an object.
    pub(super) fn object(&self, field: &str) -> Result<Option<Object>, Failure> {
        match self.0.get(field) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(object)) => Ok(Some(Object(object.clone()))),
            Some(_) => Err(not_understood(&format!("`{field}` is no object"))),
        }
    }

    /// A field as it is.
    pub(super) fn value(&self, field: &str) -> Option<&Value> {
        self.0.get(field).filter(|value| !value.is_null())
    }

    /// The object as a value.
    pub(super) fn into_value(self) -> Value {
        Value::Object(self.0)
    }

    /// Why the run should end, when the hook wants it to.
    pub(super) fn ends_run(&self) -> Result<Option<String>, Failure> {
        let stops = self.flag("continue")? == Some(false);
        Ok(stops.then(|| self.words("stopReason").unwrap_or_else(|| "a hook ended the run".to_owned())))
    }
}

/// An answer that was not understood, and why.
pub(super) fn not_understood(why: &str) -> Failure {
    Failure::NotUnderstood(words(why))
}

/// Trimmed, and no longer than anybody reads.
fn words(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(WORDS) {
        Some((end, _)) => text.get(..end).unwrap_or(text).to_owned(),
        None => text.to_owned(),
    }
}
