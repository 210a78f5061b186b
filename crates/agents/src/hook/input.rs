//! Reading the message, and never beyond the deadline: an agent that keeps its end open must not keep its answer
//! from itself.

use std::io;

use super::watchdog::Watchdog;

/// Messages beyond this are not read to the end.
const LONGEST: usize = 256 * 1024 * 1024;
/// Messages beyond this take their time.
const SHORT: usize = 64 * 1024;
/// Room for most messages.
const USUAL: usize = 4 * 1024;

/// The whole of standard input. It is read without the buffer that the library keeps for it: what lies there already
/// nobody could wait for.
pub(super) fn read(watchdog: &Watchdog) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::with_capacity(USUAL);
    loop {
        if bytes.len() == bytes.capacity() {
            bytes.reserve(bytes.len());
        }
        let read = match at_once(&mut bytes) {
            Some(read) => Ok(read),
            None => wait(watchdog).and_then(|()| more(&mut bytes)),
        };
        match read {
            Ok(0) => return Ok(bytes),
            Ok(_) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(format!("standard input cannot be read: {error}")),
        }
        if bytes.len() > SHORT {
            watchdog.watch();
        }
        if bytes.len() > LONGEST {
            return Err(format!("the message is longer than {LONGEST} bytes"));
        }
    }
}

/// Reads what is there already, of a message that is short so far. Where that cannot be told somebody has to wait.
#[cfg(target_os = "linux")]
fn at_once(bytes: &mut Vec<u8>) -> Option<usize> {
    use rustix::io::{IoSliceMut, ReadWriteFlags, preadv2};
    if bytes.len() >= USUAL {
        return None;
    }
    let mut piece = [0; 1024];
    // From wherever the reader is, and without waiting.
    let (from, how) = (u64::MAX, ReadWriteFlags::NOWAIT);
    let read = preadv2(rustix::stdio::stdin(), &mut [IoSliceMut::new(&mut piece)], from, how).ok()?;
    if read == 0 {
        // Of a file some kernels (5.9, 5.10) say so before its end. Reading one, or what has ended, waits for nobody.
        return more(bytes).ok();
    }
    bytes.extend_from_slice(piece.get(..read)?);
    Some(read)
}

#[cfg(not(target_os = "linux"))]
fn at_once(_: &mut Vec<u8>) -> Option<usize> {
    None
}

/// Reads as much as there is room for.
#[cfg(unix)]
fn more(bytes: &mut Vec<u8>) -> io::Result<usize> {
    Ok(rustix::io::read(rustix::stdio::stdin(), rustix::buffer::spare_capacity(bytes))?)
}

#[cfg(not(unix))]
fn more(bytes: &mut Vec<u8>) -> io::Result<usize> {
    use std::io::Read;
    let mut piece = [0; USUAL];
    let read = io::stdin().lock().read(&mut piece)?;
    bytes.extend_from_slice(piece.get(..read).unwrap_or_default());
    Ok(read)
}

/// Waits until there is something to read, or the end, or until the time is up.
#[cfg(target_os = "linux")]
fn wait(watchdog: &Watchdog) -> io::Result<()> {
    use rustix::event::{PollFd, PollFlags, Timespec, poll};
    use rustix::stdio::stdin;
    let rest = Timespec::try_from(watchdog.rest()).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(&stdin(), PollFlags::IN)], Some(&rest))? {
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
