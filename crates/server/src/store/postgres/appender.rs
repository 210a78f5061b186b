//! Group commit for a process: whatever waits to be appended goes into one transaction, and everybody is answered after
//! its commit. The chain is one for the fleet, so that one long turn is better than many short ones.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{mpsc, oneshot};
use tokio::time::timeout;

use super::connections::Connections;
use super::{NewRecord, StoreError, chain};

/// How many may wait. Beyond that, whoever brings one waits before the door.
const WAITING: usize = 8192;
/// How many records go into one transaction at most, and how many bytes, so that nobody waits long for the others.
const TOGETHER: (usize, usize) = (5000, 8 << 20);
/// How long anybody waits for records to be durable.
const PATIENCE: Duration = Duration::from_secs(15);

/// The way to the task that appends.
#[derive(Debug)]
pub(super) struct Appender {
    queue: mpsc::Sender<Waiting>,
}

/// Records that wait.
#[derive(Debug)]
struct Waiting {
    records: Vec<NewRecord>,
    reply: oneshot::Sender<Result<Vec<u64>, StoreError>>,
}

impl Appender {
    /// Starts the task. It ends when nobody can bring records any more.
    pub(super) fn start(connections: Arc<Connections>) -> Self {
        let (queue, waiting) = mpsc::channel(WAITING);
        tokio::spawn(run(connections, waiting));
        Self { queue }
    }

    /// Appends records. They are durable when this returns.
    pub(super) async fn append(&self, records: Vec<NewRecord>) -> Result<Vec<u64>, StoreError> {
        let (reply, answer) = oneshot::channel();
        let gone = || StoreError::Away("the task that appends has ended".to_owned());
        let wait = async {
            self.queue.send(Waiting { records, reply }).await.map_err(|_| gone())?;
            answer.await.map_err(|_| gone())?
        };
        let slow = |_| StoreError::Away(format!("it did not answer within {} seconds", PATIENCE.as_secs()));
        timeout(PATIENCE, wait).await.map_err(slow)?
    }
}

async fn run(connections: Arc<Connections>, mut waiting: mpsc::Receiver<Waiting>) {
    while let Some(first) = waiting.recv().await {
        let jobs = everybody_after(first, &mut waiting);
        commit(&connections, jobs).await;
    }
}

fn everybody_after(first: Waiting, waiting: &mut mpsc::Receiver<Waiting>) -> Vec<Waiting> {
    let weight = |job: &Waiting| (job.records.len(), job.records.iter().map(|record| record.text.len()).sum::<usize>());
    let (mut records, mut bytes) = weight(&first);
    let mut jobs = vec![first];
    while records < TOGETHER.0
        && bytes < TOGETHER.1
        && let Ok(next) = waiting.try_recv()
    {
        let (more_records, more_bytes) = weight(&next);
        (records, bytes) = (records + more_records, bytes + more_bytes);
        jobs.push(next);
    }
    // One that nobody waits for any more is not begun.
    jobs.retain(|job| !job.reply.is_closed());
    jobs
}

/// One transaction for all. Where it fails because of what one of them brings, each gets a transaction of its own.
async fn commit(connections: &Arc<Connections>, mut jobs: Vec<Waiting>) {
    let counts: Vec<usize> = jobs.iter().map(|job| job.records.len()).collect();
    let records: Vec<NewRecord> = jobs.iter_mut().flat_map(|job| std::mem::take(&mut job.records)).collect();
    match append(connections, &records).await {
        Ok(numbers) => {
            let mut numbers = numbers.into_iter();
            for (job, count) in jobs.into_iter().zip(counts) {
                // Whoever went away meanwhile is not told.
                let _ = job.reply.send(Ok(numbers.by_ref().take(count).collect()));
            }
        }
        Err(StoreError::Damaged(_)) if jobs.len() > 1 => {
            let mut records = records.into_iter();
            for (job, count) in jobs.into_iter().zip(counts) {
                let own: Vec<NewRecord> = records.by_ref().take(count).collect();
                let _ = job.reply.send(append(connections, &own).await);
            }
        }
        Err(error) => {
            for job in jobs {
                let _ = job.reply.send(Err(error.clone()));
            }
        }
    }
}

async fn append(connections: &Arc<Connections>, records: &[NewRecord]) -> Result<Vec<u64>, StoreError> {
    connections.change(async |transaction| chain::append(transaction, records, &connections.partitions).await).await
}
