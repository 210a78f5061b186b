//! A few connections that only read, each on a thread of its own while it does. They see what is committed, and never
//! wait for the writer.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rusqlite::Connection;
use tokio::sync::Semaphore;

use super::{StoreError, schema};

/// How many read at once.
const READERS: usize = 4;
/// How long a read may take, with the wait for a connection. One that takes longer is broken off.
const PATIENCE: Duration = Duration::from_secs(15);

/// The connections.
#[derive(Debug)]
pub(super) struct Readers {
    path: PathBuf,
    idle: Arc<Mutex<Vec<Connection>>>,
    turns: Arc<Semaphore>,
}

impl Readers {
    pub(super) fn open(path: &Path) -> Result<Self, StoreError> {
        let idle = (0..READERS).map(|_| schema::connect_to_read(path)).collect::<Result<_, _>>()?;
        let turns = Arc::new(Semaphore::new(READERS));
        Ok(Self { path: path.to_owned(), idle: Arc::new(Mutex::new(idle)), turns })
    }

    /// Reads something.
    pub(super) async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Connection) -> Result<T, StoreError> + Send + 'static,
    ) -> Result<T, StoreError> {
        let turn = tokio::time::timeout(PATIENCE, Arc::clone(&self.turns).acquire_owned()).await;
        let turn = turn.map_err(|_| too_slow())?.map_err(|error| StoreError::Away(error.to_string()))?;
        let connection = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        // One that was lost is replaced.
        let connection = connection.map_or_else(|| schema::connect_to_read(&self.path), Ok)?;
        let stop = connection.get_interrupt_handle();
        let idle = Arc::clone(&self.idle);
        let reading = tokio::task::spawn_blocking(move || {
            let found = look(&connection);
            idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
            drop(turn);
            found
        });
        match tokio::time::timeout(PATIENCE, reading).await {
            Ok(found) => found.map_err(|error| StoreError::Away(format!("reading broke off: {error}")))?,
            Err(_) => {
                stop.interrupt();
                Err(too_slow())
            }
        }
    }
}

fn too_slow() -> StoreError {
    StoreError::Away(format!("reading takes longer than {} seconds\nhelp: ask for less", PATIENCE.as_secs()))
}
