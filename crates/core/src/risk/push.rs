//! Pushes: what a refspec and a remote say. `git push origin :x` removes a branch, `+x` rewrites one, `x:prod`
//! deploys, and an address in place of a remote's name is a place nobody configured.

use mayi_shell::command::Command;

use crate::inspect::shell::innermost;
use crate::risk::data;

/// Options of git, and of `git push`, that take the next word.
const GIT_VALUED: [&str; 6] = ["-C", "-c", "--git-dir", "--work-tree", "--namespace", "--config-env"];
const PUSH_VALUED: [&str; 4] = ["-o", "--push-option", "--receive-pack", "--repo"];

/// The category of a push, and what says so.
pub(super) fn category_of(command: &Command) -> Option<(&'static str, String)> {
    let words: Vec<&str> = innermost(command).iter().map(|word| word.known_prefix()).collect();
    let (program, rest) = words.split_first()?;
    if crate::path::name(program) != "git" {
        return None;
    }
    let rest = after_options(rest, &GIT_VALUED);
    let (&"push", rest) = rest.split_first()? else { return None };
    let mut operands = operands(rest).into_iter();
    let remote = operands.next()?;
    if remote.contains("://") || remote.contains('@') {
        return Some(("exfiltration", format!("pushes to `{remote}`, which is no configured remote")));
    }
    if data::DEPLOY_REMOTES.contains(&remote) {
        return Some(("production-deploy", format!("pushing to `{remote}` deploys")));
    }
    operands.find_map(of_refspec)
}

fn of_refspec(refspec: &str) -> Option<(&'static str, String)> {
    if refspec.starts_with('+') {
        return Some(("destructive-git", format!("`{refspec}` rewrites what others have")));
    }
    let (source, target) = refspec.split_once(':').unwrap_or((refspec, refspec));
    if source.is_empty() && !target.is_empty() {
        return Some(("destructive-git", format!("`{refspec}` removes a remote branch")));
    }
    let name = target.strip_prefix("refs/heads/").unwrap_or(target);
    let deploys = data::DEPLOY_BRANCHES.contains(&name) || (refspec.contains(':') && data::TRUNKS.contains(&name));
    deploys.then(|| ("push-protected-branch", format!("`{name}` deploys, or others build on it")))
}

fn after_options<'a, 'w>(mut words: &'a [&'w str], valued: &[&str]) -> &'a [&'w str] {
    while let Some((option, rest)) = words.split_first().filter(|(option, _)| option.starts_with('-')) {
        words = if valued.contains(option) { rest.get(1..).unwrap_or_default() } else { rest };
    }
    words
}

fn operands<'w>(words: &[&'w str]) -> Vec<&'w str> {
    let mut found = Vec::new();
    let mut words = words.iter();
    while let Some(word) = words.next() {
        if PUSH_VALUED.contains(word) {
            words.next();
        } else if !word.starts_with('-') {
            found.push(*word);
        }
    }
    found
}
