//! Patches of several files, in the form that starts with `*** Begin Patch`.
//!
//! Only the paths matter, and none may be missed: every line that could be a heading counts as one, even where it is
//! indented, and a heading that is not known makes the patch unreadable.

use mayi_core::call::Call;
use mayi_core::path;
use serde_json::json;

/// How a patch begins.
pub(super) const BEGIN: &str = "*** Begin Patch";
/// How it ends.
pub(super) const END: &str = "*** End Patch";

/// What a patch does to one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Change {
    Add,
    Update,
    Delete,
}

#[derive(Debug)]
struct Section {
    change: Change,
    path: String,
    moved_to: Option<String>,
    text: String,
}

/// A heading of a patch.
enum Heading<'a> {
    File(Change, &'a str),
    MoveTo(&'a str),
    EndOfFile,
    EndOfPatch,
}

/// The calls that a patch amounts to, with paths below `directory`; `None` if it cannot be read.
pub(super) fn calls(text: &str, directory: Option<&str>) -> Option<Vec<Call>> {
    let mut calls = Vec::new();
    for Section { change, path, moved_to, text } in sections(text)? {
        let path = placed(&path, directory);
        calls.push(match change {
            Change::Add => Call::new("Write", json!({ "file_path": path, "content": added(&text) })),
            // What may not be edited may not be removed either.
            Change::Update | Change::Delete => Call::new("Edit", json!({ "file_path": path, "patch": text })),
        });
        if let Some(target) = moved_to {
            calls.push(Call::new("Write", json!({ "file_path": placed(&target, directory), "patch": text })));
        }
    }
    Some(calls)
}

/// An edit of every path that a heading anywhere in a text names: for a text that cannot be read as one patch.
pub(super) fn named_anywhere(text: &str, directory: Option<&str>) -> Vec<Call> {
    let path = |line| match heading(line)? {
        Heading::File(_, path) | Heading::MoveTo(path) => Some(path),
        Heading::EndOfFile | Heading::EndOfPatch => None,
    };
    let edit = |path| Call::new("Edit", json!({ "file_path": placed(path, directory) }));
    text.lines().filter_map(path).map(edit).collect()
}

fn placed(path: &str, directory: Option<&str>) -> String {
    directory.map_or_else(|| path.to_owned(), |directory| path::join(directory, path))
}

fn added(text: &str) -> String {
    text.lines().map(|line| format!("{}\n", line.strip_prefix('+').unwrap_or(line))).collect()
}

fn sections(text: &str) -> Option<Vec<Section>> {
    let mut lines = text.trim().lines();
    if lines.next()?.trim() != BEGIN {
        return None;
    }
    let mut sections: Vec<Section> = Vec::new();
    while let Some(line) = lines.next() {
        if !line.trim_start().starts_with("***") {
            let section = sections.last_mut()?;
            section.text.push_str(line);
            section.text.push('\n');
            continue;
        }
        match heading(line)? {
            Heading::File(change, path) => {
                sections.push(Section { change, path: path.to_owned(), moved_to: None, text: String::new() });
            }
            Heading::MoveTo(path) => {
                let section = sections.last_mut().filter(|section| section.change == Change::Update)?;
                if section.moved_to.replace(path.to_owned()).is_some() {
                    return None;
                }
            }
            Heading::EndOfFile => {
                sections.last()?;
            }
            Heading::EndOfPatch => {
                return (lines.next().is_none() && !sections.is_empty()).then_some(sections);
            }
        }
    }
    None
}

fn heading(line: &str) -> Option<Heading<'_>> {
    let line = line.trim();
    match line {
        END => return Some(Heading::EndOfPatch),
        "*** End of File" => return Some(Heading::EndOfFile),
        _ => {}
    }
    let (word, path) = line.split_once(": ")?;
    let path = path.trim();
    let heading = match word {
        "*** Add File" => Heading::File(Change::Add, path),
        "*** Update File" => Heading::File(Change::Update, path),
        "*** Delete File" => Heading::File(Change::Delete, path),
        "*** Move to" => Heading::MoveTo(path),
        _ => return None,
    };
    (!path.is_empty()).then_some(heading)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touched(text: &str, directory: Option<&str>) -> Option<Vec<String>> {
        let calls = calls(text, directory)?;
        Some(calls.iter().map(|call| format!("{} {}", call.tool, call.text("file_path").unwrap())).collect())
    }

    #[test]
    fn every_path_of_a_patch_is_a_call() {
        let patch = "*** Begin Patch\n*** Add File: new/a.txt\n+one\n*** Update File: b.txt\n*** Move to: c.txt\n@@\n-x\n\
                     +y\n*** End of File\n*** Delete File: /srv/d.txt\n*** End Patch\n";
        let expected = ["Write new/a.txt", "Edit b.txt", "Write c.txt", "Edit /srv/d.txt"];
        assert_eq!(touched(patch, None).unwrap(), expected);
        let below = ["Write /w/new/a.txt", "Edit /w/b.txt", "Write /w/c.txt", "Edit /srv/d.txt"];
        assert_eq!(touched(patch, Some("/w")).unwrap(), below);
    }

    #[test]
    fn an_added_file_keeps_its_content() {
        let calls = calls("*** Begin Patch\n*** Add File: a\n+one\n+two\n*** End Patch", None).unwrap();
        assert_eq!(calls.first().unwrap().text("content"), Some("one\ntwo\n"));
    }

    #[test]
    fn an_indented_heading_still_counts() {
        let patch = "*** Begin Patch\n*** Update File: a\n@@\n x\n  *** Delete File: .git/config\n*** End Patch";
        assert_eq!(touched(patch, None).unwrap(), ["Edit a", "Edit .git/config"]);
    }

    #[test]
    fn a_patch_with_something_unknown_is_unreadable() {
        let rows = [
            "",
            "hello",
            "*** Begin Patch\n*** End Patch",
            "*** Begin Patch\n+stray\n*** End Patch",
            "*** Begin Patch\n*** Update File: a\n@@\n-x\n+y",
            "*** Begin Patch\n*** Update File: \n*** End Patch",
            "*** Begin Patch\n*** Rename File: a\n*** End Patch",
            "*** Begin Patch\n*** Move to: a\n*** End Patch",
            "*** Begin Patch\n*** Add File: a\n*** Move to: b\n*** End Patch",
            "*** Begin Patch\n*** Update File: a\n*** Move to: b\n*** Move to: c\n*** End Patch",
            "*** Begin Patch\n*** Update File: a\n*** End Patch\n*** Delete File: b",
        ];
        for patch in rows {
            assert_eq!(touched(patch, None), None, "{patch}");
        }
    }
}
