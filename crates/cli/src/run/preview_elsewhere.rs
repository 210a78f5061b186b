//! Previews need what only Linux has yet.

use anyhow::{Result, bail};

use crate::Out;
use crate::arguments::Run;
use crate::exit::Exit;

use super::Decided;

const ONLY: &str = "previews are for Linux alone yet";

pub(super) fn run(_: &Run, _: &Decided, _: Out<'_>) -> Result<Exit> {
    bail!(ONLY)
}

pub(super) fn apply(_: &str, _: &Run, _: Out<'_>) -> Result<Exit> {
    bail!(ONLY)
}

pub(super) fn discard(_: &str, _: Out<'_>) -> Result<Exit> {
    bail!(ONLY)
}
