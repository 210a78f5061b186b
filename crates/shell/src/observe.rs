//! Observations: what the text alone cannot tell. The analysis declares questions; whoever runs it looks once,
//! within bounds, and hands the answers back as plain data, so that a decision can be replayed.

use std::collections::BTreeMap;

/// Something the analysis would like to know of the machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
    /// What a path really is: its target after every symbolic link. Absolute path.
    Path(String),
    /// The text of a small file: a task file, a script about to be run. Absolute path.
    File(String),
    /// Git's configuration that applies in this directory. Absolute path.
    Repository(String),
    /// Which file a program name runs.
    Program(String),
}

/// What was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The path after every symbolic link; the path itself where there is none.
    Real(String),
    /// The path's links go round in circles.
    Loop,
    /// The file's text.
    Text(String),
    /// There is no such file.
    Absent,
    /// The keys of a repository's own configuration that name a program or include another file, with values;
    /// empty for a clean repository or none at all.
    Configuration(Vec<(String, String)>),
    /// The program is the system's own.
    System,
    /// The program lies in the project or another place an agent could write.
    Planted(String),
    /// Looked, but could not find out (too big, unreadable, time-out). Never safe.
    Unknown,
}

/// Answers gathered so far.
#[derive(Clone, Debug, Default)]
pub struct Observations {
    answers: BTreeMap<Question, Answer>,
    unasked: Unasked,
}

/// What a question means that nobody looked into.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Unasked {
    /// It is open.
    #[default]
    Open,
    /// The machine is imagined, and there is nothing on it: no links, no files, no repository configuration.
    Nothing,
    /// Nobody can look any more.
    Unknown,
}

static NOTHING_THERE: Answer = Answer::Absent;
static NOTHING_CONFIGURED: Answer = Answer::Configuration(Vec::new());
static NOTHING_PLANTED: Answer = Answer::System;

impl Observations {
    /// Records an answer.
    pub fn insert(&mut self, question: Question, answer: Answer) {
        self.answers.insert(question, answer);
    }

    /// The observations of an imagined machine with nothing on it: every question is answered.
    pub fn of_nothing() -> Self {
        Self { answers: BTreeMap::new(), unasked: Unasked::Nothing }
    }

    /// Whatever was not looked into until now is unknown: there are no open questions any more.
    pub fn close(&mut self) {
        self.unasked = Unasked::Unknown;
    }

    /// Nothing was looked into.
    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// The answer, if the question was looked into.
    pub fn answer(&self, question: &Question) -> Option<&Answer> {
        self.answers.get(question).or(match (self.unasked, question) {
            (Unasked::Open, _) => None,
            (Unasked::Unknown, _) => Some(&Answer::Unknown),
            (Unasked::Nothing, Question::Path(_) | Question::File(_)) => Some(&NOTHING_THERE),
            (Unasked::Nothing, Question::Repository(_)) => Some(&NOTHING_CONFIGURED),
            (Unasked::Nothing, Question::Program(_)) => Some(&NOTHING_PLANTED),
        })
    }
}
