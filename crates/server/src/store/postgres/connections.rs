//! The connections of a process: a pool whose members are thrown away when they are too slow, so that nobody gets one
//! that hangs.

use std::time::Duration;

use deadpool_postgres::{
    Client, Manager, ManagerConfig, Object, Pool, PoolError, RecyclingMethod, Runtime, Timeouts, Transaction,
};
use tokio::time::timeout;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::address::{Address, CONNECTING, describe};
use super::schema::{self, Partitions};
use super::{Failure, StoreError, failure};

/// How many connections a process has at most.
const CONNECTIONS: usize = 16;
/// How long a transaction may take. The server breaks off a statement before that.
const PATIENCE: Duration = Duration::from_secs(12);

/// The connections.
#[derive(Debug)]
pub(super) struct Connections {
    pool: Pool,
    pub(super) partitions: Partitions,
}

impl Connections {
    /// Makes the pool, and brings the tables to the form that this mayi knows.
    pub(super) async fn open(address: &Address) -> Result<Self, StoreError> {
        let config = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = Manager::from_config(address.config.clone(), address.tls.clone(), config);
        let timeouts = Timeouts { wait: Some(PATIENCE), create: Some(CONNECTING), recycle: Some(CONNECTING) };
        let pool = Pool::builder(manager).max_size(CONNECTIONS).runtime(Runtime::Tokio1).timeouts(timeouts).build();
        let pool = pool.map_err(|error| StoreError::Away(describe(&error)))?;
        let connections = Self { pool, partitions: Partitions::default() };
        schema::migrate(&mut connections.one().await?).await?;
        Ok(connections)
    }

    async fn one(&self) -> Result<Client, StoreError> {
        self.pool.get().await.map_err(|error| match error {
            PoolError::Backend(error) => failure(&error),
            PoolError::Timeout(_) => StoreError::Away("no connection could be had in time".to_owned()),
            PoolError::Closed | PoolError::NoRuntimeSpecified | PoolError::PostCreateHook(_) => {
                StoreError::Away(describe(&error))
            }
        })
    }

    /// Makes a change in one transaction, durable when this returns.
    pub(super) async fn change<T>(
        &self,
        change: impl AsyncFnOnce(&Transaction<'_>) -> Result<T, Failure>,
    ) -> Result<T, StoreError> {
        let mut client = self.one().await?;
        let work = async {
            let transaction = client.transaction().await?;
            let value = change(&transaction).await?;
            transaction.commit().await?;
            Ok::<T, Failure>(value)
        };
        match timeout(PATIENCE, work).await {
            Ok(Ok(value)) => Ok(value),
            Ok(Err(error)) => {
                // A partition that was made in it is gone with it.
                self.partitions.doubt();
                Err(error.into())
            }
            Err(_) => {
                self.partitions.doubt();
                Err(too_slow(client))
            }
        }
    }

    /// Reads rows.
    pub(super) async fn read(&self, query: &str, values: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
        let client = self.one().await?;
        let work = async { client.query(&client.prepare_cached(query).await?, values).await };
        match timeout(PATIENCE, work).await {
            Ok(rows) => rows.map_err(|error| failure(&error)),
            Err(_) => Err(too_slow(client)),
        }
    }
}

fn too_slow(client: Client) -> StoreError {
    drop(Object::take(client));
    StoreError::Away(format!("the database did not answer within {} seconds", PATIENCE.as_secs()))
}
