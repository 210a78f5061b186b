//! The audit: its order, its filters, what is shipped, what is forgotten.

use mayi_engine::audit::chain::Link;

use super::{DAY, Failed, Ground, THEN, count, decision, everything, record, same, verifies};
use crate::store::{NewRecord, RecordFilter, StoredRecord};

pub(super) async fn numbers(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    same("an empty chain", store.verify().await?.records, 0)?;
    same("nothing", store.append(Vec::new()).await?, vec![])?;
    same("the first", store.append(vec![decision(THEN, "a")]).await?, vec![1])?;
    same("the next", store.append(vec![decision(THEN + 1, "b"), decision(THEN + 2, "a")]).await?, vec![2, 3])?;
    let found = store.records(everything()).await?;
    same("numbers", found.iter().map(|record| record.number).collect(), vec![1, 2, 3])?;
    same("moments", found.iter().map(|record| record.at).collect(), vec![THEN, THEN + 1, THEN + 2])?;
    let mut link = Link::START;
    for StoredRecord { text, link: kept, .. } in &found {
        link = link.next(text);
        same("a link", *kept, link)?;
    }
    let verified = store.verify().await?;
    same("the head", verified.head, link.to_string())?;
    same("the first number", verified.first, Some(1))?;
    verifies(&*store, 3).await
}

pub(super) async fn reopened(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    store.append(vec![decision(THEN, "a"), decision(THEN, "a")]).await?;
    drop(store);
    let store = ground.open().await?;
    same("the number after opening", store.append(vec![decision(THEN, "a")]).await?, vec![3])?;
    verifies(&*store, 3).await
}

pub(super) async fn filters(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    let records = vec![
        record(THEN, "decision", "a", "allow"),
        record(THEN + DAY, "decision", "b", "deny"),
        record(THEN + DAY + 5, "answer", "a", "deny"),
        // It was shipped late: it happened before the others.
        record(THEN - 3 * DAY, "decision", "late", "ask"),
        record(THEN + 2 * DAY, "mode", "a", ""),
    ];
    store.append(records).await?;
    let all = everything();
    let table = [
        (all.clone(), vec![1, 2, 3, 4, 5]),
        (RecordFilter { newest_first: true, ..all.clone() }, vec![5, 4, 3, 2, 1]),
        (RecordFilter { newest_first: true, limit: 2, ..all.clone() }, vec![5, 4]),
        (RecordFilter { limit: 0, ..all.clone() }, vec![]),
        (RecordFilter { after: Some(2), ..all.clone() }, vec![3, 4, 5]),
        (RecordFilter { before: Some(4), after: Some(1), ..all.clone() }, vec![2, 3]),
        (RecordFilter { since: Some(THEN + DAY), ..all.clone() }, vec![2, 3, 5]),
        (RecordFilter { since: Some(THEN + 9 * DAY), ..all.clone() }, vec![]),
        (RecordFilter { until: Some(THEN), ..all.clone() }, vec![1, 4]),
        (RecordFilter { until: Some(THEN - 9 * DAY), ..all.clone() }, vec![]),
        (RecordFilter { since: Some(THEN), until: Some(THEN + DAY), ..all.clone() }, vec![1, 2]),
        (RecordFilter { session: Some("a".to_owned()), ..all.clone() }, vec![1, 3, 5]),
        (RecordFilter { kind: Some("decision".to_owned()), ..all.clone() }, vec![1, 2, 4]),
        (RecordFilter { verdict: Some("deny".to_owned()), ..all.clone() }, vec![2, 3]),
        (RecordFilter { text: Some("\"late\"".to_owned()), ..all.clone() }, vec![4]),
        (RecordFilter { text: Some("%".to_owned()), ..all.clone() }, vec![]),
        (RecordFilter { session: Some("a' or '1'='1".to_owned()), ..all.clone() }, vec![]),
    ];
    for (filter, expected) in table {
        let found = store.records(filter.clone()).await?;
        same(&format!("{filter:?}"), found.iter().map(|record| record.number).collect(), expected)?;
    }
    Ok(())
}

fn shipped(source: &str, sequence: u64) -> NewRecord {
    NewRecord { shipped: Some((source.to_owned(), sequence)), ..decision(THEN + sequence, source) }
}

pub(super) async fn shipped_twice(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    same("of a stranger", store.shipped("one".to_owned()).await?, 0)?;
    same("new", store.append(vec![shipped("one", 7), shipped("one", 8)]).await?, vec![1, 2])?;
    same("again, with one more", store.append(vec![shipped("one", 8), shipped("one", 9)]).await?, vec![2, 3])?;
    same("another's", store.append(vec![shipped("two", 8)]).await?, vec![4])?;
    same("twice at once", store.append(vec![shipped("two", 9), shipped("two", 9)]).await?, vec![5, 5])?;
    same("the next of one", store.shipped("one".to_owned()).await?, 10)?;
    same("the next of two", store.shipped("two".to_owned()).await?, 10)?;
    same("one that comes late", store.append(vec![shipped("one", 3)]).await?, vec![6])?;
    same("the next of one after it", store.shipped("one".to_owned()).await?, 10)?;
    verifies(&*store, 6).await
}

pub(super) async fn forgets_days(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    for day in 0..4 {
        store.append(vec![decision(THEN + day * DAY, "a"), decision(THEN + day * DAY + 5, "b")]).await?;
    }
    same("of the first day's middle", store.forget_before(THEN + 3).await?, 0)?;
    same("two days", store.forget_before(THEN + 2 * DAY + 3).await?, 4)?;
    let verified = store.verify().await?;
    same("the first that is kept", verified.first, Some(5))?;
    verifies(&*store, 4).await?;
    drop(store);
    let store = ground.open().await?;
    same("the next number", store.append(vec![decision(THEN + 3 * DAY + 9, "a")]).await?, vec![9])?;
    same("again", store.forget_before(THEN + 2 * DAY).await?, 0)?;
    verifies(&*store, 5).await
}

pub(super) async fn forgets_all(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    store.append(vec![shipped("one", 1), shipped("one", 2)]).await?;
    same("all", store.forget_before(THEN + 50 * DAY).await?, 2)?;
    verifies(&*store, 0).await?;
    same("the next wanted", store.shipped("one".to_owned()).await?, 3)?;
    same("the next number", store.append(vec![decision(THEN + 60 * DAY, "a")]).await?, vec![3])?;
    verifies(&*store, 1).await?;
    same("how many are kept", count(&*store).await?, 1)
}

pub(super) async fn wrong_clocks(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    store.append(vec![decision(THEN, "a"), decision(0, "past"), decision(THEN + DAY, "a")]).await?;
    let far = u64::MAX;
    same("one from the future", store.append(vec![decision(far, "future")]).await?, vec![4])?;
    let since = RecordFilter { since: Some(THEN + 2 * DAY), ..everything() };
    let found = store.records(since).await?;
    same("it is not hidden", found.iter().map(|record| record.number).collect(), vec![4])?;
    let until = RecordFilter { until: Some(5), ..everything() };
    let found = store.records(until).await?;
    same("nor is one from the past", found.iter().map(|record| record.number).collect(), vec![2])?;
    same("it goes with its day", store.forget_before(THEN + DAY).await?, 2)?;
    same("the rest goes too", store.forget_before(far).await?, 2)?;
    same("nothing is left", count(&*store).await?, 0)
}

pub(super) async fn strange_texts(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    let words = ["", "'; drop table record; --", "\u{202e}\u{1f600} é", "a\\u0000b", "tab\tline\nend", "%_\\"];
    for word in words {
        let text = serde_json::json!({ "at": THEN, "kind": "decision", "session": word }).to_string();
        store.append(vec![NewRecord::of(text)?]).await?;
        if !word.is_empty() {
            let filter = RecordFilter { session: Some(word.to_owned()), ..everything() };
            same(word, store.records(filter).await?.len(), 1)?;
        }
    }
    let large = serde_json::json!({ "at": THEN, "kind": "decision", "input": "x".repeat(1 << 20) }).to_string();
    store.append(vec![NewRecord::of(large.clone())?]).await?;
    let found = store.records(RecordFilter { newest_first: true, limit: 1, ..everything() }).await?;
    same("a large one", found.first().is_some_and(|record| record.text == large), true)?;
    verifies(&*store, 7).await
}
