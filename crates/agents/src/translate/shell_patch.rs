//! A patch that is given to the shell: `apply_patch <<'EOF'`. Whatever rules say about the command, those about the
//! files it changes count too.
//!
//! Only one form is read for certain: a here-document on a line of its own, perhaps after `cd DIRECTORY &&`. Anything
//! else around a patch leaves open where its paths begin or what its text will be. Then every path that it seems to
//! name is judged, and a call under the patch tool's own name asks.

use mayi_core::call::Call;
use mayi_core::path;
use mayi_settings::own_hook;
use serde_json::json;

use super::patch;

/// The line before a patch.
struct Opening {
    /// The directory it changes to first.
    directory: Option<String>,
    /// Whether the shell expands the text.
    expands: bool,
}

/// The calls beside the command: none if there is no patch in it.
pub(super) fn calls(command: &str, directory: Option<&str>) -> Vec<Call> {
    let Some((before, _)) = command.split_once(patch::BEGIN) else { return Vec::new() };
    let text = command.get(before.len()..).unwrap_or_default();
    certain(before, text, directory).unwrap_or_else(|| {
        let asks = Call::new("apply_patch", json!({ "command": command }));
        patch::named_anywhere(command, directory).into_iter().chain([asks]).collect()
    })
}

/// The calls of a patch in the form that is read for certain.
fn certain(before: &str, text: &str, directory: Option<&str>) -> Option<Vec<Call>> {
    let opening = opening(before)?;
    let mut ends = text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((*at, line.trim()))
    });
    let (end, _) = ends.find(|(_, line)| *line == patch::END)?;
    let (patch, after) = text.split_at_checked(end)?;
    let has_more = after.lines().any(|line| line.trim_start().starts_with("***"));
    if has_more || (opening.expands && patch.contains(['$', '`', '\\'])) {
        return None;
    }
    let inner = match (directory, opening.directory) {
        (Some(outer), Some(inner)) => Some(path::join(outer, &inner)),
        (None, inner) => inner,
        (Some(outer), None) => Some(outer.to_owned()),
    };
    patch::calls(patch, inner.as_deref())
}

fn opening(before: &str) -> Option<Opening> {
    let line = before.trim_start().strip_suffix('\n')?;
    let (left, mark) = line.split_once("<<")?;
    let mark = mark.strip_prefix('-').unwrap_or(mark).trim();
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let bare = mark.trim_matches(['\'', '"']);
    if bare.is_empty() || !bare.chars().all(is_word) {
        return None;
    }
    let (directory, program) = match left.split_once("&&") {
        Some((change, program)) => (Some(entered(change)?), program),
        None => (None, left),
    };
    let is_patch = matches!(program.trim(), "apply_patch" | "applypatch");
    is_patch.then_some(Opening { directory, expands: bare == mark })
}

/// The directory of a plain `cd DIRECTORY`.
fn entered(change: &str) -> Option<String> {
    let is_plain = |letter: char| letter.is_alphanumeric() || " /._-+@%=,'\"".contains(letter);
    let words = own_hook::words(change);
    let [cd, directory] = words.as_slice() else { return None };
    (cd == "cd" && !directory.starts_with('-') && change.chars().all(is_plain)).then(|| directory.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATCH: &str = "*** Begin Patch\n*** Add File: a\n+$x\n*** Delete File: /srv/b\n*** End Patch\n";

    fn touched(command: &str, directory: Option<&str>) -> Vec<String> {
        let line = |call: Call| format!("{} {}", call.tool, call.text("file_path").unwrap_or("?"));
        calls(command, directory).into_iter().map(line).collect()
    }

    #[test]
    fn a_here_document_is_read_where_it_is_applied() {
        let rows = [
            ("apply_patch <<'EOF'\n", None, ["Write a", "Edit /srv/b"]),
            ("applypatch <<\"EOF\"\n", None, ["Write a", "Edit /srv/b"]),
            ("\napply_patch << 'EOF'\n", Some("/w"), ["Write /w/a", "Edit /srv/b"]),
            ("cd sub && apply_patch <<'EOF'\n", None, ["Write sub/a", "Edit /srv/b"]),
            ("cd 'a b' && apply_patch <<-'EOF'\n", Some("/w"), ["Write /w/a b/a", "Edit /srv/b"]),
            ("cd /etc && apply_patch <<'EOF'\n", Some("/w"), ["Write /etc/a", "Edit /srv/b"]),
        ];
        for (before, directory, expected) in rows {
            assert_eq!(touched(&format!("{before}{PATCH}EOF\n"), directory), expected, "{before}");
        }
        assert_eq!(touched("ls", None), Vec::<String>::new());
    }

    #[test]
    fn anything_else_around_a_patch_asks_and_its_paths_still_count() {
        for before in [
            "apply_patch <<EOF\n",
            "cat <<'EOF'\n",
            "apply_patch <<'EOF' | tee log\n",
            "apply_patch '",
            "cd $HOME && apply_patch <<'EOF'\n",
            "cd ~ && apply_patch <<'EOF'\n",
            "cd - && apply_patch <<'EOF'\n",
            "cd x\napply_patch <<'EOF'\n",
            "pushd x && apply_patch <<'EOF'\n",
            "cd x && cd y && apply_patch <<'EOF'\n",
            "env -C x apply_patch <<'EOF'\n",
        ] {
            let command = format!("{before}{PATCH}EOF\n");
            assert_eq!(touched(&command, None), ["Edit a", "Edit /srv/b", "apply_patch ?"], "{before}");
        }
    }

    #[test]
    fn a_patch_that_cannot_be_read_asks() {
        let rows = [
            ("*** Begin Patch\n*** End Patch\n", &["apply_patch ?"][..]),
            ("*** Begin Patch\n*** Add File: a\n+x\n", &["Edit a", "apply_patch ?"]),
            ("*** Begin Patch\n*** Chmod File: a\n*** End Patch\n", &["apply_patch ?"]),
            (
                "*** Begin Patch\n*** Update File: a\n *** End Patch\n*** Delete File: b\n*** End Patch\n",
                &["Edit a", "Edit b", "apply_patch ?"],
            ),
        ];
        for (patch, expected) in rows {
            assert_eq!(touched(&format!("apply_patch <<'EOF'\n{patch}EOF\n"), None), expected, "{patch}");
        }
    }
}
