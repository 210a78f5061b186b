//! The lists of `data/`, as tables that are made when the crate is built.

/// An entry of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    /// What it names.
    pub(super) name: &'static str,
    /// What is closed in its place.
    pub(super) closed: &'static [&'static str],
    /// Why it is on the list.
    pub(super) why: &'static str,
}

/// Where confinement protects otherwise than the core (`data/protected.toml`).
pub(super) mod protected {
    use super::Entry;
    include!(concat!(env!("OUT_DIR"), "/protected.rs"));
}

/// Places that every plan knows (`data/places.toml`).
pub(super) mod places {
    use super::Entry;
    include!(concat!(env!("OUT_DIR"), "/places.rs"));
}
