//! The keeper of placeholders as its master knows it: hired while the first process is born, told who that is, and waited for
//! at the end.
#![allow(unsafe_code, reason = "clones a process that shares this one's memory")]

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use rustix::io::Errno;
use rustix::net::{SendFlags, Shutdown};

use super::keeper::{self, NOBODY, Places, SOMEBODY};
use super::launch::{Leaver, pair, remember};
use super::raw::{self, Stack};

/// A keeper at work.
pub(super) struct Keeper {
    /// To it, who lives inside; from it, that it has cleaned up.
    line: OwnedFd,
    process: OwnedFd,
    memory: (Box<Service>, Stack),
}

impl Keeper {
    /// Clones one, which begins at once. It shares this process's memory, so that none has to be copied. `inside` is its
    /// line to the first process.
    pub(super) fn hire(places: Vec<Places>, inside: &OwnedFd) -> Result<Self, Errno> {
        let (line, master) = pair()?;
        let mut service = Box::new(Service { places, lines: [inside, &master].map(AsRawFd::as_raw_fd) });
        let stack = Stack::new()?;
        let shared = (serve as raw::Start, (&raw mut *service).cast());
        // SAFETY: `serve` makes system calls that touch no `errno`, on its service, which nobody else looks at; this and
        // its stack are given up only when it has ended.
        let (_, process) = unsafe { raw::clone_on(&stack, shared, 0) }?;
        Ok(Self { line, process, memory: (service, stack) })
    }

    /// Tells it who lives inside.
    pub(super) fn introduce(&self, first: BorrowedFd<'_>) {
        raw::hand(self.line.as_fd(), &[SOMEBODY], first);
    }

    /// Tells it that nobody ever will.
    pub(super) fn send_home(&self) {
        let _ = rustix::net::send(&self.line, &[NOBODY], SendFlags::NOSIGNAL);
    }

    /// Waits until it has cleaned up, which it does when nobody lives inside any more.
    pub(super) fn dismiss(self) {
        // If it was told nothing, it learns here that nothing more will come.
        let _ = rustix::net::shutdown(&self.line, Shutdown::Write);
        let mut byte = [0];
        // Its word, or its end: either way there is nothing more to come.
        while rustix::io::read(&self.line, &mut byte) == Err(Errno::INTR) {}
        remember(Leaver::with(self.process, self.memory));
    }
}

/// What a keeper works with.
struct Service {
    places: Vec<Places>,
    lines: [i32; 2],
}

impl Drop for Service {
    fn drop(&mut self) {
        self.places.iter_mut().for_each(Places::disown);
    }
}

extern "C" fn serve(service: *mut libc::c_void) -> libc::c_int {
    // SAFETY: `hire` passes its own, and keeps it as long as this lives.
    let service = unsafe { &mut *service.cast::<Service>() };
    // SAFETY: they are open in this process's own table, which was copied when it was made. From here on only these are
    // used, and nothing that owns another is dropped.
    let [inside, master] = unsafe { raw::keep_only(service.lines.map(|line| BorrowedFd::borrow_raw(line))) };
    keeper::live(&mut service.places, &keeper::Lines { inside, master })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use rustix::process::{PidfdFlags, pidfd_open};

    use super::super::keeper::{ANCHOR, Anchor, Form, Hold, Placeholder};
    use super::super::launch::reap;
    use super::*;

    /// A keeper that holds three names in a folder, and the end of its line that a first process has.
    fn hired(folder: &Path) -> (Keeper, OwnedFd) {
        let names = [ANCHOR, c".bashrc", c".mcp.json"];
        let names = names.map(|name| Placeholder { name: name.into(), form: Form::Folder, hold: Hold::None });
        let folder = crate::native::text(folder).unwrap();
        let places = vec![Places { folder, names: names.into(), opened: None, anchor: Anchor::None }];
        let (line, keepers) = pair().unwrap();
        let keeper = Keeper::hire(places, &keepers).unwrap();
        drop(keepers);
        let mut byte = [7];
        assert_eq!(rustix::io::read(&line, &mut byte), Ok(1));
        assert_eq!(byte, [0], "the names are there");
        (keeper, line)
    }

    fn held(folder: &Path) -> usize {
        fs::read_dir(folder).unwrap().count()
    }

    #[test]
    fn where_nobody_was_born_names_go_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let (keeper, _line) = hired(folder.path());
        assert_eq!(held(folder.path()), 3);
        keeper.send_home();
        keeper.dismiss();
        assert_eq!(held(folder.path()), 0);
    }

    #[test]
    fn names_stay_as_long_as_the_first_process() {
        let folder = tempfile::tempdir().unwrap();
        let (keeper, line) = hired(folder.path());
        let mut first = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let id = rustix::process::Pid::from_child(&first);
        keeper.introduce(pidfd_open(id, PidfdFlags::empty()).unwrap().as_fd());
        // A line that is closed without a word says nothing about those who live.
        drop(line);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(held(folder.path()), 3);
        first.kill().unwrap();
        first.wait().unwrap();
        keeper.dismiss();
        assert_eq!(held(folder.path()), 0);
    }

    #[test]
    fn somebody_whose_descriptor_was_lost_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let (keeper, line) = hired(folder.path());
        rustix::net::send(&keeper.line, &[SOMEBODY], SendFlags::NOSIGNAL).unwrap();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(held(folder.path()), 3);
        drop(line);
        keeper.dismiss();
        assert_eq!(held(folder.path()), 0);
    }

    #[test]
    fn a_keeper_that_was_told_nothing_does_not_wait_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let (keeper, line) = hired(folder.path());
        drop(line);
        keeper.dismiss();
        assert_eq!(held(folder.path()), 0);
    }

    #[test]
    fn a_master_that_is_killed_before_it_tells_leaves_no_names() {
        let folder = tempfile::tempdir().unwrap();
        let (Keeper { line: master, process, memory }, line) = hired(folder.path());
        drop(master);
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(held(folder.path()), 3, "somebody may have been born");
        drop(line);
        let since = Instant::now();
        reap(&process);
        drop(memory);
        assert!(since.elapsed() > Duration::from_millis(500), "whoever was ends first");
        assert_eq!(held(folder.path()), 0);
    }
}
