//! The page in a browser, and the people before it.

use std::cell::RefCell;
use std::path::Path;
use std::rc::Rc;

use anyhow::{Context, Result, ensure};
use mayi_identity_tests::Companion;
use serde_json::{Value, json};

/// A browser that is open until it and its last window are dropped.
#[derive(Clone, Debug)]
pub struct Browser(Rc<RefCell<Companion>>);

/// How large a window is and how its person likes it.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// What it is called in the names of pictures.
    pub name: &'static str,
    /// Its width.
    pub width: u32,
    /// Its height.
    pub height: u32,
    /// `light` or `dark`.
    pub scheme: &'static str,
}

/// A desk by day.
pub const LIGHT: Look = Look { name: "light", width: 1280, height: 860, scheme: "light" };
/// A desk by night.
pub const DARK: Look = Look { name: "dark", width: 1280, height: 860, scheme: "dark" };
/// A small phone.
pub const PHONE: Look = Look { name: "phone", width: 360, height: 740, scheme: "light" };

/// Whether a window hears what happens on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hearing {
    /// As everybody does.
    Well,
    /// Its stream of events never opens, so that it learns only what it asks for.
    Deaf,
}

impl Browser {
    /// Opens a browser.
    pub fn open() -> Result<Self> {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("node/browser.mjs");
        let (companion, _) = Companion::of(&script)?;
        Ok(Self(Rc::new(RefCell::new(companion))))
    }

    /// Opens a window of somebody's own at an address.
    pub fn window(&self, name: &str, address: &str, look: Look) -> Result<Window> {
        self.window_that(Hearing::Well, name, (address, look))
    }

    /// The same, for somebody who hears well or not.
    pub fn window_that(&self, hearing: Hearing, name: &str, (address, look): (&str, Look)) -> Result<Window> {
        let window = Window { browser: self.clone(), name: name.to_owned() };
        let Look { width, height, scheme, .. } = look;
        let deaf = hearing == Hearing::Deaf;
        window
            .ask("open", json!({"url": address, "width": width, "height": height, "scheme": scheme, "deaf": deaf}))?;
        Ok(window)
    }
}

/// A request that a window made.
#[derive(Clone, Debug, PartialEq)]
pub struct Asked {
    /// The method.
    pub method: String,
    /// The address.
    pub address: String,
    /// The body, as JSON.
    pub body: Value,
}

/// A window of a person's own.
#[derive(Debug)]
pub struct Window {
    browser: Browser,
    name: String,
}

impl Window {
    fn ask(&self, order: &str, mut given: Value) -> Result<Value> {
        let members = given.as_object_mut().context("an order is an object")?;
        members.insert("window".to_owned(), self.name.as_str().into());
        self.browser.0.borrow_mut().ask(order, given)
    }

    /// Goes to an address.
    pub fn go(&self, address: &str) -> Result<()> {
        self.ask("go", json!({ "url": address })).map(drop)
    }

    /// Presses a button, by its name.
    pub fn click(&self, button: &str) -> Result<()> {
        self.ask("click", json!({"role": "button", "name": button})).map(drop)
    }

    /// Clicks on something.
    pub fn click_on(&self, selector: &str) -> Result<()> {
        self.ask("click", json!({ "selector": selector })).map(drop)
    }

    /// Presses keys, one after the other.
    pub fn press(&self, keys: &[&str]) -> Result<()> {
        keys.iter().try_for_each(|key| self.ask("press", json!({ "key": key })).map(drop))
    }

    /// Types a text.
    pub fn write(&self, text: &str) -> Result<()> {
        self.ask("type", json!({ "text": text })).map(drop)
    }

    /// Fills a field.
    pub fn fill(&self, selector: &str, text: &str) -> Result<()> {
        self.ask("fill", json!({"selector": selector, "text": text})).map(drop)
    }

    /// Chooses from a list.
    pub fn choose(&self, selector: &str, value: &str) -> Result<()> {
        self.ask("choose", json!({"selector": selector, "value": value})).map(drop)
    }

    /// Waits until something is to be seen.
    pub fn see(&self, selector: &str) -> Result<()> {
        self.ask("see", json!({ "selector": selector })).map(drop)
    }

    /// Waits until something is gone.
    pub fn miss(&self, selector: &str) -> Result<()> {
        self.ask("see", json!({"selector": selector, "gone": true})).map(drop)
    }

    /// Waits until words stand in an element.
    pub fn read(&self, selector: &str, words: &str) -> Result<()> {
        self.ask("read", json!({"selector": selector, "words": words})).map(drop)
    }

    /// What stands in an element.
    pub fn text(&self, selector: &str) -> Result<String> {
        let text = self.ask("text", json!({ "selector": selector }))?;
        Ok(text.as_str().context("no text")?.to_owned())
    }

    /// How many such elements there are.
    pub fn count(&self, selector: &str) -> Result<u64> {
        self.ask("count", json!({ "selector": selector }))?.as_u64().context("no count")
    }

    /// An attribute of an element.
    pub fn attribute(&self, selector: &str, name: &str) -> Result<String> {
        let value = self.ask("attribute", json!({"selector": selector, "attribute": name}))?;
        Ok(value.as_str().unwrap_or_default().to_owned())
    }

    /// Waits until an expression holds in the page.
    pub fn wait(&self, expression: &str) -> Result<()> {
        self.ask("wait", json!({ "expression": expression })).map(drop)
    }

    /// The value of an expression in the page.
    pub fn run(&self, expression: &str) -> Result<Value> {
        self.ask("run", json!({ "expression": expression }))
    }

    /// Which element has the focus.
    pub fn focus(&self) -> Result<String> {
        Ok(self.ask("focus", json!({}))?.as_str().unwrap_or_default().to_owned())
    }

    /// What the window asked for since this was last looked at. A script that failed, or something that the browser
    /// refused, is an error.
    pub fn asked(&self) -> Result<Vec<Asked>> {
        let noted = self.ask("noted", json!({}))?;
        let problems = noted.get("problems").and_then(Value::as_array).cloned().unwrap_or_default();
        ensure!(problems.is_empty(), "the page had problems: {problems:#?}");
        let text = |one: &Value, name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
        let asked = |one: &Value| Asked {
            method: text(one, "method"),
            address: text(one, "url"),
            body: serde_json::from_str(&text(one, "body")).unwrap_or_default(),
        };
        let requests = noted.get("requests").and_then(Value::as_array).context("no list")?;
        Ok(requests.iter().map(asked).collect())
    }

    /// What is wrong with how the page looks and how it is named: nothing, if all is well.
    pub fn flaws(&self) -> Result<Vec<String>> {
        let mut found = Vec::new();
        for (order, what) in [("nameless", "has no name"), ("pale", "is too pale"), ("tooWide", "is too wide")] {
            let flaws = self.ask(order, json!({}))?;
            let flaws = flaws.as_array().cloned().unwrap_or_default();
            found.extend(flaws.iter().filter_map(Value::as_str).map(|flaw| format!("{what}: {flaw}")));
        }
        Ok(found)
    }

    /// Keeps a picture of the window.
    pub fn picture(&self, file: &Path) -> Result<()> {
        self.ask("screenshot", json!({ "file": file })).map(drop)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        let _ = self.ask("close", json!({}));
    }
}
