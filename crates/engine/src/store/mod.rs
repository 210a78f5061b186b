//! Session state across processes: each hook call is a process of its own, and several may run at once.
//!
//! Two things are kept for a session. Its *card*, a small file that says who it is and in which mode it was last
//! seen, is all that most calls need. Its *record* in the database holds what calls change: denial counters, rules
//! and modes from answers, the end of a run. A file beside the card marks that there is a record, so that a call of
//! a session without one never opens the database.
//!
//! Nothing here guesses: what cannot be read or written is an error, and whoever asked fails closed.

mod database;
mod names;
mod sweep;

use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use mayi_core::lineage::Inheritance;
use mayi_core::mode::Mode;
use mayi_core::session::Session;
use mayi_settings::Flag;
use mayi_settings::document::{open_at_once, read_to};
use mayi_settings::update::SessionPermissions;
use serde::{Deserialize, Serialize};

use crate::waiting::Waiting;

use database::Database;

pub(crate) use sweep::is_fading;

/// No card is longer: a directory, a few words, and settings that were given on a command line.
const LONGEST_CARD: u64 = 16 * 1024 * 1024;

/// Who a session is, and in which mode it was last seen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Card {
    /// The agent program.
    pub agent: String,
    /// The directory it works in.
    pub directory: PathBuf,
    /// Its mode.
    pub mode: Mode,
    /// The session that started it.
    pub lead: Option<String>,
    /// What becomes of its asks.
    pub inheritance: Inheritance,
    /// The settings that it was given beside the files: they bind its children as the files do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Flag>,
}

/// What calls of a session change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Mode, counters, cleared paths, the end of the run.
    pub session: Session,
    /// A mode that an answer chose; the agent's own word counts where none did.
    pub mode: Option<Mode>,
    /// Rules and directories from answers.
    pub permissions: SessionPermissions,
    /// Calls that auto mode, having stepped back, left to a person: when one of them is run, the person said yes.
    pub awaiting: Vec<String>,
}

/// Why state cannot be had or kept.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A file or folder does not work.
    #[error("the session state `{path}` cannot be used: {source}")]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// Another process holds the database for too long.
    #[error("the session state `{path}` is locked by another process")]
    Locked {
        /// The database.
        path: PathBuf,
    },
    /// The database does not work.
    #[error(
        "the session state `{path}` cannot be used: {problem}\nhelp: if it is damaged, remove it; sessions start anew"
    )]
    Database {
        /// The database.
        path: PathBuf,
        /// What it says.
        problem: String,
    },
}

/// The state of all sessions.
#[derive(Debug)]
pub struct Sessions {
    folder: PathBuf,
    database: Mutex<Option<Database>>,
    waiting: Waiting,
}

impl Sessions {
    /// The sessions below a state folder. Nothing is opened yet.
    pub fn in_folder(state: &Path) -> Self {
        Self { folder: state.join("sessions"), database: Mutex::new(None), waiting: Waiting::default() }
    }

    /// The same, telling somebody before the database is opened, where other processes may be in the way.
    pub fn telling(self, waiting: Waiting) -> Self {
        Self { waiting, ..self }
    }

    /// The folder they are kept in.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// The card of a session; `None` when it was never seen.
    pub fn card(&self, id: &str) -> Result<Option<Card>, StoreError> {
        Ok(self.dated_card(id)?.map(|(card, _)| card))
    }

    /// The same, and when it was written, where the system can tell.
    pub fn dated_card(&self, id: &str) -> Result<Option<(Card, Option<SystemTime>)>, StoreError> {
        let path = self.card_file(id);
        let read = || -> io::Result<(Card, Option<SystemTime>)> {
            // Whatever lies there, nobody waits for it.
            let file = open_at_once(&path)?;
            let metadata = file.metadata()?;
            let bytes = read_to(LONGEST_CARD, file, &metadata)?;
            Ok((serde_json::from_slice(&bytes)?, metadata.modified().ok()))
        };
        match read() {
            Ok(dated) => Ok(Some(dated)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(source) => Err(StoreError::Io { path, source }),
        }
    }

    /// Writes the card of a session, whole or not at all.
    pub fn put_card(&self, id: &str, card: &Card) -> Result<(), StoreError> {
        let path = self.card_file(id);
        let new = path.with_extension(format!("new-{}", std::process::id()));
        let write = || {
            self.make_folder()?;
            let mut file = private().create(true).truncate(true).open(&new)?;
            file.write_all(&serde_json::to_vec(card)?)?;
            fs::rename(&new, &path)
        };
        write().map_err(|source| {
            // Whatever was written of it is of no use to anybody.
            let _ = fs::remove_file(&new);
            StoreError::Io { path, source }
        })
    }

    /// Whether a session has a record. Cheap: the database stays closed.
    pub fn has_record(&self, id: &str) -> bool {
        // A mark that cannot be looked at may be there.
        !matches!(fs::symlink_metadata(self.mark_file(id)), Err(error) if error.kind() == ErrorKind::NotFound)
    }

    /// The record of a session; `None` when it has none.
    pub fn record(&self, id: &str) -> Result<Option<Record>, StoreError> {
        if !self.has_record(id) {
            return Ok(None);
        }
        self.with_database(|database| database.record(id))
    }

    /// Changes the record of a session and gives it as it is then. No other process sees or changes it meanwhile.
    pub fn update(&self, id: &str, change: impl FnOnce(&mut Record)) -> Result<Record, StoreError> {
        self.mark(id)?;
        self.with_database(|database| database.update(id, change))
    }

    /// A named text of a session.
    pub fn kept(&self, id: &str, name: &str) -> Result<Option<String>, StoreError> {
        if !self.has_record(id) {
            return Ok(None);
        }
        self.with_database(|database| database.kept(id, name))
    }

    /// The text of this name of every session that has one, with the session's name. Nothing is made where there is
    /// no state yet.
    pub fn all_kept(&self, name: &str) -> Result<Vec<(String, String)>, StoreError> {
        let path = self.database_file();
        match fs::metadata(&path) {
            Ok(_) => self.with_database(|database| database.all_kept(name)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(Vec::new()),
            Err(source) => Err(StoreError::Io { path, source }),
        }
    }

    /// Changes a named text of a session. No other process sees or changes it meanwhile.
    pub fn amend(
        &self,
        id: &str,
        name: &str,
        change: impl FnOnce(Option<&str>) -> String,
    ) -> Result<String, StoreError> {
        self.mark(id)?;
        self.with_database(|database| database.amend(id, name, change))
    }

    /// The mark comes before the record: a mark without a record is harmless, a record without a mark is forgotten.
    fn mark(&self, id: &str) -> Result<(), StoreError> {
        let path = self.mark_file(id);
        let write = || {
            self.make_folder()?;
            private().create(true).truncate(false).open(&path).map(drop)
        };
        write().map_err(|source| StoreError::Io { path, source })
    }

    fn with_database<T>(&self, use_it: impl FnOnce(&mut Database) -> Result<T, StoreError>) -> Result<T, StoreError> {
        let mut slot: MutexGuard<'_, _> = self.database.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *slot {
            Some(database) => use_it(database),
            empty => {
                self.make_folder().map_err(|source| StoreError::Io { path: self.folder.clone(), source })?;
                self.waiting.announce();
                use_it(empty.insert(Database::open(&self.database_file())?))
            }
        }
    }

    fn make_folder(&self) -> io::Result<()> {
        if self.folder.is_dir() {
            return Ok(());
        }
        mayi_settings::trust::make_private(&self.folder)
    }

    fn database_file(&self) -> PathBuf {
        self.folder.join("sessions.db")
    }

    fn card_file(&self, id: &str) -> PathBuf {
        self.folder.join(names::file_name(id, "card"))
    }

    fn mark_file(&self, id: &str) -> PathBuf {
        self.folder.join(names::file_name(id, "record"))
    }
}

/// A file for the owner alone.
fn private() -> fs::OpenOptions {
    let mut options = fs::OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}
