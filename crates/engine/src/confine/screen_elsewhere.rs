//! Where nothing is confined yet, nobody sits before a confined command.

use std::io;
use std::sync::Arc;

use mayi_sandbox::proxy::Doorkeeper;
use mayi_sandbox::run::{Io, Running};

/// Nothing.
pub(super) struct Screen;

impl Screen {
    pub(super) fn open(_: &mut Io) -> io::Result<Self> {
        Ok(Screen)
    }

    pub(super) fn aside(&mut self, keeper: Arc<dyn Doorkeeper>) -> Arc<dyn Doorkeeper> {
        keeper
    }

    pub(super) fn attend(self, _: &Running) -> io::Result<()> {
        Ok(())
    }
}
