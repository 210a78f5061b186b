//! What is doubtful about the entries people wrote for auto mode. A remark is certain about the words, not about
//! what they were meant to say: for that a model can be asked, with the same entries.

use std::fmt;

use mayi_core::policy::{Layer, Origin};
use serde::Serialize;

use super::{DEFAULTS, Entry, List, is_set, written};
use crate::load::Loaded;
use crate::problem::Code;

/// What is doubtful about an entry or a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Flaw {
    /// It says nothing.
    Empty,
    /// Another entry says the same.
    Repeated,
    /// A built-in entry says the same.
    BuiltIn,
    /// The list leaves the built-in entries out.
    DropsDefaults,
    /// It excuses what another entry always blocks.
    Contradicts,
    /// It speaks of everything.
    TooBroad,
    /// It looks like a rule, and prose is read here.
    LooksLikeRule,
    /// It stands in a layer where it does not count.
    NotCounted,
}

impl Flaw {
    /// What to do about it.
    pub fn help(self) -> &'static str {
        match self {
            Flaw::Empty => "remove the entry, or say what is meant",
            Flaw::Repeated => "keep one of the two",
            Flaw::BuiltIn => "remove the entry; `$defaults` brings it already",
            Flaw::DropsDefaults => "add \"$defaults\" to the list to keep the built-in entries beside your own",
            Flaw::Contradicts => "an entry under hard_deny always wins; remove one of the two",
            Flaw::TooBroad => "name the action, the target and the circumstances",
            Flaw::LooksLikeRule => "rules go under permissions.allow, ask or deny; write a sentence here",
            Flaw::NotCounted => "move it to your user settings, or to the organisation's",
        }
    }
}

/// A remark on an entry or a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The list.
    pub list: List,
    /// What is doubtful.
    pub flaw: Flaw,
    /// The entry; `None` when the whole list is meant.
    pub entry: Option<String>,
    /// Where it stands.
    pub origin: Option<Origin>,
    /// In words.
    pub message: String,
}

impl fmt::Display for Remark {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}: {}", self.list.key(), self.message)
    }
}

/// Everything doubtful, list by list.
pub fn critique(loaded: &Loaded) -> Vec<Remark> {
    let mut remarks = Vec::new();
    for list in List::ALL {
        let entries = written(loaded, list);
        remarks.extend(dropped(loaded, list, &entries));
        for (index, entry) in entries.iter().enumerate().filter(|(_, entry)| entry.text != DEFAULTS) {
            let earlier = entries.get(..index).unwrap_or_default();
            if let Some((flaw, message)) = flaw(list, entry, earlier) {
                remarks.push(remark(list, flaw, entry, message));
            }
        }
    }
    remarks.extend(contradictions(loaded));
    remarks.extend(uncounted(loaded));
    remarks
}

fn remark(list: List, flaw: Flaw, entry: &Entry, message: String) -> Remark {
    Remark { list, flaw, entry: Some(entry.text.clone()), origin: entry.origin.clone(), message }
}

/// A list that is set and does not keep what is built in.
fn dropped(loaded: &Loaded, list: List, entries: &[Entry]) -> Option<Remark> {
    let count = list.built_in().len();
    let keeps = entries.iter().any(|entry| entry.text == DEFAULTS);
    (is_set(loaded, list) && !keeps && count > 0).then(|| Remark {
        list,
        flaw: Flaw::DropsDefaults,
        entry: None,
        origin: entries.first().and_then(|entry| entry.origin.clone()),
        message: format!("the list has no \"$defaults\", so a model is not told of the {count} built-in entries"),
    })
}

fn flaw(list: List, entry: &Entry, earlier: &[Entry]) -> Option<(Flaw, String)> {
    let words = words(&entry.text);
    let shown = &entry.text;
    if words.is_empty() {
        return Some((Flaw::Empty, "an entry says nothing".to_owned()));
    }
    if is_rule(&entry.text) {
        return Some((Flaw::LooksLikeRule, format!("`{shown}` looks like a rule, and this list is prose")));
    }
    if earlier.iter().any(|other| super::critique::words(&other.text) == words) {
        return Some((Flaw::Repeated, format!("`{shown}` stands there twice")));
    }
    if list.built_in().iter().any(|built_in| says_the_same(built_in, &words)) {
        return Some((Flaw::BuiltIn, format!("`{shown}` is built in")));
    }
    let loosens = matches!(list, List::Exceptions | List::Environment);
    (loosens && is_broad(&words)).then(|| (Flaw::TooBroad, format!("`{shown}` speaks of everything")))
}

/// The words of an entry, without case and punctuation.
pub(super) fn words(text: &str) -> Vec<String> {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect()
}

/// The whole built-in entry, its title alone, or its guidance alone.
fn says_the_same(built_in: &str, own: &[String]) -> bool {
    let (title, guidance) = built_in.split_once(": ").unwrap_or((built_in, ""));
    [built_in, title, guidance].into_iter().any(|part| !part.is_empty() && words(part) == own)
}

/// `Bash(rm:*)`, `mcp__x__y`: something that reads as a rule.
fn is_rule(text: &str) -> bool {
    let tool = text.split('(').next().unwrap_or_default();
    let is_name =
        !tool.is_empty() && tool.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == '*');
    (is_name && text.ends_with(')') && text.contains('(')) || text.starts_with("mcp__")
}

/// Words that mean all there is.
const ALL: [&str; 8] = ["everything", "anything", "all", "any", "every", "always", "whatever", "unrestricted"];
/// Words that add nothing to them.
const FILLING: [&str; 34] = [
    "allow", "allowed", "permit", "is", "are", "the", "a", "an", "to", "do", "run", "of", "this", "that", "it", "be",
    "can", "may", "you", "agent", "please", "trust", "trusted", "safe", "ok", "okay", "fine", "commands", "command",
    "tools", "tool", "actions", "action", "needed",
];

/// Nothing is left when the words for all there is and the small words around them are taken away.
fn is_broad(words: &[String]) -> bool {
    let is = |list: &[&str], word: &String| list.contains(&word.as_str());
    words.iter().any(|word| is(&ALL, word)) && words.iter().all(|word| is(&ALL, word) || is(&FILLING, word))
}

/// Entries that excuse what is always blocked: most of the words of one stand in the other.
fn contradictions(loaded: &Loaded) -> Vec<Remark> {
    let hard = written(loaded, List::HardDeny);
    let mut remarks = Vec::new();
    for entry in written(loaded, List::Exceptions).iter().filter(|entry| entry.text != DEFAULTS) {
        let own = telling(&entry.text);
        let against = hard.iter().filter(|other| other.text != DEFAULTS).find(|other| {
            let theirs = telling(&other.text);
            let shared = own.iter().filter(|word| theirs.contains(word)).count();
            let least = own.len().min(theirs.len());
            least > 0 && shared * 3 >= least * 2
        });
        if let Some(other) = against {
            let message = format!("`{}` excuses what hard_deny always blocks: `{}`", entry.text, other.text);
            remarks.push(remark(List::Exceptions, Flaw::Contradicts, entry, message));
        }
    }
    remarks
}

/// The words that tell entries apart, without their endings' plural.
fn telling(text: &str) -> Vec<String> {
    let tells = |word: &String| word.len() > 2 && !FILLING.contains(&word.as_str()) && !ALL.contains(&word.as_str());
    let singular = |word: String| word.strip_suffix('s').map(str::to_owned).unwrap_or(word);
    let small = ["never", "not", "and", "for", "with", "from", "into"];
    words(text).into_iter().filter(tells).filter(|word| !small.contains(&word.as_str())).map(singular).collect()
}

/// Lists in a layer that may not set them.
fn uncounted(loaded: &Loaded) -> Vec<Remark> {
    let refused = |layer: Layer| {
        loaded.problems().iter().any(|problem| problem.code == Code::KeyNotAllowedHere && problem.origin.layer == layer)
    };
    let mut remarks = Vec::new();
    for read in loaded.read.iter().filter(|read| refused(read.layer)) {
        for list in List::ALL {
            let node = read.document.root().member("autoMode").and_then(|node| node.member(list.key()));
            if let Some(node) = node {
                let (line, column) = (node.place.line, node.place.column);
                let origin = Origin { layer: read.layer, file: read.file.clone(), line, column };
                let message = format!("the list does not count in {} settings", read.layer.word());
                remarks.push(Remark { list, flaw: Flaw::NotCounted, entry: None, origin: Some(origin), message });
            }
        }
    }
    remarks
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::loaded;
    use super::*;

    fn flaws(lists: serde_json::Value) -> Vec<Flaw> {
        let loaded = loaded(&[(Layer::User, json!({ "autoMode": lists }))]);
        critique(&loaded).into_iter().map(|remark| remark.flaw).collect()
    }

    #[test]
    fn each_flaw_is_found_and_sound_entries_are_left_alone() {
        let rows = [
            (json!({"allow": ["$defaults", "Deploys of the docs site to docs.example.com"]}), vec![]),
            (json!({"soft_deny": ["$defaults", "Anything that touches billing"]}), vec![]),
            (json!({"hard_deny": ["Never touch the payments database"]}), vec![]),
            (json!({"allow": ["$defaults", "  "]}), vec![Flaw::Empty]),
            (json!({"allow": ["$defaults", "Use the cache", "use the cache."]}), vec![Flaw::Repeated]),
            (json!({"soft_deny": ["$defaults", "Destructive git"]}), vec![Flaw::BuiltIn]),
            (json!({"soft_deny": ["Touching billing"]}), vec![Flaw::DropsDefaults]),
            (json!({"soft_deny": []}), vec![Flaw::DropsDefaults]),
            (json!({"allow": ["$defaults", "Allow everything"]}), vec![Flaw::TooBroad]),
            (json!({"environment": ["$defaults", "All commands are safe"]}), vec![Flaw::TooBroad]),
            (json!({"allow": ["$defaults", "Bash(rm:*)"]}), vec![Flaw::LooksLikeRule]),
            (
                json!({"allow": ["$defaults", "Pushing to the payments repository"], "hard_deny": ["Never push to the payments repository; pushing there is done by people"]}),
                vec![Flaw::Contradicts],
            ),
        ];
        for (lists, expected) in rows {
            assert_eq!(flaws(lists.clone()), expected, "{lists}");
        }
    }

    #[test]
    fn a_list_where_it_does_not_count_is_named() {
        let loaded = loaded(&[(Layer::Project, json!({"autoMode": {"allow": ["$defaults", "x y"]}}))]);
        let remarks = critique(&loaded);
        assert_eq!(remarks.iter().map(|remark| remark.flaw).collect::<Vec<_>>(), [Flaw::NotCounted]);
        assert_eq!(remarks[0].to_string(), "allow: the list does not count in project settings");
    }
}
