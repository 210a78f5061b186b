//! Places with a meaning of their own: protected, public and sensitive paths. The lists are data (`data/paths.toml`).

use crate::call::Workspace;
use crate::listed::Listed;
use crate::path;
use crate::policy::Policy;
use crate::rule::meet;
use crate::rule::text::TextPattern;

mod data {
    use crate::listed::Listed;
    include!(concat!(env!("OUT_DIR"), "/paths.rs"));
}

/// The entry that protects an absolute path from being written, if one does. Names are compared without case: a
/// file system may not tell `.Git` from `.git`.
pub fn protected<'a>(path: &str, policy: &'a Policy) -> Option<&'a str> {
    if let Some(own) = policy.options.protected_files.iter().find(|own| path::is_within(path, own)) {
        return Some(own);
    }
    let lower = path.to_lowercase();
    if lower.contains("/.claude/worktrees/") {
        // Work trees hold ordinary project files; what is protected inside them is judged by the rest of the path.
        let (_, inside) = lower.split_once("/.claude/worktrees/")?;
        return named(&format!("/{inside}"));
    }
    named(&lower)
}

fn named(lower: &str) -> Option<&'static str> {
    let file = data::PROTECTED_FILES.iter().find(|listed| path::name(lower) == listed.name);
    let directory = || {
        let holds = |listed: &&Listed| {
            let inside = format!("/{}/", listed.name);
            lower.contains(&inside) || lower.ends_with(inside.trim_end_matches('/'))
        };
        data::PROTECTED_DIRECTORIES.iter().find(holds)
    };
    let hook = || {
        let in_hooks = path::parent(lower).is_some_and(|folder| path::name(folder) == "hooks");
        data::GIT_HOOKS.iter().find(|listed| in_hooks && path::name(lower) == listed.name)
    };
    file.or_else(directory).or_else(hook).map(|listed| listed.name)
}

/// The protected entry that a shell pattern may name. Only names that a pattern has to spell in part are looked at:
/// wildcards stand for no leading dot, so `*` sweeps none of them up by accident.
pub fn protected_by_pattern(pattern: &str) -> Option<&'static str> {
    let lower = pattern.to_lowercase();
    let lists = [data::PROTECTED_DIRECTORIES, data::PROTECTED_FILES].into_iter().flatten();
    let mut hidden = lists.filter(|listed| listed.name.starts_with('.') && !listed.name.contains('/'));
    let names: Vec<&str> = path::segments(&lower).filter(|name| name.contains(['*', '?', '['])).collect();
    hidden.find(|listed| names.iter().any(|name| meet::names_meet(listed.name, name))).map(|listed| listed.name)
}

/// The entry that makes an absolute path's content nobody else's business, if one does.
pub fn sensitive(path: &str, workspace: &Workspace) -> Option<&'static Listed> {
    static OTHER_HOME: Listed = Listed { name: "/home/*", why: "another user's home" };
    let name = path::name(path);
    let by_name = data::SENSITIVE_NAMES.iter().find(|listed| listed.name == name);
    let at_home = workspace.home.as_deref().and_then(|home| path.strip_prefix(home.trim_end_matches('/')));
    // Most entries lie elsewhere than the path: one look at the letter behind the first slash tells.
    let begins = |first: u8, path: Option<&str>| {
        path.is_some_and(|path| first == b'*' || path.as_bytes().get(1).is_none_or(|letter| *letter == first))
    };
    let near = |listed: &&Listed| match *listed.name.as_bytes() {
        [b'~', b'/', first, ..] => begins(first, at_home),
        [b'/', first, ..] => begins(first, Some(path)),
        _ => true,
    };
    let by_place = || private().filter(near).find(|listed| holds(listed.name, path, workspace));
    by_name.or_else(by_place).or_else(|| is_other_home(path, workspace).then_some(&OTHER_HOME))
}

/// The sensitive entry that a directory read as a whole would take in, or that a pattern below it may match.
pub fn sensitive_below(directory: &str, pattern: Option<&str>, workspace: &Workspace) -> Option<&'static Listed> {
    let reached = match pattern {
        Some(pattern) => format!("{}/{pattern}", directory.trim_end_matches('/')),
        None => directory.to_owned(),
    };
    private().find(|listed| {
        let Some(place) = expand(listed.name, workspace) else { return false };
        let mut names = path::segments(&reached);
        let alike = path::segments(&place).all(|own| match names.next() {
            Some(name) => name.contains(['*', '?', '[']) || is_alike(own, name),
            // Without a pattern everything below is read; with one, only as deep as it reaches.
            None => pattern.is_none(),
        });
        alike && !workspace.directories().any(|own| own != "/" && path::is_within(own, &place))
    })
}

/// Everything whose content is nobody else's business, by its place.
fn private() -> impl Iterator<Item = &'static Listed> {
    data::CREDENTIALS.iter().chain(data::SENSITIVE)
}

/// Stores of credentials: `~/` is home, `*` is text within one name. A confined command cannot read them.
pub fn credentials() -> &'static [Listed] {
    data::CREDENTIALS
}

/// Names that nobody writes without a person's word: folders, then files. Some are paths of several names.
pub fn protected_names() -> impl Iterator<Item = &'static Listed> {
    data::PROTECTED_DIRECTORIES.iter().chain(data::PROTECTED_FILES)
}

/// Whether an entry of a list names the path or something above it. `~/` is home; `*` is text within one name.
fn holds(entry: &str, path: &str, workspace: &Workspace) -> bool {
    if entry.contains('*') {
        let mut names = path::segments(path);
        let alike =
            |own: &str, name: &str| if own.contains('*') { TextPattern::glob(own).matches(name) } else { own == name };
        return path::segments(entry).all(|own| names.next().is_some_and(|name| alike(own, name)));
    }
    // Somebody who works inside such a place has already been let in.
    is_below(entry, path, workspace)
        && !workspace.directories().any(|own| own != "/" && is_below(entry, own, workspace))
}

/// Whether one segment of an entry names this name.
fn is_alike(own: &str, name: &str) -> bool {
    if own.contains('*') { TextPattern::glob(own).matches(name) } else { own == name }
}

fn is_below(entry: &str, path: &str, workspace: &Workspace) -> bool {
    match (entry.strip_prefix("~/"), &workspace.home) {
        (None, _) => path::is_within(path, entry),
        (Some(_), None) => false,
        (Some(rest), Some(home)) => {
            let inside = path.strip_prefix(home.trim_end_matches('/')).and_then(|below| below.strip_prefix('/'));
            inside.is_some_and(|inside| path::is_within(inside, rest))
        }
    }
}

fn expand(pattern: &str, workspace: &Workspace) -> Option<String> {
    match pattern.strip_prefix("~/") {
        Some(rest) => workspace.home.as_ref().map(|home| format!("{}/{rest}", home.trim_end_matches('/'))),
        None => Some(pattern.to_owned()),
    }
}

fn is_other_home(path: &str, workspace: &Workspace) -> bool {
    let mut names = path::segments(path);
    let (Some("home" | "Users"), Some(user)) = (names.next(), names.next()) else { return false };
    let parent = path::segments(path).next().unwrap_or_default();
    let home = format!("/{parent}/{user}");
    let own = workspace.home.as_deref().is_some_and(|own| path::is_within(own, &home) || path::is_within(&home, own));
    !own && !workspace.directories().any(|directory| path::is_within(directory, &home))
}

/// Whether reading an absolute path is free although it lies outside the working directories.
pub fn is_public(path: &str) -> bool {
    data::PUBLIC.iter().any(|listed| path::is_within(path, listed.name))
}

/// Why removing an absolute path would be a disaster, if it would.
pub fn critical(path: &str, workspace: &Workspace) -> Option<&'static str> {
    if path == "/" {
        return Some("the root of the file system");
    }
    if path::parent(path) == Some("/") {
        return Some("a top-level directory");
    }
    if workspace.home.as_deref().is_some_and(|home| path::is_within(home, path)) {
        return Some("the home directory");
    }
    if [&workspace.directory, workspace.here()].into_iter().any(|directory| path::is_within(directory, path)) {
        return Some("the working directory, or one above it");
    }
    let mac = ["/private/etc", "/private/var", "/private/tmp", "/private/home"];
    mac.contains(&path).then_some("a system directory")
}

/// A name that under an empty variable is a system directory.
pub fn is_top_level_name(name: &str) -> bool {
    data::TOP_LEVEL.iter().any(|listed| listed.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Looking at one letter first must lose nothing.
    #[test]
    fn every_entry_holds_its_place_and_what_lies_below() {
        for home in ["/home/u", "/home/u/", "/", "/srv/people/u"] {
            let workspace = Workspace { home: Some(home.to_owned()), ..Workspace::at("/w") };
            for listed in private() {
                let place = expand(listed.name, &workspace).unwrap().replace('*', "x").replace("//", "/");
                for path in [place.clone(), format!("{place}/below")] {
                    assert!(sensitive(&path, &workspace).is_some(), "{} does not hold {path}", listed.name);
                }
            }
        }
    }

    #[test]
    fn what_only_begins_alike_is_nobodys_secret() {
        let workspace = Workspace { home: Some("/home/u".to_owned()), ..Workspace::at("/w") };
        for path in ["/home/u", "/home/u/src/.sshx", "/home/u/.ssh-notes", "/w/.aws/x", "/"] {
            assert_eq!(sensitive(path, &workspace), None, "{path}");
        }
    }
}
