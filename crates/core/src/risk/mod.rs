//! Static risk: what a call's words and effects say about it, with certainty or not at all. The categories and
//! exceptions are data (`data/risk.toml`); what patterns cannot say is in the files beside this one.

mod assess;
mod declared;
mod fetched;
mod links;
mod named;
mod outside;
mod place;
mod push;
mod words;

use mayi_shell::command::Command;
use mayi_shell::observe::Question;

use crate::inspect::View;
use crate::listed::Listed;

pub(crate) use assess::assess;
pub(crate) use outside::of_tool;
pub(crate) use place::of_edit;

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

/// What must be known of the machine to weigh a command.
pub(crate) fn questions(view: &View<'_>, command: &Command) -> impl Iterator<Item = Question> {
    declared::question(view, command).into_iter().chain(links::questions(command))
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
    /// Command patterns that are certainly of this kind; for an exception, those it excuses.
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

/// What is trusted unless settings say more.
pub fn environment() -> &'static [&'static str] {
    data::ENVIRONMENT
}

/// What is let through.
pub fn exceptions() -> &'static [Category] {
    data::EXCEPTIONS
}
