//! File names for sessions. An agent chooses the session's name, so it is never used as it is.

use std::hash::{DefaultHasher, Hash, Hasher};

/// Longer names are cut and told apart by their hash.
const LONGEST: usize = 100;

/// The name of a session's file: readable where the name is plain, and never a path, a hidden file or too long.
pub(super) fn file_name(id: &str, extension: &str) -> String {
    let plain = |letter: &char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    let readable: String = id.chars().filter(plain).take(LONGEST).collect();
    if readable.len() == id.len() && !id.is_empty() {
        return format!("{readable}.{extension}");
    }
    let mut hasher = DefaultHasher::new();
    id.hash(&mut hasher);
    format!("{readable}~{:016x}.{extension}", hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_leaves_the_folder_and_never_meets_another() {
        assert_eq!(file_name("0b7c-11", "card"), "0b7c-11.card");
        for odd in ["", "..", "../x", "a/b", "a\0b", "ä", "a b", ".hidden", &"x".repeat(5000)] {
            let name = file_name(odd, "card");
            assert!(name.contains('~') && !name.contains('/') && name.len() < 160, "{odd:?} {name}");
        }
        assert_ne!(file_name("a/b", "card"), file_name("a.b", "card"));
        assert_ne!(file_name("ab", "card"), file_name("a/b", "card"));
    }
}
