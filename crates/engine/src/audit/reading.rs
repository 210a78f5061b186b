//! Reading an audit back: line by line with its place, over every file of it, in bounded memory. Reading is tolerant: a
//! line that is broken is named and passed over, and what is not known in a record is left alone.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::chain::Link;
use super::ground::Ground;
use super::{files, seal};

/// The longest line that is read. A longer one is broken.
const LINE_LIMIT: usize = 4 * 1024 * 1024;

/// Lines of any reader, one at a time. What is beyond the limit of a line is dropped, so that a record cannot fill the
/// memory.
#[derive(Debug)]
pub(crate) struct Bounded<R> {
    reader: R,
    line: Vec<u8>,
}

impl<R: BufRead> Bounded<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, line: Vec::new() }
    }

    /// The next line without its end, or what was kept of it; `None` after the last.
    pub(crate) fn next_line(&mut self) -> io::Result<Option<&[u8]>> {
        self.line.clear();
        let mut read = 0;
        loop {
            let chunk = self.reader.fill_buf()?;
            if chunk.is_empty() {
                return Ok((read > 0).then_some(self.line.as_slice()));
            }
            let end = chunk.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(chunk.len(), |end| end + 1);
            if self.line.len() <= LINE_LIMIT {
                self.line.extend(chunk.iter().take(end.unwrap_or(chunk.len())));
            }
            self.reader.consume(taken);
            read += taken;
            if end.is_some() {
                return Ok(Some(&self.line));
            }
        }
    }
}

/// A place in an audit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// The file.
    pub file: Arc<Path>,
    /// The line, from 1.
    pub line: usize,
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file.display(), self.line)
    }
}

/// A line that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {what}")]
pub struct Broken {
    /// Where.
    pub place: Place,
    /// What is wrong with it.
    pub what: String,
}

/// A line as it stands in its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where.
    pub place: Place,
    /// Its text.
    pub text: String,
}

/// The lines of an audit, oldest first: of the files that were put aside, then of the one that is written.
#[derive(Debug)]
pub struct Lines {
    ahead: std::vec::IntoIter<PathBuf>,
    open: Option<(Bounded<BufReader<File>>, Place)>,
}

impl Lines {
    /// The lines of an audit. One that is not there has none.
    pub fn of(file: &Path) -> Self {
        Self { ahead: files::files(file).into_iter(), open: None }
    }

    fn next_of_open(&mut self) -> Option<Result<Line, Broken>> {
        let (lines, place) = self.open.as_mut()?;
        loop {
            place.line += 1;
            let broken = |what: String| Some(Err(Broken { place: place.clone(), what }));
            let line = match lines.next_line() {
                Ok(Some(line)) => line,
                Ok(None) => return None,
                Err(error) => {
                    let place = place.clone();
                    self.open = None;
                    return Some(Err(Broken { place, what: format!("the file cannot be read on: {error}") }));
                }
            };
            if line.len() > LINE_LIMIT {
                return broken(format!("the line is longer than {} MiB", LINE_LIMIT >> 20));
            }
            match std::str::from_utf8(line) {
                Ok(text) if text.trim().is_empty() => {}
                Ok(text) => return Some(Ok(Line { place: place.clone(), text: text.to_owned() })),
                Err(_) => return broken("the line is no text".to_owned()),
            }
        }
    }
}

impl Iterator for Lines {
    type Item = Result<Line, Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(line) = self.next_of_open() {
                return Some(line);
            }
            let file = self.ahead.next()?;
            let place = Place { file: file.clone().into(), line: 0 };
            match File::open(&file) {
                Ok(open) => self.open = Some((Bounded::new(BufReader::new(open)), place)),
                Err(error) => {
                    self.open = None;
                    return Some(Err(Broken { place, what: format!("the file cannot be read: {error}") }));
                }
            }
        }
    }
}

/// A recorded decision.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Recorded {
    /// When, in milliseconds of the Unix clock.
    #[serde(default)]
    pub at: u64,
    /// The agent program.
    #[serde(default)]
    pub agent: String,
    /// Its session.
    #[serde(default)]
    pub session: String,
    /// The agent within the session.
    #[serde(default)]
    pub child: Option<String>,
    /// The agent's name for the call.
    #[serde(default)]
    pub call_id: Option<String>,
    /// The working directory.
    #[serde(default)]
    pub cwd: String,
    /// The mode it was decided in.
    #[serde(default)]
    pub mode: Mode,
    /// The tool.
    pub tool: String,
    /// Its input, secrets hidden.
    #[serde(default)]
    pub input: Value,
    /// The verdict.
    pub verdict: Verdict,
    /// The step that settled it.
    pub step: Step,
    /// Why, as data.
    #[serde(default)]
    pub reason: Value,
    /// Why, in words.
    #[serde(default)]
    pub message: String,
    /// The path through the steps.
    #[serde(default)]
    pub trace: Value,
    /// What it rested on; a record of an earlier version has nothing of it.
    #[serde(default)]
    pub ground: Option<Ground>,
    /// Its link in the chain.
    #[serde(skip)]
    pub link: Option<Link>,
}

/// What a line is.
#[derive(Clone, Debug, PartialEq)]
pub enum Record {
    /// A decision.
    Decision(Box<Recorded>),
    /// What a person answered.
    Answer(Answered),
    /// Something else, of this kind.
    Other(String),
}

/// What a person answered when mayi itself asked them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Answered {
    /// The session.
    #[serde(default)]
    pub session: String,
    /// The agent's name for the call.
    #[serde(default)]
    pub call_id: Option<String>,
    /// What they said.
    pub verdict: Verdict,
}

#[derive(Deserialize)]
struct Head {
    kind: String,
}

impl Recorded {
    /// The call.
    pub fn call(&self) -> Call {
        Call::new(&self.tool, self.input.clone())
    }

    /// Its short name for people: the beginning of its link, or when it was made.
    pub fn name(&self) -> String {
        match self.link {
            Some(link) => link.to_string().chars().take(10).collect(),
            None => format!("@{}", self.at),
        }
    }

    /// Whether a person could mean this record by a word: its name, more of its link, or the agent's name of its call.
    pub fn is_called(&self, word: &str) -> bool {
        const SHORTEST: usize = 4;
        let by_link = |link: Link| word.len() >= SHORTEST && link.to_string().starts_with(word);
        self.link.is_some_and(by_link) || self.call_id.as_deref() == Some(word) || self.name() == word
    }
}

impl Record {
    /// Reads the text of a record, with or without its link.
    pub fn read(text: &str) -> Result<Self, serde_json::Error> {
        let Head { kind } = serde_json::from_str(text)?;
        match kind.as_str() {
            "decision" => {
                let mut recorded: Recorded = serde_json::from_str(text)?;
                recorded.link = seal::unseal(text).map(|unsealed| unsealed.link);
                Ok(Record::Decision(Box::new(recorded)))
            }
            "answer" => serde_json::from_str(text).map(Record::Answer),
            _ => Ok(Record::Other(kind)),
        }
    }
}

/// The records of an audit, oldest first.
#[derive(Debug)]
pub struct Reader {
    lines: Lines,
}

impl Reader {
    /// The records of an audit and of the files that were put aside from it.
    pub fn of(file: &Path) -> Self {
        Self { lines: Lines::of(file) }
    }
}

impl Iterator for Reader {
    type Item = Result<(Place, Record), Broken>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.lines.next()?.and_then(|Line { place, text }| match Record::read(&text) {
            Ok(record) => Ok((place, record)),
            Err(error) => Err(Broken { place, what: format!("no record: {error}") }),
        }))
    }
}

/// Which decisions somebody wants to see. Nothing set is all of them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// From this moment on.
    pub since: Option<u64>,
    /// Up to this moment.
    pub until: Option<u64>,
    /// Of this session.
    pub session: Option<String>,
    /// Of this tool.
    pub tool: Option<String>,
    /// With this verdict.
    pub verdict: Option<Verdict>,
    /// Settled at this step.
    pub step: Option<Step>,
    /// With this text in the input or the reason, whatever the case of letters.
    pub text: Option<String>,
}

impl Filter {
    /// Whether a decision is among them.
    pub fn holds(&self, recorded: &Recorded) -> bool {
        fn is<T: PartialEq>(wanted: &Option<T>, own: &T) -> bool {
            wanted.as_ref().is_none_or(|wanted| wanted == own)
        }
        let text = || {
            self.text.as_deref().is_none_or(|text| {
                let text = text.to_lowercase();
                recorded.message.to_lowercase().contains(&text) || speaks_of(&recorded.input, &text)
            })
        };
        self.since.is_none_or(|since| recorded.at >= since)
            && self.until.is_none_or(|until| recorded.at <= until)
            && is(&self.session, &recorded.session)
            && is(&self.tool, &recorded.tool)
            && is(&self.verdict, &recorded.verdict)
            && is(&self.step, &recorded.step)
            && text()
    }
}

fn speaks_of(input: &Value, text: &str) -> bool {
    match input {
        Value::Null => false,
        Value::Bool(_) | Value::Number(_) => input.to_string().contains(text),
        Value::String(own) => own.to_lowercase().contains(text),
        Value::Array(items) => items.iter().any(|item| speaks_of(item, text)),
        Value::Object(fields) => fields.values().any(|value| speaks_of(value, text)),
    }
}
