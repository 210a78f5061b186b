//! The statics that the build script wrote from `knowledge/*.toml`.

use crate::knowledge::model::{
    Count, Deed, Entry, Flag, Form, Grammar, Language, Operand, Reader, Role, Spec, Surprises, Takes, Wraps,
};

include!(concat!(env!("OUT_DIR"), "/programs.rs"));
