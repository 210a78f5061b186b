//! A repository's own configuration, read as text: the keys that make git run a program or read another file.

use mayi_core::path;
use mayi_shell::observe::Answer;

/// How a file's text is looked up.
pub(super) type Lookup<'a> = dyn Fn(&str) -> Answer + 'a;

/// Keys that name a program, or another file of keys. `*` is any middle part.
const NAMES_PROGRAM: [&str; 43] = [
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshcommand",
    "core.hookspath",
    "core.askpass",
    "core.gitproxy",
    "core.alternaterefscommand",
    "diff.external",
    "diff.*.command",
    "diff.*.textconv",
    "merge.*.driver",
    "filter.*.clean",
    "filter.*.smudge",
    "filter.*.process",
    "pager.*",
    "alias.*",
    "include.path",
    "includeif.*.path",
    "gpg.program",
    "gpg.*.program",
    "credential.helper",
    "credential.*.helper",
    "interactive.difffilter",
    "sequence.editor",
    "remote.*.uploadpack",
    "remote.*.receivepack",
    "remote.*.vcs",
    "tar.*.command",
    "difftool.*.cmd",
    "mergetool.*.cmd",
    "difftool.*.path",
    "hook.*.command",
    "submodule.*.update",
    "trailer.*.command",
    "trailer.*.cmd",
    "help.browser",
    "web.browser",
    "man.viewer",
    "man.*.cmd",
    "man.*.path",
    "browser.*.cmd",
    "browser.*.path",
];

/// The configuration that applies in a directory: the nearest repository at or above it.
pub(super) fn configuration(directory: &str, lookup: &Lookup<'_>) -> Answer {
    for above in path::ancestors(directory) {
        match repository_file(above, lookup) {
            Found::Nothing => {}
            Found::Configuration(text) => return Answer::Configuration(programs(&text)),
            Found::Unclear => return Answer::Unknown,
        }
    }
    Answer::Configuration(Vec::new())
}

enum Found {
    Nothing,
    Configuration(String),
    Unclear,
}

/// What was found under a name, as far as a repository is concerned.
enum Content {
    Text(String),
    Absent,
    Unclear,
}

fn content(path: &str, lookup: &Lookup<'_>) -> Content {
    match lookup(path) {
        Answer::Text(text) => Content::Text(text),
        Answer::Absent => Content::Absent,
        Answer::Real(_)
        | Answer::Loop
        | Answer::Configuration(_)
        | Answer::System
        | Answer::Planted(_)
        | Answer::Unknown => Content::Unclear,
    }
}

fn repository_file(directory: &str, lookup: &Lookup<'_>) -> Found {
    let inside = |name: &str| content(&path::join(directory, name), lookup);
    let is_unclear = match inside(".git/config") {
        Content::Text(text) => return with_work_tree(text, &path::join(directory, ".git"), lookup),
        Content::Absent => false,
        Content::Unclear => true,
    };
    // A work tree or a submodule: `.git` is a file that points elsewhere.
    if let Content::Text(pointer) = inside(".git") {
        return pointed(directory, &pointer, lookup);
    }
    if is_unclear {
        return Found::Unclear;
    }
    // A bare repository planted among the files of another one.
    match (inside("HEAD"), inside("config")) {
        (Content::Text(head), Content::Text(text)) if head.starts_with("ref:") => Found::Configuration(text),
        (_, _) => Found::Nothing,
    }
}

fn pointed(directory: &str, pointer: &str, lookup: &Lookup<'_>) -> Found {
    let Some(target) = pointer.trim().strip_prefix("gitdir:") else { return Found::Unclear };
    let git = path::join(directory, target.trim());
    let shared = match content(&path::join(&git, "commondir"), lookup) {
        Content::Text(text) => path::join(&git, text.trim()),
        Content::Absent => git.clone(),
        Content::Unclear => return Found::Unclear,
    };
    match content(&path::join(&shared, "config"), lookup) {
        Content::Text(text) => with_work_tree(text, &git, lookup),
        Content::Absent | Content::Unclear => Found::Unclear,
    }
}

/// A work tree may have keys of its own, in a file beside. They count when the repository says so; a few keys too many
/// do no harm.
fn with_work_tree(text: String, git: &str, lookup: &Lookup<'_>) -> Found {
    if !names_extension(&text) {
        return Found::Configuration(text);
    }
    match content(&path::join(git, "config.worktree"), lookup) {
        Content::Text(own) => Found::Configuration(format!("{text}\n{own}")),
        Content::Absent => Found::Configuration(text),
        Content::Unclear => Found::Unclear,
    }
}

/// The keys that name a program, with their values, in the order of the file. Read as git reads it: several headers
/// and a key may share a line, a quoted part may hold any bracket, and an editor's byte order mark is skipped.
fn programs(text: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut section = String::new();
    for line in text.strip_prefix('\u{feff}').unwrap_or(text).lines() {
        let mut rest = line.trim();
        while let Some(header) = rest.strip_prefix('[') {
            let (name, after) = header_of(header);
            section = section_name(name);
            rest = after.trim_start();
        }
        let length = rest.find(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-').unwrap_or(rest.len());
        let (name, after) = rest.split_at_checked(length).unwrap_or_default();
        let key = format!("{section}.{}", name.to_lowercase());
        if !name.is_empty() && NAMES_PROGRAM.iter().any(|pattern| names(pattern, &key)) {
            let value = after.trim_start().strip_prefix('=').unwrap_or("true");
            found.push((key, value.trim().trim_matches('"').to_owned()));
        }
    }
    found
}

/// Whether a configuration may say that work trees have keys of their own. git takes that from no other file.
fn names_extension(text: &str) -> bool {
    const NAME: &[u8] = b"worktreeconfig";
    text.as_bytes().windows(NAME.len()).any(|part| part.eq_ignore_ascii_case(NAME))
}

/// The inside of a header, up to the bracket that closes it outside of quotes, and what follows on the line.
fn header_of(text: &str) -> (&str, &str) {
    let (mut quoted, mut escaped) = (false, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = quoted,
            '"' => quoted = !quoted,
            ']' if !quoted => {
                let (name, rest) = text.split_at_checked(at).unwrap_or((text, ""));
                return (name, rest.strip_prefix(']').unwrap_or(rest));
            }
            _ => {}
        }
    }
    (text, "")
}

/// `core`, `diff "x"` and `diff.x` as `core` and `diff.x`.
fn section_name(header: &str) -> String {
    match header.split_once('"') {
        Some((section, name)) => format!("{}.{}", section.trim().to_lowercase(), name.trim_end_matches('"')),
        None => header.trim().to_lowercase(),
    }
}

fn names(pattern: &str, key: &str) -> bool {
    // Every pattern begins with a letter of its own, which most keys do not.
    if pattern.as_bytes().first() != key.as_bytes().first() {
        return false;
    }
    match pattern.split_once('*') {
        None => pattern == key,
        Some((start, end)) => key.len() > start.len() + end.len() && key.starts_with(start) && key.ends_with(end),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look_at(text: &str) -> Answer {
        configuration("/w", &|path| match path {
            "/w/.git/config" => Answer::Text(text.to_owned()),
            _ => Answer::Absent,
        })
    }

    fn look(files: &[(&str, &str)]) -> Answer {
        configuration("/w/src", &|path| match files.iter().find(|(name, _)| *name == path) {
            Some((_, text)) => Answer::Text((*text).to_owned()),
            None => Answer::Absent,
        })
    }

    fn keys(answer: Answer) -> Vec<String> {
        let Answer::Configuration(keys) = answer else { panic!("{answer:?}") };
        keys.into_iter().map(|(key, _)| key).collect()
    }

    #[test]
    fn a_clean_repository_names_no_program() {
        let clean = "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = x\n";
        assert_eq!(look(&[("/w/.git/config", clean)]), Answer::Configuration(vec![]));
        assert_eq!(look(&[]), Answer::Configuration(vec![]));
    }

    #[test]
    fn programs_and_includes_are_found() {
        let text = "[core] fsmonitor = evil\n[Diff \"x\"]\n  textconv = cat\n; pager = no\n[include]\npath = ../x\n";
        assert_eq!(keys(look(&[("/w/.git/config", text)])), ["core.fsmonitor", "diff.x.textconv", "include.path"]);
    }

    #[test]
    fn a_configuration_is_read_as_git_reads_it() {
        for text in [
            "[user][core] fsmonitor = evil\n",
            "\u{feff}[core]\nfsmonitor = evil\n",
            "[core] fsmonitor ; on\n",
            "[CORE]\n\tFsMonitor=evil\r\n",
        ] {
            assert_eq!(keys(look_at(text)), ["core.fsmonitor"], "{text:?}");
        }
        assert_eq!(keys(look_at("[diff \"a]\"] textconv = evil\n")), ["diff.a].textconv"]);
        assert_eq!(keys(look_at("[core\n# [core] fsmonitor = x\n")), [""; 0]);
    }

    #[test]
    fn a_work_trees_own_keys_are_read_too() {
        let own = look(&[
            ("/w/.git/config", "[extensions]\nworktreeConfig = true\n"),
            ("/w/.git/config.worktree", "[core]\nfsmonitor = evil\n"),
        ]);
        assert_eq!(keys(own), ["core.fsmonitor"]);
        let linked = look(&[
            ("/w/.git", "gitdir: /r/.git/worktrees/w\n"),
            ("/r/.git/worktrees/w/commondir", "../..\n"),
            ("/r/.git/config", "[extensions]\nworktreeconfig\n"),
            ("/r/.git/worktrees/w/config.worktree", "[core]\npager = evil\n"),
        ]);
        assert_eq!(keys(linked), ["core.pager"]);
        let unread = look(&[("/w/.git/config", "[core]\n"), ("/w/.git/config.worktree", "[core]\npager = evil\n")]);
        assert_eq!(keys(unread), [""; 0], "git reads it only where the repository says so");
    }

    #[test]
    fn work_trees_and_planted_bare_repositories_are_followed() {
        let tree = look(&[
            ("/w/.git", "gitdir: /r/.git/worktrees/w\n"),
            ("/r/.git/worktrees/w/commondir", "../..\n"),
            ("/r/.git/config", "[core]\npager = x\n"),
        ]);
        assert_eq!(keys(tree), ["core.pager"]);
        let bare = look(&[("/w/src/HEAD", "ref: refs/heads/x"), ("/w/src/config", "[core]\nfsmonitor=x")]);
        assert_eq!(keys(bare), ["core.fsmonitor"]);
        assert_eq!(look(&[("/w/.git", "garbage")]), Answer::Unknown);
    }
}
