//! A rule that stands there twice.

use std::collections::HashMap;
use std::sync::Arc;

use mayi_core::policy::{Entry, Layer, Status};

use super::{Article, about, cause};
use crate::load::Loaded;
use crate::problem::{Code, Problem};

pub(super) const ARTICLE: Article = Article {
    code: Code::Duplicate,
    what: "The same rule stands in the same list of a stronger layer, or earlier in this one. It does no harm, but \
           whoever changes one of the two will wonder why nothing happens.",
    layer: Layer::User,
    example: r#"{"permissions": {"deny": ["Read(.env)", "Read( .env)", "Read(.env)"]}}"#,
    mended: r#"{"permissions": {"deny": ["Read(.env)"]}}"#,
    fix: "Keep the one in the layer where it belongs.",
};

pub(super) fn check(loaded: &Loaded, found: &mut Vec<Problem>) {
    let mut seen: HashMap<_, &Arc<Entry>> = HashMap::new();
    for entry in loaded.policy.entries().iter().filter(|entry| entry.status == Status::Live) {
        let content = entry.rule.content.as_deref().unwrap_or_default();
        // The place of a negation matters; and `/p` starts somewhere else in every source.
        if content.starts_with('!') {
            continue;
        }
        let source = (content.starts_with('/') && !content.starts_with("//")).then(|| entry.origin.file.clone());
        match seen.get(&(entry.verdict, &entry.rule, source.clone())) {
            Some(first) => {
                let message = format!("`{}` stands in {} already", entry.text, first.origin);
                let problem = about(entry, Code::Duplicate, message).fix("keep one of the two");
                found.push(Problem { by: vec![cause(first)], ..problem });
            }
            None => {
                seen.insert((entry.verdict, &entry.rule, source), entry);
            }
        }
    }
}
