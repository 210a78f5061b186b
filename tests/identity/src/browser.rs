//! The browser, and the person before it.

use std::cell::RefCell;

use anyhow::{Context, Result};
use serde_json::{Value, json};

use crate::companion::Companion;

/// A browser that is open until it is dropped.
#[derive(Debug)]
pub struct Browser {
    companion: RefCell<Companion>,
}

/// The last page that a person saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Page {
    /// Its address.
    pub address: String,
    /// What stood on it.
    pub text: String,
}

impl Browser {
    /// Opens a browser.
    pub fn open() -> Result<Self> {
        let (companion, _) = Companion::start("browser.mjs")?;
        Ok(Self { companion: RefCell::new(companion) })
    }

    fn ask(&self, order: &str, given: Value) -> Result<Page> {
        let page = self.companion.borrow_mut().ask(order, given)?;
        let text = |name: &str| page.get(name).and_then(Value::as_str).map(str::to_owned);
        Ok(Page { address: text("url").context("no page")?, text: text("text").unwrap_or_default() })
    }

    /// Signs in and agrees; what is seen at last is mayi's page.
    pub fn agree(&self, address: &str, login: &str) -> Result<Page> {
        self.ask("agree", json!({"url": address, "login": login}))
    }

    /// Signs in and agrees, but does not go back to mayi: the address that leads there is kept.
    pub fn intercept(&self, address: &str, login: &str) -> Result<String> {
        Ok(self.ask("intercept", json!({"url": address, "login": login}))?.address)
    }

    /// Goes to the sign-in page and does not want to.
    pub fn refuse(&self, address: &str) -> Result<Page> {
        self.ask("refuse", json!({"url": address}))
    }

    /// Enters the code of a device, signs in and agrees.
    pub fn agree_to_device(&self, address: &str, code: &str, login: &str) -> Result<Page> {
        self.ask("device", json!({"url": address, "code": code, "login": login, "agree": true}))
    }

    /// Enters the code of a device and does not want to.
    pub fn refuse_device(&self, address: &str, code: &str) -> Result<Page> {
        self.ask("device", json!({"url": address, "code": code, "agree": false}))
    }

    /// Opens a page and reads it.
    pub fn look(&self, address: &str) -> Result<Page> {
        self.ask("open", json!({"url": address}))
    }
}
