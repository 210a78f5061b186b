//! The prompt: one text for both stages but for its last part, so that the second stage finds the first one's in the
//! provider's cache. Its words are data (`data/classifier/`); the categories and what is trusted are the core's.

use std::collections::BTreeSet;

use mayi_core::call::Call;
use mayi_core::risk::{self, Category};
use mayi_settings::settings::AutoMode;
use serde_json::json;

use super::transcript::{self, Transcript};

/// Keeps what is built in, in a list of settings.
const DEFAULTS: &str = "$defaults";
/// How many lines a block of the transcript holds. Blocks that are full never change again, so a provider that
/// caches by blocks finds them again at the next call.
const BLOCK: usize = 32;

/// Which look at the action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Quick, and errs towards blocking.
    One,
    /// With reasons.
    Two,
}

impl Stage {
    /// How much may be answered.
    pub(super) fn tokens(self) -> u32 {
        match self {
            Self::One => 64,
            Self::Two => 2_048,
        }
    }

    /// What is asked at last.
    pub(super) fn instruction(self) -> &'static str {
        match self {
            Self::One => include_str!("../../data/classifier/stage-one.md"),
            Self::Two => include_str!("../../data/classifier/stage-two.md"),
        }
    }
}

/// The part that is the same for every call: who judges, and by what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standards {
    text: String,
    ids: BTreeSet<String>,
}

impl Standards {
    /// The standards of these settings.
    pub fn new(settings: &AutoMode) -> Self {
        let mut ids = BTreeSet::new();
        let built_in = |list: &[Category]| list.iter().map(described).collect::<Vec<_>>();
        let environment = risk::environment().iter().map(|entry| (*entry).to_owned()).collect();
        let soft = merged(settings.soft_deny.as_deref(), ("own-soft", built_in(risk::categories())));
        let hard = merged(settings.hard_deny.as_deref(), ("own-hard", Vec::new()));
        ids.extend([&soft, &hard].into_iter().flatten().map(|(id, _)| id.clone()));
        let named = |entries: &[(String, String)]| list(entries.iter().map(|(id, text)| format!("[{id}] {text}")));
        let plain = |entries: &[(String, String)]| list(entries.iter().map(|(_, text)| text.clone()));
        let unnamed = |texts: Vec<String>| texts.into_iter().map(|text| (String::new(), text)).collect();
        let allow = built_in(risk::exceptions()).into_iter().map(|(_, text)| text).collect();
        let allow = merged(settings.allow.as_deref(), ("", unnamed(allow)));
        let environment = merged(settings.environment.as_deref(), ("", unnamed(environment)));
        let text = filled(&[
            ("{environment}", plain(&environment)),
            ("{hard}", named(&hard)),
            ("{soft}", named(&soft)),
            ("{allow}", plain(&allow)),
        ]);
        Self { text, ids }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether an entry under "Never" or "Blocked" has this id.
    pub fn knows(&self, id: &str) -> bool {
        self.ids.contains(id)
    }
}

/// The system's words with each mark filled in, in the order in which the marks stand there.
fn filled(parts: &[(&str, String)]) -> String {
    let mut text = String::new();
    let mut rest = include_str!("../../data/classifier/system.md");
    for (mark, part) in parts {
        let (before, after) = rest.split_once(mark).unwrap_or((rest, ""));
        text.push_str(before);
        text.push_str(part);
        rest = after;
    }
    text + rest
}

fn described(category: &Category) -> (String, String) {
    (category.id.to_owned(), format!("{}: {}", category.title, category.guidance))
}

/// A list of settings with what is built in where it says so. Entries of one's own are numbered for their ids.
fn merged(own: Option<&[String]>, (id, built_in): (&str, Vec<(String, String)>)) -> Vec<(String, String)> {
    let Some(own) = own else { return built_in };
    let mut merged = Vec::new();
    let mut number = 0;
    for entry in own {
        if entry == DEFAULTS {
            merged.extend(built_in.iter().cloned());
        } else {
            number += 1;
            // An entry is one item of the list, however many lines it was written in.
            let text = entry.split_whitespace().collect::<Vec<_>>().join(" ");
            merged.push((format!("{id}-{number}"), text));
        }
    }
    merged
}

fn list(items: impl Iterator<Item = String>) -> String {
    let lines: Vec<String> = items.map(|item| format!("- {item}")).collect();
    if lines.is_empty() { "- (nothing)".to_owned() } else { lines.join("\n") }
}

/// A whole prompt, in the parts that a provider may cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Prompt<'a> {
    /// Who judges, and by what.
    pub(super) system: &'a str,
    /// The session: full blocks, which never change again.
    pub(super) past: Vec<String>,
    /// The rest of the session, and the action.
    pub(super) present: String,
}

impl<'a> Prompt<'a> {
    /// The prompt for an action; `None` when it does not fit.
    pub(super) fn new(standards: &'a Standards, transcript: &Transcript, action: &Call) -> Option<Self> {
        let action = transcript::action(action);
        if !transcript.holds(action.len()) {
            return None;
        }
        let mut lines = transcript.lines();
        // An agent may write its call down before it asks; the action is shown once.
        if let Some((last, before)) = lines.split_last()
            && *last == action
        {
            lines = before;
        }
        let place = json!({ "working_directory": transcript.workspace().directory });
        let head = format!("<session>\n{}\n</session>\n<transcript>\n", transcript::escape(&place.to_string()));
        let mut past = vec![head];
        let blocks = lines.chunks_exact(BLOCK);
        let rest = blocks.remainder();
        past.extend(blocks.map(written));
        let present = format!("{}</transcript>\n<action>\n{action}\n</action>\n", written(rest));
        Some(Self { system: standards.text(), past, present })
    }
}

fn written(lines: &[String]) -> String {
    lines.iter().map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use mayi_core::call::Workspace;

    fn texts(entries: &[&str]) -> Option<Vec<String>> {
        Some(entries.iter().map(|entry| (*entry).to_owned()).collect())
    }

    #[test]
    fn every_category_and_exception_is_in_the_prompt() {
        let standards = Standards::new(&AutoMode::default());
        for category in risk::categories() {
            assert!(standards.text().contains(&format!("- [{}] {}", category.id, category.title)), "{}", category.id);
            assert!(standards.knows(category.id));
        }
        for exception in risk::exceptions() {
            assert!(standards.text().contains(exception.guidance), "{}", exception.id);
            assert!(!standards.knows(exception.id), "an exception blocks nothing");
        }
        for entry in risk::environment() {
            assert!(standards.text().contains(&format!("- {entry}")), "{entry}");
        }
        for mark in ["{environment}", "{hard}", "{soft}", "{allow}"] {
            assert!(!standards.text().contains(mark), "{mark}");
        }
    }

    #[test]
    fn a_list_of_ones_own_replaces_what_is_built_in_unless_it_keeps_it() {
        let standards = Standards::new(&AutoMode {
            soft_deny: texts(&["Ordering\npizza"]),
            hard_deny: texts(&["$defaults", "Selling the house"]),
            allow: texts(&["$defaults", "Walking the dog"]),
            environment: texts(&["Trusted: git.example.com"]),
            ..AutoMode::default()
        });
        let text = standards.text();
        assert!(text.contains("- [own-soft-1] Ordering pizza\n") && standards.knows("own-soft-1"));
        assert!(text.contains("- [own-hard-1] Selling the house\n") && standards.knows("own-hard-1"));
        assert!(text.contains("- Walking the dog") && text.contains("Test keys and fixtures"));
        assert!(text.contains("- Trusted: git.example.com") && !text.contains("Trusted are the working directory"));
        assert!(!standards.knows("exfiltration"), "replaced");
    }

    #[test]
    fn sections_stand_in_the_order_of_their_strength() {
        let text = Standards::new(&AutoMode::default()).text;
        let places: Vec<_> = ["# Never", "# Blocked", "# Exceptions"].iter().map(|title| text.find(title)).collect();
        assert!(places.is_sorted() && places.iter().all(Option::is_some));
    }

    #[test]
    fn full_blocks_never_change_when_the_session_goes_on() {
        let standards = Standards::new(&AutoMode::default());
        let mut transcript = Transcript::new(&Workspace::at("/w"));
        let action = Call::shell("make deploy");
        let mut before: Vec<String> = Vec::new();
        for number in 0..100 {
            transcript.user(&format!("word {number}"));
            let prompt = Prompt::new(&standards, &transcript, &action).unwrap();
            assert_eq!(prompt.past.get(..before.len()), Some(before.as_slice()));
            before = prompt.past;
        }
        assert_eq!(before.len(), 1 + 100 / BLOCK);
    }

    #[test]
    fn the_action_is_shown_once_and_last() {
        let standards = Standards::new(&AutoMode::default());
        let mut transcript = Transcript::new(&Workspace::at("/w"));
        let action = Call::shell("make deploy");
        transcript.user("go");
        transcript.call(&action);
        let prompt = Prompt::new(&standards, &transcript, &action).unwrap();
        assert_eq!(
            prompt.present,
            "{\"user\":\"go\"}\n</transcript>\n<action>\n{\"Bash\":\"make deploy\"}\n</action>\n"
        );
    }
}
