//! The local audit as a spool for the server's: what is recorded here goes there, each record once, in its order, as
//! soon as the server can be reached, however long that takes.
//!
//! A small file beside the audit says how far the server has it. Lines are counted, so that a parcel that is sent twice
//! is recognised. Nothing here ever changes or removes a line.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::client::{Client, ServerError};
use super::keeping;
use super::wire::{Moment, Received, Shipment};
use crate::digits::{digest, hexadecimal};

/// How many records are sent at once, and how long they may be together.
const RECORDS: usize = 256;
const BYTES: usize = 512 * 1024;
/// Longer lines are no records.
const LONGEST_LINE: u64 = 4 * 1024 * 1024;
/// How long one parcel may take.
const PATIENCE: Duration = Duration::from_secs(20);

/// Why records stay here.
#[derive(Debug, thiserror::Error)]
pub enum SpoolError {
    /// The server does not take them.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// A file does not work.
    #[error("`{path}` cannot be used: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The server counts otherwise than we do, and goes on doing so.
    #[error("the server does not take the records as they were counted\nhelp: this is a fault of mayi")]
    Counting,
}

/// What came of shipping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shipped {
    /// The server has everything; so many records are new to it.
    All(u64),
    /// The time was up first.
    Some(u64),
    /// Another process is at it.
    Busy,
}

/// What the server does not have yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// How much it is.
    pub bytes: u64,
    /// When the oldest of it was recorded.
    pub oldest: Option<Moment>,
    /// How many records the server refused, and will never have.
    pub refused: u64,
}

impl Backlog {
    /// How long the oldest of it has waited.
    pub fn lag(&self) -> Duration {
        self.oldest.map_or(Duration::ZERO, |oldest| Duration::from_millis(keeping::now().saturating_sub(oldest)))
    }
}

/// The spool of one audit for one server.
#[derive(Clone, Debug)]
pub struct Spool {
    audit: PathBuf,
    cursor: PathBuf,
}

/// How far the server has the audit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Cursor {
    /// Our name there.
    source: String,
    /// The machine it was made on: a copy of it on another must not speak in its name.
    host: String,
    /// The number of the next record.
    next: u64,
    /// The file of the next record, by its print, and where it begins there.
    at: Option<(String, u64)>,
    /// The number of the first record of each file that was begun, oldest first.
    begun: Vec<(String, u64)>,
    /// How many records the server would not have, whatever the reason.
    #[serde(default)]
    refused: u64,
}

/// A file of the audit.
#[derive(Clone, Debug)]
struct Part {
    path: PathBuf,
    /// A digest of its first line: a file keeps it when it is put aside.
    print: String,
}

/// Records on their way, and where things stand once they have arrived.
struct Parcel {
    records: Vec<Value>,
    after: Cursor,
    /// Nothing was left when it was packed. What came since then is for the next time: an audit that is written to all
    /// the time would never be at its end.
    is_last: bool,
}

impl Spool {
    /// The spool of an audit file for the server at an address.
    pub fn new(audit: &Path, url: &str) -> Self {
        let name = audit.file_stem().unwrap_or_default().to_string_lossy();
        let cursor = audit.with_file_name(format!("{name}.shipped-{}.json", keeping::short(url)));
        Self { audit: audit.to_owned(), cursor }
    }

    /// Sends what the server does not have, until it has everything or the time is up.
    pub async fn ship(&self, client: &Client, within: Duration) -> Result<Shipped, SpoolError> {
        let Some(_turn) = self.turn()? else { return Ok(Shipped::Busy) };
        let begun = Instant::now();
        let (mut shipped, mut most, mut disagreed) = (0, RECORDS, 0);
        let mut cursor = self.cursor()?;
        // Whoever sends in a name must know it afterwards, or would send the same again in another.
        self.keep(self.noted()?.as_ref(), cursor.clone())?;
        while begun.elapsed() < within {
            let parcel = self.parcel(&cursor, most)?;
            if parcel.records.is_empty() {
                self.keep(Some(&cursor), parcel.after)?;
                return Ok(Shipped::All(shipped));
            }
            let count = parcel.records.len();
            let after = match sent(client, &cursor, parcel.records).await? {
                Reception::Taken(next) if next == parcel.after.next => {
                    shipped += u64::try_from(count).unwrap_or(u64::MAX);
                    let kept = self.keep(Some(&cursor), parcel.after)?;
                    if parcel.is_last {
                        return Ok(Shipped::All(shipped));
                    }
                    cursor = kept;
                    continue;
                }
                Reception::TooMuch | Reception::Unfit if count > 1 => {
                    most = count / 2;
                    continue;
                }
                // Nobody will ever take this one, and those after it must not wait for ever.
                Reception::TooMuch | Reception::Unfit => {
                    most = RECORDS;
                    Cursor { next: cursor.next, refused: cursor.refused + 1, ..parcel.after }
                }
                Reception::Taken(next) => self.agreed(&cursor, next)?,
                Reception::OfAnother => self.renamed(&cursor, fresh()?),
            };
            disagreed += u32::from(after.refused == cursor.refused);
            if disagreed > 3 {
                return Err(SpoolError::Counting);
            }
            cursor = self.keep(Some(&cursor), after)?;
        }
        Ok(Shipped::Some(shipped))
    }

    /// What the server does not have yet.
    pub fn backlog(&self) -> Result<Backlog, SpoolError> {
        let cursor = self.cursor()?;
        let mut backlog = Backlog { refused: cursor.refused, ..Backlog::default() };
        for (part, offset) in self.left(&cursor)? {
            let failed = |source| SpoolError::Io { path: part.path.clone(), source };
            let bytes = fs::metadata(&part.path).map_err(failed)?.len().saturating_sub(offset);
            if bytes > 0 && backlog.oldest.is_none() {
                backlog.oldest = recorded_at(&part.path, offset).map_err(failed)?;
            }
            backlog.bytes += bytes;
        }
        Ok(backlog)
    }

    /// Whether a file of the audit holds records that the server does not have. What cannot be found out may.
    pub fn wants(&self, file: &Path) -> bool {
        let left = self.cursor().and_then(|cursor| self.left(&cursor));
        left.map_or(true, |left| {
            left.iter().any(|(part, offset)| {
                part.path == file && fs::metadata(file).map_or(true, |facts| facts.len() > *offset)
            })
        })
    }

    /// The next records, and what the cursor says once they have arrived.
    fn parcel(&self, cursor: &Cursor, most: usize) -> Result<Parcel, SpoolError> {
        let mut parcel = Parcel { records: Vec::new(), after: cursor.clone(), is_last: false };
        let mut room = BYTES;
        for (part, offset) in self.left(cursor)? {
            let failed = |source| SpoolError::Io { path: part.path.clone(), source };
            if parcel.after.begun.iter().all(|(print, _)| *print != part.print) {
                parcel.after.begun.push((part.print.clone(), parcel.after.next));
            }
            let mut lines = Lines::open(&part.path, offset).map_err(failed)?;
            parcel.after.at = Some((part.print.clone(), offset));
            while let Some(line) = lines.next().map_err(failed)? {
                if let Line::Record(record) = line {
                    if parcel.records.len() >= most || (lines.last > room && !parcel.records.is_empty()) {
                        return Ok(parcel);
                    }
                    room = room.saturating_sub(lines.last);
                    parcel.records.push(record);
                    parcel.after.next += 1;
                }
                parcel.after.at = Some((part.print.clone(), lines.offset));
            }
        }
        parcel.is_last = true;
        Ok(parcel)
    }

    /// The files with what comes next, oldest first, and where it begins in each.
    fn left(&self, cursor: &Cursor) -> Result<Vec<(Part, u64)>, SpoolError> {
        let parts = self.parts()?;
        let here = cursor.at.as_ref().and_then(|(print, offset)| {
            let index = parts.iter().position(|part| part.print == *print)?;
            Some((index, *offset))
        });
        let is_begun = |part: &Part| cursor.begun.iter().any(|(print, _)| *print == part.print);
        let left = parts.into_iter().enumerate().filter_map(|(index, part)| match here {
            Some((at, offset)) if index == at => Some((part, offset)),
            Some((at, _)) => (index > at).then_some((part, 0)),
            // The file is gone; every file that was begun before it was sent to its end.
            None => (!is_begun(&part)).then_some((part, 0)),
        });
        Ok(left.collect())
    }

    /// The files of the audit, oldest first.
    fn parts(&self) -> Result<Vec<Part>, SpoolError> {
        let mut parts = Vec::new();
        for path in crate::audit::files(&self.audit) {
            match print(&path) {
                Ok(Some(print)) => parts.push(Part { path, print }),
                Ok(None) => {}
                Err(source) => return Err(SpoolError::Io { path, source }),
            }
        }
        Ok(parts)
    }

    /// Goes to where the server says it is. What it lost is sent again as far as it is still here; a server that has
    /// more than was ever sent from here talks about somebody else, and gets another name.
    fn agreed(&self, cursor: &Cursor, wanted: u64) -> Result<Cursor, SpoolError> {
        let parts = self.parts()?;
        let is_there = |print: &str| parts.iter().any(|part| part.print == print);
        let begun = cursor.begun.iter().rev().find(|(print, first)| *first <= wanted && is_there(print));
        let Some((print, first)) = begun.filter(|_| wanted <= cursor.next) else {
            let from_start = wanted <= cursor.next;
            let fresh = fresh()?;
            return Ok(if from_start { fresh } else { self.renamed(cursor, fresh) });
        };
        let later = |(_, other): &&(String, u64)| other <= first;
        let mut agreed = Cursor {
            next: *first,
            at: Some((print.clone(), 0)),
            begun: cursor.begun.iter().filter(later).cloned().collect(),
            ..cursor.clone()
        };
        let Some(part) = parts.iter().find(|part| part.print == *print) else { return Ok(agreed) };
        let failed = |source| SpoolError::Io { path: part.path.clone(), source };
        let mut lines = Lines::open(&part.path, 0).map_err(failed)?;
        while agreed.next < wanted {
            match lines.next().map_err(failed)? {
                Some(Line::Record(_)) => agreed.next += 1,
                Some(Line::Other) => {}
                None => break,
            }
        }
        agreed.at = Some((print.clone(), lines.offset));
        Ok(agreed)
    }

    /// The same place under another name, counted anew. What was begun before has no number in it.
    fn renamed(&self, cursor: &Cursor, fresh: Cursor) -> Cursor {
        let begun = cursor.begun.iter().map(|(print, _)| (print.clone(), u64::MAX)).collect();
        Cursor { at: cursor.at.clone(), begun, refused: cursor.refused, ..fresh }
    }

    fn cursor(&self) -> Result<Cursor, SpoolError> {
        match self.noted()? {
            None => fresh(),
            Some(cursor) if cursor.host == keeping::host() => Ok(cursor),
            Some(copied) => Ok(self.renamed(&copied, fresh()?)),
        }
    }

    /// The cursor as it was written down.
    fn noted(&self) -> Result<Option<Cursor>, SpoolError> {
        let failed = |source| SpoolError::Io { path: self.cursor.clone(), source };
        let Some(text) = keeping::read(&self.cursor).map_err(failed)? else { return Ok(None) };
        let unreadable = |error: serde_json::Error| failed(io::Error::new(io::ErrorKind::InvalidData, error));
        serde_json::from_str(&text).map(Some).map_err(unreadable)
    }

    /// Writes the cursor down where it changed, without the files that are gone.
    fn keep(&self, before: Option<&Cursor>, mut after: Cursor) -> Result<Cursor, SpoolError> {
        if before != Some(&after) {
            let parts = self.parts()?;
            let at = after.at.as_ref().map(|(print, _)| print.clone());
            let is_there = |print: &str| parts.iter().any(|part| part.print == print);
            after.begun.retain(|(print, _)| is_there(print) || at.as_deref() == Some(print));
            let text = serde_json::to_string(&after).map_err(io::Error::from);
            let written = text.and_then(|text| keeping::write(&self.cursor, &text));
            written.map_err(|source| SpoolError::Io { path: self.cursor.clone(), source })?;
        }
        Ok(after)
    }

    /// One process ships at a time.
    fn turn(&self) -> Result<Option<File>, SpoolError> {
        let path = self.cursor.with_extension("lock");
        let failed = |source| SpoolError::Io { path: path.clone(), source };
        if let Some(folder) = path.parent().filter(|folder| !folder.is_dir()) {
            mayi_settings::trust::make_private(folder).map_err(failed)?;
        }
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(&path).map_err(failed)?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }
}

/// What a server does with a parcel.
enum Reception {
    /// It has everything before the record of this number.
    Taken(u64),
    /// It does not take so much at once.
    TooMuch,
    /// A record in it is none to the server.
    Unfit,
    /// The name that it came in belongs to somebody else: the token was changed.
    OfAnother,
}

/// Sends a parcel.
async fn sent(client: &Client, cursor: &Cursor, records: Vec<Value>) -> Result<Reception, ServerError> {
    let shipment = Shipment { source: cursor.source.clone(), first: cursor.next, records };
    match client.ship(&shipment, PATIENCE).await {
        Ok(Received { next }) => Ok(Reception::Taken(next)),
        // Something before it is missing there. An empty parcel is always taken, and its receipt says what is wanted.
        Err(ServerError::Refused { status: 409, .. }) => {
            let empty = Shipment { first: 0, records: Vec::new(), ..shipment };
            Ok(Reception::Taken(client.ship(&empty, PATIENCE).await?.next))
        }
        Err(ServerError::Refused { status: 413, .. }) => Ok(Reception::TooMuch),
        Err(ServerError::Refused { status: 422, .. }) => Ok(Reception::Unfit),
        Err(ServerError::Forbidden(_)) if cursor.next > 0 => Ok(Reception::OfAnother),
        Err(error) => Err(error),
    }
}

/// A cursor at the very beginning.
fn fresh() -> Result<Cursor, SpoolError> {
    let mut bytes = [0; 8];
    let failed = |error: getrandom::Error| io::Error::other(error.to_string());
    getrandom::fill(&mut bytes)
        .map_err(failed)
        .map_err(|source| SpoolError::Io { path: PathBuf::from("/dev/urandom"), source })?;
    let host = keeping::host();
    let plain: String =
        host.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-').take(64).collect();
    Ok(Cursor { source: format!("{plain}-{}", hexadecimal(&bytes)), host, ..Cursor::default() })
}

/// The print of a file; `None` while it has no whole line.
fn print(path: &Path) -> io::Result<Option<String>> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error),
    };
    // A pipe or a device that somebody gave as the audit keeps nothing that could be sent.
    if !file.metadata()?.is_file() {
        return Ok(None);
    }
    let mut line = Vec::new();
    BufReader::new(file.take(LONGEST_LINE)).read_until(b'\n', &mut line)?;
    Ok(line.ends_with(b"\n").then(|| hexadecimal(digest(&[&line]).get(..16).unwrap_or_default())))
}

/// When the record at a place of a file was made.
fn recorded_at(path: &Path, offset: u64) -> io::Result<Option<Moment>> {
    let mut lines = Lines::open(path, offset)?;
    while let Some(line) = lines.next()? {
        if let Line::Record(record) = line {
            return Ok(record.get("at").and_then(Value::as_u64));
        }
    }
    Ok(None)
}

/// A whole line of the audit.
enum Line {
    Record(Value),
    /// Half of one, or something else: nobody can use it.
    Other,
}

/// Reads whole lines, and knows where it is.
struct Lines {
    reader: BufReader<File>,
    /// Where the next line begins.
    offset: u64,
    /// How long the last one was.
    last: usize,
}

impl Lines {
    fn open(path: &Path, offset: u64) -> io::Result<Self> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(offset))?;
        Ok(Self { reader: BufReader::new(file), offset, last: 0 })
    }

    /// The next whole line; `None` where there is none yet.
    fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let mut read = (&mut self.reader).take(LONGEST_LINE).read_until(b'\n', &mut line)?;
        let is_short = line.ends_with(b"\n");
        if !is_short {
            let length = self.reader.skip_until(b'\n')?;
            // Without an end it is still being written, or nobody will ever finish it.
            if length == 0 {
                return Ok(None);
            }
            read += length;
        }
        self.offset += u64::try_from(read).unwrap_or(0);
        self.last = read;
        let record = serde_json::from_slice(&line).ok().filter(|_| is_short).and_then(without_link);
        Ok(Some(record.map_or(Line::Other, Line::Record)))
    }
}

/// A record as the server keeps it: it has a chain of its own.
fn without_link(mut record: Value) -> Option<Value> {
    record.as_object_mut()?.shift_remove("link");
    Some(record)
}
