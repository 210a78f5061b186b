//! Identity: the credentials that mayi itself needs, for a model's API and for a mayi server.
//!
//! Whoever needs one asks [`Identity::credential`] and nobody else; after a refusal it asks [`Identity::refused`],
//! once. No secret is ever printable: not in logs, errors, traces or arguments. Nothing here runs before a credential
//! is asked for: opening an identity reads no file, starts no thread and opens no connection.
//!
//! | what | where |
//! | --- | --- |
//! | which source comes first | `source.rs` |
//! | signing in and out | `login/`, `logout.rs` |
//! | the life of tokens | `token.rs`, `refresh.rs` |
//! | where secrets are kept | `store/` |
//! | who am I | `standing.rs` |

mod config;
mod credential;
mod helper;
pub mod http;
mod lock;
pub mod login;
mod logout;
mod oauth;
mod problem;
mod prospect;
mod refresh;
mod source;
mod standing;
pub mod store;
mod token;

use std::sync::{Arc, Mutex};

use secrecy::SecretString;

pub use config::{Config, Environment};
pub use credential::{Credential, Kind, Purpose, Source, Vendor};
pub use login::SignedIn;
pub use logout::SignedOut;
pub use problem::{BadCallback, Ended, Problem, Trouble};
pub use source::Way;
pub use standing::Standing;
pub use store::chain::Kept;
pub use store::os::Attendance;
pub use store::{Store, StoreName, StoreProblem};
pub use token::Tokens;

use helper::Helper;
use http::Http;
use store::StoreProblem as NoStore;
use store::cache::Cache;
use store::chain::Chain;

/// The credentials of one person on one machine. Clones share everything.
#[derive(Clone, Debug)]
pub struct Identity {
    parts: Arc<parts::Parts>,
}

impl std::ops::Deref for Identity {
    type Target = parts::Parts;

    fn deref(&self) -> &parts::Parts {
        &self.parts
    }
}

mod parts {
    //! What an identity is made of. The name is not for others: they hold an [`Identity`](crate::Identity).

    use std::sync::Mutex;

    use crate::config::Config;
    use crate::helper::Helper;
    use crate::http::Http;
    use crate::refresh::Signed;
    use crate::store::cache::Cache;
    use crate::store::chain::Chain;

    /// What an identity is made of.
    #[derive(Debug)]
    pub struct Parts {
        pub(crate) config: Config,
        /// `None` where there is no folder for state: then nothing is kept.
        pub(crate) chain: Option<Chain>,
        pub(crate) cache: Cache,
        pub(crate) helper: Option<Helper>,
        pub(crate) http: Http,
        /// One renewal at a time in this process; a file does the same between processes.
        pub(crate) renewing: tokio::sync::Mutex<()>,
        /// Renewed tokens that no store has taken yet, with their slot. They are all there is: the old ones are spent.
        pub(crate) unsaved: Mutex<Option<(String, Signed)>>,
    }
}

impl Identity {
    /// The identity of a configuration.
    pub fn open(config: Config) -> Self {
        let stores = config.folder().map(|folder| store::os::stores(folder, &config.environment, config.attendance));
        Self::with_stores(config, stores.unwrap_or_default())
    }

    /// The identity with these stores, best first.
    pub fn with_stores(config: Config, stores: Vec<Box<dyn Store>>) -> Self {
        let chain = config.folder().map(|folder| Chain::new(stores, folder, config.choice()));
        let parts = parts::Parts {
            chain,
            cache: Cache::default(),
            helper: Helper::of(config.api_key_helper.as_deref()),
            http: Http::new(config.variable("SSL_CERT_FILE").map(Into::into)),
            renewing: tokio::sync::Mutex::new(()),
            unsaved: Mutex::new(None),
            config,
        };
        Self { parts: Arc::new(parts) }
    }

    /// Keeps an API key, in place of one that is kept for the same purpose.
    pub async fn keep_key(&self, purpose: &Purpose, key: SecretString) -> Result<Kept, Problem> {
        let key = source::checked_key(&key)?;
        let slot = source::key_slot(purpose);
        let chain = self.chain()?;
        let kept = chain.save(&slot, &key).await?;
        self.cache.put(&slot, Some(store::chain::Found { secret: key, store: kept.store }));
        Ok(kept)
    }

    fn chain(&self) -> Result<&Chain, Problem> {
        self.chain.as_ref().ok_or(Problem::Store(NoStore::Nowhere))
    }
}

/// Seconds since 1970.
fn now() -> u64 {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}
