//! Where there is no sandbox yet: nothing runs.

use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use super::{Io, Sandbox, SpawnError};
use crate::plan::Plan;
use crate::report::Report;

/// Nothing ever runs here, so there is none.
#[derive(Debug)]
pub(super) enum Running {}

/// Nor is anything made for it.
#[derive(Debug)]
pub(super) enum Ahead {}

/// Never made.
#[derive(Debug)]
pub(super) enum Cleaning {}

impl Ahead {
    pub(super) fn begin() -> Option<Self> {
        None
    }
}

pub(super) fn spawn(_: &Sandbox, _: &str, _: Io, _: impl FnOnce()) -> Result<Running, SpawnError> {
    Err(SpawnError::Walls {
        what: "this system".into(),
        why: "only Linux is supported".into(),
        help: "run the command on Linux".into(),
    })
}

pub(super) fn try_bubblewrap(_: &Path) -> Result<(), String> {
    Err("only Linux has it".into())
}

pub(super) fn beyond_landlock(_: &Plan) -> Result<Option<PathBuf>, String> {
    Err("only Linux has it".into())
}

impl Running {
    pub(super) fn id(&self) -> u32 {
        match *self {}
    }

    pub(super) fn signal(&self, _: i32) {
        match *self {}
    }

    pub(super) fn listener(&mut self) -> Option<OwnedFd> {
        match *self {}
    }

    pub(super) fn end(self) -> (Report, Cleaning) {
        match self {}
    }

    #[cfg(unix)]
    pub(super) fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        match *self {}
    }
}
