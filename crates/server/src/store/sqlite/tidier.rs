//! Copies the log into the database beside the thread that writes, so that nobody waits for it: the log is durable
//! already, and all that a long one costs is room and slower reading.
//!
//! It never holds up writing for longer than a moment. What it could not do it does the next time.

use std::path::Path;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::time::Duration;

use rusqlite::Connection;

use super::{StoreError, schema};

/// After so many pages the log is copied. More of them make fewer copies of pages that change again.
const PAGES: usize = 4000;
/// The pages that every transaction writes, and the bytes of records that have room on a further one, both roughly.
const PAGES_OF_A_TRANSACTION: usize = 4;
const BYTES_ON_A_PAGE: usize = 3000;
/// How long those who read may keep a log from beginning anew. Nobody can write meanwhile.
const PATIENCE: Duration = Duration::from_millis(20);

/// Knows about when the log is long, and has it copied then.
#[derive(Debug)]
pub(super) struct Tidier {
    pages: usize,
    wake: SyncSender<()>,
}

impl Tidier {
    /// Starts the thread that copies. It ends with this.
    pub(super) fn start(path: &Path) -> Result<Self, StoreError> {
        let connection = schema::connect(path)?;
        connection.busy_timeout(PATIENCE).map_err(|error| super::failure(path, &error))?;
        let (wake, woken) = mpsc::sync_channel(1);
        std::thread::Builder::new()
            .name("mayi-tidier".to_owned())
            .spawn(move || tidy(&connection, &woken))
            .map_err(|error| StoreError::Away(format!("its thread cannot be started: {error}")))?;
        Ok(Self { pages: 0, wake })
    }

    /// A transaction with so many bytes of records was written.
    pub(super) fn written(&mut self, bytes: usize) {
        self.pages += PAGES_OF_A_TRANSACTION + bytes / BYTES_ON_A_PAGE;
        if self.pages >= PAGES {
            self.pages = 0;
            // One that still copies is told once that there is more.
            let _ = self.wake.try_send(());
        }
    }
}

fn tidy(connection: &Connection, woken: &Receiver<()>) {
    while woken.recv().is_ok() {
        // Nearly all of it is copied while others write; what they wrote meanwhile is little, and only for that, and to
        // begin the log anew, are they kept waiting.
        for manner in ["passive", "restart"] {
            let copied =
                connection.query_row(&format!("pragma wal_checkpoint({manner})"), [], |row| row.get::<_, i64>(0));
            // Whatever is wrong with the disk is found by whoever writes next.
            if copied.is_err() {
                break;
            }
        }
    }
}
