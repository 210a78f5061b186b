//! Writing JSON where an agent waits for it.

use serde::Serialize;
use serde::ser::Error as _;

/// Most answers and records have room in so many bytes.
const USUAL: usize = 2048;

/// A value as JSON, in a text that need not grow: growing takes longer than writing.
pub fn text(value: &impl Serialize) -> serde_json::Result<String> {
    let mut text = Vec::with_capacity(USUAL);
    serde_json::to_writer(&mut text, value)?;
    String::from_utf8(text).map_err(serde_json::Error::custom)
}
