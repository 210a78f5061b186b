//! Reading the message, and never beyond the deadline: an agent that keeps its end open must not keep its answer
//! from itself.

use std::io::{self, Read};

use super::watchdog::Watchdog;

/// Messages beyond this are not read to the end.
const LONGEST: usize = 256 * 1024 * 1024;
/// Messages beyond this take their time.
const SHORT: usize = 64 * 1024;
/// How much is read at once; as much as fits passes by the buffer of standard input, which nobody could wait for.
const PIECE: usize = 16 * 1024;

/// The whole of standard input.
pub(super) fn read(watchdog: &Watchdog) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut piece = [0; PIECE];
    loop {
        let read = match wait(watchdog).and_then(|()| io::stdin().lock().read(&mut piece)) {
            Ok(0) => return Ok(bytes),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            Err(error) => return Err(format!("standard input cannot be read: {error}")),
        };
        bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
        if bytes.len() > SHORT {
            watchdog.watch();
        }
        if bytes.len() > LONGEST {
            return Err(format!("the message is longer than {LONGEST} bytes"));
        }
    }
}

/// Waits until there is something to read, or the end, or until the time is up.
#[cfg(target_os = "linux")]
fn wait(watchdog: &Watchdog) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    let rest = Timespec::try_from(watchdog.rest()).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(&io::stdin(), PollFlags::IN)], Some(&rest))? {
        0 => watchdog.refuse_late(),
        _ => Ok(()),
    }
}

/// Elsewhere somebody watches from the beginning.
#[cfg(not(target_os = "linux"))]
fn wait(watchdog: &Watchdog) -> io::Result<()> {
    watchdog.watch();
    Ok(())
}
