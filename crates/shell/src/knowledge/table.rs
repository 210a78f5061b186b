//! The statics that the build script wrote from `knowledge/*.toml`, and which of them is the pool of what.

use crate::knowledge::model::{
    Count, Deed, Entry, Flag, Form, Grammar, Language, Operand, Reader, Role, Spec, SpecAt, Surprises, Takes, Wraps,
};
use crate::knowledge::pool::{List, Pooled, Text};

include!(concat!(env!("OUT_DIR"), "/programs.rs"));

impl Entry {
    /// What is known under the name.
    pub(crate) fn spec(&self) -> Option<&'static Spec> {
        let at = usize::from(self.spec.0);
        USUAL_SPECS.get(at).or_else(|| SPECS.get(at - USUAL_SPECS.len()))
    }
}

impl Pooled for Text {
    fn pool() -> (&'static [Self], &'static [Self]) {
        (&USUAL_TEXTS, &TEXTS)
    }
}

impl Pooled for Entry {
    fn pool() -> (&'static [Self], &'static [Self]) {
        (&USUAL_ENTRIES, &ENTRIES)
    }
}

impl Pooled for Flag {
    fn pool() -> (&'static [Self], &'static [Self]) {
        (&USUAL_FLAGS, &FLAGS)
    }
}

impl Pooled for Operand {
    fn pool() -> (&'static [Self], &'static [Self]) {
        (&USUAL_OPERANDS, &OPERANDS)
    }
}

impl Pooled for Deed {
    fn pool() -> (&'static [Self], &'static [Self]) {
        (&USUAL_DEEDS, &DEEDS)
    }
}

impl Pooled for Form {
    fn pool() -> (&'static [Self], &'static [Self]) {
        (&USUAL_FORMS, &FORMS)
    }
}
