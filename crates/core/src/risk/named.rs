//! Paths in the words of a command that runs code: what such code does with them is not known, so a sensitive one is
//! taken for read, and one outside the work is not vouched for.

use mayi_shell::command::Command;

use crate::inspect::shell::Reading;
use crate::locations;
use crate::path;
use crate::risk::assess::{Weight, is_in_scratch};

/// What the named paths say; `None` when all of them are ordinary.
pub(super) fn weigh(reading: &Reading<'_>, command: &Command) -> Option<Weight> {
    let workspace = &reading.view.policy.workspace;
    let mut outside = None;
    let words = command.words.iter().skip(1).filter_map(|word| word.text());
    // `-o/x`, `--out=/x`, `@/x`, `a,/x`: a path may stand after any of these.
    for piece in words.flat_map(|word| word.split(['=', '@', ',', ':'])) {
        let start = if piece.starts_with('-') { piece.find(['/', '~']).unwrap_or(0) } else { 0 };
        let piece = piece.get(start..).filter(|piece| piece.starts_with('/') || piece.starts_with("~/"));
        let Some(Ok(named)) = piece.map(|piece| path::place(piece, workspace)) else { continue };
        if let Some(listed) = locations::sensitive(&named, workspace) {
            let detail = format!("names `{named}`: {}", listed.why);
            return Some(Weight::Bad("credential-exploration", detail));
        }
        let is_ordinary = workspace.holds(&named)
            || locations::is_public(&named)
            || is_in_scratch(&named)
            || named.starts_with("/dev/")
            || named == "/";
        if !is_ordinary {
            outside.get_or_insert(named);
        }
    }
    outside.map(|named| Weight::Open(format!("runs code and names `{named}`, outside the working directories")))
}
