//! The card: a note of what is kept in which store. It holds no secret. Where it names nothing, no store is asked at
//! all; where it names a store that cannot be asked, that is a problem and not "signed out".

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use mayi_settings::document::read_text;
use mayi_settings::trust::make_private;
use mayi_settings::write::replace::{Privacy, replace};
use serde::{Deserialize, Serialize};

use super::{StoreName, StoreProblem};

/// How often a change is tried when somebody else changes the card at the same time.
const TRIES: usize = 64;

/// What is kept where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Card {
    /// The store of every secret, by its slot.
    pub kept: BTreeMap<String, StoreName>,
    /// The slot of the last sign-in, for settings that name no service.
    #[serde(default)]
    pub sign_in: Option<String>,
}

/// The file of a card.
#[derive(Clone, Debug)]
pub struct CardFile {
    path: PathBuf,
}

impl CardFile {
    /// The card in a folder.
    pub fn in_folder(folder: &Path) -> Self {
        Self { path: folder.join("card.json") }
    }

    /// The card; an empty one when there is none yet.
    pub fn read(&self) -> Result<Card, StoreProblem> {
        self.parsed(self.text()?.as_deref())
    }

    fn text(&self) -> Result<Option<String>, StoreProblem> {
        read_text(&self.path).map_err(|error| self.problem(error.located(&self.path)))
    }

    fn parsed(&self, text: Option<&str>) -> Result<Card, StoreProblem> {
        let Some(text) = text else { return Ok(Card::default()) };
        serde_json::from_str(text).map_err(|_| self.problem("it is no card".to_owned()))
    }

    fn problem(&self, what: String) -> StoreProblem {
        StoreProblem::Card { path: self.path.clone(), what }
    }

    /// Changes the card. A card that cannot be read is left as it is.
    pub fn change(&self, change: impl Fn(&mut Card)) -> Result<(), StoreProblem> {
        let folder = self.path.parent().unwrap_or(&self.path);
        make_private(folder).map_err(|error| StoreProblem::Io { path: folder.to_owned(), what: error.to_string() })?;
        for _ in 0..TRIES {
            let before = self.text()?;
            let card = self.parsed(before.as_deref())?;
            let mut changed = card.clone();
            change(&mut changed);
            if changed == card {
                return Ok(());
            }
            let after = serde_json::to_string_pretty(&changed).map_err(|error| self.problem(error.to_string()))?;
            match replace(&self.path, before.as_deref(), &format!("{after}\n"), Privacy::Own) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(error) => {
                    return Err(StoreProblem::Io { path: self.path.clone(), what: error.to_string() });
                }
            }
        }
        Err(self.problem("somebody else kept changing it".to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_that_cannot_be_read_is_a_problem_and_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        let file = CardFile::in_folder(folder.path());
        assert_eq!(file.read().unwrap(), Card::default());
        for text in ["{", "[]", "{}", r#"{"kept": {"a": "nowhere"}}"#] {
            std::fs::write(&file.path, text).unwrap();
            assert!(matches!(file.read(), Err(StoreProblem::Card { .. })), "{text}");
            assert!(file.change(|card| card.sign_in = None).is_err());
            assert_eq!(std::fs::read_to_string(&file.path).unwrap(), text);
        }
    }

    #[test]
    fn changes_of_many_at_once_are_all_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = CardFile::in_folder(folder.path());
        std::thread::scope(|scope| {
            for number in 0..8 {
                let file = &file;
                scope.spawn(move || {
                    file.change(|card| {
                        card.kept.insert(format!("slot {number}"), StoreName::File);
                    })
                });
            }
        });
        assert_eq!(file.read().unwrap().kept.len(), 8);
    }
}
