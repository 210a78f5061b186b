//! Paths as text: cleaning, joining and containment, without ever touching a file system.
//!
//! Everything here is lexical. What a path *really* is (links, owners) is an observation, see [`mayi_shell::observe`].

use std::borrow::Cow;

use crate::call::Workspace;

/// The path without `.`, `..`, doubled and trailing slashes. A relative path stays relative.
pub fn clean(path: &str) -> String {
    if is_clean(path) {
        return path.to_owned();
    }
    let absolute = path.starts_with('/');
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/') {
        match segment {
            "" | "." => {}
            ".." => match kept.last() {
                Some(&last) if last != ".." => {
                    kept.pop();
                }
                _ if absolute => {}
                _ => kept.push(".."),
            },
            other => kept.push(other),
        }
    }
    let joined = kept.join("/");
    match (absolute, joined.is_empty()) {
        (true, _) => ["/", &joined].concat(),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

fn is_clean(path: &str) -> bool {
    let Some(rest) = path.strip_prefix('/') else { return false };
    rest.is_empty() || rest.as_bytes().split(|byte| *byte == b'/').all(|name| !matches!(name, b"" | b"." | b".."))
}

/// `path` below `directory`, unless it is absolute already; cleaned.
pub fn join(directory: &str, path: &str) -> String {
    if path.starts_with('/') { clean(path) } else { clean(&[directory, "/", path].concat()) }
}

/// Whether an absolute, clean path is `directory` or lies below it.
pub fn is_within(path: &str, directory: &str) -> bool {
    if directory == "/" {
        return path.starts_with('/');
    }
    path.strip_prefix(directory).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The path and each of its ancestors up to `/`, longest first.
pub fn ancestors(path: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(path), |current| parent(current))
}

/// The directory above, unless the path is the root or relative without one.
pub fn parent(path: &str) -> Option<&str> {
    match path.rsplit_once('/')? {
        ("", "") => None,
        ("", _) => Some("/"),
        (above, _) => Some(above),
    }
}

/// The last segment.
pub fn name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// The segments of an absolute path.
pub fn segments(path: &str) -> impl Iterator<Item = &str> {
    let mut ahead = path;
    std::iter::from_fn(move || {
        ahead = ahead.trim_start_matches('/');
        let end = ahead.bytes().position(|byte| byte == b'/').unwrap_or(ahead.len());
        let (name, rest) = ahead.split_at_checked(end)?;
        ahead = rest;
        Some(name).filter(|name| !name.is_empty())
    })
}

/// Why a path in a tool's input cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unplaceable {
    /// A NUL byte: the system would cut the name there.
    #[error("the path holds a NUL byte")]
    Nul,
    /// `~user`: whose home that is, only the system knows.
    #[error("the home of another user is not known")]
    OtherHome,
    /// `~` without a known home.
    #[error("the home directory is not known")]
    NoHome,
    /// No text at all.
    #[error("the path is empty")]
    Empty,
}

/// The absolute, clean path that a tool's input names.
pub fn place(path: &str, workspace: &Workspace) -> Result<String, Unplaceable> {
    if path.is_empty() {
        return Err(Unplaceable::Empty);
    }
    if path.contains('\0') {
        return Err(Unplaceable::Nul);
    }
    let Some(rest) = path.strip_prefix('~') else { return Ok(join(workspace.here(), path)) };
    match (rest.is_empty() || rest.starts_with('/'), &workspace.home) {
        (false, _) => Err(Unplaceable::OtherHome),
        (true, None) => Err(Unplaceable::NoHome),
        (true, Some(home)) => Ok(clean(&format!("{home}/{rest}"))),
    }
}

/// Whether names are told apart by case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Case {
    /// `A` and `a` are two files.
    #[default]
    Sensitive,
    /// `A` and `a` are one file.
    Insensitive,
}

impl Case {
    /// The usual rule of the system this was built for.
    pub fn of_this_system() -> Self {
        if cfg!(any(target_os = "macos", target_os = "windows")) { Case::Insensitive } else { Case::Sensitive }
    }

    /// The text to compare.
    pub fn fold(self, text: &str) -> Cow<'_, str> {
        match self {
            Case::Sensitive => Cow::Borrowed(text),
            Case::Insensitive => Cow::Owned(text.to_lowercase()),
        }
    }
}
