//! The parts that most tests have: a provider, a browser, and a stage whose settings name the provider.

use anyhow::{Result, ensure};

use crate::{Browser, Provider, Running, Stage};

/// The parts.
#[derive(Debug)]
pub struct Parts {
    /// The provider.
    pub provider: Provider,
    /// The browser.
    pub browser: Browser,
    /// The stage.
    pub stage: Stage,
}

impl Parts {
    /// All of them, and nobody signed in.
    pub fn set(name: &str) -> Result<Self> {
        let provider = Provider::start()?;
        let stage = Stage::with(name, &provider)?;
        Ok(Self { provider, browser: Browser::open()?, stage })
    }

    /// Begins to sign in, and returns the address that was printed.
    pub fn begin(&self) -> Result<(Running, String)> {
        let mut running = self.stage.start(&["login", "--no-browser"])?;
        let address = running.address()?;
        Ok((running, address))
    }

    /// Signs somebody in.
    pub fn sign_in(&self, login: &str) -> Result<()> {
        let (running, address) = self.begin()?;
        self.browser.agree(&address, login)?;
        let said = self.stage.end(running)?;
        ensure!(said.code == 0, "{said:#?}");
        Ok(())
    }
}
