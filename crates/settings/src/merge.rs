//! The merge: the sheets of all layers become one value for each key, and each value keeps its origins.
//!
//! Scalars come from the strongest layer, lists unite, objects go key by key, and a sticky key stays strict once any
//! layer says so. Nothing here can make a stronger layer's word weaker.

use std::collections::{BTreeMap, HashSet};

use mayi_core::policy::Origin;
use serde_json::{Map, Value as Json};

use crate::keys::{Merge, Shape};
use crate::locks::Locks;
use crate::problem::{Code, Problem};
use crate::sheet::{Reading, Sheet};

/// The value of a key, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The value.
    pub value: Json,
    /// Every place that gave it or a part of it, strongest first.
    pub origins: Vec<Origin>,
    /// What a list holds, each with its own place, strongest first; one that stands in two places is here twice.
    pub items: Vec<Item>,
}

/// One item of a list, and where it stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The item.
    pub value: Json,
    /// Where it stands.
    pub origin: Origin,
}

/// The value of every key that is set, by its dotted path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effective {
    settings: BTreeMap<String, Setting>,
    /// What the files of a project cannot loosen.
    pub locks: Locks,
}

impl Effective {
    /// A key's value and origins.
    pub fn setting(&self, path: &str) -> Option<&Setting> {
        self.settings.get(path)
    }

    /// What a list holds, strongest first.
    pub fn items(&self, path: &str) -> &[Item] {
        self.settings.get(path).map(|setting| setting.items.as_slice()).unwrap_or_default()
    }

    /// Every key that is set, in the order of its path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Setting)> {
        self.settings.iter().map(|(path, setting)| (path.as_str(), setting))
    }

    /// The same as one object, as a settings file would have it.
    pub fn to_value(&self) -> Json {
        let mut whole = Map::new();
        for (path, setting) in &self.settings {
            let mut at = &mut whole;
            let (above, name) = path.rsplit_once('.').unwrap_or(("", path));
            for segment in above.split('.').filter(|segment| !segment.is_empty()) {
                let inner = at.entry(segment).or_insert_with(|| Json::Object(Map::new()));
                match inner {
                    Json::Object(object) => at = object,
                    // A key is an object or a value by the table, never both.
                    Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) | Json::Array(_) => {
                        return Json::Null;
                    }
                }
            }
            at.insert(name.to_owned(), setting.value.clone());
        }
        Json::Object(whole)
    }
}

/// Merges sheets, strongest first. Also reports what an organisation's sandbox leaves no room for.
pub(crate) fn merge(sheets: &[Sheet]) -> (Effective, Vec<Problem>) {
    let locks = Locks::of(sheets);
    let mut effective = Effective { locks, ..Effective::default() };
    let mut problems = Vec::new();
    for sheet in sheets {
        // From the back: in one document the last of two equal keys counts.
        for reading in sheet.readings.iter().rev() {
            if let Some(why) = locks.refuse(sheet.layer, reading) {
                let message = format!("`{}` has no effect: {why}", reading.path);
                problems.push(Problem::new(Code::KeyNotAllowedHere, reading.origin.clone(), message));
                continue;
            }
            effective.add(reading);
        }
    }
    for setting in effective.settings.values_mut() {
        without_repetition(&mut setting.value);
    }
    (effective, problems)
}

impl Effective {
    fn add(&mut self, reading: &Reading) {
        let Reading { path, key, value, origin, .. } = reading;
        let Some(setting) = self.settings.get_mut(path) else {
            let items = reading.items().collect();
            let setting = Setting { value: value.clone(), origins: vec![origin.clone()], items };
            self.settings.insert(path.clone(), setting);
            return;
        };
        match (key.merge, key.shape, &mut setting.value, value) {
            (Merge::Sticky, _, own, other) => {
                if key.strict_value().as_ref() == Some(other) && own != other {
                    *setting = Setting { value: other.clone(), origins: vec![origin.clone()], items: Vec::new() };
                }
            }
            (Merge::Plain, _, Json::Array(own), Json::Array(other)) => {
                own.extend(other.iter().cloned());
                setting.items.extend(reading.items());
                setting.origins.push(origin.clone());
            }
            (Merge::Plain, Shape::Map(_), Json::Object(own), Json::Object(other)) => {
                for (name, value) in other {
                    own.entry(name.clone()).or_insert_with(|| value.clone());
                }
                setting.origins.push(origin.clone());
            }
            // A scalar of a weaker layer.
            (Merge::Plain, _, _, _) => {}
        }
    }
}

fn without_repetition(value: &mut Json) {
    let Json::Array(items) = value else { return };
    let mut seen = HashSet::new();
    items.retain(|item| seen.insert(item.to_string()));
}

impl Reading {
    /// The items of a list, each with its own place.
    fn items(&self) -> impl Iterator<Item = Item> {
        let items = self.value.as_array().map(Vec::as_slice).unwrap_or_default();
        items.iter().zip(&self.places).map(|(value, place)| {
            let origin = Origin { line: place.line, column: place.column, ..self.origin.clone() };
            Item { value: value.clone(), origin }
        })
    }
}
