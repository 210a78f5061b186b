//! The server's policy on this machine: fetched, checked, kept, and checked again whenever it is read.
//!
//! Only what the server's key has signed is ever used. The key is the one in settings, or else the first that was seen.
//! A bundle that is older than one that was seen before is refused: it may be somebody else's copy of it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::signature::{ED25519, UnparsedPublicKey};
use serde::{Deserialize, Serialize};

use super::client::{Client, Fetched, ServerError, Signed};
use super::keeping;
use super::wire::{Bundle, Moment};

/// How far a server's clock may be ahead of ours.
const AHEAD: Moment = 24 * 60 * 60 * 1000;

/// Why there is no policy of the server.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// The server gave none.
    #[error(transparent)]
    Server(#[from] ServerError),
    /// The key is none.
    #[error("`{0}` is no key of a server\nhelp: `server.key` is 32 bytes in base64, as /v1/policy/key gives them")]
    Key(String),
    /// Somebody else signed it, or changed it.
    #[error(
        "the policy of `{at}` is not signed by the key that is known for it, and is not used\n\
         help: if the server's key was changed on purpose, set `server.key`, or remove `{pin}`"
    )]
    Signature {
        /// The server.
        at: String,
        /// The file with the key.
        pin: PathBuf,
    },
    /// It is an older one.
    #[error(
        "the policy of `{at}` is older than the one seen before, and is not used\n\
         help: if the server went back on purpose, remove `{pin}`"
    )]
    Older {
        /// The server.
        at: String,
        /// The file that says so.
        pin: PathBuf,
    },
    /// It is from a time to come.
    #[error("the policy of `{0}` is from a time to come, and is not used\nhelp: check both clocks")]
    Ahead(String),
    /// It cannot be read.
    #[error("the policy of `{0}` cannot be read, and is not used")]
    Unreadable(String),
    /// It cannot be kept.
    #[error("`{path}` cannot be used: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
}

impl BundleError {
    /// Whether somebody should be told although an older policy still serves: this does not mend itself.
    pub fn is_loud(&self) -> bool {
        match self {
            BundleError::Server(error) => !error.may_pass(),
            BundleError::Key(_)
            | BundleError::Signature { .. }
            | BundleError::Older { .. }
            | BundleError::Ahead(_)
            | BundleError::Unreadable(_)
            | BundleError::Io { .. } => true,
        }
    }
}

/// A policy that was checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// The policy.
    pub bundle: Bundle,
    /// When the server last said that it is the one.
    pub checked_at: Moment,
    etag: Option<String>,
}

impl Known {
    /// How long ago that was; `None` when the clock was ahead then, and nobody knows.
    pub fn age(&self, now: Moment) -> Option<Duration> {
        // Two machines, or two processors, never agree on the millisecond.
        const ABOUT: Moment = 60_000;
        (self.checked_at <= now.saturating_add(ABOUT))
            .then(|| Duration::from_millis(now.saturating_sub(self.checked_at)))
    }
}

/// What is kept of a server's policy.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    url: String,
    /// The key that settings name.
    key: Option<String>,
}

/// The file with the policy.
#[derive(Serialize, Deserialize)]
struct Kept {
    url: String,
    checked_at: Moment,
    etag: Option<String>,
    signature: String,
    body: String,
}

/// The file with what must never go back: the key, and how new the newest policy was.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Pin {
    url: String,
    key: String,
    issued_at: Moment,
}

impl Cache {
    /// What is kept below a state folder of the server at an address.
    pub fn new(state: &Path, url: &str, key: Option<&str>) -> Self {
        let url = url.trim().trim_end_matches('/').to_owned();
        Self { folder: state.join("server"), url, key: key.map(|key| key.trim().to_owned()) }
    }

    /// The policy that is kept, if there is one and it holds.
    pub fn known(&self) -> Result<Option<Known>, BundleError> {
        let path = self.file("bundle");
        let Some(text) = keeping::read(&path).map_err(|source| BundleError::Io { path, source })? else {
            return Ok(None);
        };
        let kept: Kept = serde_json::from_str(&text).map_err(|_| BundleError::Unreadable(self.url.clone()))?;
        let pin = self.pin()?;
        // Without a key there is nobody to vouch for it: it is fetched again.
        let Some(key) = self.key.clone().or_else(|| pin.as_ref().map(|pin| pin.key.clone())) else { return Ok(None) };
        if kept.url != self.url {
            return Ok(None);
        }
        let bundle = self.checked(kept.body.as_bytes(), &kept.signature, &key)?;
        if pin.is_some_and(|pin| bundle.issued_at < pin.issued_at) {
            return Err(self.older());
        }
        Ok(Some(Known { bundle, checked_at: kept.checked_at, etag: kept.etag }))
    }

    /// Asks the server for its policy, and keeps it. What was refused is noted, so that others can tell.
    pub async fn refresh(&self, client: &Client, within: Duration) -> Result<Known, BundleError> {
        let outcome = tokio::time::timeout(within, self.fetched(client, within)).await;
        let outcome = outcome.unwrap_or_else(|_| {
            let what = mayi_identity::Trouble::TimedOut;
            Err(ServerError::Away { at: client.host(), what }.into())
        });
        match &outcome {
            Ok(_) => self.note(None),
            Err(error) if error.is_loud() => self.note(Some(&error.to_string())),
            Err(_) => {}
        }
        outcome
    }

    /// What was wrong with the last policy that the server gave, if something was.
    pub fn problem(&self) -> Option<String> {
        keeping::read(&self.file("problem")).ok().flatten()
    }

    async fn fetched(&self, client: &Client, within: Duration) -> Result<Known, BundleError> {
        let pin = self.pin()?;
        let key = match self.key.clone().or_else(|| pin.as_ref().map(|pin| pin.key.clone())) {
            Some(key) => key,
            None => client.key(within).await?,
        };
        // What is kept and does not hold is as good as nothing.
        let known = self.known().ok().flatten();
        let etag = known.as_ref().and_then(|known| known.etag.as_deref());
        match (client.bundle(etag, within).await?, known) {
            (Fetched::Same, Some(known)) => self.confirm(known),
            (Fetched::Same, None) => Err(BundleError::Unreadable(self.url.clone())),
            (Fetched::New(signed), known) => self.take(signed, (key, pin), known),
        }
    }

    /// The policy that is kept is still the one.
    fn confirm(&self, known: Known) -> Result<Known, BundleError> {
        let path = self.file("bundle");
        let text = keeping::read(&path).map_err(|source| BundleError::Io { path, source })?.unwrap_or_default();
        let kept: Kept = serde_json::from_str(&text).map_err(|_| BundleError::Unreadable(self.url.clone()))?;
        let checked_at = keeping::now();
        self.keep("bundle", &Kept { checked_at, ..kept })?;
        Ok(Known { checked_at, ..known })
    }

    /// Keeps a policy that has just come, if it holds.
    fn take(
        &self,
        signed: Signed,
        (key, pin): (String, Option<Pin>),
        known: Option<Known>,
    ) -> Result<Known, BundleError> {
        let bundle = self.checked(&signed.body, &signed.signature, &key)?;
        if pin.is_some_and(|pin| bundle.issued_at < pin.issued_at) {
            // Another of several servers may have made the same policy a moment earlier.
            let same = known.filter(|known| known.bundle.settings == bundle.settings);
            return same.map_or_else(|| Err(self.older()), |known| self.confirm(known));
        }
        let checked_at = keeping::now();
        if bundle.issued_at > checked_at.saturating_add(AHEAD) {
            return Err(BundleError::Ahead(self.url.clone()));
        }
        let body = String::from_utf8(signed.body).map_err(|_| BundleError::Unreadable(self.url.clone()))?;
        let (url, etag, signature) = (self.url.clone(), signed.etag, signed.signature);
        // The key comes first: a policy without one is fetched again, a key without a policy as well.
        self.keep("key", &Pin { url: url.clone(), key, issued_at: bundle.issued_at })?;
        self.keep("bundle", &Kept { url, checked_at, etag: etag.clone(), signature, body })?;
        Ok(Known { bundle, checked_at, etag })
    }

    fn checked(&self, body: &[u8], signature: &str, key: &str) -> Result<Bundle, BundleError> {
        let bytes = STANDARD.decode(key).ok().filter(|bytes| bytes.len() == 32);
        let bytes = bytes.ok_or_else(|| BundleError::Key(super::client::cleaned(key)))?;
        let wrong = || BundleError::Signature { at: self.url.clone(), pin: self.file("key") };
        let signature = STANDARD.decode(signature.trim()).map_err(|_| wrong())?;
        UnparsedPublicKey::new(&ED25519, bytes).verify(body, &signature).map_err(|_| wrong())?;
        serde_json::from_slice(body).map_err(|_| BundleError::Unreadable(self.url.clone()))
    }

    fn pin(&self) -> Result<Option<Pin>, BundleError> {
        let path = self.file("key");
        let failed = |source| BundleError::Io { path: path.clone(), source };
        let Some(text) = keeping::read(&path).map_err(failed)? else { return Ok(None) };
        // A key that was seen and cannot be read any more must not be replaced by whatever comes next.
        let unreadable = |error: serde_json::Error| failed(io::Error::new(io::ErrorKind::InvalidData, error));
        serde_json::from_str::<Pin>(&text).map(|pin| Some(pin).filter(|pin| pin.url == self.url)).map_err(unreadable)
    }

    fn keep(&self, kind: &str, what: &impl Serialize) -> Result<(), BundleError> {
        let path = self.file(kind);
        let text = serde_json::to_string(what).map_err(io::Error::from);
        text.and_then(|text| keeping::write(&path, &text)).map_err(|source| BundleError::Io { path, source })
    }

    /// What cannot be noted is told by whoever met it.
    fn note(&self, problem: Option<&str>) {
        let path = self.file("problem");
        let _ = match problem {
            Some(problem) => keeping::write(&path, problem),
            None => std::fs::remove_file(&path),
        };
    }

    fn older(&self) -> BundleError {
        BundleError::Older { at: self.url.clone(), pin: self.file("key") }
    }

    fn file(&self, kind: &str) -> PathBuf {
        self.folder.join(format!("{kind}-{}.json", keeping::short(&self.url)))
    }
}
