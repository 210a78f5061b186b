//! Words to places: lexical only. Nothing here looks at the file system.

use crate::effect::Place;
use crate::knowledge::reading::Piece;
use crate::word::{HoleKind, Part, Value};

/// Where relative names are seen from.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Viewpoint<'a> {
    /// The directory the command runs in, when it is known.
    pub(crate) directory: Option<&'a str>,
    pub(crate) home: Option<&'a str>,
    /// The text of the script, for words that stay unknown.
    pub(crate) source: &'a str,
    /// The one directory that everything a runner inserts lies below: where `find` started.
    pub(crate) inserted: Option<&'a str>,
}

impl Viewpoint<'_> {
    /// The place a piece names.
    pub(crate) fn place(&self, piece: &Piece<'_>) -> Place {
        let known = match &piece.word.value {
            Value::Literal(text) => text.get(piece.from..).and_then(|text| self.path(text)).map(Place::Path),
            Value::Template(parts) => self.template(parts, piece.from),
        };
        known.unwrap_or_else(|| Place::Unknown(self.written(piece)))
    }

    /// The place a literal path names.
    pub(crate) fn literal(&self, path: &str) -> Place {
        self.path(path).map_or_else(|| Place::Unknown(path.to_string()), Place::Path)
    }

    /// The current directory.
    pub(crate) fn here(&self) -> Place {
        self.literal(".")
    }

    fn written(&self, piece: &Piece<'_>) -> String {
        let span = piece.word.span;
        self.source.get(span.start..span.end).unwrap_or_default().to_string()
    }

    fn template(&self, parts: &[Part], from: usize) -> Option<Place> {
        if let ([Part::Hole(hole)], Some(below)) = (parts, self.inserted)
            && hole.kind == HoleKind::Inserted
        {
            return Some(Place::Pattern { below: below.to_string(), pattern: "**".to_string() });
        }
        let mut known = String::new();
        let mut pattern: Option<String> = None;
        for (index, part) in parts.iter().enumerate() {
            let text = match part {
                Part::Text(text) if index == 0 => text.get(from..)?,
                Part::Text(text) => text,
                Part::Hole(hole) => match &hole.kind {
                    HoleKind::Glob(glob) => {
                        pattern.get_or_insert_default().push_str(glob);
                        continue;
                    }
                    HoleKind::Variable { name, assigned_from: None, .. } => self.variable(name)?,
                    HoleKind::Tilde(user) if user.is_empty() || user == "~" => self.home?,
                    HoleKind::Variable { .. }
                    | HoleKind::Output(_)
                    | HoleKind::Brace(_)
                    | HoleKind::Process
                    | HoleKind::Tilde(_)
                    | HoleKind::Arithmetic
                    | HoleKind::Prompt
                    | HoleKind::Indirect
                    | HoleKind::Inserted => return None,
                },
            };
            match &mut pattern {
                Some(pattern) => pattern.push_str(text),
                None => known.push_str(text),
            }
        }
        let Some(rest) = pattern else { return self.path(&known).map(Place::Path) };
        let split = known.rfind('/').map_or(0, |at| at + 1);
        let (directory, start) = known.split_at(split);
        let below = self.path(if directory.is_empty() { "." } else { directory })?;
        Some(Place::Pattern { below, pattern: format!("{start}{rest}") })
    }

    fn variable(&self, name: &str) -> Option<&str> {
        match name {
            "HOME" => self.home,
            "PWD" => self.directory,
            _ => None,
        }
    }

    /// An absolute, cleaned path.
    fn path(&self, text: &str) -> Option<String> {
        if text.starts_with('/') { Some(clean("", text)) } else { self.directory.map(|from| clean(from, text)) }
    }
}

/// Joins and cleans lexically: no `.`, no `..`, no doubled slash.
pub(crate) fn clean(from: &str, path: &str) -> String {
    let mut out = String::with_capacity(from.len() + path.len() + 2);
    for name in from.split('/').chain(path.split('/')) {
        match name {
            "" | "." => {}
            ".." => out.truncate(out.rfind('/').unwrap_or(0)),
            _ => {
                out.push('/');
                out.push_str(name);
            }
        }
    }
    if out.is_empty() {
        out.push('/');
    }
    out
}

/// Files that are no files: reading or writing them says nothing about the disk.
pub(crate) fn is_stream(path: &str) -> bool {
    matches!(
        path,
        "/dev/null"
            | "/dev/stdin"
            | "/dev/stdout"
            | "/dev/stderr"
            | "/dev/tty"
            | "/dev/zero"
            | "/dev/full"
            | "/dev/random"
            | "/dev/urandom"
    ) || path
        .strip_prefix("/dev/fd/")
        .is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn paths_are_cleaned_lexically() {
        assert_eq!(clean("/a/b", "c"), "/a/b/c");
        assert_eq!(clean("/a/b", "../c/./d//e"), "/a/c/d/e");
        assert_eq!(clean("", "/../.."), "/");
        assert_eq!(clean("/a", ".."), "/");
        assert_eq!(clean("/", "."), "/");
    }
}
