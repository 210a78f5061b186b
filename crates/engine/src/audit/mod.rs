//! The local audit: one JSON line for every decision, for every answer that a person gave through mayi, and for every
//! run, appended in one write. Secrets are hidden before anything is written. Reading it back is for others; whoever
//! reads skips what it does not know.

pub mod chain;
mod ran;

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mayi_core::call::Call;
use mayi_core::mode::Mode;
use mayi_core::reason::Reason;
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Verdict};
use serde::Serialize;
use serde_json::Value;

use crate::waiting::Waiting;

pub use ran::Ran;

/// Inputs beyond this are written as their size only, and without the findings that quote them: a record is for
/// reading.
const LONGEST_INPUT: usize = 64 * 1024;
/// Words beyond this are cut.
const LONGEST_MESSAGE: usize = 4 * 1024;

/// One line: a decision.
#[derive(Debug, Serialize)]
pub struct Entry<'a> {
    v: u8,
    at: u64,
    kind: &'static str,
    agent: &'a str,
    session: &'a str,
    child: Option<&'a str>,
    event: &'a str,
    call_id: Option<&'a str>,
    cwd: &'a str,
    mode: Mode,
    tool: &'a str,
    input: Value,
    verdict: Verdict,
    step: Step,
    reason: Option<&'a Reason>,
    message: String,
    trace: Option<&'a Trace>,
    took_us: u64,
}

/// What a person said when mayi itself asked them about a call. The call is in the line of its decision.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Answer<'a> {
    /// The agent program.
    pub agent: &'a str,
    /// Its session.
    pub session: &'a str,
    /// The agent within the session.
    pub child: Option<&'a str>,
    /// The agent's name for the call.
    pub call_id: Option<&'a str>,
    /// The tool.
    pub tool: &'a str,
    /// What they said.
    pub verdict: Verdict,
    /// The way the question took to them.
    pub by: &'a str,
}

/// One line: an answer.
#[derive(Serialize)]
struct AnswerLine<'a> {
    v: u8,
    at: u64,
    kind: &'static str,
    #[serde(flatten)]
    answer: &'a Answer<'a>,
}

/// Who asked, where and when: what a line says beside the call and the decision.
#[derive(Clone, Copy, Debug)]
pub struct Circumstances<'a> {
    /// The agent program.
    pub agent: &'a str,
    /// Its session.
    pub session: &'a str,
    /// The agent within the session.
    pub child: Option<&'a str>,
    /// The agent's word for what happened.
    pub event: &'a str,
    /// The agent's name for the call.
    pub call_id: Option<&'a str>,
    /// The working directory.
    pub cwd: &'a str,
    /// The mode it was decided in.
    pub mode: Mode,
    /// When the question came.
    pub since: SystemTime,
}

impl<'a> Entry<'a> {
    /// The line of a decision.
    pub fn decision(circumstances: Circumstances<'a>, call: &'a Call, decision: &'a Decision) -> Self {
        let Circumstances { agent, session, child, event, call_id, cwd, mode, since } = circumstances;
        let now = SystemTime::now();
        let took = now.duration_since(since).unwrap_or_default();
        let size = size(&call.input);
        let is_short = size <= LONGEST_INPUT;
        let mut message = decision.reason.to_string();
        message.truncate(message.floor_char_boundary(LONGEST_MESSAGE));
        Self {
            v: 1,
            at: milliseconds(now),
            kind: "decision",
            agent,
            session,
            child,
            event,
            call_id,
            cwd,
            mode,
            tool: &call.tool,
            input: if is_short { call.input.clone() } else { serde_json::json!({ "omitted_bytes": size }) },
            verdict: decision.verdict,
            step: decision.step,
            reason: is_short.then_some(&decision.reason),
            message,
            trace: is_short.then_some(&decision.trace),
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        }
    }
}

fn milliseconds(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// Roughly how much text an input holds.
fn size(input: &Value) -> usize {
    match input {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + size(value)).sum(),
    }
}

/// Why a line cannot be written.
#[derive(Debug, thiserror::Error)]
#[error(
    "the audit `{path}` cannot be written: {source}\n\
     help: make room or give it another place (`audit.file` in settings); `audit.enabled: false` goes without"
)]
pub struct AuditError {
    /// The file.
    pub path: PathBuf,
    /// What the system says.
    pub source: io::Error,
}

/// The file that lines are appended to.
#[derive(Clone, Debug)]
pub struct Audit {
    file: PathBuf,
    waiting: Waiting,
}

impl Audit {
    /// An audit in a file.
    pub fn in_file(file: PathBuf) -> Self {
        Self { file, waiting: Waiting::default() }
    }

    /// The same, telling somebody before it waits for another process that writes.
    pub fn telling(self, waiting: Waiting) -> Self {
        Self { waiting, ..self }
    }

    /// The file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Appends a decision.
    pub fn append(&self, entry: &Entry<'_>) -> Result<(), AuditError> {
        self.append_line(serde_json::to_string(entry))
    }

    /// Appends a person's answer.
    pub fn append_answer(&self, answer: &Answer<'_>) -> Result<(), AuditError> {
        let at = milliseconds(SystemTime::now());
        self.append_line(serde_json::to_string(&AnswerLine { v: 1, at, kind: "answer", answer }))
    }

    /// Appends a run.
    pub fn append_run(&self, ran: &Ran<'_>) -> Result<(), AuditError> {
        self.append_line(serde_json::to_string(&ran::line(ran)))
    }

    /// In one write at the end of the file, so that lines of several processes never mix.
    fn append_line(&self, line: serde_json::Result<String>) -> Result<(), AuditError> {
        let failed = |source| AuditError { path: self.file.clone(), source };
        let mut line = line.map_err(|error| failed(error.into()))?;
        mayi_settings::secret::redact(&mut line);
        line.push('\n');
        let mut file = self.open().map_err(failed)?;
        if self.lock(&file) && ends_within_a_line(&file) {
            line.insert(0, '\n');
        }
        let written = file.write(line.as_bytes()).map_err(failed)?;
        if written < line.len() {
            return Err(failed(io::Error::new(io::ErrorKind::StorageFull, "no room for a whole line")));
        }
        Ok(())
    }

    /// Whether nobody else writes now.
    fn lock(&self, file: &File) -> bool {
        match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                self.waiting.announce();
                file.lock().is_ok()
            }
            // A pipe or a device need not know locks.
            Err(TryLockError::Error(_)) => false,
        }
    }

    fn open(&self) -> io::Result<File> {
        let open = || {
            let mut options = OpenOptions::new();
            options.append(true).create(true).read(true);
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
            options.open(&self.file)
        };
        match (open(), self.file.parent()) {
            (Err(error), Some(folder)) if error.kind() == io::ErrorKind::NotFound => {
                mayi_settings::trust::make_private(folder)?;
                open()
            }
            (opened, _) => opened,
        }
    }

    /// Puts a file that is a day old aside, and removes those older than `keep`. Called where a session begins.
    pub fn turn_over(&self, now: SystemTime, keep: Duration) -> io::Result<()> {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        let Some((folder, name)) = self.file.parent().zip(self.file.file_stem().and_then(|name| name.to_str())) else {
            return Ok(());
        };
        // A pipe or a device that somebody gave as the audit is theirs.
        let Some(facts) = fs::symlink_metadata(&self.file).ok().filter(fs::Metadata::is_file) else { return Ok(()) };
        let began = facts.created().or(facts.modified());
        if began.is_ok_and(|began| now.duration_since(began).is_ok_and(|age| age > DAY)) {
            fs::rename(&self.file, folder.join(format!("{name}-{}.jsonl", milliseconds(now))))?;
        }
        for entry in fs::read_dir(folder)?.flatten() {
            let file = entry.file_name();
            let is_old = || {
                let modified = entry.metadata().and_then(|metadata| metadata.modified());
                modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|age| age > keep))
            };
            let is_ours = file.to_str().is_some_and(|file| {
                let rest = file.strip_prefix(name).and_then(|rest| rest.strip_prefix('-'));
                rest.and_then(|rest| rest.strip_suffix(".jsonl")).is_some_and(|rest| rest.parse::<u64>().is_ok())
            });
            if is_ours && is_old() {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// Whether a disk that was full, or a power cut, left half a line. The next one must not be lost with it. Asked under the
/// lock alone: without it, a line that another process is still writing looks like half of one.
fn ends_within_a_line(mut file: &File) -> bool {
    let mut last = [b'\n'];
    let read = file.seek(SeekFrom::End(-1)).and_then(|_| file.read(&mut last));
    // An empty file has no last byte, and a pipe or a device has no lines to keep apart.
    read.is_ok() && last != [b'\n']
}
