//! Observations: what the text alone cannot tell. The analysis declares questions; whoever runs it looks once,
//! within bounds, and hands the answers back as plain data, so that a decision can be replayed.

use std::collections::BTreeMap;

/// Something the analysis would like to know of the machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Question {
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
}

impl Observations {
    /// Records an answer.
    pub fn insert(&mut self, question: Question, answer: Answer) {
        self.answers.insert(question, answer);
    }

    /// The answer, if the question was looked into.
    pub fn answer(&self, question: &Question) -> Option<&Answer> {
        self.answers.get(question)
    }
}
