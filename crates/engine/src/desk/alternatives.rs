//! A safer way: what a model may do instead of a command that was denied. Only a command that was itself decided, in
//! the same session, and that passes without anybody being asked, is ever named.

use mayi_core::call::Call;
use mayi_core::verdict::Verdict;

use crate::decide::{Engine, Nobody};
use crate::family::Member;
use crate::observe::Machine;

const KNOWN: &str = include_str!("../../data/alternatives.txt");

/// The first alternative that passes.
pub(super) async fn passing(call: &Call, line: &[Member], machine: Machine) -> Option<String> {
    let command = call.text("command")?;
    let engine = Engine::new(machine, Nobody);
    for candidate in candidates(command) {
        let mut input = call.input.clone();
        *input.get_mut("command")? = candidate.clone().into();
        let outcome = engine.decide_in_line(Call::new(&call.tool, input), line).await.ok()?;
        if outcome.decision.verdict == Verdict::Allow {
            return Some(candidate);
        }
    }
    None
}

/// What could be done instead of a command, in the order of the list. Only plain commands have alternatives: in a line
/// that does more, a changed word may change more than it seems.
fn candidates(command: &str) -> Vec<String> {
    let plain = |letter: char| letter.is_alphanumeric() || "-_./=:,@%+~^ ".contains(letter);
    if !command.chars().all(plain) {
        return Vec::new();
    }
    let words: Vec<&str> = command.split_whitespace().collect();
    let lines = KNOWN.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(" => ")).filter_map(|(from, to)| instead(&words, from, to)).collect()
}

fn instead(words: &[&str], from: &str, to: &str) -> Option<String> {
    let (program, word) = match from.split_once(": ") {
        Some((program, word)) => (program, Some(word)),
        None => (from, None),
    };
    let program: Vec<&str> = program.split(' ').collect();
    if !words.starts_with(&program) {
        return None;
    }
    let Some(word) = word else { return Some(to.to_owned()) };
    if !words.contains(&word) {
        return None;
    }
    let changed = words.iter().map(|own| if *own == word { to } else { own }).filter(|word| *word != "-");
    Some(changed.collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_replaced_left_out_or_the_whole_is() {
        assert_eq!(
            candidates("git push origin feature --force"),
            ["git push origin feature --force-with-lease", "git push origin feature"]
        );
        assert_eq!(candidates("git reset --hard HEAD~3"), ["git reset --keep HEAD~3", "git stash"]);
        assert_eq!(candidates("terraform destroy"), ["terraform plan -destroy"]);
        for none in ["git status", "git push origin main", "git push --force; rm -rf x", "git push --force $REMOTE"] {
            assert_eq!(candidates(none), Vec::<String>::new(), "{none}");
        }
    }

    #[test]
    fn every_line_of_the_list_is_one() {
        for line in KNOWN.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
            let (from, to) = line.split_once(" => ").unwrap_or_else(|| panic!("{line}"));
            assert!(!from.trim().is_empty() && !to.trim().is_empty(), "{line}");
        }
    }
}
