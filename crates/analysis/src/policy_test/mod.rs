//! Tests of a policy: calls with the verdict, step and rule that is expected, in Markdown tables or TOML. A test that
//! brings settings of its own is decided by those, any other by the settings of the project. No file of the machine is
//! looked at, so a test says the same everywhere.

mod coverage;
mod junit;
pub mod pages;
mod sheet;

use std::sync::Arc;

use mayi_core::policy::Policy;
use mayi_engine::batch::{self, Line};
use mayi_settings::Loaded;
use serde::Serialize;
use serde_json::Value;

pub use coverage::{Coverage, Covered};
pub use junit::junit;
use pages::{Expected, Failure, Problem, Row};

/// A file of tests.
#[derive(Clone, Debug, PartialEq)]
pub struct File {
    /// Its name, as a person would say it.
    pub name: String,
    /// Its tests.
    pub rows: Vec<Row>,
    /// What cannot be read in it. It is never passed over: a test that was meant and not run is no pass.
    pub problems: Vec<Problem>,
}

/// Reads a file of tests: TOML by its name, a page otherwise.
pub fn read(name: &str, text: &str) -> File {
    let (rows, problems) = if name.ends_with(".toml") {
        sheet::read(name, text)
    } else {
        let page = pages::read(name, text);
        (page.rows, page.problems)
    };
    File { name: name.to_owned(), rows, problems }
}

/// What a file's tests came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Its name.
    pub name: String,
    /// The tests, each with its failure if it failed.
    pub tests: Vec<(Row, Option<Failure>)>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl Outcome {
    /// How many tests passed.
    pub fn passed(&self) -> usize {
        self.tests.iter().filter(|(_, failure)| failure.is_none()).count()
    }

    /// Those that did not.
    pub fn failures(&self) -> impl Iterator<Item = &Failure> {
        self.tests.iter().filter_map(|(_, failure)| failure.as_ref())
    }

    /// Whether everything passed.
    pub fn is_good(&self) -> bool {
        self.problems.is_empty() && self.failures().next().is_none()
    }
}

/// Runs tests under the settings of a project.
pub struct Runner<'a> {
    loaded: &'a Loaded,
    coverage: Coverage,
}

impl<'a> Runner<'a> {
    /// A runner.
    pub fn new(loaded: &'a Loaded) -> Self {
        Self { loaded, coverage: Coverage::of(&loaded.policy) }
    }

    /// Runs a file.
    pub fn run(&mut self, file: File) -> Outcome {
        let File { name, rows, problems } = file;
        let tests = rows.into_iter().map(|row| {
            let got = self.answer(&row.request);
            let failure = (!row.expected.is_met_by(&got)).then(|| Failure { row: row.clone(), got });
            (row, failure)
        });
        Outcome { name, tests: tests.collect(), problems }
    }

    /// What the tests hit, to be added to and shown.
    pub fn coverage(self) -> Coverage {
        self.coverage
    }

    fn answer(&mut self, request: &Value) -> Value {
        let answered = self.decided(request).unwrap_or_else(|error| batch::failed(&Value::Null, error));
        // What was just written as JSON can be read as such.
        serde_json::from_str(&answered).unwrap_or_default()
    }

    fn decided(&mut self, request: &Value) -> Result<String, String> {
        let said = |error: batch::BadLine| error.to_string();
        let line = Line::read(request.to_string().as_bytes()).map_err(|(_, error)| said(error))?;
        let (policy, whose) = self.policy(&line).map_err(said)?;
        let session = line.session(line.classifier, &policy);
        let decided = line.decide(policy, session).map_err(said)?.map_err(|aborted| aborted.to_string())?;
        if whose == Whose::Projects {
            self.coverage.note_test(&decided.decision.reason);
        }
        Ok(decided.answer(&line.id, None))
    }

    /// The policy of a test.
    fn policy(&self, line: &Line) -> Result<(Arc<Policy>, Whose), batch::BadLine> {
        let own = &self.loaded.policy;
        if line.brings_settings() {
            let workspace = line.workspace(&own.workspace.directory)?;
            return Ok((line.loaded(&workspace, &[])?.policy, Whose::Own));
        }
        let mut policy = Arc::clone(own);
        if line.sandbox.is_some_and(|sandbox| sandbox.enabled) {
            Arc::make_mut(&mut policy).options.sandbox.enabled = true;
        }
        Ok((policy, Whose::Projects))
    }
}

/// Whose policy a test is decided by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Whose {
    /// The project's.
    Projects,
    /// One that it brings.
    Own,
}

/// A test in JSON.
#[derive(Serialize)]
struct Shown<'a> {
    at: String,
    test: &'a str,
    passed: bool,
    expected: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    got: Option<&'a Value>,
}

/// Everything as JSON.
pub fn to_json(outcomes: &[Outcome], coverage: Option<&Coverage>) -> Value {
    let shown = |(row, failure): &(Row, Option<Failure>)| {
        let got = failure.as_ref().map(|failure| &failure.got);
        let Row { at, text, expected, .. } = row;
        let expected: &Expected = expected;
        let shown =
            Shown { at: at.to_string(), test: text, passed: got.is_none(), expected: expected.to_string(), got };
        serde_json::to_value(shown).unwrap_or_default()
    };
    let files: Vec<Value> = outcomes
        .iter()
        .map(|outcome| {
            let problems: Vec<String> = outcome.problems.iter().map(ToString::to_string).collect();
            let tests: Vec<Value> = outcome.tests.iter().map(shown).collect();
            serde_json::json!({ "file": outcome.name, "tests": tests, "problems": problems })
        })
        .collect();
    let passed: usize = outcomes.iter().map(Outcome::passed).sum();
    let failed: usize = outcomes.iter().map(|outcome| outcome.failures().count()).sum();
    let unread: usize = outcomes.iter().map(|outcome| outcome.problems.len()).sum();
    let mut json = serde_json::json!({ "passed": passed, "failed": failed, "unread": unread, "files": files });
    if let (Some(coverage), Some(object)) = (coverage, json.as_object_mut()) {
        object.insert("coverage".to_owned(), serde_json::to_value(coverage.rules()).unwrap_or_default());
    }
    json
}
