//! The moment a preview begins, on the clock that files are stamped with.

use std::thread;
use std::time::Duration;

use rustix::time::{ClockId, Timespec, clock_gettime};

/// Nanoseconds since 1970.
pub(super) type Instant = i64;

/// A moment such that whatever was changed before carries a time up to it, and whatever is changed after this returns
/// carries a later one. Files are stamped with a coarse clock that lags by some milliseconds, so this waits for it.
pub(super) fn began() -> Instant {
    let now = nanoseconds(clock_gettime(ClockId::Realtime));
    while nanoseconds(clock_gettime(ClockId::RealtimeCoarse)) <= now {
        thread::sleep(Duration::from_millis(1));
    }
    now
}

/// Now.
pub(super) fn now() -> Instant {
    nanoseconds(clock_gettime(ClockId::Realtime))
}

fn nanoseconds(time: Timespec) -> Instant {
    stamp(time.tv_sec, time.tv_nsec)
}

/// A file's time.
pub(super) fn stamp(seconds: i64, nanoseconds: i64) -> Instant {
    seconds.saturating_mul(1_000_000_000).saturating_add(nanoseconds)
}
