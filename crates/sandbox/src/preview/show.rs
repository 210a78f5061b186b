//! A change set for people, as lines, and for programs, as JSON. Nothing of a file's content or name reaches a
//! terminal unless it is plain text.

use std::fmt;

use serde_json::{Map, Value, json};

use super::change::{Change, ChangeSet, Sort};
use super::diff::Content;
use super::node::{Node, Shape};
use super::{name_of, visible};
use crate::report::Violation;

/// Paths that are listed; the rest is counted.
const LISTED: usize = 500;
/// Lines of diffs that are shown in all.
const DIFFED: usize = 5_000;

/// A line of what is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// How it is meant.
    pub tone: Tone,
    /// Its text, without a newline.
    pub text: String,
}

/// How a line is meant, so that whoever shows it can choose a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Something new.
    Added,
    /// Something gone.
    Removed,
    /// Something else than before.
    Changed,
    /// A heading.
    Heading,
    /// As it is.
    Plain,
    /// Worth a look.
    Caution,
}

impl fmt::Display for ChangeSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.lines().iter().try_for_each(|line| writeln!(f, "{}", line.text))
    }
}

impl ChangeSet {
    /// The change set for people.
    pub fn lines(&self) -> Vec<Line> {
        let mut lines = Vec::new();
        let applied = self.applied().count();
        match applied {
            0 => push(&mut lines, Tone::Heading, "the command would change nothing".to_owned()),
            1 => push(&mut lines, Tone::Heading, "the command would make one change:".to_owned()),
            count => push(&mut lines, Tone::Heading, format!("the command would make {count} changes:")),
        }
        for change in self.applied().take(LISTED) {
            push(&mut lines, tone(change.sort()), format!("  {}", self.told(change)));
        }
        if applied > LISTED {
            push(&mut lines, Tone::Plain, format!("  and {} more", applied - LISTED));
        }
        self.tell_withheld(&mut lines);
        self.tell_outside(&mut lines);
        self.tell_diffs(&mut lines);
        lines
    }

    /// A change in a line.
    fn told(&self, change: &Change) -> String {
        let mut text = format!("{:<9}{}", change.sort().word(), name_of(&self.path_of(change)));
        if change.before.as_ref().or(change.after.as_ref()).is_some_and(Node::is_folder) {
            text.push('/');
        }
        if let Some(detail) = detail(change) {
            text.push_str("  ");
            text.push_str(&detail);
        }
        if change.overtaken {
            text.push_str("  (changed by somebody else meanwhile)");
        }
        text
    }

    fn tell_withheld(&self, lines: &mut Vec<Line>) {
        let count = self.withheld().count();
        if count > 0 {
            push(lines, Tone::Heading, "never applied:".to_owned());
        }
        for (change, why) in self.withheld().take(LISTED) {
            let why = visible::line(&why.to_string());
            push(lines, Tone::Caution, format!("  {} ({why})", self.told(change)));
        }
        if count > LISTED {
            push(lines, Tone::Caution, format!("  and {} more", count - LISTED));
        }
    }

    fn tell_outside(&self, lines: &mut Vec<Line>) {
        if self.outside.is_empty() {
            return;
        }
        push(lines, Tone::Heading, "the command was refused:".to_owned());
        for violation in self.outside.iter().take(LISTED) {
            push(lines, Tone::Caution, format!("  {}", refusal(violation)));
        }
        let more = self.more_outside + self.outside.len().saturating_sub(LISTED);
        if more > 0 {
            push(lines, Tone::Caution, format!("  and {more} more"));
        }
    }

    fn tell_diffs(&self, lines: &mut Vec<Line>) {
        let mut left = DIFFED;
        let mut unshown = 0;
        for change in &self.changes {
            let Content::Text(diff) = &change.content else { continue };
            let size = diff.text.lines().count() + 3;
            if size > left {
                unshown += 1;
                continue;
            }
            left -= size;
            let path = name_of(&self.path_of(change));
            push(lines, Tone::Plain, String::new());
            let old = if change.before.is_some() { path.as_str() } else { "/dev/null" };
            let new = if change.after.is_some() { path.as_str() } else { "/dev/null" };
            push(lines, Tone::Heading, format!("--- {old}"));
            push(lines, Tone::Heading, format!("+++ {new}"));
            for line in diff.text.lines() {
                push(lines, diff_tone(line), line.to_owned());
            }
            if diff.cut > 0 {
                push(lines, Tone::Caution, format!("… {} more lines of this diff are not shown", diff.cut));
            }
        }
        if unshown > 0 {
            push(lines, Tone::Caution, format!("… {unshown} more diffs are not shown"));
        }
    }

    /// The change set for programs.
    pub fn json(&self) -> Value {
        json!({
            "id": self.id,
            "exit_code": self.ending.code(),
            "changes": self.changes.iter().map(|change| self.change_json(change)).collect::<Vec<_>>(),
            "refused": self.outside,
            "more_refused": self.more_outside,
        })
    }

    fn change_json(&self, change: &Change) -> Value {
        let mut object = Map::new();
        let path = self.path_of(change);
        object.insert("change".to_owned(), change.sort().word().into());
        object.insert("path".to_owned(), path.to_string_lossy().into());
        if path.to_str().is_none() {
            object.insert("path_shown".to_owned(), name_of(&path).into());
        }
        for (key, node) in [("before", &change.before), ("after", &change.after)] {
            if let Some(node) = node {
                object.insert(key.to_owned(), node_json(node));
            }
        }
        if !change.inside.is_empty() {
            object.insert("entries".to_owned(), change.inside.len().into());
        }
        match &change.content {
            Content::Nothing => {}
            Content::Text(diff) => {
                object.insert("diff".to_owned(), diff.text.clone().into());
                object.insert("lines_added".to_owned(), diff.added.into());
                object.insert("lines_removed".to_owned(), diff.removed.into());
                object.insert("diff_lines_cut".to_owned(), diff.cut.into());
            }
            Content::Binary => drop(object.insert("content".to_owned(), "binary".into())),
            Content::Large => drop(object.insert("content".to_owned(), "large".into())),
            Content::Unreadable => drop(object.insert("content".to_owned(), "unreadable".into())),
        }
        if let Some(why) = &change.withheld {
            object.insert("withheld".to_owned(), why.to_string().into());
        }
        if change.overtaken {
            object.insert("overtaken".to_owned(), true.into());
        }
        Value::Object(object)
    }
}

fn push(lines: &mut Vec<Line>, tone: Tone, text: String) {
    lines.push(Line { tone, text });
}

fn tone(sort: Sort) -> Tone {
    match sort {
        Sort::Added => Tone::Added,
        Sort::Deleted => Tone::Removed,
        Sort::Modified | Sort::Mode | Sort::Type => Tone::Changed,
    }
}

fn diff_tone(line: &str) -> Tone {
    match line.as_bytes().first() {
        Some(b'+') => Tone::Added,
        Some(b'-') => Tone::Removed,
        Some(b'@') => Tone::Heading,
        Some(_) | None => Tone::Plain,
    }
}

/// What more there is to say of a change.
fn detail(change: &Change) -> Option<String> {
    let mut parts = Vec::new();
    if let (Some(before), Some(after)) = (&change.before, &change.after) {
        if change.sort() == Sort::Type {
            parts.push(format!("{} becomes {}", shape(&before.shape), shape(&after.shape)));
        }
        if before.mode != after.mode && !matches!(after.shape, Shape::Link { .. }) {
            parts.push(format!("mode {:o} becomes {:o}", before.mode, after.mode));
        }
        if before.stamp.links > 1 && !before.is_folder() && change.sort() == Sort::Modified {
            parts.push("its other hard links keep the old content".to_owned());
        }
    } else if let Some(after) = change.after.as_ref().filter(|after| is_special_mode(after)) {
        parts.push(format!("mode {:o}", after.mode));
    }
    if let Some(Shape::Link { target }) = change.after.as_ref().map(|after| &after.shape) {
        parts.push(format!("link to {}", name_of(target)));
    }
    if !change.inside.is_empty() {
        parts.push(format!("with {} entries", change.inside.len()));
    }
    match &change.content {
        Content::Nothing => {}
        Content::Text(diff) => parts.push(format!("+{} -{}", diff.added, diff.removed)),
        Content::Binary => parts.push(format!("binary, {}", sizes(change))),
        Content::Large => parts.push(format!("large, {}", sizes(change))),
        Content::Unreadable => parts.push(format!("unreadable, {}", sizes(change))),
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Something new that can be run, or that runs as somebody else.
fn is_special_mode(node: &Node) -> bool {
    match node.shape {
        Shape::File { .. } => node.mode & 0o7111 != 0,
        Shape::Folder | Shape::Link { .. } | Shape::Special => false,
    }
}

fn sizes(change: &Change) -> String {
    let told = |node: &Option<Node>| match node.as_ref().map(|node| &node.shape) {
        Some(Shape::File { size, sha256 }) => {
            let digest = sha256.as_ref().and_then(|digest| digest.get(..12));
            Some(digest.map_or(format!("{size} bytes"), |digest| format!("{size} bytes, sha256 {digest}…")))
        }
        Some(Shape::Folder | Shape::Link { .. } | Shape::Special) | None => None,
    };
    match (told(&change.before), told(&change.after)) {
        (Some(before), Some(after)) => format!("{before} becomes {after}"),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => String::new(),
    }
}

fn shape(shape: &Shape) -> &'static str {
    match shape {
        Shape::File { .. } => "file",
        Shape::Folder => "folder",
        Shape::Link { .. } => "link",
        Shape::Special => "special file",
    }
}

fn node_json(node: &Node) -> Value {
    let mode = format!("{:o}", node.mode);
    match &node.shape {
        Shape::File { size, sha256 } => json!({ "type": "file", "mode": mode, "size": size, "sha256": sha256 }),
        Shape::Folder => json!({ "type": "folder", "mode": mode }),
        Shape::Link { target } => json!({ "type": "link", "target": target.to_string_lossy() }),
        Shape::Special => json!({ "type": "special", "mode": mode }),
    }
}

/// A refusal in words.
fn refusal(violation: &Violation) -> String {
    match violation {
        Violation::Write { path } => format!("to write {}", name_of(path)),
        Violation::Read { path } => format!("to read {}", name_of(path)),
        Violation::Connect { host, port, why } => {
            format!("to reach {}:{port} ({})", visible::line(host), visible::line(why))
        }
        Violation::UnixSocket { path: Some(path) } => format!("to use the socket {}", visible::line(path)),
        Violation::UnixSocket { path: None } => "to use a socket".to_owned(),
        Violation::Call { name } => format!("the system call {}", visible::line(name)),
    }
}
