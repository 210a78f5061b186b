//! The ground that every sandbox of our own stands on, whatever its plan says: a private file system in memory, what covers
//! names and hides files, and a `/dev` with nothing in it but what every program needs. It can be laid while the plan is
//! still being made.

use std::ffi::CStr;

use super::DEVICES;
use crate::sys::script::{
    self, HOST_DEVICES, OWN_DEVICES, SCRATCH, SHARED_MEMORY, Step, TERMINALS, VEIL_SOCKET, VEILS,
};

/// Names in `/dev` that lead to a process's own.
const LINKS: [(&CStr, &CStr); 5] = [
    (c"dev/fd", c"/proc/self/fd"),
    (c"dev/stdin", c"/proc/self/fd/0"),
    (c"dev/stdout", c"/proc/self/fd/1"),
    (c"dev/stderr", c"/proc/self/fd/2"),
    (c"dev/ptmx", c"pts/ptmx"),
];

/// The steps that lay it. They fill the first slots.
pub(crate) fn ground() -> Vec<Step> {
    let mut steps = vec![Step::PartRoot, Step::Hold { path: c"/dev".into(), slot: HOST_DEVICES }, Step::Scratch];
    veils(&mut steps);
    for (path, mode) in [(c"dev", 0o755), (c"dev/pts", 0o755), (c"dev/shm", 0o755), (c"shm", 0o1777)] {
        steps.push(folder(path, mode));
    }
    steps.extend(LINKS.map(|(path, to)| Step::Link { slot: SCRATCH, path: path.into(), to: to.into() }));
    attach(&mut steps, (c"dev", OWN_DEVICES), c"/dev");
    steps.extend(DEVICES.map(script::device));
    attach(&mut steps, (c"shm", SHARED_MEMORY), c"/dev/shm");
    steps.push(Step::Terminals { slot: TERMINALS });
    steps.push(Step::Attach { slot: TERMINALS, target: c"/dev/pts".into() });
    steps
}

/// What covers names and hides files: made once, and mounted wherever it is wanted. A mount of its own, which stays
/// read-only.
fn veils(steps: &mut Vec<Step>) {
    for (path, mode) in [(c"veils", 0o755), (c"veils/hidden", 0), (c"veils/folder", 0o555)] {
        steps.push(folder(path, mode));
    }
    steps.push(Step::File { slot: SCRATCH, path: c"veils/hidden-file".into(), mode: 0 });
    steps.push(Step::Socket { slot: SCRATCH, path: VEIL_SOCKET.into() });
    steps.push(Step::Part { from: SCRATCH, path: c"veils".into(), slot: VEILS });
    steps.push(Step::AttachIn { slot: VEILS, tree: SCRATCH, path: c"veils".into() });
}

fn folder(path: &CStr, mode: u32) -> Step {
    Step::Folders { slot: SCRATCH, trail: vec![path.into()], mode }
}

fn attach(steps: &mut Vec<Step>, (part, slot): (&CStr, usize), target: &CStr) {
    steps.push(Step::Part { from: SCRATCH, path: part.into(), slot });
    steps.push(Step::Attach { slot, target: target.into() });
}
