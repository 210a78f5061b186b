//! Why a preview cannot be made, shown, applied or dropped.

use std::io;

/// Why a preview cannot be made, shown, applied or dropped. Paths are written so that every character shows.
#[derive(Debug, thiserror::Error)]
pub enum PreviewError {
    /// There is no such preview.
    #[error("there is no preview `{id}`\nhelp: it may have been applied, dropped or have expired")]
    Unknown {
        /// Its name.
        id: String,
    },
    /// Another process uses it: the command still runs, or it is being applied.
    #[error("the preview `{id}` is in use: its command still runs, or it is being applied")]
    Busy {
        /// Its name.
        id: String,
    },
    /// The plan leaves files open.
    #[error("a preview needs confined files, and `sandbox.filesystem.disabled` is set")]
    Open,
    /// Nothing is writable, so nothing could be previewed.
    #[error("there is no writable folder to preview\nhelp: run the command in a working directory")]
    Nothing,
    /// Overlays do not work where previews are kept.
    #[error(
        "the previews in `{path}` lie on a file system that cannot carry an overlay ({problem})\nhelp: set XDG_STATE_HOME to a folder on a local disk"
    )]
    Ground {
        /// The folder.
        path: String,
        /// What is missing.
        problem: String,
    },
    /// A previewed folder cannot be used.
    #[error("the folder `{path}` cannot be previewed: {source}")]
    Root {
        /// The folder.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// A previewed folder is another one now.
    #[error("the folder `{path}` is not the one that was previewed any more; nothing was applied")]
    Moved {
        /// The folder.
        path: String,
    },
    /// What is kept of the preview cannot be read or written.
    #[error("the preview's `{path}` cannot be read or written: {source}")]
    Kept {
        /// The file or folder.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// What is kept of the preview makes no sense.
    #[error("the preview's `{path}` cannot be used: {problem}\nhelp: discard the preview and run the command again")]
    Damaged {
        /// The file.
        path: String,
        /// What is wrong.
        problem: String,
    },
    /// Something that the command touched cannot be looked at.
    #[error("`{path}` cannot be looked at: {source}")]
    Unreadable {
        /// The path.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The command changed too much.
    #[error("the command changed more than {limit} files, too many to show or to apply")]
    TooMany {
        /// How many are shown at most.
        limit: usize,
    },
    /// The command made folders in folders in folders.
    #[error("the command made folders more than {limit} deep, too deep to show or to apply")]
    TooDeep {
        /// How deep is shown at most.
        limit: usize,
    },
    /// The preview was never looked at.
    #[error("nobody has seen what the preview `{id}` would change, so it cannot be applied")]
    Unseen {
        /// Its name.
        id: String,
    },
    /// Originals were changed by somebody else.
    #[error("nothing was applied: {} changed since the preview began:{}\nhelp: discard the preview and run the command again", counted(paths.len()), listed(paths))]
    Changed {
        /// The originals.
        paths: Vec<String>,
    },
    /// What the command left is not what was shown.
    #[error("nothing was applied: what would be written to `{path}` is not what was shown")]
    Tampered {
        /// The path.
        path: String,
    },
    /// Something could not be written. Everything is as it was.
    #[error("nothing was applied: `{path}` cannot be written: {source}")]
    Failed {
        /// The path.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Everything was applied, and something that was needed for it is still there.
    #[error("everything was applied, but `{path}` cannot be removed: {source}\nhelp: discard the preview to try again")]
    Leftover {
        /// The path.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// Something could not be written, and what was written before could not be taken back.
    #[error("`{path}` cannot be put back: {source}\nhelp: apply the preview again to go on, or discard it to go back")]
    Halfway {
        /// The path.
        path: String,
        /// What the system says.
        source: io::Error,
    },
}

fn counted(count: usize) -> String {
    if count == 1 { "one file was".to_owned() } else { format!("{count} files were") }
}

/// At most a few paths, each in its line.
fn listed(paths: &[String]) -> String {
    const SHOWN: usize = 20;
    let mut text: String = paths.iter().take(SHOWN).map(|path| format!("\n  {path}")).collect();
    if let Some(more) = paths.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.push_str(&format!("\n  and {more} more"));
    }
    text
}
