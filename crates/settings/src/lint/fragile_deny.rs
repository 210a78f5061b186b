//! A deny that is easily spelled around.

use mayi_core::catalogue::Kind;
use mayi_core::policy::Status;
use mayi_core::rule::text::TextPattern;
use mayi_core::verdict::Verdict;

use super::about;
use crate::load::Loaded;
use crate::problem::{Code, Problem};

pub(super) fn check(loaded: &Loaded, found: &mut Vec<Problem>) {
    let denies = loaded.policy.entries().iter().filter(|entry| entry.verdict == Verdict::Deny);
    for entry in denies.filter(|entry| entry.status == Status::Live) {
        let is_shell = loaded.policy.tool(&entry.rule.tool).kind == Kind::Shell;
        let Some(content) = entry.rule.content.as_deref().filter(|_| is_shell) else { continue };
        let Some(why) = fragility(content) else { continue };
        let program = content.split([' ', ':']).next().unwrap_or(content);
        let message = format!("`{}` is easily spelled around: {why}", entry.text);
        found.push(about(entry, Code::FragileDeny, message).fix(format!("deny `{}({program}:*)`", entry.rule.tool)));
    }
}

fn fragility(content: &str) -> Option<&'static str> {
    let flag = content.split_whitespace().skip(1).find(|word| word.starts_with('-'));
    let bundled = |word: &str| word.len() > 2 && !word.starts_with("--");
    match (flag, TextPattern::command(content)) {
        (Some(flag), _) if bundled(flag) => Some("flags can be split, reordered or written out"),
        (Some(_), _) => Some("the flag can stand elsewhere or be written in another way"),
        (None, TextPattern::Exact(text)) if text.contains(' ') => Some("one more argument is enough"),
        (None, TextPattern::Exact(_) | TextPattern::Prefix(_) | TextPattern::Glob(_)) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_and_exact_commands_are_fragile_and_prefixes_are_not() {
        for content in ["rm -rf /", "rm -rf:*", "git push --force *", "npm publish"] {
            assert!(fragility(content).is_some(), "{content}");
        }
        for content in ["rm:*", "git push:*", "reboot", "* | sh"] {
            assert!(fragility(content).is_none(), "{content}");
        }
    }
}
