//! The text a node's spans point into.

use crate::command::ScriptId;
use crate::parse::tree::HereDocument;
use crate::word::Span;
use std::rc::Rc;

/// A text that was parsed, with its here-documents and its number among the scripts.
#[derive(Clone, Debug)]
pub(super) struct Source {
    pub(super) text: Rc<str>,
    pub(super) here: Rc<[HereDocument]>,
    pub(super) script: ScriptId,
}

impl Source {
    /// The text of a span.
    pub(super) fn slice(&self, span: Span) -> &str {
        self.text.get(span.start..span.end).unwrap_or("")
    }
}
