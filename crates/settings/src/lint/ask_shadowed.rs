//! An allow rule that an ask covers: it never speaks.

use mayi_core::policy::{Entry, Layer};
use mayi_core::verdict::Verdict;

use super::{Article, about, cause, cover};
use crate::load::Loaded;
use crate::problem::{Code, Problem};

pub(super) const ARTICLE: Article = Article {
    code: Code::AskShadowed,
    what: "An ask rule matches everything that this allow rule matches. An ask wins over every allow, so the person is \
           asked all the same. One exception is not reported: an ask for all of Bash from a personal layer, while \
           confined commands need no question; then the ask holds only for what runs outside the sandbox.",
    layer: Layer::User,
    example: r#"{"permissions": {"allow": ["Bash(npm test:*)"], "ask": ["Bash(npm:*)"]}}"#,
    mended: r#"{"permissions": {"allow": ["Bash(npm test:*)"], "ask": ["Bash(npm publish:*)"]}}"#,
    fix: "Remove the rule, or make the ask narrower.",
};

pub(super) fn check(loaded: &Loaded, found: &mut Vec<Problem>) {
    let sandbox = &loaded.policy.options.sandbox;
    let confined = sandbox.enabled && sandbox.auto_allow;
    for entry in loaded.policy.entries().iter().filter(|entry| entry.verdict == Verdict::Allow) {
        let Some(by) = cover::covering(&loaded.policy, entry, Verdict::Ask) else { continue };
        if confined && by.iter().all(|ask| is_personal_ask_for_bash(ask)) {
            continue;
        }
        let message = format!("`{}` never speaks: what it matches asks", entry.text);
        let problem = about(entry, Code::AskShadowed, message).fix("remove it, or make the ask narrower");
        found.push(Problem { by: by.iter().map(|entry| cause(entry)).collect(), ..problem });
    }
}

fn is_personal_ask_for_bash(entry: &Entry) -> bool {
    let personal = match entry.origin.layer {
        Layer::User | Layer::Local | Layer::Cli | Layer::Session | Layer::Flag => true,
        Layer::Managed | Layer::Command | Layer::Project => false,
    };
    personal && entry.rule.tool == "Bash" && entry.rule.content.is_none()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Given, of_values};
    use mayi_core::call::Workspace;
    use serde_json::json;

    #[test]
    fn a_personal_ask_for_bash_does_not_shadow_while_commands_are_confined() {
        let settings = |layer: Layer, enabled: bool| {
            let user = json!({"permissions": {"allow": ["Bash(ls)"]}, "sandbox": {"enabled": enabled}});
            let ask = json!({"permissions": {"ask": ["Bash"]}});
            let loaded = of_values(&[(Layer::User, &user), (layer, &ask)], &Workspace::at("/w"), &Given::default());
            let mut found = Vec::new();
            check(&loaded, &mut found);
            found.len()
        };
        assert_eq!(settings(Layer::Local, true), 0);
        assert_eq!(settings(Layer::Local, false), 1);
        assert_eq!(settings(Layer::Managed, true), 1);
    }
}
