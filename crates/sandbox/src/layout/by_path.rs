//! Values by path, a folder before what is in it. Keys are compared as plain bytes: a map of paths takes both apart again
//! every time it looks, and a layout looks thousands of times.

use std::collections::{BTreeMap, btree_map};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// Values by real path: absolute, and with no other spelling.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ByPath<T>(BTreeMap<Key, (PathBuf, T)>);

/// The bytes of a path with a separator that comes before every other byte; the root's is empty.
type Key = Vec<u8>;

const SEPARATOR: u8 = 0;

fn key(path: &Path) -> Key {
    let bytes = path.as_os_str().as_bytes();
    let bytes = bytes.strip_suffix(b"/").unwrap_or(bytes);
    bytes.iter().map(|byte| if *byte == b'/' { SEPARATOR } else { *byte }).collect()
}

impl<T> Default for ByPath<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T> ByPath<T> {
    pub(crate) fn insert(&mut self, path: PathBuf, value: T) {
        self.0.insert(key(&path), (path, value));
    }

    /// Puts a value at a path, unless one is there that is to stay.
    pub(crate) fn insert_unless(&mut self, path: PathBuf, value: T, stays: impl FnOnce(&T, &T) -> bool) {
        match self.0.entry(key(&path)) {
            btree_map::Entry::Vacant(free) => drop(free.insert((path, value))),
            btree_map::Entry::Occupied(mut taken) => {
                let (_, known) = taken.get_mut();
                if !stays(known, &value) {
                    *known = value;
                }
            }
        }
    }

    pub(crate) fn get(&self, path: &Path) -> Option<&T> {
        self.0.get(&key(path)).map(|(_, value)| value)
    }

    pub(crate) fn contains(&self, path: &Path) -> bool {
        self.0.contains_key(&key(path))
    }

    pub(crate) fn remove(&mut self, path: &Path) {
        self.0.remove(&key(path));
    }

    pub(crate) fn retain(&mut self, mut keep: impl FnMut(&T) -> bool) {
        self.0.retain(|_, (_, value)| keep(value));
    }

    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&Path, &T)> {
        self.0.values().map(|(path, value)| (path.as_path(), value))
    }

    /// What is known of a path and of the folders that it is in, from the inside out.
    pub(crate) fn upward(&self, path: &Path) -> impl Iterator<Item = (&Path, &T)> {
        let key = key(path);
        let mut left = Some(key.len());
        std::iter::from_fn(move || {
            while let Some(length) = left {
                let place = key.get(..length)?;
                left = place.iter().rposition(|byte| *byte == SEPARATOR);
                if let Some((path, value)) = self.0.get(place) {
                    return Some((path.as_path(), value));
                }
            }
            None
        })
    }

    /// The same for the folders alone.
    pub(crate) fn above(&self, path: &Path) -> impl Iterator<Item = (&Path, &T)> {
        let own = path.as_os_str().len();
        self.upward(path).skip_while(move |(at, _)| at.as_os_str().len() == own)
    }
}

impl<T> IntoIterator for ByPath<T> {
    type Item = (PathBuf, T);
    type IntoIter = btree_map::IntoValues<Key, (PathBuf, T)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_values()
    }
}

impl<T> FromIterator<(PathBuf, T)> for ByPath<T> {
    fn from_iter<I: IntoIterator<Item = (PathBuf, T)>>(entries: I) -> Self {
        let mut all = Self::default();
        entries.into_iter().for_each(|(path, value)| all.insert(path, value));
        all
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Few letters, among them some that come before and after a separator, so that paths meet.
    fn path() -> impl Strategy<Value = PathBuf> {
        proptest::collection::vec("[a!.-]{1,2}", 0..4).prop_map(|parts| {
            parts
                .iter()
                .filter(|part| *part != "." && *part != "..")
                .fold("/".into(), |path: PathBuf, part| path.join(part))
        })
    }

    proptest! {
        /// It knows what a map of paths knows, in the same order.
        #[test]
        fn bytes_order_and_find_paths_as_paths_do(
            entries in proptest::collection::vec((path(), 0..9), 0..12),
            asked in path(),
        ) {
            let mut plain = BTreeMap::new();
            let mut all = ByPath::default();
            for (path, value) in entries {
                plain.insert(path.clone(), value);
                all.insert(path, value);
            }
            prop_assert!(all.iter().eq(plain.iter().map(|(path, value)| (path.as_path(), value))));
            prop_assert_eq!(all.get(&asked), plain.get(&asked));
            let up = |skipped| asked.ancestors().skip(skipped).filter_map(|folder| plain.get_key_value(folder));
            let shown = |(path, value): (&Path, &i32)| (path.to_owned(), *value);
            prop_assert!(all.upward(&asked).map(shown).eq(up(0).map(|(path, value)| (path.clone(), *value))));
            prop_assert!(all.above(&asked).map(shown).eq(up(1).map(|(path, value)| (path.clone(), *value))));
        }
    }
}
