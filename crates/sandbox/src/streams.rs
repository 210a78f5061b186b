//! The streams of a command: what becomes its input, output and errors, and what must not.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::fs::FileType;

use crate::run::{SpawnError, Stream};

/// Descriptors for the command, held until it has them.
pub(crate) struct Streams {
    /// What becomes 0, 1 and 2.
    pub(crate) numbers: [i32; 3],
    /// Which of them are files that may be opened again by name.
    pub(crate) reopened: Vec<i32>,
    /// The terminal that the command controls.
    pub(crate) terminal: Option<OwnedFd>,
    _held: Vec<OwnedFd>,
}

impl Streams {
    pub(crate) fn of(wanted: [Stream; 3], terminal: Option<OwnedFd>) -> Result<Self, SpawnError> {
        let terminal = terminal.map(|one| lifted(one.as_fd())).transpose()?;
        let mut held = Vec::new();
        let mut numbers = [0, 1, 2];
        let mut reopened = Vec::new();
        for (stream, (number, name)) in wanted.into_iter().zip(numbers.iter_mut().zip(["input", "output", "error"])) {
            let own = *number;
            let source = match (stream, &terminal) {
                (Stream::Inherit, Some(terminal)) => Some(lifted(terminal.as_fd())?),
                (Stream::Inherit, None) if kind(inherited(own)).is_some() => None,
                // Closed outside: a file that the command opens must not take its number.
                (Stream::Inherit, None) | (Stream::Null, _) => Some(lifted(nothing()?.as_fd())?),
                (Stream::Fd(given), _) => Some(lifted(given.as_fd())?),
            };
            match kind(source.as_ref().map_or_else(|| inherited(own), AsFd::as_fd)) {
                Some(FileType::Directory) => return Err(SpawnError::Folder(name)),
                Some(FileType::RegularFile) if own > 0 => reopened.push(own),
                Some(_) | None => (),
            }
            if let Some(source) = source {
                *number = source.as_raw_fd();
                held.push(source);
            }
        }
        Ok(Self { numbers, reopened, terminal, _held: held })
    }
}

/// One of the caller's own streams.
fn inherited(number: i32) -> BorrowedFd<'static> {
    match number {
        0 => rustix::stdio::stdin(),
        1 => rustix::stdio::stdout(),
        _ => rustix::stdio::stderr(),
    }
}

fn kind(stream: BorrowedFd<'_>) -> Option<FileType> {
    rustix::fs::fstat(stream).ok().map(|found| FileType::from_raw_mode(found.st_mode))
}

/// A copy above the three streams, so that none overwrites another.
fn lifted(stream: BorrowedFd<'_>) -> Result<OwnedFd, SpawnError> {
    rustix::io::fcntl_dupfd_cloexec(stream, 10)
        .map_err(|error| SpawnError::walls("passing a stream on", error.to_string()))
}

fn nothing() -> Result<OwnedFd, SpawnError> {
    let flags = rustix::fs::OFlags::RDWR | rustix::fs::OFlags::CLOEXEC;
    rustix::fs::open("/dev/null", flags, rustix::fs::Mode::empty())
        .map_err(|error| SpawnError::walls("opening `/dev/null`", error.to_string()))
}
