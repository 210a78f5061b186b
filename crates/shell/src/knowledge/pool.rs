//! How the tables hold text and lists without a pointer in them: as places in pools of everything there is.
//!
//! A pointer in a static must be filled in whenever the program starts, for every entry of every table, whether it
//! is looked at or not. A place is the same wherever the program is loaded, so the tables are mapped from the file
//! and cost nothing until they are read. Only the build script makes places; one that is out of range reads as
//! empty, and a test reads them all.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

use crate::knowledge::table;

/// A text of the tables.
///
/// INVARIANT: the pool holds every text once, so equal places are equal texts and different places differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Text {
    start: u32,
    length: u16,
}

impl Text {
    /// For the build script's tables.
    pub(crate) const fn at(start: u32, length: u16) -> Self {
        Self { start, length }
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        let (text, start) = match (self.start as usize).checked_sub(table::USUAL_TEXT.len()) {
            None => (table::USUAL_TEXT, self.start as usize),
            Some(start) => (table::TEXT, start),
        };
        text.get(start..start + usize::from(self.length)).unwrap_or_default()
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        self
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        **self == *other
    }
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&**self, out)
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

/// What lists are made of: each kind has one pool for all its lists, in two parts. What usual programs need is in the first.
pub(crate) trait Pooled: Sized + 'static {
    fn pool() -> (&'static [Self], &'static [Self]);
}

/// A list of the tables.
///
/// INVARIANT: the pool holds every list once, so equal places are equal lists and different places differ.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct List<T> {
    start: u32,
    length: u16,
    of: PhantomData<T>,
}

impl<T: Pooled> List<T> {
    /// For the build script's tables.
    pub(crate) const fn at(start: u32, length: u16) -> Self {
        Self { start, length, of: PhantomData }
    }
}

impl<T: Pooled> Deref for List<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        let (usual, others) = T::pool();
        let (part, start) = match (self.start as usize).checked_sub(usual.len()) {
            None => (usual, self.start as usize),
            Some(start) => (others, start),
        };
        part.get(start..start + usize::from(self.length)).unwrap_or_default()
    }
}

impl<T: Pooled + fmt::Debug> fmt::Debug for List<T> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, out)
    }
}

impl List<Text> {
    /// Whether the text is one of these.
    pub(crate) fn has(&self, text: &str) -> bool {
        self.iter().any(|known| known == text)
    }
}
