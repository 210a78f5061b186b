//! Codex CLI: `prefix_rule` in `rules/*.rules`. The strictest of the rules that match wins there as here.

use std::path::{Path, PathBuf};

use mayi_core::rule::text::escape;
use mayi_core::verdict::Verdict;

use super::starlark::{self, Invocation, Literal};
use super::{Draft, Effect, Importer, Subject, Unreadable, files_in};

pub(super) const IMPORTER: Importer = Importer { agent: "codex", files, read };

/// A rule with more spellings than this is left out.
const SPELLINGS: usize = 256;

fn files(directory: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    let folders = home.into_iter().chain([directory]).map(|base| base.join(".codex/rules"));
    folders.flat_map(|folder| files_in(&folder, "rules")).collect()
}

fn read(text: &str) -> Result<Draft, Unreadable> {
    let mut draft = Draft::default();
    for call in starlark::read(text)? {
        match call.name.as_str() {
            "prefix_rule" => prefix_rule(&call, &mut draft)?,
            // Which file a program's name leads to is looked up on the machine here, and never taken from rules.
            "host_executable" => draft.remark(
                Effect::Stricter,
                call.line,
                "`host_executable` has no words here: a program given by its path asks",
            ),
            other => draft.remark(Effect::Lost, call.line, format!("`{other}` is not known: it is left out")),
        }
    }
    Ok(draft)
}

fn prefix_rule(call: &Invocation, draft: &mut Draft) -> Result<(), Unreadable> {
    let line = call.line;
    let wrong = |problem: &str| Err(Unreadable { line, problem: problem.to_owned() });
    let verdict = match call.argument("decision") {
        None => Verdict::Allow,
        Some(Literal::Text(word)) => match word.as_str() {
            "allow" => Verdict::Allow,
            "prompt" => Verdict::Ask,
            "forbidden" => Verdict::Deny,
            other => return wrong(&format!("`{other}` is no decision")),
        },
        Some(Literal::List(_)) => return wrong("`decision` is no text"),
    };
    let Some(Literal::List(pattern)) = call.argument("pattern") else { return wrong("`pattern` is no list") };
    let Some(spellings) = spellings(pattern) else {
        draft.lose(verdict, line, "with words that need quotes, or with too many spellings");
        return Ok(());
    };
    for words in spellings {
        let text = words.join(" ");
        // The strictest wins there too, so strength never matters.
        let subject = Subject::command(format!("{}:*", escape(&text)), format!("{text}*"));
        draft.say(verdict, subject, (0, line));
    }
    Ok(())
}

/// Every way to choose one of the alternatives of each word; `None` if a word is none that commands are written with.
fn spellings(pattern: &[Literal]) -> Option<Vec<Vec<String>>> {
    let mut all: Vec<Vec<String>> = vec![Vec::new()];
    for item in pattern {
        let alternatives = match item {
            Literal::Text(word) => vec![word],
            Literal::List(words) => words
                .iter()
                .map(|word| match word {
                    Literal::Text(word) => Some(word),
                    Literal::List(_) => None,
                })
                .collect::<Option<Vec<_>>>()?,
        };
        if alternatives.len() * all.len() > SPELLINGS || !alternatives.iter().all(|word| is_plain(word)) {
            return None;
        }
        let with = |before: &Vec<String>| {
            let longer = |word: &&String| before.iter().cloned().chain([(*word).clone()]).collect();
            alternatives.iter().map(longer).collect::<Vec<Vec<String>>>()
        };
        all = all.iter().flat_map(with).collect();
    }
    Some(all).filter(|all| all.iter().all(|words| !words.is_empty()))
}

/// Whether a word is written in a command as it is.
fn is_plain(word: &str) -> bool {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./:=@+,%^*".contains(letter);
    !word.is_empty() && word.chars().all(plain)
}
