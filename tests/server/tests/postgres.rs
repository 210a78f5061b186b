//! The store on a real PostgreSQL: what every store must do, and what happens when the database goes away, hangs,
//! crashes, or is somebody else's.
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use mayi_server::store::conformance::{Failed, Ground, TRIALS};
use mayi_server::store::{self, Event, Kept, NewRecord, RecordFilter, Store, StoreError};
use mayi_server_tests::Postgres;
use rustix::process::Signal;
use tokio::task::JoinSet;

/// How long anything may take. Generous: a busy machine is no failure of ours.
const PATIENCE: Duration = Duration::from_secs(60);

/// One database of a cluster.
#[derive(Debug)]
struct Database<'c> {
    cluster: &'c Postgres,
    name: String,
    url: String,
}

impl Ground for Database<'_> {
    fn open(&self) -> Kept<'_, Arc<dyn Store>> {
        Box::pin(store::open(&self.url))
    }

    fn tamper(&self, statement: &str) -> Result<(), Failed> {
        let statements = format!("set search_path to mayi; {statement}");
        self.cluster.sql_in(&self.name, &statements).map(drop).map_err(|error| Failed(error.to_string()))
    }
}

fn record(session: &str) -> NewRecord {
    let text = format!(r#"{{"at":1728000000000,"kind":"decision","session":"{session}","verdict":"allow"}}"#);
    NewRecord::of(text).unwrap()
}

/// Tries until it works.
async fn until_it_works(store: &dyn Store) -> u64 {
    let begun = Instant::now();
    loop {
        match store.append(vec![record("again")]).await {
            Ok(numbers) => return numbers.into_iter().next().unwrap(),
            Err(StoreError::Away(_)) if begun.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(50)).await
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn postgresql_does_what_every_store_must() {
    let cluster = Postgres::start().unwrap();
    for (number, (shows, trial)) in TRIALS.iter().enumerate() {
        let name = format!("trial_{number}");
        let url = cluster.database(&name).unwrap();
        let outcome = trial(&Database { cluster: &cluster, name, url }).await;
        assert_eq!(outcome, Ok(()), "{shows}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_one_server_does_the_others_are_told() {
    let cluster = Postgres::start().unwrap();
    let (one, other) = (store::open(&cluster.url()).await.unwrap(), store::open(&cluster.url()).await.unwrap());
    let mut listener = other.listen();
    one.tell(Event::Policy { version: "v1".to_owned() }).await.unwrap();
    one.append(vec![record("a")]).await.unwrap();
    let heard = tokio::time::timeout(PATIENCE, async { [listener.recv().await, listener.recv().await] }).await.unwrap();
    assert_eq!(heard, [Ok(Event::Policy { version: "v1".to_owned() }), Ok(Event::Recorded { number: 1 })]);
    // What is too long to be carried is a reason to look again.
    one.tell(Event::Session { id: "x".repeat(9000) }).await.unwrap();
    assert_eq!(tokio::time::timeout(PATIENCE, listener.recv()).await.unwrap(), Ok(Event::Missed));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_that_went_away_is_an_error_until_it_is_back() {
    let cluster = Postgres::start().unwrap();
    let store = store::open(&cluster.url()).await.unwrap();
    let mut listener = store.listen();
    store.append(vec![record("a")]).await.unwrap();
    cluster.stop().unwrap();
    let begun = Instant::now();
    let away = store.append(vec![record("a")]).await;
    assert!(matches!(away, Err(StoreError::Away(_))), "{away:?}");
    assert!(matches!(store.ready(Duration::from_secs(5)).await, Err(StoreError::Away(_))));
    assert!(matches!(store.session("a".to_owned()).await, Err(StoreError::Away(_))));
    assert!(matches!(store::open(&cluster.url()).await, Err(StoreError::Away(_))));
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
    cluster.start_again().unwrap();
    assert_eq!(until_it_works(&*store).await, 2);
    let missed = async { while listener.recv().await.unwrap() != Event::Missed {} };
    tokio::time::timeout(PATIENCE, missed).await.unwrap();
    // It listens again.
    store.tell(Event::Policy { version: "v2".to_owned() }).await.unwrap();
    let told = async { while listener.recv().await.unwrap() != (Event::Policy { version: "v2".to_owned() }) {} };
    tokio::time::timeout(PATIENCE, told).await.unwrap();
    assert_eq!(store.verify().await.unwrap().broken, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_database_that_hangs_keeps_nobody_for_ever() {
    let cluster = Postgres::start().unwrap();
    let store = store::open(&cluster.url()).await.unwrap();
    store.append(vec![record("a")]).await.unwrap();
    cluster.signal(Signal::STOP).unwrap();
    let begun = Instant::now();
    let (append, read, ready) = tokio::join!(
        store.append(vec![record("a")]),
        store.session("a".to_owned()),
        store.ready(Duration::from_millis(300)),
    );
    assert!(matches!(append, Err(StoreError::Away(_))), "{append:?}");
    assert!(matches!(read, Err(StoreError::Away(_))), "{read:?}");
    assert!(matches!(ready, Err(StoreError::Away(_))), "{ready:?}");
    assert!(begun.elapsed() < PATIENCE, "it took {:?}", begun.elapsed());
    cluster.signal(Signal::CONT).unwrap();
    until_it_works(&*store).await;
    assert_eq!(store.verify().await.unwrap().broken, None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_acknowledged_before_a_crash_is_there_after_it() {
    let cluster = Postgres::start().unwrap();
    let stores = [store::open(&cluster.url()).await.unwrap(), store::open(&cluster.url()).await.unwrap()];
    let mut tasks = JoinSet::new();
    for task in 0..20 {
        let store = Arc::clone(&stores[task % 2]);
        tasks.spawn(async move {
            let mut acknowledged = BTreeMap::new();
            for step in 0.. {
                let session = format!("{task}-{step}");
                match store.append(vec![record(&session)]).await {
                    Ok(numbers) => acknowledged.insert(numbers[0], session),
                    Err(_) => break,
                };
            }
            acknowledged
        });
    }
    // It crashes in the middle of work, whenever that is.
    while stores[0]
        .records(RecordFilter { after: Some(500), limit: 1, ..RecordFilter::default() })
        .await
        .unwrap()
        .is_empty()
    {}
    cluster.crash().unwrap();
    let mut acknowledged = BTreeMap::new();
    while let Some(task) = tasks.join_next().await {
        acknowledged.extend(task.unwrap());
    }
    cluster.start_again().unwrap();
    until_it_works(&*stores[0]).await;
    assert_eq!(stores[0].verify().await.unwrap().broken, None);
    let all = RecordFilter { limit: usize::MAX, ..RecordFilter::default() };
    let kept: BTreeMap<u64, String> =
        stores[1].records(all).await.unwrap().into_iter().map(|record| (record.number, record.text)).collect();
    assert!(acknowledged.len() >= 500);
    for (number, session) in acknowledged {
        assert!(kept[&number].contains(&format!("\"{session}\"")), "{number}: {session}");
    }
}

#[tokio::test]
async fn days_are_partitions_and_a_newer_database_is_refused() {
    let cluster = Postgres::start().unwrap();
    let store = store::open(&cluster.url()).await.unwrap();
    let partitions = || {
        let query = "select count(*) from pg_inherits where inhparent = 'mayi.record'::regclass";
        cluster.sql(query).unwrap()
    };
    // Today's and tomorrow's are made ahead.
    assert_eq!(partitions(), "2");
    store.append(vec![record("old")]).await.unwrap();
    assert_eq!(partitions(), "3");
    assert_eq!(store.forget_before(1_728_000_000_000 + 86_400_000).await.unwrap(), 1);
    assert_eq!(partitions(), "2");
    cluster.sql("insert into mayi.migration values (99)").unwrap();
    let refused = store::open(&cluster.url()).await.unwrap_err().to_string();
    assert!(refused.contains("newer mayi") && refused.contains("99"), "{refused}");
}

#[tokio::test]
async fn a_certificate_is_checked_and_nothing_less_than_tls_will_do() {
    let cluster = Postgres::start().unwrap();
    let url = cluster.url().replace("127.0.0.1", "localhost");
    let plain = store::open(&format!("{url}?sslmode=require")).await;
    assert!(matches!(plain, Err(StoreError::Away(_))), "a server without TLS will not do");
    let (key, certificate) = (cluster.data().join("server.key"), cluster.data().join("server.crt"));
    let mut command = Command::new("openssl");
    command.args(["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]);
    command.args([
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost",
        "-addext",
        "basicConstraints=critical,CA:FALSE",
        "-days",
        "2",
        "-keyout",
    ]);
    command.arg(&key).arg("-out").arg(&certificate);
    assert!(command.output().unwrap().status.success());
    let owner = fs::metadata(cluster.data()).unwrap();
    for file in [&key, &certificate] {
        use std::os::unix::fs::MetadataExt as _;
        std::os::unix::fs::chown(file, Some(owner.uid()), Some(owner.gid())).unwrap();
    }
    cluster.stop().unwrap();
    cluster.configure("ssl = on\n").unwrap();
    cluster.start_again().unwrap();
    let stranger = store::open(&format!("{url}?sslmode=require")).await.unwrap_err().to_string();
    assert!(stranger.to_lowercase().contains("certificate"), "{stranger}");
    let root = certificate.display();
    let other_name = cluster.url();
    let wrong = store::open(&format!("{other_name}?sslmode=require&sslrootcert={root}")).await.unwrap_err().to_string();
    assert!(wrong.to_lowercase().contains("certificate"), "{wrong}");
    let store = store::open(&format!("{url}?sslmode=verify-full&sslrootcert={root}")).await.unwrap();
    store.append(vec![record("a")]).await.unwrap();
    let secured = cluster
        .sql("select bool_and(ssl) from pg_stat_ssl join pg_stat_activity using (pid) where application_name = 'mayi'");
    assert_eq!(secured.unwrap(), "t");
}
