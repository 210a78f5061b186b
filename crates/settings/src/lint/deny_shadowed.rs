//! An allow or ask rule that a deny covers: it never speaks.

use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict;

use super::{Article, about, cause, cover};
use crate::load::Loaded;
use crate::problem::{Code, Problem};

pub(super) const ARTICLE: Article = Article {
    code: Code::DenyShadowed,
    what: "A deny rule matches everything that this rule matches. A deny of any layer wins over every allow and ask, \
           so this rule never speaks: it only makes readers believe in a permission that is not there.",
    layer: Layer::User,
    example: r#"{"permissions": {"allow": ["Bash(git push:*)"], "deny": ["Bash(git:*)"]}}"#,
    mended: r#"{"permissions": {"allow": ["Bash(git status:*)"], "deny": ["Bash(git push:*)"]}}"#,
    fix: "Remove the rule, or make the deny narrower.",
};

pub(super) fn check(loaded: &Loaded, found: &mut Vec<Problem>) {
    for entry in loaded.policy.entries().iter().filter(|entry| entry.verdict != Verdict::Deny) {
        let Some(by) = cover::covering(&loaded.policy, entry, Verdict::Deny) else { continue };
        let message = format!("`{}` never speaks: what it matches is denied", entry.text);
        let problem = about(entry, Code::DenyShadowed, message).fix("remove it, or make the deny narrower");
        found.push(Problem { by: by.iter().map(|entry| cause(entry)).collect(), ..problem });
    }
}
