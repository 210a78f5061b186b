//! The record of decisions as the commands that read it see it: which file, which settings a recorded call stands
//! under, and what is told of lines that cannot be read.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Result, bail};
use mayi_analysis::diff::rebased;
use mayi_core::call::Call;
use mayi_core::catalogue;
use mayi_engine::audit::reading::Broken;
use mayi_engine::audit::{Reader, Record, Recorded};
use mayi_engine::observe::Machine;
use mayi_settings::{Flag, Given, Loaded, Places, load};
use unicode_width::UnicodeWidthChar;

use crate::arguments::{Records, Since, Where};
use crate::{paint, surroundings};

/// So many directories' settings are kept.
const KEPT: usize = 256;

/// The audit: the one that was named, or that of the settings here.
pub(crate) fn file(given: Option<&Path>) -> Result<PathBuf> {
    if let Some(given) = given {
        if !given.exists() {
            bail!("there is no audit `{}`", given.display());
        }
        return Ok(given.to_owned());
    }
    let (places, given) = surroundings::sources(&Where::default())?;
    match load(&places, &given).settings.audit.file {
        Some(file) => Ok(places.directory.join(file)),
        None => match &places.state {
            Some(state) => Ok(state.join("audit.jsonl")),
            None => bail!("there is no state folder on this machine\nhelp: set HOME or XDG_STATE_HOME"),
        },
    }
}

/// A moment so long ago, in milliseconds of the Unix clock.
pub(crate) fn moment(age: Option<Since>) -> Option<u64> {
    let Since(age) = age?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.saturating_sub(age).as_millis()).ok()
}

/// Reads an audit, and remembers what could not be read.
pub(crate) struct Reading {
    reader: Reader,
    since: u64,
    broken: usize,
    first: Option<Broken>,
}

impl Reading {
    pub(crate) fn of(records: &Records) -> Result<Self> {
        let file = file(records.file.as_deref())?;
        Ok(Self { reader: Reader::of(&file), since: moment(records.since).unwrap_or(0), broken: 0, first: None })
    }

    /// The next record that is young enough.
    pub(crate) fn next(&mut self) -> Option<Record> {
        loop {
            match self.reader.next()? {
                Ok((_, Record::Decision(recorded))) if recorded.at < self.since => {}
                Ok((_, record)) => return Some(record),
                Err(broken) => {
                    self.broken += 1;
                    self.first.get_or_insert(broken);
                }
            }
        }
    }

    /// The next decision.
    pub(crate) fn next_decision(&mut self) -> Option<Box<Recorded>> {
        loop {
            if let Record::Decision(recorded) = self.next()? {
                return Some(recorded);
            }
        }
    }

    /// Tells of lines that cannot be read.
    pub(crate) fn report(&self) {
        if let Some(first) = &self.first {
            let lines = if self.broken == 1 { "1 line".to_owned() } else { format!("{} lines", self.broken) };
            let first = paint::visible(&first.to_string());
            paint::tell(format!(
                "{}: {lines} of the audit cannot be read, the first at {first}",
                paint::caution("warning")
            ));
        }
    }
}

/// The settings that recorded calls stand under: those of their own directories, or of one folder for all.
pub(crate) struct Settings {
    flags: Vec<Flag>,
    folder: Option<Loaded>,
    kept: HashMap<String, Arc<Loaded>>,
}

impl Settings {
    /// Settings beside those of each directory, or a folder whose settings take their place.
    pub(crate) fn new(settings: Option<&str>, folder: Option<&Path>) -> Result<Self> {
        let place = Where { settings: settings.map(str::to_owned), ..Where::default() };
        let (_, Given { flags, .. }) = surroundings::sources(&place)?;
        let folder = match folder {
            Some(folder) => {
                let (places, given) = surroundings::sources(&Where { cwd: Some(folder.to_owned()), ..place })?;
                Some(load(&places, &given))
            }
            None => None,
        };
        Ok(Self { flags, folder, kept: HashMap::new() })
    }

    /// The settings of a recorded call.
    pub(crate) fn of(&mut self, recorded: &Recorded) -> Arc<Loaded> {
        if let Some(known) = self.kept.get(&recorded.cwd) {
            return known.clone();
        }
        if self.kept.len() >= KEPT {
            self.kept.clear();
        }
        let loaded = match &self.folder {
            Some(folder) => rebased(folder.clone(), &folder.policy.workspace.directory, &recorded.cwd),
            None => self.loaded(recorded),
        };
        let loaded = Arc::new(loaded);
        self.kept.insert(recorded.cwd.clone(), loaded.clone());
        loaded
    }

    fn loaded(&self, recorded: &Recorded) -> Loaded {
        let places = Self::places(recorded);
        load(&places, &Given { flags: self.flags.clone(), trust: places.trust(), ..Given::default() })
    }

    /// Where a recorded call was made. A record without a directory was made nowhere in particular.
    pub(crate) fn places(recorded: &Recorded) -> Places {
        let directory = if recorded.cwd.starts_with('/') { recorded.cwd.as_str() } else { "/" };
        Places::of_this_machine(Path::new(directory))
    }

    /// The flags that were given.
    pub(crate) fn flags(&self) -> Vec<Flag> {
        self.flags.clone()
    }
}

/// This machine, for what was not looked at when a call was recorded.
pub(crate) fn machine() -> Machine {
    Machine::new(Vec::new(), &std::env::var_os("PATH").unwrap_or_default())
}

/// What a call is about, in one line of so many columns.
pub(crate) fn subject(call: &Call, columns: usize) -> String {
    let field = catalogue::built_in(&call.tool).and_then(|tool| tool.field);
    let text = field.and_then(|field| call.text(field)).map_or_else(|| call.input.to_string(), str::to_owned);
    let text = paint::visible(&text.replace('\n', "\\n"));
    let mut width = 0;
    let mut shown = String::new();
    for letter in text.chars() {
        width += letter.width().unwrap_or(0);
        if width > columns {
            shown.pop();
            shown.push('…');
            break;
        }
        shown.push(letter);
    }
    shown
}

/// A moment for people: the day and time in UTC.
pub(crate) fn shown(at: u64) -> String {
    let (days, seconds) = (at / 86_400_000, at / 1000 % 86_400);
    // Days since March of the year 0, in which every leap day is the last of its year.
    let days = days + 719_468;
    let era = days / 146_097;
    let of_era = days % 146_097;
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hour, minute, second) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}")
}

/// A number and the word for it.
pub(crate) fn counted(count: usize, word: &str) -> String {
    if count == 1 { format!("1 {word}") } else { format!("{count} {word}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_days_and_times() {
        for (at, expected) in [
            (0, "1970-01-01 00:00:00"),
            (951_782_400_000, "2000-02-29 00:00:00"),
            (1_709_251_199_000, "2024-02-29 23:59:59"),
            (4_107_542_400_000, "2100-03-01 00:00:00"),
        ] {
            assert_eq!(shown(at), expected);
        }
    }
}
