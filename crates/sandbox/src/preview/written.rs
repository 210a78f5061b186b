//! Paths in JSON: text where they are text, else their bytes, so that each can be read back as it was.

use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Written {
    Text(String),
    Bytes(Vec<u8>),
}

/// Writes a path.
pub(super) fn serialize<S: Serializer>(path: &Path, serializer: S) -> Result<S::Ok, S::Error> {
    let bytes = path.as_os_str().as_bytes();
    match str::from_utf8(bytes) {
        Ok(text) => text.serialize(serializer),
        Err(_) => Written::Bytes(bytes.to_vec()).serialize(serializer),
    }
}

/// Reads a path.
pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<PathBuf, D::Error> {
    Ok(match Written::deserialize(deserializer)? {
        Written::Text(text) => PathBuf::from(text),
        Written::Bytes(bytes) => PathBuf::from(OsString::from_vec(bytes)),
    })
}

/// Lists of paths.
pub(super) mod list {
    use super::{Deserialize, Deserializer, Path, PathBuf, Serialize, Serializer};

    #[derive(Deserialize)]
    struct Entry(#[serde(with = "super")] PathBuf);

    struct Borrowed<'a>(&'a Path);

    impl Serialize for Borrowed<'_> {
        fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
            super::serialize(self.0, serializer)
        }
    }

    /// Writes paths.
    pub(in super::super) fn serialize<S: Serializer>(paths: &[PathBuf], serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(paths.iter().map(|path| Borrowed(path)))
    }

    /// Reads paths.
    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<PathBuf>, D::Error> {
        Ok(Vec::<Entry>::deserialize(deserializer)?.into_iter().map(|entry| entry.0).collect())
    }
}
