//! The merge: the sheets of all layers become one value for each key, and each value keeps its origins.
//!
//! Scalars come from the strongest layer, lists unite, objects go key by key, and a sticky key stays strict once any
//! layer says so. Nothing here can make a stronger layer's word weaker.

use std::collections::{BTreeMap, HashSet};

use mayi_core::policy::{Layer, Origin};
use serde_json::{Map, Value as Json};

use crate::keys::{Merge, Shape};
use crate::problem::{Code, Problem};
use crate::sheet::{Reading, Sheet};

/// The value of a key, and where it comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// The value.
    pub value: Json,
    /// Every place that gave it or a part of it, strongest first.
    pub origins: Vec<Origin>,
}

/// The value of every key that is set, by its dotted path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effective {
    settings: BTreeMap<String, Setting>,
}

impl Effective {
    /// A key's value and origins.
    pub fn setting(&self, path: &str) -> Option<&Setting> {
        self.settings.get(path)
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
    let mut effective = Effective::default();
    let mut problems = Vec::new();
    let required = requires_sandbox(sheets);
    for sheet in sheets {
        // From the back: in one document the last of two equal keys counts.
        for reading in sheet.readings.iter().rev() {
            if required && leaves_the_sandbox(sheet, reading) {
                let message = format!("`{}` has no effect: the organisation requires the sandbox", reading.path);
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
        let Reading { path, key, value, origin } = reading;
        let Some(setting) = self.settings.get_mut(path) else {
            let setting = Setting { value: value.clone(), origins: vec![origin.clone()] };
            self.settings.insert(path.clone(), setting);
            return;
        };
        match (key.merge, key.shape, &mut setting.value, value) {
            (Merge::Sticky, _, own, other) => {
                if key.strict_value().as_ref() == Some(other) && own != other {
                    *setting = Setting { value: other.clone(), origins: vec![origin.clone()] };
                }
            }
            (Merge::Plain, _, Json::Array(own), Json::Array(other)) => {
                own.extend(other.iter().cloned());
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

/// Whether the organisation leaves no way out of the sandbox: then files in the project cannot loosen it.
fn requires_sandbox(sheets: &[Sheet]) -> bool {
    let said = |layer: Layer, path: &str| {
        let of_layer = sheets.iter().filter(|sheet| sheet.layer == layer);
        let mut readings = of_layer.flat_map(|sheet| sheet.readings.iter().rev());
        readings.find(|reading| reading.path == path).and_then(|reading| reading.value.as_bool())
    };
    const UNSANDBOXED: &str = "sandbox.allowUnsandboxedCommands";
    let strict = said(Layer::Managed, UNSANDBOXED).or_else(|| said(Layer::Flag, UNSANDBOXED)) == Some(false);
    strict || said(Layer::Managed, "sandbox.network.allowManagedDomainsOnly") == Some(true)
}

fn leaves_the_sandbox(sheet: &Sheet, reading: &Reading) -> bool {
    matches!(sheet.layer, Layer::Local | Layer::Project)
        && reading.path.starts_with("sandbox.")
        && reading.key.loosens(&reading.value)
}
