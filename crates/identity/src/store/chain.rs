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
        let may = |store: &Box<dyn Store>| {
            choice.only.is_none_or(|only| only == store.name())
                && !(choice.forbid_file && store.name() == StoreName::File)
        };
        let (permitted, retired) = stores.into_iter().partition(may);
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

    pub(super) fn all(&self) -> impl Iterator<Item = &Box<dyn Store>> {
        self.permitted.iter().chain(&self.retired)
    }
}
