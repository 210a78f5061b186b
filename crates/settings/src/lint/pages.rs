//! The pages that explain the codes: one Markdown file each, which is the text that people read.

use mayi_core::policy::Layer;

use crate::problem::Code;

/// The page of a code: what it means, settings that have the problem, and the same settings mended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Article {
    /// The code.
    pub code: Code,
    /// The whole page.
    pub page: &'static str,
    /// What it means and why it matters.
    pub what: &'static str,
    /// The layer of the example.
    pub layer: Layer,
    /// Settings with the problem.
    pub example: &'static str,
    /// The same, mended.
    pub mended: &'static str,
    /// What to do.
    pub fix: &'static str,
}

/// The page of a code.
pub fn article(code: Code) -> Option<Article> {
    read(code, page(code))
}

/// Every page.
pub fn articles() -> impl Iterator<Item = Article> {
    Code::ALL.into_iter().filter_map(article)
}

fn page(code: Code) -> &'static str {
    match code {
        Code::BrokenFile => include_str!("pages/broken-file.md"),
        Code::WrongType => include_str!("pages/wrong-type.md"),
        Code::UnknownKey => include_str!("pages/unknown-key.md"),
        Code::DuplicateKey => include_str!("pages/duplicate-key.md"),
        Code::KeyNotAllowedHere => include_str!("pages/key-not-allowed-here.md"),
        Code::MalformedRule => include_str!("pages/malformed-rule.md"),
        Code::UnknownTool => include_str!("pages/unknown-tool.md"),
        Code::NeedsTrust => include_str!("pages/needs-trust.md"),
        Code::ManagedOnly => include_str!("pages/managed-only.md"),
        Code::ModeNotAvailable => include_str!("pages/mode-not-available.md"),
        Code::DenyShadowed => include_str!("pages/deny-shadowed.md"),
        Code::AskShadowed => include_str!("pages/ask-shadowed.md"),
        Code::Duplicate => include_str!("pages/duplicate.md"),
        Code::NeverMatches => include_str!("pages/never-matches.md"),
        Code::DangerousAllow => include_str!("pages/dangerous-allow.md"),
        Code::FragileDeny => include_str!("pages/fragile-deny.md"),
        Code::WrongAnchor => include_str!("pages/wrong-anchor.md"),
        Code::SecretInSettings => include_str!("pages/secret-in-settings.md"),
        Code::StaleSettings => include_str!("pages/stale-settings.md"),
        Code::FailedExample => include_str!("pages/failed-example.md"),
        Code::Undecided => include_str!("pages/undecided.md"),
    }
}

fn read(code: Code, page: &'static str) -> Option<Article> {
    let (title, rest) = page.strip_prefix("# ")?.split_once('\n')?;
    let (what, rest) = rest.split_once("\n## Example: ")?;
    let (layer, rest) = rest.split_once(" settings\n")?;
    let (example, rest) = rest.split_once("\n## Mended\n")?;
    let (mended, fix) = rest.split_once("\n## Fix\n")?;
    let layer = Layer::ALL.into_iter().find(|known| known.word() == layer)?;
    let article = Article {
        code,
        page,
        what: what.trim(),
        layer,
        example: fenced(example)?,
        mended: fenced(mended)?,
        fix: fix.trim(),
    };
    (title == code.word()).then_some(article)
}

fn fenced(text: &'static str) -> Option<&'static str> {
    Some(text.trim().strip_prefix("```json")?.strip_suffix("```")?.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_with_an_example_and_a_fix() {
        for code in Code::ALL {
            let article = article(code).unwrap_or_else(|| panic!("the page of {code} cannot be read"));
            assert!(article.what.len() > 60 && article.fix.len() > 20, "{code}");
            assert_ne!(article.example, article.mended, "{code}");
        }
    }
}
