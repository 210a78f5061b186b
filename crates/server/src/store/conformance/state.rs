//! Sessions, tokens, secrets, values, and who is told of what.

use std::collections::HashMap;
use std::time::Duration;

use mayi_engine::remote::wire::State;

use super::{DAY, Failed, Ground, THEN, approval, count, decision, record, same, told};
use crate::principal::Role;
use crate::store::{Counted, Counts, Event, SessionState, StoreError, TokenState};

pub(super) fn session(id: &str) -> SessionState {
    SessionState { id: id.to_owned(), agent: "claude-code".to_owned(), seen: THEN, ..SessionState::default() }
}

pub(super) async fn sessions(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    same("none", store.session("a".to_owned()).await?, None)?;
    let first = store.put_session(session("a"), vec![decision(THEN, "a")]).await?;
    same("its version", first.version, 1)?;
    let again = store.put_session(session("a"), vec![decision(THEN, "a")]).await;
    same("as new again it is a conflict", matches!(again, Err(StoreError::Conflict)), true)?;
    let mut changed = first.clone();
    changed.seen = THEN + 5;
    let changed = store.put_session(changed, Vec::new()).await?;
    let stale = store.put_session(first, vec![decision(THEN, "a")]).await;
    same("on an old version it is a conflict", matches!(stale, Err(StoreError::Conflict)), true)?;
    let unknown = store.put_session(SessionState { version: 3, ..session("b") }, Vec::new()).await;
    same("with a version nobody gave too", matches!(unknown, Err(StoreError::Conflict)), true)?;
    same("one record", count(&*store).await?, 1)?;
    drop(store);
    let store = ground.open().await?;
    same("it is found", store.session("a".to_owned()).await?, Some(changed))?;
    store.put_session(SessionState { seen: THEN + 9, ..session("c") }, Vec::new()).await?;
    for (since, limit, expected) in [(0, 9, vec!["c", "a"]), (0, 1, vec!["c"]), (THEN + 6, 9, vec!["c"])] {
        let found = store.sessions(since, limit).await?;
        same("sessions", found.iter().map(|session| session.id.as_str()).collect(), expected)?;
    }
    Ok(())
}

pub(super) async fn counts(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    let asked = |sessions: &[&str]| store.counted(sessions.iter().map(ToString::to_string).collect());
    same("of an empty chain", asked(&["a"]).await?, Counted::default())?;
    let records = vec![
        record(THEN, "decision", "a", "allow"),
        record(THEN, "decision", "a", "deny"),
        record(THEN + 1, "answer", "a", "deny"),
        record(THEN + DAY, "decision", "a", "deny"),
        record(THEN + DAY, "decision", "b", "ask"),
        record(THEN + DAY, "decision", "", "ask"),
    ];
    store.append(records).await?;
    let counts = |allow, ask, deny| Counts { allow, ask, deny };
    let found = asked(&["a", "b", "nobody", "' or true; --"]).await?;
    let expected = HashMap::from([("a".to_owned(), counts(1, 0, 2)), ("b".to_owned(), counts(0, 1, 0))]);
    same("decisions of each", found, Counted { number: 6, sessions: expected })?;
    same("of nobody", asked(&[]).await?, Counted { number: 6, sessions: HashMap::new() })?;
    store.forget_before(THEN + DAY).await?;
    same("what is kept", asked(&["a"]).await?.sessions.get("a").copied(), Some(counts(0, 0, 1)))
}

pub(super) async fn tokens(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    let token = |id: &str, role| TokenState {
        id: id.to_owned(),
        name: "for a trial".to_owned(),
        role,
        created_at: THEN,
        expires_at: None,
        revoked_at: None,
    };
    let (agent, admin) = (token("1", Role::Agent), token("2", Role::Admin));
    store.put_token([1; 32], agent.clone(), vec![decision(THEN, "a")]).await?;
    store.put_token([2; 32], admin.clone(), Vec::new()).await?;
    same("by its hash", store.token([1; 32]).await?, Some(agent.clone()))?;
    same("by another", store.token([3; 32]).await?, None)?;
    let taken = store.put_token([3; 32], agent.clone(), vec![decision(THEN, "a")]).await;
    same("a name that another token has is a conflict", matches!(taken, Err(StoreError::Conflict)), true)?;
    let revoke = |id: &str, at| store.revoke_token(id.to_owned(), at, vec![decision(THEN, "a")]);
    let revoked = TokenState { revoked_at: Some(THEN + 1), ..agent };
    same("revoked by its name", revoke("1", THEN + 1).await?, Some(revoked.clone()))?;
    same("revoked again", revoke("1", THEN + 2).await?, Some(revoked.clone()))?;
    same("one that is not there", revoke("9", THEN).await?, None)?;
    drop(store);
    let store = ground.open().await?;
    same("revoked", store.token([1; 32]).await?, Some(revoked.clone()))?;
    same("all", store.tokens().await?, vec![revoked, admin])?;
    same("records", count(&*store).await?, 2)
}

pub(super) async fn secrets(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    let kind = || "link".to_owned();
    store.put_secret(kind(), [1; 32], "value".to_owned(), THEN + 10).await?;
    same("in its time", store.secret(kind(), [1; 32], THEN + 9).await?, Some("value".to_owned()))?;
    same("after it", store.secret(kind(), [1; 32], THEN + 10).await?, None)?;
    same("of another kind", store.secret("cookie".to_owned(), [1; 32], THEN).await?, None)?;
    same("with another hash", store.take_secret(kind(), [2; 32], THEN).await?, None)?;
    same("taken after its time", store.take_secret(kind(), [1; 32], THEN + 10).await?, None)?;
    same("taken", store.take_secret(kind(), [1; 32], THEN).await?, Some("value".to_owned()))?;
    same("taken again", store.take_secret(kind(), [1; 32], THEN).await?, None)?;
    store.put_secret(kind(), [1; 32], "old".to_owned(), THEN + 10).await?;
    store.put_secret(kind(), [1; 32], "new".to_owned(), THEN + 20).await?;
    same("put again", store.secret(kind(), [1; 32], THEN + 15).await?, Some("new".to_owned()))?;
    store.forget_before(THEN + 21).await?;
    same("forgotten", store.secret(kind(), [1; 32], THEN).await?, None)
}

pub(super) async fn values(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    let put = |value: &str| store.value_or_put("key".to_owned(), value.to_owned());
    same("the first", put("one").await?, "one".to_owned())?;
    same("the second", put("two").await?, "one".to_owned())?;
    let other = store.value_or_put("another".to_owned(), "two".to_owned()).await?;
    same("another", other, "two".to_owned())
}

pub(super) async fn events(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    let mut listener = store.listen();
    store.append(vec![decision(THEN, "a"), decision(THEN, "a")]).await?;
    told(&mut listener, &Event::Recorded { number: 2 }).await?;
    store.put_approval(approval("one", "a", THEN), Vec::new()).await?;
    told(&mut listener, &Event::Approval { id: "one".to_owned(), state: State::Pending }).await?;
    store.settle("one".to_owned(), State::Withdrawn, None, vec![decision(THEN, "a")]).await?;
    told(&mut listener, &Event::Approval { id: "one".to_owned(), state: State::Withdrawn }).await?;
    store.put_session(session("a"), Vec::new()).await?;
    told(&mut listener, &Event::Session { id: "a".to_owned() }).await?;
    let policy = Event::Policy { version: "v".repeat(32) };
    store.tell(policy.clone()).await?;
    told(&mut listener, &policy).await
}

pub(super) async fn ready(ground: &dyn Ground) -> Result<(), Failed> {
    let store = ground.open().await?;
    Ok(store.ready(Duration::from_secs(20)).await?)
}
