//! Somebody with the database in their hands changes the audit: verifying names the first record that is not what was
//! written.

use super::{DAY, Failed, Ground, THEN, decision, record, same, verifies};
use crate::store::Store;

/// What an intruder does, what undoes it, and the record that is named.
const CHANGES: &[(&str, &str, u64)] = &[
    (
        "update record set text = replace(text, 'deny', 'skip') where number = 6",
        "update record set text = replace(text, 'skip', 'deny') where number = 6",
        6,
    ),
    ("update record set verdict = 'allow' where number = 6", "update record set verdict = 'deny' where number = 6", 6),
    ("update record set session = null where number = 7", "update record set session = 'a' where number = 7", 7),
    ("update record set kind = 'run' where number = 8", "update record set kind = 'decision' where number = 8", 8),
    ("update record set number = 99 where number = 7", "update record set number = 7 where number = 99", 7),
    ("update record set number = 2 where number = 5", "update record set number = 5 where number = 2", 2),
    ("update record set number = 99 where number = 10", "update record set number = 10 where number = 99", 10),
    (
        "update chain set number = number - 1 where number = 10",
        "update chain set number = number + 1 where number = 9",
        10,
    ),
    (
        "update chain set forgotten_number = 4 where forgotten_number = 3",
        "update chain set forgotten_number = 3 where forgotten_number = 4",
        4,
    ),
];

/// What cannot be undone, each on what the ones before left.
const DELETIONS: &[(&str, u64)] = &[
    ("delete from record where number = 10", 10),
    ("delete from record where number = 7", 7),
    ("delete from record where number = 4", 4),
    ("delete from record", 4),
];

pub(super) async fn is_found(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    store.append((0..3).map(|step| decision(THEN + step, "a")).collect()).await?;
    let second_day =
        |step| if step == 2 { record(THEN + DAY, "decision", "a", "deny") } else { decision(THEN + DAY, "a") };
    store.append((0..7).map(second_day).collect()).await?;
    same("forgotten", store.forget_before(THEN + DAY).await?, 3)?;
    verifies(&*store, 7).await?;
    for (change, undo, number) in CHANGES {
        ground.tamper(change)?;
        named(&*store, change, *number).await?;
        ground.tamper(undo)?;
        verifies(&*store, 7).await?;
    }
    for (deletion, number) in DELETIONS {
        ground.tamper(deletion)?;
        named(&*store, deletion, *number).await?;
    }
    Ok(())
}

async fn named(store: &dyn Store, change: &str, number: u64) -> Result<(), Failed> {
    let broken = store.verify().await?.broken;
    same(&format!("after `{change}` ({broken:?})"), broken.map(|(number, _)| number), Some(number))
}
