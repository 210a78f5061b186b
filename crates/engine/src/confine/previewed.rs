//! An errand over throw-away layers: the command runs, and what it would change is kept beside the originals.

use std::path::Path;

use mayi_sandbox::enforcement::Mechanism;
use mayi_sandbox::preview::{Preview, PreviewError};
use mayi_sandbox::report::Report;
use mayi_sandbox::run::{Io, Stream};

use super::errand::{Errand, Prepared, Unprepared, host, sandbox};
use super::run::{RunError, environment};
use super::temporary::Temporary;

/// Why a command cannot be previewed.
#[derive(Debug, thiserror::Error)]
pub enum Unpreviewed {
    /// It cannot run confined at all.
    #[error(transparent)]
    Unprepared(#[from] Unprepared),
    /// There is no place for its changes.
    #[error(transparent)]
    Preview(#[from] PreviewError),
}

impl Errand<'_> {
    /// The plan over layers that take what the command changes, which are kept in `previews`.
    pub fn preview(&self, mechanism: Option<Mechanism>, previews: &Path) -> Result<(Prepared, Preview), Unpreviewed> {
        let temporary = Temporary::new().map_err(Unprepared::from)?;
        let mut plan = self.plan(temporary.path());
        let command = self.permit.call().text("command").unwrap_or_default();
        let preview = Preview::prepare(&mut plan, command, previews)?;
        match sandbox(plan, &host(self.loaded), mechanism) {
            Ok(sandbox) => Ok((Prepared { sandbox, permit: self.permit.clone(), temporary, ahead: None }, preview)),
            Err(refused) => {
                preview.discard()?;
                Err(Unprepared::from(refused).into())
            }
        }
    }
}

impl Prepared {
    /// Runs the command over the layers of a preview, with its output going there.
    pub fn run_over(self, preview: &Preview, stdout: Stream) -> Result<Report, RunError> {
        let io = Io { environment: environment(), overlays: preview.overlays(), stdout, ..Io::default() };
        self.run_with(io, None).map(|ended| ended.report)
    }
}
