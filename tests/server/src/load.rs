//! Agents that ask and people who answer, all at once, for as long as there is a server.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use anyhow::Result;
use tokio::task::JoinSet;

use crate::{Client, Ledger};

/// Commands that an empty policy lets run, asks about, and refuses to nobody.
const COMMANDS: [&str; 3] = ["git status", "npm install left-pad", "ls -la"];

/// Many workers, and what they were told.
#[derive(Debug)]
pub struct Load {
    workers: JoinSet<Result<()>>,
    over: Arc<AtomicBool>,
    ledger: Arc<Ledger>,
}

/// Who works.
#[derive(Clone, Debug)]
pub struct Crew {
    /// Asks.
    pub agent: Client,
    /// Answers.
    pub approver: Client,
}

impl Load {
    /// Sets workers to work. Calls are named after `name`, so that no two rounds name the same.
    pub fn begin(crew: &Crew, name: &str, (workers, ledger): (usize, &Arc<Ledger>)) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mut set = JoinSet::new();
        for worker in 0..workers {
            let (crew, over, ledger) = (crew.clone(), Arc::clone(&over), Arc::clone(ledger));
            let name = format!("{name}-{worker}");
            set.spawn(async move { work(&crew, &name, (&over, &ledger)).await });
        }
        Self { workers: set, over, ledger: Arc::clone(ledger) }
    }

    /// Waits until so many more decisions were answered.
    pub async fn decided(&self, more: usize) -> Result<()> {
        let wanted = self.ledger.decisions() + more;
        crate::until("enough decisions", || async { Ok((self.ledger.decisions() >= wanted).then_some(())) }).await
    }

    /// Waits until so many more requests were refused.
    pub async fn refused(&self, more: usize) -> Result<()> {
        let wanted = self.ledger.refused() + more;
        crate::until("enough refusals", || async { Ok((self.ledger.refused() >= wanted).then_some(())) }).await
    }

    /// Lets everybody finish what they began. The connections that broke meanwhile.
    pub async fn end(mut self) -> Result<usize> {
        self.over.store(true, Ordering::Relaxed);
        let mut broken = 0;
        while let Some(worker) = self.workers.join_next().await {
            broken += usize::from(worker?.is_err());
        }
        Ok(broken)
    }
}

/// One worker, until it is over or a connection breaks.
async fn work(crew: &Crew, name: &str, (over, ledger): (&AtomicBool, &Ledger)) -> Result<()> {
    for (number, command) in COMMANDS.iter().cycle().enumerate() {
        if over.load(Ordering::Relaxed) {
            return Ok(());
        }
        let call = format!("{name}-{number}");
        let reply = crew.agent.decide(&call, command).await?;
        if reply.status == 503 {
            // Whoever is refused comes again, but not at once.
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let Some((id, digest)) = ledger.decided(&call, &reply) else { continue };
        // Two people see the same question and do not agree; one of them is first.
        let (yes, no) =
            tokio::join!(crew.approver.answer(&id, &digest, "allow"), crew.approver.answer(&id, &digest, "deny"));
        for reply in [yes, no] {
            ledger.answered(&id, &reply?);
        }
    }
    Ok(())
}
