//! A sheet: one settings document as its layer may say it. Every key is looked up in the table; what is misspelt, of
//! the wrong type or not this layer's to say is reported and left out, and never takes its neighbours along.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use mayi_core::policy::{Layer, Origin, Written};
use mayi_core::verdict::Verdict;
use serde_json::{Map, Value as Json};

use crate::document::{Document, Kept, Name, Node, Place, Unreadable, Value};
use crate::hooks::{self, Hook};
use crate::keys::{self, FOREIGN, KEYS, Key, Shape, Standing, Supply};
use crate::nearest::nearest;
use crate::path_text;
use crate::problem::{Code, Page, Problem};
use crate::rules;

/// Where a document comes from, and what its paths mean.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Provenance {
    /// The file, as a person would name it.
    pub(crate) file: Option<Arc<str>>,
    /// What `/p` in its rules and a relative path in its settings start from.
    pub(crate) root: String,
    /// Who wrote it.
    pub(crate) supply: Supply,
}

/// What directories mean while a sheet is read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ground<'a> {
    pub(crate) directory: &'a str,
    pub(crate) home: Option<&'a str>,
}

/// A value that a sheet sets.
#[derive(Clone, Debug)]
pub(crate) struct Reading {
    /// The dotted path of the key.
    pub(crate) path: String,
    pub(crate) key: &'static Key,
    pub(crate) value: Json,
    pub(crate) origin: Origin,
    /// Where each item of a list stands.
    pub(crate) places: Vec<Place>,
}

/// One settings document as its layer may say it.
#[derive(Clone, Debug)]
pub(crate) struct Sheet {
    pub(crate) layer: Layer,
    pub(crate) provenance: Provenance,
    /// Rules that count.
    pub(crate) rules: Vec<Written>,
    /// Allow rules that wait for trust.
    pub(crate) withheld: Vec<Written>,
    pub(crate) readings: Vec<Reading>,
    pub(crate) hooks: Vec<Hook>,
    pub(crate) problems: Vec<Problem>,
    /// What it denies is not known.
    pub(crate) broken: Option<Origin>,
    pub(crate) document: Option<Arc<Kept>>,
    /// The file that the document was read from.
    pub(crate) path: Option<PathBuf>,
}

/// So many problems of one document are shown with their line; finding a line costs time, and nobody reads more.
pub(crate) const SHOWN: usize = 50;

impl Sheet {
    /// An empty sheet.
    pub(crate) fn empty(layer: Layer, provenance: Provenance) -> Self {
        Self {
            layer,
            provenance,
            rules: Vec::new(),
            withheld: Vec::new(),
            readings: Vec::new(),
            hooks: Vec::new(),
            problems: Vec::new(),
            broken: None,
            document: None,
            path: None,
        }
    }

    /// Reads a document.
    pub(crate) fn read(mut document: Document, layer: Layer, provenance: Provenance, ground: Ground<'_>) -> Self {
        let mut sheet = Self::empty(layer, provenance);
        sheet.document = Some(Arc::new(Kept::of(&document)));
        let page = Page { layer, file: sheet.provenance.file.clone(), text: document.text };
        let mut reader = Reader { sheet, page, ground, places: Vec::new() };
        match &mut document.root.value {
            Value::Object(members) => reader.object(members, KEYS, ""),
            Value::Null | Value::Flag(_) | Value::Number(_) | Value::Text(_) | Value::List(_) => {
                reader.breaks(document.root.place, "settings are an object: `{ … }`");
            }
        }
        reader.sheet
    }

    /// The sheet of a document that cannot be read at all.
    pub(crate) fn broken(error: &Unreadable, layer: Layer, provenance: Provenance) -> Self {
        let mut sheet = Self::empty(layer, provenance);
        let (place, text) = match error {
            Unreadable::NotJson { place, text, .. } => (*place, Arc::clone(text)),
            Unreadable::Empty
            | Unreadable::NotText { .. }
            | Unreadable::TooLarge
            | Unreadable::NotFile
            | Unreadable::Refused(_) => (Place::default(), "".into()),
        };
        let page = Page { layer, file: sheet.provenance.file.clone(), text };
        let problem = page.problem(Code::BrokenFile, place, error.to_string()).fix(broken_help(layer));
        sheet.broken = Some(problem.origin.clone());
        sheet.problems.push(problem);
        sheet
    }
}

fn broken_help(layer: Layer) -> &'static str {
    match layer {
        Layer::Managed => "until it is mended everything but reading is denied, because what it denies is not known",
        Layer::Flag | Layer::Cli | Layer::Command | Layer::Session | Layer::Local | Layer::Project | Layer::User => {
            "until it is mended everything asks, because what it denies is not known"
        }
    }
}

/// Reads one document.
struct Reader<'a> {
    sheet: Sheet,
    page: Page,
    ground: Ground<'a>,
    /// Where the items of the list stand that is being read.
    places: Vec<Place>,
}

impl Reader<'_> {
    fn report(&mut self, code: Code, place: Place, message: String) -> Option<&mut Problem> {
        let problem = if self.sheet.problems.len() < SHOWN {
            self.page.problem(code, place, message)
        } else {
            Problem::new(code, self.page.origin(place), message)
        };
        self.sheet.problems.push(problem);
        self.sheet.problems.last_mut()
    }

    fn report_with_fix(&mut self, code: Code, place: Place, (message, fix): (String, String)) {
        if let Some(problem) = self.report(code, place, message) {
            problem.fix = Some(fix);
        }
    }

    /// What the document denies is not known.
    fn breaks(&mut self, place: Place, message: &str) {
        let help = broken_help(self.sheet.layer);
        self.report_with_fix(Code::BrokenFile, place, (message.to_owned(), help.to_owned()));
        self.sheet.broken.get_or_insert_with(|| self.page.origin(place));
    }

    fn object(&mut self, members: &mut [(Name, Node)], keys: &'static [Key], above: &str) {
        let mut seen = BTreeSet::new();
        for (name, node) in members {
            let name: &Name = name;
            if !seen.insert(name.text.as_str()) {
                let message = format!("`{}` stands here twice; lists count from both, else the last", name.text);
                self.report(Code::DuplicateKey, name.place, message);
            }
            match keys.iter().find(|key| key.name == name.text) {
                Some(key) => self.member(key, node, &join(above, key.name)),
                None if above.is_empty() && FOREIGN.contains(&name.text.as_str()) => {}
                None => self.unknown(name, keys, above),
            }
        }
    }

    fn unknown(&mut self, name: &Name, keys: &'static [Key], above: &str) {
        let within = if above.is_empty() { "settings" } else { above };
        let message = format!("`{}` is no key of {within}", name.text);
        let fix = match nearest(&name.text, keys.iter().map(|key| key.name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "it has no effect; `mayi schema` lists every key".to_owned(),
        };
        self.report_with_fix(Code::UnknownKey, name.place, (message, fix));
    }

    fn member(&mut self, key: &'static Key, node: &mut Node, path: &str) {
        match (key.shape, &mut node.value) {
            (_, Value::Null) => {}
            (Shape::Rules(list), Value::List(items)) => self.rules(list, items),
            (Shape::Rules(list), _) => self.no_rules(list, node, path),
            (Shape::Object(inner), Value::Object(members)) => {
                if self.may_set(key, &Json::Null, (path, node.place)) {
                    self.object(members, inner, path);
                }
            }
            (Shape::Object(_), _) if path == "permissions" => {
                self.breaks(node.place, "`permissions` is an object: `{ \"allow\": […], \"deny\": […] }`");
            }
            (Shape::Hooks, _) => {
                if self.may_set(key, &Json::Null, (path, node.place)) {
                    self.hooks(node);
                }
            }
            _ => self.value(key, node, path),
        }
    }

    fn value(&mut self, key: &'static Key, node: &Node, path: &str) {
        self.places.clear();
        let Some(value) = self.check(key, node, path) else { return };
        let places = std::mem::take(&mut self.places);
        if self.may_set(key, &value, (path, node.place)) {
            let origin = self.page.origin(node.place);
            self.sheet.readings.push(Reading { path: path.to_owned(), key, value, origin, places });
        }
    }

    /// Whether this layer may set the key to the value; reported when not.
    fn may_set(&mut self, key: &'static Key, value: &Json, (path, place): (&str, Place)) -> bool {
        let (layer, supply) = (self.sheet.layer, self.sheet.provenance.supply);
        match keys::standing(key, value, layer, supply) {
            Standing::Counts => true,
            Standing::NeedsTrust => {
                let message = format!("`{path}` comes with the repository and waits until its folder is trusted");
                self.report_with_fix(Code::NeedsTrust, place, (message, "run `mayi trust` to trust it".to_owned()));
                false
            }
            Standing::NotHere => {
                let message = format!("`{path}` has no effect in {layer} settings");
                self.report_with_fix(
                    Code::KeyNotAllowedHere,
                    place,
                    (message, format!("it counts in {}", key.scope.layers())),
                );
                false
            }
        }
    }

    /// The value in its proper shape. What is not is reported; a sticky key then takes its strict value.
    fn check(&mut self, key: &'static Key, node: &Node, path: &str) -> Option<Json> {
        let value = self.shaped(&key.shape, node, path);
        match (value, key.strict_value()) {
            (Some(value), _) => Some(value),
            // `false` for a key whose only value is a word says "no" in the wrong way.
            (None, Some(Json::String(_))) if node.value == Value::Flag(false) => None,
            // A starting mode that nobody can read is the built-in one, not a weaker layer's.
            (None, None) if path == "permissions.defaultMode" => Some(Json::from("default")),
            (None, strict) => strict,
        }
    }

    fn shaped(&mut self, shape: &'static Shape, node: &Node, path: &str) -> Option<Json> {
        match (shape, &node.value) {
            (Shape::Flag, Value::Flag(flag)) => Some(Json::Bool(*flag)),
            (Shape::Text, Value::Text(text)) => Some(Json::from(text.as_str())),
            (Shape::Word(words), Value::Text(text)) if words.contains(&text.as_str()) => {
                Some(Json::from(text.as_str()))
            }
            (Shape::Word(words), Value::Text(text)) => {
                let near = nearest(text, words.iter().copied());
                let fix = near
                    .map_or_else(|| format!("one of {}", words.join(", ")), |near| format!("did you mean `{near}`?"));
                let message = format!("`{text}` is no value of `{path}`");
                self.report_with_fix(Code::WrongType, node.place, (message, fix));
                None
            }
            (Shape::Count { least, most }, Value::Number(number)) => {
                let count = number.as_u64().filter(|count| (*least..=*most).contains(count));
                self.or_report(
                    count.map(Json::from),
                    node,
                    format!("`{path}` is a whole number from {least} to {most}"),
                )
            }
            (Shape::Amount, Value::Number(number)) => {
                let good = number.as_f64().is_some_and(|amount| amount >= 0.0);
                self.or_report(good.then(|| Json::Number(number.clone())), node, format!("`{path}` is not negative"))
            }
            (Shape::Path, Value::Text(text)) => {
                let path_text = path_text::resolve(text, &self.sheet.provenance.root, self.ground.home);
                self.or_report(path_text.map(Json::from), node, format!("`{path}` is a path: `/x`, `~/x` or `x`"))
            }
            (Shape::Texts, Value::List(items)) => Some(self.texts(items, path)),
            (Shape::Paths, Value::List(items)) => {
                let root = self.sheet.provenance.root.clone();
                Some(self.paths(&root, items, path))
            }
            (Shape::Directories, Value::List(items)) => Some(self.paths(self.ground.directory, items, path)),
            (Shape::Object(keys), Value::Object(members)) => Some(Json::Object(self.record(keys, members, path))),
            (Shape::List(keys), Value::List(items)) => Some(self.records(keys, items, path)),
            (Shape::Map(inner), Value::Object(members)) => Some(self.map(inner, members, path)),
            (Shape::Anything, _) => Some(node.to_value()),
            _ => self.or_report(None, node, format!("`{path}` is {}, not {}", shape.kind(), node.value)),
        }
    }

    fn or_report(&mut self, value: Option<Json>, node: &Node, message: String) -> Option<Json> {
        if value.is_none() {
            self.report(Code::WrongType, node.place, message);
        }
        value
    }

    fn texts(&mut self, items: &[Node], path: &str) -> Json {
        let mut good = Vec::new();
        for item in items {
            let text = self.or_report(item.text().map(Json::from), item, format!("`{path}` is a list of texts"));
            self.places.extend(text.is_some().then_some(item.place));
            good.extend(text);
        }
        Json::Array(good)
    }

    fn paths(&mut self, root: &str, items: &[Node], path: &str) -> Json {
        let mut good = Vec::new();
        for item in items {
            let resolved = item.text().and_then(|text| path_text::resolve(text, root, self.ground.home));
            let message = format!("`{path}` is a list of paths: `/x`, `~/x` or `x`");
            let path = self.or_report(resolved.map(Json::from), item, message);
            self.places.extend(path.is_some().then_some(item.place));
            good.extend(path);
        }
        Json::Array(good)
    }

    /// An object inside a list or a map: kept as one value.
    fn record(&mut self, keys: &'static [Key], members: &[(Name, Node)], path: &str) -> Map<String, Json> {
        let mut record = Map::new();
        for (name, node) in members {
            let Some(key) = keys.iter().find(|key| key.name == name.text) else {
                self.unknown(name, keys, path);
                continue;
            };
            let value = self.check(key, node, &join(path, key.name));
            record.extend(value.map(|value| (name.text.clone(), value)));
        }
        record
    }

    fn records(&mut self, keys: &'static [Key], items: &[Node], path: &str) -> Json {
        let (mut records, mut places) = (Vec::new(), Vec::new());
        for item in items {
            match item.members() {
                Some(members) => {
                    let mut record = self.record(keys, members, path);
                    self.denied_unless_own(&mut record, item, path);
                    places.push(item.place);
                    records.push(Json::Object(record));
                }
                None => {
                    self.report(Code::WrongType, item.place, format!("`{path}` is a list of objects"));
                }
            }
        }
        // Lists inside the records have left their places here.
        self.places = places;
        Json::Array(records)
    }

    /// A secret that a file in the project wants replaced instead of hidden stays hidden: what replaces it could say
    /// where the real one is sent.
    fn denied_unless_own(&mut self, record: &mut Map<String, Json>, item: &Node, path: &str) {
        let in_project = matches!(self.sheet.layer, Layer::Project | Layer::Local);
        if in_project && record.get("mode").is_some_and(|mode| mode == "mask") {
            let message = format!("`mask` has no effect in {} settings; `{path}` denies instead", self.sheet.layer);
            self.report(Code::KeyNotAllowedHere, item.place, message);
            record.insert("mode".to_owned(), Json::from("deny"));
        }
    }

    fn map(&mut self, inner: &'static Shape, members: &[(Name, Node)], path: &str) -> Json {
        let mut map = Map::new();
        for (name, node) in members {
            let value = self.shaped(inner, node, &join(path, &name.text));
            map.extend(value.map(|value| (name.text.clone(), value)));
        }
        Json::Object(map)
    }

    fn rules(&mut self, list: Verdict, items: &mut [Node]) {
        let waits = list == Verdict::Allow && self.sheet.provenance.supply == Supply::Repository;
        let kept = if waits { &mut self.sheet.withheld } else { &mut self.sheet.rules };
        // A few of another list mostly come after the many of the first: for them alone all need not move.
        kept.reserve(items.len() + if kept.is_empty() { 4 } else { 0 });
        kept.extend(items.iter_mut().map(|item| rules::written(list, item)));
    }

    fn no_rules(&mut self, list: Verdict, node: &Node, path: &str) {
        self.report(Code::WrongType, node.place, format!("`{path}` is a list of rules, not {}", node.value));
        if list != Verdict::Allow {
            self.sheet.rules.push(rules::unreadable(list, node));
        }
    }

    fn hooks(&mut self, node: &Node) {
        let mut problems = Vec::new();
        let hooks = hooks::read(node, &self.page, &mut problems);
        self.sheet.hooks.extend(hooks);
        self.sheet.problems.extend(problems);
    }
}

fn join(above: &str, name: &str) -> String {
    if above.is_empty() { name.to_owned() } else { [above, ".", name].concat() }
}
