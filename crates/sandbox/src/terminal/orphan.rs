//! Whether anybody could continue us if we stopped: a shell with job control.

use std::fs;

use rustix::process::{Pid, getpgid, getpgrp, getppid, getsid};

/// Whether nobody would: the kernel does not stop such a process group for ^Z either.
pub(super) fn is_orphaned() -> bool {
    let mut above = getppid();
    while let Some(process) = above.filter(|process| getpgid(Some(*process)).is_ok_and(|group| group == getpgrp())) {
        // A script that started us is stopped with us; whoever started that one may continue both.
        above = parent_of(process);
    }
    let session = getsid(None).ok();
    above.is_none_or(|process| getsid(Some(process)).ok() != session)
}

fn parent_of(process: Pid) -> Option<Pid> {
    let text = fs::read_to_string(format!("/proc/{}/stat", process.as_raw_nonzero())).ok()?;
    // The name, in parentheses, may hold anything.
    let (_, rest) = text.rsplit_once(')')?;
    Pid::from_raw(rest.split_whitespace().nth(1)?.parse().ok()?)
}
