//! The chain of stores, best first. A secret is in one of them, which the card names. Saving takes the best store that
//! keeps the secret whole, and only then removes it from where it was.

use std::path::Path;

use secrecy::SecretString;

use super::card::CardFile;
use super::{Store, StoreName, StoreProblem, keep};

/// The stores that may be used, those that may not, and the card.
#[derive(Debug)]
pub struct Chain {
    pub(super) permitted: Vec<Box<dyn Store>>,
    /// They are read to move things out of them, and cleared at a sign-out.
    pub(super) retired: Vec<Box<dyn Store>>,
    pub(super) card: CardFile,
    forbids_file: bool,
}

/// A secret, and the store it was in.
#[derive(Clone, Debug)]
pub struct Found {
    /// The secret.
    pub secret: SecretString,
    /// Where it was.
    pub store: StoreName,
}

/// Where a secret is kept now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// The store.
    pub store: StoreName,
    /// The better stores that did not take it, and why.
    pub passed_over: Vec<StoreProblem>,
    /// It is in a plain file from now on, and was not before: the moment to say so.
    pub newly_in_file: bool,
}

/// Which stores may be used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    /// This one alone.
    pub only: Option<StoreName>,
    /// Not the plain file.
    pub forbid_file: bool,
}

impl Chain {
    /// The chain of these stores, best first, with its card in a folder.
    pub fn new(stores: Vec<Box<dyn Store>>, folder: &Path, choice: Choice) -> Self {
        let may = |store: &dyn Store| {
            choice.only.is_none_or(|only| only == store.name())
                && !(choice.forbid_file && store.name() == StoreName::File)
        };
        let (permitted, retired) = stores.into_iter().partition(|store| may(store.as_ref()));
        Self { permitted, retired, card: CardFile::in_folder(folder), forbids_file: choice.forbid_file }
    }

    /// The secret of a slot. No store is asked unless the card says that there is one.
    pub async fn load(&self, slot: &str) -> Result<Option<Found>, StoreProblem> {
        let Some(name) = self.card.read()?.kept.get(slot).copied() else { return Ok(None) };
        let Some(store) = self.permitted.iter().find(|store| store.name() == name) else {
            return self.moved(slot, name).await.map(Some);
        };
        match store.load(slot).await? {
            Some(secret) => Ok(Some(Found { secret, store: name })),
            None => Err(StoreProblem::Gone(name)),
        }
    }

    /// Keeps a secret in the best store that takes it.
    pub async fn save(&self, slot: &str, secret: &SecretString) -> Result<Kept, StoreProblem> {
        let before = self.card.read()?.kept.get(slot).copied();
        let mut passed_over = Vec::new();
        for store in &self.permitted {
            let name = store.name();
            match keep(store.as_ref(), slot, secret).await {
                Ok(()) => {
                    self.card.change(|card| {
                        card.kept.insert(slot.to_owned(), name);
                    })?;
                    // The new copy is safe; an old one that cannot be removed is no longer looked at.
                    self.forget(slot, before.filter(|before| *before != name)).await;
                    let newly_in_file = name == StoreName::File && before != Some(StoreName::File);
                    return Ok(Kept { store: name, passed_over, newly_in_file });
                }
                Err(problem) => {
                    if matches!(problem, StoreProblem::Altered(_)) {
                        // A secret that was cut must not be taken for a whole one later.
                        let _ = store.remove(slot).await;
                    }
                    passed_over.push(problem);
                }
            }
        }
        Err(self.verdict_of_none(passed_over))
    }

    async fn forget(&self, slot: &str, in_store: Option<StoreName>) {
        for store in self.all().filter(|store| Some(store.name()) == in_store) {
            let _ = store.remove(slot).await;
        }
    }

    /// Why nothing took it: the last store's reason, since it takes what all others refuse.
    fn verdict_of_none(&self, mut refusals: Vec<StoreProblem>) -> StoreProblem {
        match refusals.pop() {
            Some(problem @ StoreProblem::TooLarge { .. }) => problem,
            _ if self.forbids_file => StoreProblem::Forbidden,
            Some(problem) => problem,
            None => StoreProblem::Nowhere,
        }
    }

    /// Removes a secret from every store. Gives the stores that had it, and what went wrong.
    pub async fn remove(&self, slot: &str) -> (Vec<StoreName>, Vec<StoreProblem>) {
        let named = self.card.read().ok().and_then(|card| card.kept.get(slot).copied());
        let (mut had, mut problems) = (Vec::new(), Vec::new());
        for store in self.all() {
            match store.remove(slot).await {
                Ok(true) => had.push(store.name()),
                Ok(false) => {}
                // A store that is not there matters only where the secret should be in it.
                Err(problem) if named == Some(store.name()) => problems.push(problem),
                Err(_) => {}
            }
        }
        if problems.is_empty() {
            let changed = self.card.change(|card| {
                card.kept.remove(slot);
                card.sign_in.take_if(|sign_in| sign_in == slot);
            });
            problems.extend(changed.err());
        }
        (had, problems)
    }

    /// Every slot that something is kept in.
    pub fn slots(&self) -> Result<Vec<String>, StoreProblem> {
        Ok(self.card.read()?.kept.into_keys().collect())
    }

    /// The slot of the last sign-in.
    pub fn last_sign_in(&self) -> Result<Option<String>, StoreProblem> {
        Ok(self.card.read()?.sign_in)
    }

    /// Notes the slot of a sign-in.
    pub fn note_sign_in(&self, slot: &str) -> Result<(), StoreProblem> {
        self.card.change(|card| card.sign_in = Some(slot.to_owned()))
    }

    fn all(&self) -> impl Iterator<Item = &dyn Store> {
        self.permitted.iter().chain(&self.retired).map(AsRef::as_ref)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Done;
    use crate::store::cache::{Cache, Freshness};
    use crate::store::file::FileStore;
    use secrecy::ExposeSecret;
    use std::collections::BTreeMap;
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::sync::{Arc, Mutex};

    /// How a stand-in for a keyring behaves.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Mood {
        Fine,
        /// As the `security` command of macOS does with what is longer than its buffer.
        CutsAt(usize),
        Down,
    }

    #[derive(Clone, Debug)]
    struct Keyring {
        name: StoreName,
        mood: Arc<Mutex<Mood>>,
        kept: Arc<Mutex<BTreeMap<String, String>>>,
        asked: Arc<AtomicU32>,
    }

    impl Keyring {
        fn new(mood: Mood) -> Self {
            let (mood, kept) = (Arc::new(Mutex::new(mood)), Arc::default());
            Self { name: StoreName::SecretService, mood, kept, asked: Arc::default() }
        }

        fn set(&self, mood: Mood) {
            *self.mood.lock().unwrap() = mood;
        }

        fn visit(&self) -> Result<Mood, StoreProblem> {
            self.asked.fetch_add(1, Ordering::SeqCst);
            match *self.mood.lock().unwrap() {
                Mood::Down => Err(StoreProblem::Unavailable { store: self.name, why: "it is down".to_owned() }),
                mood @ (Mood::Fine | Mood::CutsAt(_)) => Ok(mood),
            }
        }
    }

    impl Store for Keyring {
        fn name(&self) -> StoreName {
            self.name
        }

        fn limit(&self) -> usize {
            100
        }

        fn load<'a>(&'a self, slot: &'a str) -> Done<'a, Option<SecretString>> {
            Box::pin(async move {
                self.visit()?;
                Ok(self.kept.lock().unwrap().get(slot).map(|text| text.as_str().into()))
            })
        }

        fn save<'a>(&'a self, slot: &'a str, secret: &'a SecretString) -> Done<'a, ()> {
            Box::pin(async move {
                let mut text = secret.expose_secret().to_owned();
                if let Mood::CutsAt(length) = self.visit()? {
                    text.truncate(length);
                }
                self.kept.lock().unwrap().insert(slot.to_owned(), text);
                Ok(())
            })
        }

        fn remove<'a>(&'a self, slot: &'a str) -> Done<'a, bool> {
            Box::pin(async move {
                self.visit()?;
                Ok(self.kept.lock().unwrap().remove(slot).is_some())
            })
        }
    }

    struct House {
        folder: tempfile::TempDir,
        keyring: Keyring,
    }

    impl House {
        fn new(mood: Mood) -> Self {
            Self { folder: tempfile::tempdir().unwrap(), keyring: Keyring::new(mood) }
        }

        fn file(&self) -> FileStore {
            FileStore::in_folder(self.folder.path().join("secrets"))
        }

        fn chain(&self, choice: Choice) -> Chain {
            let stores: Vec<Box<dyn Store>> = vec![Box::new(self.keyring.clone()), Box::new(self.file())];
            Chain::new(stores, self.folder.path(), choice)
        }
    }

    const FORBIDDEN: Choice = Choice { only: None, forbid_file: true };
    const FREE: Choice = Choice { only: None, forbid_file: false };

    async fn read(chain: &Chain) -> Result<Option<(String, StoreName)>, StoreProblem> {
        let found = chain.load("k").await?;
        Ok(found.map(|found| (found.secret.expose_secret().to_owned(), found.store)))
    }

    #[tokio::test]
    async fn the_best_store_that_keeps_a_secret_whole_is_taken() {
        let long = "x".repeat(101);
        let table = [
            (Mood::Fine, "short", StoreName::SecretService),
            (Mood::Fine, &long, StoreName::File),
            (Mood::CutsAt(4), "long enough to be cut", StoreName::File),
            (Mood::CutsAt(4), "four", StoreName::SecretService),
            (Mood::Down, "short", StoreName::File),
        ];
        for (mood, secret, expected) in table {
            let house = House::new(mood);
            let chain = house.chain(FREE);
            let kept = chain.save("k", &secret.into()).await.unwrap();
            assert_eq!((kept.store, kept.newly_in_file), (expected, expected == StoreName::File), "{mood:?}");
            assert_eq!(read(&chain).await.unwrap(), Some((secret.to_owned(), expected)), "{mood:?}");
            let cut = house.keyring.kept.lock().unwrap().values().any(|text| text != secret);
            assert!(!cut, "what was cut is not left behind");
            let again = chain.save("k", &secret.into()).await.unwrap();
            assert!(!again.newly_in_file, "the warning comes once");
        }
    }

    #[tokio::test]
    async fn where_the_file_is_forbidden_nothing_is_written_to_it() {
        let long = "x".repeat(101);
        for (mood, secret) in [(Mood::Down, "short"), (Mood::CutsAt(2), "short"), (Mood::Fine, long.as_str())] {
            let house = House::new(mood);
            let problem = house.chain(FORBIDDEN).save("k", &secret.into()).await.unwrap_err();
            assert!(matches!(problem, StoreProblem::Forbidden | StoreProblem::TooLarge { .. }), "{problem}");
            assert!(!house.folder.path().join("secrets").exists(), "{mood:?}");
        }
    }

    #[tokio::test]
    async fn what_is_in_a_file_moves_once_the_file_is_forbidden() {
        let house = House::new(Mood::Down);
        house.chain(FREE).save("k", &"secret".into()).await.unwrap();
        let path = house.file().path("k");
        assert!(matches!(read(&house.chain(FORBIDDEN)).await, Err(StoreProblem::Forbidden)));
        assert!(path.exists(), "it stays until it is safe elsewhere");
        house.keyring.set(Mood::Fine);
        let moved = Some(("secret".to_owned(), StoreName::SecretService));
        assert_eq!(read(&house.chain(FORBIDDEN)).await.unwrap(), moved);
        assert!(!path.exists());
        assert_eq!(read(&house.chain(FORBIDDEN)).await.unwrap(), moved);
    }

    #[tokio::test]
    async fn the_next_write_moves_to_a_better_store() {
        let house = House::new(Mood::Down);
        let chain = house.chain(FREE);
        chain.save("k", &"one".into()).await.unwrap();
        house.keyring.set(Mood::Fine);
        assert_eq!(read(&chain).await.unwrap(), Some(("one".to_owned(), StoreName::File)));
        chain.save("k", &"two".into()).await.unwrap();
        assert_eq!(read(&chain).await.unwrap(), Some(("two".to_owned(), StoreName::SecretService)));
        assert!(!house.file().path("k").exists());
    }

    #[tokio::test]
    async fn no_store_is_asked_for_what_was_never_kept() {
        let house = House::new(Mood::Down);
        assert_eq!(read(&house.chain(FREE)).await.unwrap(), None);
        assert_eq!(house.keyring.asked.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_store_that_fails_in_passing_signs_nobody_out() {
        let house = House::new(Mood::Fine);
        let (chain, cache) = (house.chain(FREE), Cache::default());
        chain.save("k", &"secret".into()).await.unwrap();
        cache.load(&chain, "k", Freshness::Recent).await.unwrap();
        house.keyring.set(Mood::Down);
        for freshness in [Freshness::Now, Freshness::Recent] {
            let stale = cache.load(&chain, "k", freshness).await.unwrap();
            assert_eq!(stale.found.unwrap().secret.expose_secret(), "secret");
            assert!(matches!(stale.warning, Some(StoreProblem::Unavailable { .. })), "{freshness:?}");
        }
        let fresh = Cache::default().load(&chain, "k", Freshness::Recent).await;
        assert!(fresh.is_err(), "without a value there is a problem, and not `signed out`");
        house.keyring.set(Mood::Fine);
        assert!(cache.load(&chain, "k", Freshness::Now).await.unwrap().warning.is_none());
    }

    #[tokio::test]
    async fn a_store_that_lost_what_it_was_given_says_so() {
        let house = House::new(Mood::Fine);
        let chain = house.chain(FREE);
        chain.save("k", &"secret".into()).await.unwrap();
        house.keyring.kept.lock().unwrap().clear();
        assert_eq!(read(&chain).await, Err(StoreProblem::Gone(StoreName::SecretService)));
    }

    #[tokio::test]
    async fn removing_takes_it_out_of_every_store() {
        let house = House::new(Mood::Fine);
        let chain = house.chain(FREE);
        house.keyring.set(Mood::Down);
        chain.save("k", &"old".into()).await.unwrap();
        let (removed, problems) = chain.remove("k").await;
        assert_eq!((removed, problems), (vec![StoreName::File], vec![]), "a keyring that is down had nothing");
        house.keyring.set(Mood::Fine);
        chain.save("k", &"new".into()).await.unwrap();
        house.keyring.set(Mood::Down);
        let (removed, problems) = chain.remove("k").await;
        assert!(removed.is_empty() && problems.len() == 1, "it had something, so its silence is a problem");
        assert_eq!(chain.slots().unwrap(), ["k"], "and it is not forgotten");
    }
}
