//! The only thread that writes. Whatever waits for it is written in one transaction: one flush of the disk makes all of
//! it durable, and everybody is answered after it.
//!
//! It answers everybody, and nobody before the commit.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, ErrorCode};
use tokio::sync::{broadcast, mpsc, oneshot};

use super::remembered::Remembered;
use super::tidier::Tidier;
use super::turn::{Changed, Statements, Turn};
use super::{Event, StoreError, failure, schema};

/// How many changes may wait. Beyond that, whoever brings one waits before the door.
const WAITING: usize = 8192;
/// How many changes go into one transaction at most, so that nobody waits long for the others.
const TOGETHER: usize = 4096;
/// How long anybody waits for a change to be durable.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a change was not made.
#[derive(Debug)]
pub(super) enum Failure {
    /// It cannot be made, and nothing of it was written. The other changes of the transaction are not touched by it.
    Refused(StoreError),
    /// The database failed; the whole transaction goes.
    Database(rusqlite::Error),
}

impl From<rusqlite::Error> for Failure {
    fn from(error: rusqlite::Error) -> Self {
        Failure::Database(error)
    }
}

/// The way to the thread.
#[derive(Debug)]
pub(super) struct Writer {
    queue: mpsc::Sender<Box<dyn Job>>,
}

impl Writer {
    /// Starts the thread. It ends when nobody can bring changes any more.
    pub(super) fn start(
        path: &Path,
        listeners: broadcast::Sender<Event>,
        sessions: Option<Arc<Remembered>>,
    ) -> Result<Self, StoreError> {
        let connection = schema::connect_to_write(path)?;
        let (queue, waiting) = mpsc::channel(WAITING);
        let tidier = Tidier::start(path)?;
        let thread = Thread { path: path.to_owned(), waiting, listeners, sessions, tidier };
        std::thread::Builder::new()
            .name("mayi-store".to_owned())
            .spawn(move || thread.run(&connection))
            .map_err(|error| StoreError::Away(format!("its thread cannot be started: {error}")))?;
        Ok(Self { queue })
    }

    /// Makes a change. It is durable when this returns. A change may be tried twice, if others in its transaction failed.
    ///
    /// INVARIANT: a change that refuses itself does so before it writes anything.
    pub(super) async fn change<T: Send + 'static>(
        &self,
        change: impl FnMut(&mut Turn<'_, '_>) -> Result<T, Failure> + Send + 'static,
    ) -> Result<T, StoreError> {
        let (reply, answer) = oneshot::channel();
        let job = Box::new(Change { change, outcome: None, reply });
        let wait = async {
            self.queue.send(job).await.map_err(|_| gone())?;
            answer.await.map_err(|_| gone())?
        };
        let too_slow = |_| StoreError::Away(format!("it did not answer within {} seconds", PATIENCE.as_secs()));
        tokio::time::timeout(PATIENCE, wait).await.map_err(too_slow)?
    }
}

fn gone() -> StoreError {
    StoreError::Away("the thread that writes has ended".to_owned())
}

/// A change that waits, whatever it returns.
trait Job: Send + std::fmt::Debug {
    /// Whether somebody still waits for it. One that nobody waits for is not begun.
    fn is_wanted(&self) -> bool;
    /// Makes the change within a transaction. An error is the whole transaction's.
    fn run(&mut self, turn: &mut Turn<'_, '_>) -> Result<(), rusqlite::Error>;
    /// The transaction is durable: tells the outcome.
    fn done(self: Box<Self>);
    /// The transaction failed.
    fn failed(self: Box<Self>, error: StoreError);
}

struct Change<F, T> {
    change: F,
    outcome: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
}

impl<F, T> std::fmt::Debug for Change<F, T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Change").finish_non_exhaustive()
    }
}

impl<F, T> Job for Change<F, T>
where
    F: FnMut(&mut Turn<'_, '_>) -> Result<T, Failure> + Send,
    T: Send,
{
    fn is_wanted(&self) -> bool {
        !self.reply.is_closed()
    }

    fn run(&mut self, turn: &mut Turn<'_, '_>) -> Result<(), rusqlite::Error> {
        match (self.change)(turn) {
            Ok(value) => self.outcome = Some(Ok(value)),
            Err(Failure::Refused(error)) => self.outcome = Some(Err(error)),
            Err(Failure::Database(error)) => return Err(error),
        }
        Ok(())
    }

    fn done(self: Box<Self>) {
        // Whoever went away meanwhile is not told.
        let _ = self.reply.send(self.outcome.unwrap_or_else(|| Err(gone())));
    }

    fn failed(self: Box<Self>, error: StoreError) {
        let _ = self.reply.send(Err(error));
    }
}

struct Thread {
    path: PathBuf,
    waiting: mpsc::Receiver<Box<dyn Job>>,
    listeners: broadcast::Sender<Event>,
    /// Where sessions are remembered that became durable.
    sessions: Option<Arc<Remembered>>,
    tidier: Tidier,
}

impl Thread {
    fn run(mut self, connection: &Connection) {
        let mut statements = None;
        while let Some(first) = self.waiting.blocking_recv() {
            let jobs = self.everybody_after(first);
            let ready = match statements.take() {
                Some(ready) => Ok(ready),
                None => Statements::prepare(connection),
            };
            match ready {
                Ok(mut ready) => {
                    self.commit(jobs, &mut ready);
                    statements = Some(ready);
                }
                Err(error) => self.refuse(jobs, &error),
            }
        }
    }

    fn everybody_after(&mut self, first: Box<dyn Job>) -> Vec<Box<dyn Job>> {
        let mut jobs = vec![first];
        while jobs.len() < TOGETHER
            && let Ok(next) = self.waiting.try_recv()
        {
            jobs.push(next);
        }
        jobs.retain(|job| job.is_wanted());
        jobs
    }

    /// One transaction for all. Where it fails because of what one of them brings, each gets a transaction of its own.
    fn commit(&mut self, mut jobs: Vec<Box<dyn Job>>, statements: &mut Statements<'_>) {
        match transact(&mut jobs, statements) {
            Ok(Changed { events, sessions, bytes }) => {
                if let Some(remembered) = &self.sessions {
                    remembered.put(sessions);
                }
                jobs.into_iter().for_each(Job::done);
                for event in events {
                    // Nobody may be listening.
                    let _ = self.listeners.send(event);
                }
                self.tidier.written(bytes);
            }
            Err(error) if jobs.len() > 1 && is_about_one(&error) => {
                for job in jobs {
                    self.commit(vec![job], statements);
                }
            }
            Err(error) => self.refuse(jobs, &error),
        }
    }

    fn refuse(&self, jobs: Vec<Box<dyn Job>>, error: &rusqlite::Error) {
        let error = failure(&self.path, error);
        for job in jobs {
            job.failed(error.clone());
        }
    }
}

fn transact(jobs: &mut [Box<dyn Job>], statements: &mut Statements<'_>) -> rusqlite::Result<Changed> {
    let connection = statements.connection();
    connection.execute_batch("begin immediate")?;
    let written = (|| {
        let mut turn = Turn::begin(statements)?;
        jobs.iter_mut().try_for_each(|job| job.run(&mut turn))?;
        let changed = turn.end()?;
        connection.execute_batch("commit")?;
        Ok(changed)
    })();
    if written.is_err() && !connection.is_autocommit() {
        // Where even this fails, the next transaction fails to begin, and nothing is half written.
        let _ = connection.execute_batch("rollback");
    }
    written
}

/// Whether an error comes from what was to be written rather than from the disk or other processes.
fn is_about_one(error: &rusqlite::Error) -> bool {
    matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch)
    )
}
