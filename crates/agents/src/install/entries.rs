//! Entries of hooks in an agent's JSON file, put in, found and taken out. Everything else in the file stays as it is:
//! comments, order, indentation, line ends.
//!
//! What is ours is known by its command, `mayi hook AGENT`, with our guard or without. A list or an object that holds nothing any more once our
//! entries are gone goes as well.

use std::collections::BTreeSet;
use std::path::Path;

use jsonc_parser::cst::{CstArray, CstInputValue, CstNode, CstObject, CstRootNode};
use mayi_settings::document::{self, Document, Name, Node, Unreadable};
use mayi_settings::own_hook;
use mayi_settings::write::SaveError;
use serde_json::{Map, Value};

use super::InstallError;
use super::facts::{Entries, Failure, Fixed, Hooked, Shape};

/// A hook of ours that a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The event it is for.
    pub event: String,
    /// The command.
    pub command: String,
}

/// A hook of ours as a file has it.
#[derive(Clone, Debug)]
pub(super) struct Written {
    /// The event it is for.
    pub(super) event: String,
    /// The command.
    pub(super) command: String,
    /// Which tools it is for.
    pub(super) matcher: Option<Value>,
    /// The hook with all its members.
    pub(super) handler: Value,
}

/// The entries of one agent in one file.
pub(super) struct Sheet<'a> {
    pub(super) agent: &'a str,
    pub(super) entries: &'a Entries,
    pub(super) path: &'a Path,
}

impl Sheet<'_> {
    /// The text with our hooks in it, each once and as it should be.
    pub(super) fn with(&self, text: Option<&str>, command: &str) -> Result<String, InstallError> {
        let page = Page::read(text.unwrap_or("{}\n"), self.path)?;
        for (name, value) in self.entries.head {
            if page.root.get(name).is_none() {
                page.root.append(name, input(&value.value()));
            }
        }
        self.drop_old_events(&page)?;
        for hooked in self.entries.events {
            self.put(&page, hooked, command)?;
        }
        page.written(self.path)
    }

    /// The text without any hook of ours. `None` when nothing but what installation itself writes is left.
    pub(super) fn without(&self, text: &str) -> Result<Option<String>, InstallError> {
        let page = Page::read(text, self.path)?;
        for (event, list) in self.lists(&page)? {
            let gone = self.ours(&list);
            let touched = !gone.is_empty();
            gone.into_iter().for_each(|spot| spot.remove());
            if touched && list.elements().is_empty() {
                self.close(&page, &event);
            }
        }
        let left = page.root.properties();
        let bare = left.iter().all(|property| {
            let is_head = |(name, value): &(&str, Fixed)| {
                property.decoded_name().as_deref() == Some(name)
                    && property.value().and_then(|node| node.to_serde_value()) == Some(value.value())
            };
            self.entries.head.iter().any(is_head)
        });
        let written = page.written(self.path)?;
        Ok((!bare || written.contains("//") || written.contains("/*")).then_some(written))
    }

    /// The hooks of ours in a text.
    pub(super) fn found(&self, text: &str) -> Result<Vec<Found>, InstallError> {
        let written = self.written(text)?.into_iter();
        Ok(written.map(|Written { event, command, .. }| Found { event, command }).collect())
    }

    /// The hooks of ours in a text, with all that is said of them there.
    pub(super) fn written(&self, text: &str) -> Result<Vec<Written>, InstallError> {
        let page = Page::read(text, self.path)?;
        let mut found = Vec::new();
        for (event, list) in self.lists(&page)? {
            let written = |spot: Spot| {
                Some(Written {
                    event: event.clone(),
                    command: self.command_at(&spot.handler)?,
                    matcher: spot.entry.to_serde_value()?.get("matcher").cloned(),
                    handler: spot.handler.to_serde_value()?,
                })
            };
            found.extend(self.ours(&list).into_iter().filter_map(written));
        }
        Ok(found)
    }

    /// How many hooks of others an event has.
    pub(super) fn others(&self, text: &str, event: &str) -> usize {
        let Ok(page) = Page::read(text, self.path) else { return 0 };
        let lists = self.lists(&page).unwrap_or_default();
        let handlers = lists.iter().filter(|(name, _)| name == event).flat_map(|(_, list)| self.handlers(list));
        handlers.filter(|spot| !self.is_ours(&spot.handler)).count()
    }

    /// The wanted entry of an event: a group with our hook, or the hook alone.
    fn wanted(&self, hooked: &Hooked, command: &str) -> Value {
        let handler = self.handler(hooked, command);
        match self.entries.shape {
            Shape::Flat => handler,
            Shape::Grouped => {
                let mut group = Map::new();
                group.extend(hooked.matcher.map(|matcher| ("matcher".to_owned(), matcher.into())));
                group.insert("hooks".to_owned(), Value::Array(vec![handler]));
                Value::Object(group)
            }
        }
    }

    fn handler(&self, hooked: &Hooked, command: &str) -> Value {
        let entries = self.entries;
        let member = |(name, value): &(&str, Fixed)| ((*name).to_owned(), value.value());
        let mut handler: Map<String, Value> = entries.handler.iter().map(member).collect();
        handler
            .extend(hooked.matcher.filter(|_| entries.shape == Shape::Flat).map(|m| ("matcher".to_owned(), m.into())));
        handler.insert(entries.command.to_owned(), self.line(command).into());
        handler.extend([member(&entries.limit)]);
        handler.extend(hooked.extra.iter().map(member));
        Value::Object(handler)
    }

    /// A command as it is written, whether or not it was written so before.
    fn line(&self, command: &str) -> String {
        match self.entries.failure {
            // Its agents run other shells on Windows, where the guard would be a mistake that fails every time.
            Failure::EndsWithTwo if cfg!(unix) => own_hook::guarded(command),
            Failure::EndsWithTwo | Failure::LeftToTheAgent => own_hook::unguarded(command).to_owned(),
        }
    }

    /// Puts our hook into an event: the first of ours there becomes what it should be, further ones go.
    fn put(&self, page: &Page, hooked: &Hooked, command: &str) -> Result<(), InstallError> {
        let wanted = self.wanted(hooked, command);
        let list = self.list(page, hooked.event)?;
        let mut ours = self.ours(&list).into_iter();
        let first = ours.next();
        ours.for_each(Spot::remove);
        let Some(spot) = first else {
            append(&list, &wanted);
            return Ok(());
        };
        if spot.entry.to_serde_value().as_ref() == Some(&wanted) {
            return Ok(());
        }
        if spot.is_alone() {
            replace(spot.entry, &wanted);
        } else if spot.matcher().as_deref() == hooked.matcher {
            replace(spot.handler, &self.handler(hooked, command));
        } else {
            // It shares a group that is for other tools than ours must be.
            spot.remove();
            append(&list, &wanted);
        }
        Ok(())
    }

    /// Takes our hooks out of events that an older version used and this one does not.
    fn drop_old_events(&self, page: &Page) -> Result<(), InstallError> {
        for (event, list) in self.lists(page)? {
            if self.entries.events.iter().any(|hooked| hooked.event == event) {
                continue;
            }
            let gone = self.ours(&list);
            let touched = !gone.is_empty();
            gone.into_iter().for_each(Spot::remove);
            if touched && list.elements().is_empty() {
                self.close(page, &event);
            }
        }
        Ok(())
    }

    /// Removes an event's list that became empty, and `hooks` when that was its last.
    fn close(&self, page: &Page, event: &str) {
        let Some(hooks) = page.root.get("hooks").and_then(|property| property.object_value()) else { return };
        if let Some(property) = hooks.get(event) {
            property.remove();
        }
        if hooks.properties().is_empty()
            && let Some(property) = page.root.get("hooks")
        {
            property.remove();
        }
    }

    /// Every event's list. An event that holds no list belongs to somebody else's future and is left alone.
    fn lists(&self, page: &Page) -> Result<Vec<(String, CstArray)>, InstallError> {
        let Some(property) = page.root.get("hooks") else { return Ok(Vec::new()) };
        let hooks = property.object_value().ok_or_else(|| self.shape("hooks"))?;
        let event =
            |property: jsonc_parser::cst::CstObjectProp| Some((property.decoded_name()?, property.array_value()?));
        Ok(hooks.properties().into_iter().filter_map(event).collect())
    }

    /// The list of an event, made where it is missing.
    fn list(&self, page: &Page, event: &str) -> Result<CstArray, InstallError> {
        let hooks = page.root.object_value_or_create("hooks").ok_or_else(|| self.shape("hooks"))?;
        hooks.array_value_or_create(event).ok_or_else(|| self.shape(event))
    }

    fn shape(&self, member: &str) -> InstallError {
        InstallError::Shape { path: self.path.to_owned(), member: member.to_owned() }
    }

    fn ours(&self, list: &CstArray) -> Vec<Spot> {
        self.handlers(list).into_iter().filter(|spot| self.is_ours(&spot.handler)).collect()
    }

    fn handlers(&self, list: &CstArray) -> Vec<Spot> {
        let mut spots = Vec::new();
        for entry in list.elements() {
            match self.entries.shape {
                Shape::Flat => spots.push(Spot { handler: entry.clone(), entry, shape: Shape::Flat }),
                Shape::Grouped => {
                    let inner = entry.as_object().and_then(|group| group.get("hooks")?.array_value());
                    let handlers = inner.map(|inner| inner.elements()).unwrap_or_default();
                    let spot = |handler| Spot { entry: entry.clone(), handler, shape: Shape::Grouped };
                    spots.extend(handlers.into_iter().map(spot));
                }
            }
        }
        spots
    }

    fn is_ours(&self, handler: &CstNode) -> bool {
        let command = self.command_at(handler);
        command.and_then(|command| own_hook::agent_of(&command)).as_deref() == Some(self.agent)
    }

    fn command_at(&self, handler: &CstNode) -> Option<String> {
        let command = handler.as_object()?.get(self.entries.command)?.value()?;
        command.as_string_lit()?.decoded_value().ok()
    }
}

/// A hook in a list: the entry of the list, and in it the hook, which is the same where entries are flat.
struct Spot {
    entry: CstNode,
    handler: CstNode,
    shape: Shape,
}

impl Spot {
    fn siblings(&self) -> usize {
        let hooks = self.entry.as_object().and_then(|group| group.get("hooks")?.array_value());
        hooks.map_or(0, |hooks| hooks.elements().len())
    }

    /// Whether the entry holds this hook and no other.
    fn is_alone(&self) -> bool {
        self.shape == Shape::Flat || self.siblings() == 1
    }

    fn matcher(&self) -> Option<String> {
        let matcher = self.entry.as_object()?.get("matcher")?.value()?;
        matcher.as_string_lit()?.decoded_value().ok()
    }

    fn remove(self) {
        if self.is_alone() { self.entry.remove() } else { self.handler.remove() }
    }
}

/// A JSON file as it is written.
struct Page {
    mark: &'static str,
    whole: CstRootNode,
    root: CstObject,
}

impl Page {
    fn read(text: &str, path: &Path) -> Result<Self, InstallError> {
        let unreadable = |error| SaveError::Unreadable { path: path.to_owned(), error };
        let (mark, body) = match text.strip_prefix('\u{feff}') {
            Some(body) => ("\u{feff}", body),
            None => ("", text),
        };
        // The reader's own errors are the better ones, so it looks first.
        let document = Document::parse(body).map_err(unreadable)?;
        if let Some(name) = written_twice(&document.root) {
            let (path, member, line) = (path.to_owned(), name.text.clone(), name.place.line);
            return Err(InstallError::Twice { path, member, line });
        }
        let whole = CstRootNode::parse(body, &document::leniency()).map_err(|_| unreadable(Unreadable::Empty))?;
        let shape = || InstallError::Shape { path: path.to_owned(), member: "the file".to_owned() };
        let root = whole.object_value().ok_or_else(shape)?;
        Ok(Self { mark, whole, root })
    }

    fn written(&self, path: &Path) -> Result<String, InstallError> {
        let text = format!("{}{}", self.mark, self.whole);
        // What we write must be what we can read.
        Document::parse(&text).map_err(|error| SaveError::Unreadable { path: path.to_owned(), error })?;
        Ok(text)
    }
}

/// The first name that stands twice in one object, at the top or anywhere below `hooks`. Agents take the last of them
/// and an editor finds the first, so nothing can be put there, and nothing found, for certain.
fn written_twice(root: &Node) -> Option<&Name> {
    let members = root.members().unwrap_or_default();
    let below = || members.iter().filter(|(name, _)| name.text == "hooks").find_map(|(_, node)| twice_below(node));
    twice(members).or_else(below)
}

fn twice_below(node: &Node) -> Option<&Name> {
    match &node.value {
        document::Value::Object(members) => {
            twice(members).or_else(|| members.iter().find_map(|(_, node)| twice_below(node)))
        }
        document::Value::List(items) => items.iter().find_map(twice_below),
        document::Value::Null | document::Value::Flag(_) | document::Value::Number(_) | document::Value::Text(_) => {
            None
        }
    }
}

fn twice(members: &[(Name, Node)]) -> Option<&Name> {
    let mut seen = BTreeSet::new();
    members.iter().map(|(name, _)| name).find(|name| !seen.insert(name.text.as_str()))
}

fn append(list: &CstArray, value: &Value) {
    if list.elements().is_empty() {
        list.ensure_multiline();
    }
    list.append(input(value));
}

fn replace(node: CstNode, value: &Value) {
    if let Some(object) = node.as_object() {
        object.replace_with(input(value));
    }
}

/// A value as the editor takes it.
fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(flag) => CstInputValue::Bool(*flag),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(items) => CstInputValue::Array(items.iter().map(input).collect()),
        Value::Object(members) => {
            CstInputValue::Object(members.iter().map(|(name, value)| (name.clone(), input(value))).collect())
        }
    }
}

impl Fixed {
    /// It, as JSON.
    pub(super) fn value(self) -> Value {
        match self {
            Fixed::Text(text) => text.into(),
            Fixed::Number(number) => number.into(),
            Fixed::Flag(flag) => flag.into(),
        }
    }
}
