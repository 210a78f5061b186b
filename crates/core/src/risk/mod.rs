//! Static risk: what the effects of a call say about it, with certainty or not at all. The categories and exceptions
//! are data (`data/risk.toml`); matchers over effects are in `assess.rs`.

mod assess;

use std::sync::LazyLock;

use crate::listed::Listed;
use crate::rule::index::{Reach, RuleId, TextIndex};
use crate::rule::text::TextPattern;

pub(crate) use assess::assess;

/// What the static analysis says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Assessment {
    /// Certainly harmless: an exception covers every effect.
    Safe {
        /// The exception.
        exception: String,
        /// What in the call says so.
        detail: String,
    },
    /// Certainly to be blocked.
    Blocked {
        /// The category.
        category: String,
        /// What in the call says so.
        detail: String,
    },
    /// It cannot tell.
    Unknown {
        /// What it would have to know.
        what: String,
    },
}

impl Default for Assessment {
    fn default() -> Self {
        Assessment::Unknown { what: String::new() }
    }
}

/// Reading a sensitive path.
pub(crate) fn of_sensitive(path: &str, listed: &Listed) -> Assessment {
    let detail = format!("reads `{path}`: {}", listed.why);
    Assessment::Blocked { category: "credential-exploration".to_owned(), detail }
}

/// A category that is blocked, or an exception that is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Category {
    /// Stable id.
    pub id: &'static str,
    /// For people.
    pub title: &'static str,
    /// For a model that judges, and for people who ask why.
    pub guidance: &'static str,
    /// Command patterns that are certainly of this kind.
    pub commands: &'static [&'static str],
    /// Command patterns that may be of this kind: never certain, so somebody must look.
    pub doubtful: &'static [&'static str],
}

mod data {
    use super::Category;
    include!(concat!(env!("OUT_DIR"), "/risk.rs"));
}

/// What is blocked unless the user's own words name it.
pub fn categories() -> &'static [Category] {
    data::CATEGORIES
}

/// Words in code for an interpreter after which the static analysis no longer vouches for it.
fn code_words() -> &'static [&'static str] {
    data::CODE_WORDS
}

/// What is let through.
pub fn exceptions() -> &'static [Category] {
    data::EXCEPTIONS
}

/// The patterns of all categories, compiled when first needed: only automatic mode looks at them.
static CERTAIN: LazyLock<TextIndex> = LazyLock::new(|| compile(|category| category.commands));
static DOUBTFUL: LazyLock<TextIndex> = LazyLock::new(|| compile(|category| category.doubtful));

fn compile(patterns: fn(&Category) -> &'static [&'static str]) -> TextIndex {
    let mut index = TextIndex::default();
    for (number, category) in data::CATEGORIES.iter().enumerate() {
        for pattern in patterns(category) {
            index.insert(TextPattern::command(pattern), RuleId(u32::try_from(number).unwrap_or(u32::MAX)));
        }
    }
    index
}

/// The category that a command form certainly belongs to.
fn category_of(form: &str) -> Option<&'static Category> {
    let RuleId(number) = CERTAIN.first(form, Reach::Every, &|_| true)?;
    data::CATEGORIES.get(number as usize)
}

/// The category that a command form may belong to.
fn doubt_of(form: &str) -> Option<&'static Category> {
    let RuleId(number) = DOUBTFUL.first(form, Reach::Every, &|_| true)?;
    data::CATEGORIES.get(number as usize)
}
