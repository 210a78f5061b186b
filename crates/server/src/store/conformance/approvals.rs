//! Questions and their answers.

use mayi_engine::remote::wire::State;

use super::{DAY, Failed, Ground, THEN, answer, approval, count, decision, same, verifies};
use crate::store::{ApprovalFilter, Settled, StoreError};

pub(super) async fn life(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    let asked = approval("one", "a", THEN);
    store.put_approval(asked.clone(), vec![decision(THEN, "a")]).await?;
    let again = store.put_approval(asked.clone(), vec![decision(THEN, "a")]).await;
    same("the same name again is a conflict", matches!(again, Err(StoreError::Conflict)), true)?;
    same("and nothing was written for it", count(&*store).await?, 1)?;
    same("it is found", store.approval("one".to_owned()).await?, Some(asked.clone()))?;
    same("another is not", store.approval("two".to_owned()).await?, None)?;

    let said = answer("somebody");
    let settle = |by| store.settle("one".to_owned(), State::Answered, Some(answer(by)), vec![decision(THEN, "a")]);
    let mut expected = asked;
    expected.state = State::Answered;
    expected.answer = Some(said);
    same("the first answer", settle("somebody").await?, Some(Settled::Now(expected.clone())))?;
    same("the second", settle("another").await?, Some(Settled::Before(expected.clone())))?;
    let late = store.settle("one".to_owned(), State::Expired, None, Vec::new()).await?;
    same("too late", late, Some(Settled::Before(expected.clone())))?;
    same("none there", store.settle("two".to_owned(), State::Expired, None, vec![decision(THEN, "a")]).await?, None)?;
    drop(store);
    let store = ground.open().await?;
    same("it stays", store.approval("one".to_owned()).await?, Some(expected))?;
    same("one record each for putting and settling", count(&*store).await?, 2)?;
    verifies(&*store, 2).await
}

pub(super) async fn lists(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    for (at, (id, session, lead)) in
        [("a", "s1", None), ("b", "s2", Some("s1")), ("c", "s2", None), ("d", "s1", None)].into_iter().enumerate()
    {
        let mut asked = approval(id, session, THEN + at as u64);
        asked.question.lead = lead.map(str::to_owned);
        store.put_approval(asked, Vec::new()).await?;
    }
    store.settle("a".to_owned(), State::Withdrawn, None, Vec::new()).await?;
    store.settle("d".to_owned(), State::Answered, Some(answer("x")), Vec::new()).await?;
    let all = ApprovalFilter { limit: 10, ..ApprovalFilter::default() };
    let table = [
        (all.clone(), vec!["d", "c", "b", "a"]),
        (ApprovalFilter { limit: 2, ..all.clone() }, vec!["d", "c"]),
        (ApprovalFilter { state: Some(State::Pending), ..all.clone() }, vec!["b", "c"]),
        (ApprovalFilter { state: Some(State::Pending), limit: 1, ..all.clone() }, vec!["b"]),
        (ApprovalFilter { state: Some(State::Withdrawn), ..all.clone() }, vec!["a"]),
        (ApprovalFilter { session: Some("s1".to_owned()), ..all.clone() }, vec!["d", "b", "a"]),
        (ApprovalFilter { session: Some("s2".to_owned()), state: Some(State::Pending), limit: 9 }, vec!["b", "c"]),
        (ApprovalFilter { session: Some("s3".to_owned()), ..all }, vec![]),
    ];
    for (filter, expected) in table {
        let found = store.approvals(filter.clone()).await?;
        same(&format!("{filter:?}"), found.iter().map(|approval| approval.id.as_str()).collect(), expected)?;
    }
    Ok(())
}

pub(super) async fn overdue(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    for (id, at) in [("later", 10), ("soon", 5), ("settled", 0)] {
        store.put_approval(approval(id, "a", THEN + at), Vec::new()).await?;
    }
    store.settle("settled".to_owned(), State::Answered, Some(answer("x")), Vec::new()).await?;
    // Each waits for a second.
    for (now, expected) in [(1004, vec![]), (1005, vec!["soon"]), (1010, vec!["soon", "later"])] {
        let found = store.overdue(THEN + now).await?;
        same(&format!("after {now} ms"), found.iter().map(|approval| approval.id.as_str()).collect(), expected)?;
    }
    Ok(())
}

pub(super) async fn forgotten(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    for id in ["waits", "settled"] {
        store.put_approval(approval(id, "a", THEN), Vec::new()).await?;
    }
    store.settle("settled".to_owned(), State::Answered, Some(answer("x")), Vec::new()).await?;
    store.forget_before(THEN).await?;
    same("it is not old yet", store.approval("settled".to_owned()).await?.is_some(), true)?;
    store.forget_before(THEN + DAY).await?;
    same("it is gone", store.approval("settled".to_owned()).await?, None)?;
    same("one that waits stays", store.approval("waits".to_owned()).await?.is_some(), true)
}
