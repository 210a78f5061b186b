//! Which bytes mean what to the shell.

/// Stands for itself inside an unquoted word.
#[inline]
pub(super) fn is_plain(byte: u8) -> bool {
    byte.is_ascii_alphanumeric()
        || matches!(
            byte,
            b'_' | b'-' | b'.' | b'/' | b',' | b':' | b'=' | b'+' | b'@' | b'%' | b'^' | b']' | b'}' | b'#'
        )
}

/// Ends an unquoted word.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')')
}

/// May start a variable's name.
pub(crate) fn starts_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_'
}

/// May stand in a variable's name.
pub(crate) fn in_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// The prefix of an extended glob: `@(`, `?(`, `*(`, `+(`, `!(`.
pub(super) fn starts_extglob(byte: u8) -> bool {
    matches!(byte, b'@' | b'?' | b'*' | b'+' | b'!')
}
