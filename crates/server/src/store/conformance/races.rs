//! Many who want the same at once.

use std::sync::Arc;

use mayi_engine::remote::wire::State;
use tokio::task::JoinSet;

use super::{Failed, Ground, Store, THEN, answer, approval, count, decision, everything, same, state, verifies};
use crate::store::{Kept, NewRecord, Settled, StoreError};

/// How many come at once.
const MANY: u64 = 50;

/// What everybody gets who does the same at once, half of them through a second store on the same database.
async fn at_once<T: Send + 'static>(
    ground: &dyn Ground,
    act: impl for<'a> Fn(&'a dyn Store, u64) -> Kept<'a, T> + Clone + Send + Sync + 'static,
) -> Result<Vec<Result<T, StoreError>>, Failed> {
    let stores = [ground.open().await?, ground.open().await?];
    let mut tasks = JoinSet::new();
    for (number, store) in (0..MANY).zip(stores.iter().cycle()) {
        let (store, act) = (Arc::clone(store), act.clone());
        tasks.spawn(async move { act(&*store, number).await });
    }
    let mut outcomes = Vec::new();
    while let Some(outcome) = tasks.join_next().await {
        outcomes.push(outcome.map_err(|error| Failed(error.to_string()))?);
    }
    Ok(outcomes)
}

pub(super) async fn settle(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    store.put_approval(approval("one", "a", THEN), Vec::new()).await?;
    let outcomes = at_once(ground, |store, number| {
        let said = answer(&format!("person {number}"));
        store.settle("one".to_owned(), State::Answered, Some(said), vec![decision(THEN, "a")])
    });
    let mut now = Vec::new();
    let mut before = Vec::new();
    for outcome in outcomes.await? {
        match outcome? {
            Some(Settled::Now(approval)) => now.push(approval),
            Some(Settled::Before(approval)) => before.push(approval),
            None => return Err(Failed("the question was not found".to_owned())),
        }
    }
    same("those who were heard", now.len(), 1)?;
    same("everybody is told the same", before.iter().all(|told| Some(told) == now.first()), true)?;
    same("records", count(&*store).await?, 1)?;
    same("what is kept", store.approval("one".to_owned()).await?.as_ref(), now.first())
}

pub(super) async fn secret(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    store.put_secret("link".to_owned(), [1; 32], "value".to_owned(), THEN).await?;
    let outcomes = at_once(ground, |store, _| store.take_secret("link".to_owned(), [1; 32], 0)).await?;
    let taken = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?.into_iter().flatten().count();
    same("those who have it", taken, 1)
}

pub(super) async fn session(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    for round in 0..2 {
        // First nobody knows it, then everybody knows the same version.
        let outcomes = at_once(ground, move |store, number| {
            let mut wanted = state::session("a");
            wanted.version = round;
            wanted.directory = format!("/{number}");
            store.put_session(wanted, vec![decision(THEN, "a")])
        });
        let (mut made, mut refused) = (0, 0);
        for outcome in outcomes.await? {
            match outcome {
                Ok(_) => made += 1,
                Err(StoreError::Conflict) => refused += 1,
                Err(error) => return Err(error.into()),
            }
        }
        same("changes made and refused", (made, refused), (1, MANY - 1))?;
    }
    same("records", count(&*store).await?, 2)
}

pub(super) async fn value(ground: &dyn Ground) -> Result<(), Failed> {
    let outcomes = at_once(ground, |store, number| store.value_or_put("key".to_owned(), number.to_string())).await?;
    let mut values = outcomes.into_iter().collect::<Result<Vec<_>, _>>()?;
    values.dedup();
    same("different values", values.len(), 1)
}

pub(super) async fn append(ground: &dyn Ground) -> Result<(), Failed> {
    let outcomes = at_once(ground, |store, number| {
        let records = (0..=number % 5).map(|step| decision(THEN + step, &format!("s{number}"))).collect();
        store.append(records)
    });
    let mut numbers: Vec<u64> = outcomes.await?.into_iter().collect::<Result<Vec<_>, _>>()?.concat();
    numbers.sort_unstable();
    same("numbers", numbers, (1..=150).collect())?;
    let store = ground.open().await?;
    let found = store.records(everything()).await?;
    same("records", found.iter().map(|record| record.number).collect::<Vec<_>>(), (1..=150).collect())?;
    verifies(&*store, 150).await
}

pub(super) async fn ship(ground: &dyn Ground) -> Result<(), Failed> {
    let outcomes = at_once(ground, |store, _| {
        let shipped = |sequence| NewRecord { shipped: Some(("one".to_owned(), sequence)), ..decision(THEN, "a") };
        store.append((0..10).map(shipped).collect())
    });
    let mut numbers = outcomes.await?.into_iter().collect::<Result<Vec<_>, _>>()?;
    numbers.dedup();
    same("everybody is told the same numbers", numbers, vec![(1..=10).collect()])?;
    let store = ground.open().await?;
    same("the next wanted", store.shipped("one".to_owned()).await?, 10)?;
    verifies(&*store, 10).await
}
