//! Lists that are data: names with the reason why each is there.

/// An entry of a data list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listed {
    /// What the entry names.
    pub name: &'static str,
    /// Why it is on the list.
    pub why: &'static str,
}
