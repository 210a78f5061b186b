//! Variables that change what a program or the shell does. A variable handed to a program must be known to be
//! harmless; one that only the shell sees must not be one that the shell or a later program acts on.

use crate::knowledge::table::{HARMLESS_VARIABLES, SECRET_PARTS, SPECIAL_VARIABLES, VARIABLE_VALUES};

/// Who sees the variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// A plain assignment: the shell, and later programs only if it was exported before.
    Shell,
    /// In front of a command, `export`, `env`: a program's environment.
    Program,
}

/// What it is set to.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Content<'t> {
    Text(&'t str),
    Unknown,
}

/// Why setting the variable is not known to be harmless.
pub(crate) fn objection(name: &str, content: Content<'_>, scope: Scope) -> Option<String> {
    if is_harmless(name) || has_harmless_value(name, content) {
        return None;
    }
    let special = is_special(name);
    match scope {
        Scope::Shell if !special => None,
        Scope::Shell | Scope::Program if special => Some(format!("sets `{name}`, which programs act on")),
        Scope::Shell | Scope::Program => Some(format!("sets `{name}`, which is not known to be harmless")),
    }
}

/// Whether the shell or a program acts on the variable.
pub(crate) fn is_special(name: &str) -> bool {
    SPECIAL_VARIABLES.iter().any(|known| fits(known, name)) && !is_harmless(name)
}

fn is_harmless(name: &str) -> bool {
    HARMLESS_VARIABLES.iter().any(|known| fits(known, name))
}

fn has_harmless_value(name: &str, content: Content<'_>) -> bool {
    let Content::Text(text) = content else { return false };
    VARIABLE_VALUES.iter().any(|(known, values)| known == name && values.has(text))
}

fn fits(known: &str, name: &str) -> bool {
    match known.strip_suffix('*') {
        Some(start) => name.starts_with(start),
        None => known == name,
    }
}

/// Whether the text is a plain variable name: nothing in it that a subscript could evaluate.
pub(crate) fn is_plain_name(text: &str) -> bool {
    let mut bytes = text.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Whether a name or a pattern is about secrets.
pub(crate) fn sounds_secret(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    SECRET_PARTS.iter().any(|part| text.contains(&**part))
}
