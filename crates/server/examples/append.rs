//! How many small audit records a store makes durable in a second, from many callers at once:
//! `cargo run --release --example append -- sqlite:PATH [CALLERS] [SECONDS]`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use mayi_server::store::{NewRecord, StoreError, open};

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), StoreError> {
    let mut arguments = std::env::args().skip(1);
    let store = open(&arguments.next().unwrap_or_default()).await?;
    let mut number = |otherwise| arguments.next().and_then(|text| text.parse().ok()).unwrap_or(otherwise);
    let (callers, seconds) = (number(512), number(5));
    let (done, over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let begun = Instant::now();
    let tasks: Vec<_> = (0..callers)
        .map(|caller| {
            let (store, done, over) = (Arc::clone(&store), Arc::clone(&done), Arc::clone(&over));
            tokio::spawn(async move {
                let mut slowest = Duration::ZERO;
                while !over.load(Ordering::Relaxed) {
                    let asked = Instant::now();
                    store.append(vec![record(caller)?]).await?;
                    slowest = slowest.max(asked.elapsed());
                    done.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<Duration, StoreError>(slowest)
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    over.store(true, Ordering::Relaxed);
    let mut slowest = Duration::ZERO;
    for task in tasks {
        slowest = slowest.max(task.await.map_err(|error| StoreError::Away(error.to_string()))??);
    }
    let took = begun.elapsed().as_secs_f64();
    let done = done.load(Ordering::Relaxed);
    let begun = Instant::now();
    let verified = store.verify().await?;
    let said = format!(
        "{done} records in {took:.2} s from {callers} callers: {:.0} a second, the slowest {slowest:?}; verified in {:?}: {:?}\n",
        done as f64 / took,
        begun.elapsed(),
        verified.broken
    );
    std::io::Write::write_all(&mut std::io::stdout(), said.as_bytes())
        .map_err(|error| StoreError::Away(error.to_string()))
}

/// About half a kilobyte, as a short decision is.
fn record(caller: u64) -> Result<NewRecord, StoreError> {
    let filling = "x".repeat(300);
    NewRecord::of(format!(
        r#"{{"v":1,"at":1728000000000,"kind":"decision","agent":"claude-code","session":"session-{caller}","cwd":"/home/u/project","mode":"default","tool":"Bash","input":{{"command":"{filling}"}},"verdict":"allow","step":"2b"}}"#
    ))
}
