//! Chromium, what drives it, and the OpenID provider: one installation for every test that sits before a browser.

use std::path::PathBuf;

use anyhow::Result;

use super::npm::npm_install;
use super::{Installed, debian, target};

/// The provider and what drives the browser. Pinned: a new version is a change somebody looks at.
const PACKAGES: &[&str] = &["oidc-provider@9.13.3", "playwright-core@1.65.0"];

/// Makes the browser and the packages available.
pub(crate) fn installed() -> Result<Installed> {
    match debian::programs(&[("chromium", "chromium")]) {
        Installed::Ready => npm_install(&packages(), PACKAGES),
        Installed::Unavailable(why) => Ok(Installed::Unavailable(why)),
    }
}

/// Where the packages are kept between runs.
pub(crate) fn packages() -> PathBuf {
    target().join("browser")
}
