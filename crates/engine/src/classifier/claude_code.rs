//! Transcript files as Claude Code writes them: one JSON object a line, appended while the session runs.
//!
//! The format is not documented and changes, so a line counts as the user's words only when everything about it says
//! so; whatever is doubtful is left out. Lines of other agents, of hooks, of schedules and of the program itself are
//! never the user's words. A file is read forward once, from where the last reading stopped, in bounded memory.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use mayi_core::call::{Call, Workspace};
use mayi_settings::document::open_at_once;
use serde::{Deserialize, Serialize};

use super::Object;
use super::transcript::{Extent, Transcript};

mod record;

use record::{Heard, Record};

/// Longer lines are skipped: no person types so much, and pictures are not needed.
const LINE: usize = 16 * 1024 * 1024;
/// Bytes before the position that must still be the same.
const MARK: u64 = 256;
/// Questions to the user that wait for an answer.
const QUESTIONS: usize = 64;

/// What was gathered from a file so far. Kept with the session, so that the next reading goes on from here.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gathered {
    position: Option<Position>,
    lines: Vec<String>,
    extent: Extent,
    /// Calls that put a question to the user and are not answered yet.
    questions: Vec<String>,
    /// Lines that could not be read.
    pub broken: u64,
}

/// How far a file was read, and which file that was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Position {
    path: PathBuf,
    device: u64,
    inode: u64,
    offset: u64,
    /// Says what stood before the offset.
    mark: u64,
}

impl Gathered {
    /// Reads what is new in the file. A file that shrank or was replaced is read from its beginning. When the time is
    /// over, what was read counts and the rest is left for the next reading; the transcript says that it is behind.
    pub fn read(self, path: &Path, workspace: &Workspace, within: Duration) -> io::Result<Self> {
        let until = Instant::now() + within;
        let mut file = open_at_once(path)?;
        let facts = file.metadata()?;
        if !facts.is_file() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the transcript is not a file"));
        }
        let start = Position { path: path.to_owned(), device: facts.dev(), inode: facts.ino(), offset: 0, mark: 0 };
        let known = match &self.position {
            Some(position) if position.is_before_end(&start, facts.len()) => marked(&mut file, position.offset)?,
            _ => None,
        };
        let same = known.is_some() && known == self.position.as_ref().map(|position| position.mark);
        let (mut gathered, offset) = match &self.position {
            Some(position) if same => {
                let offset = position.offset;
                (self, offset)
            }
            _ => (Self::default(), 0),
        };
        file.seek(SeekFrom::Start(offset))?;
        let offset = gathered.go_through(&mut BufReader::with_capacity(1 << 16, &file), workspace, (offset, until))?;
        let mark = marked(&mut file, offset)?.unwrap_or_default();
        gathered.position = Some(Position { offset, mark, ..start });
        Ok(gathered)
    }

    /// As a model sees it.
    pub fn transcript(&self, workspace: &Workspace) -> Transcript {
        Transcript::of_lines(workspace, self.lines.clone(), self.extent)
    }

    /// Takes whole lines until the file or the time ends. Returns where the last whole line ended.
    fn go_through(
        &mut self,
        file: &mut impl BufRead,
        workspace: &Workspace,
        (mut offset, until): (u64, Instant),
    ) -> io::Result<u64> {
        let full = if self.extent == Extent::Overfull { Extent::Overfull } else { Extent::Whole };
        let mut transcript = Transcript::of_lines(workspace, std::mem::take(&mut self.lines), full);
        let (mut line, mut behind) = (Vec::new(), Extent::Whole);
        // What is too long does not become shorter, so the rest need not be read.
        while transcript.extent() != Extent::Overfull {
            if Instant::now() >= until {
                behind = Extent::Behind;
                break;
            }
            let taken = take_line(file, &mut line)?;
            let Some(length) = taken else { break };
            offset += length;
            self.take(&line, &mut transcript);
        }
        self.extent = if transcript.extent() == Extent::Overfull { Extent::Overfull } else { behind };
        self.lines = transcript.lines().to_vec();
        Ok(offset)
    }

    fn take(&mut self, line: &[u8], transcript: &mut Transcript) {
        if line.iter().all(u8::is_ascii_whitespace) {
            return;
        }
        let Ok(Object(record)) = serde_json::from_slice::<Object<Record>>(line) else {
            self.broken += 1;
            return;
        };
        match record.heard() {
            Heard::Nothing => {}
            Heard::User(words) => transcript.user(&words),
            Heard::Calls(calls) => {
                for (id, name, input) in calls {
                    if name == "AskUserQuestion" && self.questions.len() < QUESTIONS {
                        self.questions.push(id);
                    }
                    transcript.call(&Call::new(&name, input));
                }
            }
            Heard::Results(calls) => {
                let asked = self.questions.len();
                self.questions.retain(|question| !calls.contains(question));
                if self.questions.len() < asked {
                    record::answers(line).iter().for_each(|answer| transcript.user(answer));
                }
            }
        }
    }
}

impl Position {
    fn is_before_end(&self, start: &Position, length: u64) -> bool {
        (&self.path, self.device, self.inode) == (&start.path, start.device, start.inode) && self.offset <= length
    }
}

/// What stands before the offset, as a number; `None` when it cannot be read.
fn marked(file: &mut File, offset: u64) -> io::Result<Option<u64>> {
    use std::hash::Hasher;
    let length = offset.min(MARK);
    file.seek(SeekFrom::Start(offset - length))?;
    let mut before = Vec::new();
    file.take(length).read_to_end(&mut before)?;
    let mut hasher = rustc_hash::FxHasher::default();
    hasher.write(&before);
    Ok((before.len() as u64 == length).then(|| hasher.finish()))
}

/// Takes the next whole line into `line`: how long it was, or `None` at the end or before a half-written line. A line
/// that is too long is passed over and comes out as one that nobody can read.
fn take_line(file: &mut impl BufRead, line: &mut Vec<u8>) -> io::Result<Option<u64>> {
    line.clear();
    let mut length = 0_u64;
    loop {
        let there = file.fill_buf()?;
        if there.is_empty() {
            return Ok(None);
        }
        let end = there.iter().position(|byte| *byte == b'\n');
        let used = end.map_or(there.len(), |end| end + 1);
        length += used as u64;
        if line.len() <= LINE {
            line.extend_from_slice(there.get(..end.unwrap_or(used)).unwrap_or_default());
        }
        file.consume(used);
        if end.is_some() {
            if line.len() > LINE {
                line.truncate(1);
            }
            return Ok(Some(length));
        }
    }
}
