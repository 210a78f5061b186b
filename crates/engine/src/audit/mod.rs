//! The local audit: one JSON line for every decision, for every answer that a person gave through mayi, and for every
//! run, appended in one write and linked to the line before. Secrets are hidden before anything is written. What a link
//! is, and how a chain is verified, is in the files beside this one.

pub mod chain;
mod files;
pub mod ground;
mod ran;
pub mod reading;
pub mod seal;
pub mod verify;

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Seek, Write};
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

use crate::json;
use crate::waiting::Waiting;

pub use files::files;
pub use ground::{Ground, Heard};
pub use ran::Ran;
pub use reading::{Filter, Reader, Record, Recorded};
use seal::{Before, End};

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
    input: Cow<'a, Value>,
    verdict: Verdict,
    step: Step,
    reason: Option<&'a Reason>,
    message: String,
    trace: Option<&'a Trace>,
    took_us: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    ground: Option<Ground>,
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
            input: match is_short {
                true => Cow::Borrowed(&call.input),
                false => Cow::Owned(serde_json::json!({ "omitted_bytes": size })),
            },
            verdict: decision.verdict,
            step: decision.step,
            reason: is_short.then_some(&decision.reason),
            message,
            trace: is_short.then_some(&decision.trace),
            took_us: u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
            ground: None,
        }
    }

    /// The same, with what the decision rested on. A line that leaves its input out leaves out what quotes it, too.
    pub fn resting_on(self, ground: Ground) -> Self {
        let ground = match self.trace {
            Some(_) => ground,
            None => {
                let Heard { spent, problems, .. } = ground.heard;
                Ground { facts: Vec::new(), heard: Heard { spent, problems, ..Heard::default() }, ..ground }
            }
        };
        Self { ground: Some(ground), ..self }
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
        self.append_line(json::text(entry))
    }

    /// Appends a person's answer.
    pub fn append_answer(&self, answer: &Answer<'_>) -> Result<(), AuditError> {
        let at = milliseconds(SystemTime::now());
        self.append_line(json::text(&AnswerLine { v: 1, at, kind: "answer", answer }))
    }

    /// Appends a run.
    pub fn append_run(&self, ran: &Ran<'_>) -> Result<(), AuditError> {
        self.append_line(json::text(&ran::line(ran)))
    }

    /// In one write at the end of the file, so that lines of several processes never mix.
    fn append_line(&self, line: serde_json::Result<String>) -> Result<(), AuditError> {
        let failed = |source| AuditError { path: self.file.clone(), source };
        let mut line = line.map_err(|error| failed(error.into()))?;
        mayi_settings::secret::redact(&mut line);
        let (mut file, end) = self.open_end().map_err(failed)?;
        let before = match end {
            End::Empty => Some(self.file_before()),
            End::Linked(link) => Some(Before::Line(link)),
            End::Unlinked | End::Torn => Some(Before::Unlinked),
            End::Unseen => None,
        };
        if let Some(before) = before {
            line = seal::seal(&line, before);
        }
        line.push('\n');
        if end == End::Torn {
            line.insert(0, '\n');
        }
        let written = file.write(line.as_bytes()).map_err(failed)?;
        if written < line.len() {
            if end != End::Unseen {
                cut_off(&file, written);
            }
            return Err(failed(io::Error::new(io::ErrorKind::StorageFull, "no room for a whole line")));
        }
        Ok(())
    }

    /// The file, locked, and how it ends. Where nothing can be locked, nobody can tell what the line will stand after,
    /// so it gets no link.
    fn open_end(&self) -> io::Result<(File, End)> {
        loop {
            let file = self.open()?;
            let facts = file.metadata()?;
            // What is written to a pipe or a device is nowhere to be found again.
            if !facts.is_file() {
                return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
            }
            if !self.lock(&file) {
                return Ok((file, End::Unseen));
            }
            if is_still(&self.file, &facts) {
                let end = seal::end(&file);
                return Ok((file, end));
            }
        }
    }

    /// What an empty file is written after: the last line of the file that was put aside, if one was.
    fn file_before(&self) -> Before {
        let end = |(_, path): (u64, PathBuf)| {
            mayi_settings::document::open_at_once(&path).map_or(End::Unseen, |file| seal::end(&file))
        };
        let mut ends = files::put_aside(&self.file).into_iter().rev().map(end);
        match ends.find(|end| *end != End::Empty) {
            Some(End::Linked(link)) => Before::File(link),
            Some(End::Empty | End::Unlinked | End::Torn | End::Unseen) => Before::Unlinked,
            None => Before::Nothing,
        }
    }

    /// Whether nobody else writes now.
    fn lock(&self, file: &File) -> bool {
        match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => {
                self.waiting.announce();
                file.lock().is_ok()
            }
            // A file system need not know locks.
            Err(TryLockError::Error(_)) => false,
        }
    }

    fn open(&self) -> io::Result<File> {
        let open = || {
            let mut options = OpenOptions::new();
            options.append(true).create(true).read(true);
            // A pipe, or a line to another machine, must not keep an answer waiting.
            #[cfg(unix)]
            std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, at_once());
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
        self.turn_over_sparing(now, keep, &|_| false)
    }

    /// The same, but removes no file that somebody still wants.
    pub fn turn_over_sparing(
        &self,
        now: SystemTime,
        keep: Duration,
        is_wanted: &dyn Fn(&Path) -> bool,
    ) -> io::Result<()> {
        const DAY: Duration = Duration::from_secs(24 * 60 * 60);
        // A link that somebody gave as the audit is theirs, and so is whatever is no file.
        let Some(facts) = fs::symlink_metadata(&self.file).ok().filter(fs::Metadata::is_file) else { return Ok(()) };
        let began = facts.created().or(facts.modified());
        if began.is_ok_and(|began| now.duration_since(began).is_ok_and(|age| age > DAY)) {
            self.put_aside(now)?;
        }
        for (_, path) in files::put_aside(&self.file) {
            let modified = fs::metadata(&path).and_then(|facts| facts.modified());
            let is_old = modified.is_ok_and(|modified| now.duration_since(modified).is_ok_and(|age| age > keep));
            if is_old && !is_wanted(&path) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    /// Puts the file aside, while nobody writes to it: whoever waits to do so looks again where it is.
    pub fn put_aside(&self, now: SystemTime) -> io::Result<()> {
        let (_file, end) = self.open_end()?;
        match files::aside(&self.file, milliseconds(now)) {
            Some(aside) if end != End::Empty => fs::rename(&self.file, aside),
            Some(_) | None => Ok(()),
        }
    }
}

/// Takes the half of a line off again that a full disk had room for, while nobody else writes. Where that fails, the next line
/// begins anew, and verifying finds the half.
fn cut_off(mut file: &File, written: usize) {
    let behind = file.stream_position().ok();
    let before = behind.and_then(|behind| behind.checked_sub(u64::try_from(written).ok()?));
    let _ = before.map(|before| file.set_len(before));
}

/// Whether a path still leads to a file that was opened: it may have been put aside meanwhile.
#[cfg(unix)]
fn is_still(path: &Path, opened: &fs::Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    match fs::metadata(path) {
        Ok(found) => (opened.dev(), opened.ino()) == (found.dev(), found.ino()),
        // It was put aside, and nobody has begun a new one.
        Err(error) => error.kind() != io::ErrorKind::NotFound,
    }
}

#[cfg(not(unix))]
fn is_still(_: &Path, _: &fs::Metadata) -> bool {
    true
}

/// How a file is opened that may turn out to be none.
#[cfg(unix)]
fn at_once() -> i32 {
    use rustix::fs::OFlags;
    (OFlags::NONBLOCK | OFlags::NOCTTY).bits().cast_signed()
}
