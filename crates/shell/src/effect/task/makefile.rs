//! Reads the recipes of a makefile that holds nothing but plain rules. Anything clever (variables, functions,
//! includes, patterns, conditions) gives nothing, and the target stays the project's code.

use std::collections::BTreeMap;

use crate::effect::task::expansion::{Expansion, order};

/// A rule: what it needs, and its recipe.
#[derive(Default)]
struct Rule {
    needs: Vec<String>,
    recipe: Vec<String>,
}

/// Words that start a line of another kind, even where it looks like a rule.
const DIRECTIVES: [&str; 12] = [
    "include", "-include", "sinclude", "load", "-load", "export", "unexport", "define", "override", "undefine",
    "vpath", "private",
];

/// The recipes that making the target runs, in order. Each line is a shell of its own.
pub(super) fn recipes(text: &str, target: &str) -> Option<Expansion> {
    let rules = rules(text)?;
    rules.get(target)?;
    // A need without a rule is a file, which a built-in rule might still make.
    let order = order(target, &|name| rules.get(name).map(|rule| rule.needs.clone()));
    let made = order.names.iter().filter_map(|name| rules.get(name.as_str()));
    Some(Expansion { texts: made.flat_map(|rule| rule.recipe.clone()).collect(), extent: order.extent })
}

fn rules(text: &str) -> Option<BTreeMap<&str, Rule>> {
    let mut rules: BTreeMap<&str, Rule> = BTreeMap::new();
    let mut current: Vec<&str> = Vec::new();
    for line in text.lines() {
        if line.ends_with('\\') {
            return None;
        }
        if let Some(command) = line.strip_prefix('\t') {
            if current.is_empty() {
                // Outside of a rule, this is no recipe but a line of the makefile.
                return None;
            }
            let command = recipe_line(command)?;
            for target in &current {
                rules.get_mut(target)?.recipe.push(command.clone());
            }
            continue;
        }
        let line = line.split('#').next().unwrap_or_default().trim_end();
        if line.is_empty() {
            continue;
        }
        let (targets, needs) = line.split_once(':')?;
        if line.starts_with(' ') || line.contains(['$', '%', '=', ';', '|']) || needs.starts_with(':') {
            return None;
        }
        if targets.trim() == ".PHONY" {
            current.clear();
            continue;
        }
        if targets.starts_with('.') || targets.split_whitespace().any(|word| DIRECTIVES.contains(&word)) {
            return None;
        }
        current = targets.split_whitespace().collect();
        for target in &current {
            rules.entry(target).or_default().needs.extend(needs.split_whitespace().map(str::to_string));
        }
    }
    Some(rules)
}

/// A line of a recipe as the shell gets it.
fn recipe_line(command: &str) -> Option<String> {
    let plain = command.trim_start_matches(['@', '-', '+', ' ', '\t']);
    let shell = plain.replace("$$", "\u{1}");
    (!shell.contains('$')).then(|| shell.replace('\u{1}', "$"))
}

#[cfg(test)]
mod tests {
    use super::recipes;
    use crate::effect::task::expansion::{Expansion, Extent};

    fn found(texts: &[&str], extent: Extent) -> Option<Expansion> {
        Some(Expansion { texts: texts.iter().map(ToString::to_string).collect(), extent })
    }

    #[test]
    fn plain_rules_are_read() {
        let text = ".PHONY: all\nall: list\n\t@echo done\n\nlist:\n\tls -la\n\techo $$HOME\n";
        assert_eq!(recipes(text, "all"), found(&["ls -la", "echo $HOME", "echo done"], Extent::Whole));
        assert_eq!(recipes(text, "none"), None);
    }

    #[test]
    fn a_circle_is_dropped_and_a_file_may_be_made_by_a_built_in_rule() {
        assert_eq!(recipes("all: all\n\tls", "all"), found(&["ls"], Extent::Whole));
        assert_eq!(recipes("all: file.o\n\tls", "all"), found(&["ls"], Extent::Part));
    }

    #[test]
    fn clever_ones_are_not() {
        for text in [
            "X = 1\nall:\n\tls",
            "include x\nall:\n\tls",
            "include x:y\nall:\n\tls",
            "\tSHELL = ./x\nall:\n\tls",
            "all:\n\t$(CC) x",
            "a%: b\n\tls",
            "all:\n\tls \\\n\t; rm x",
        ] {
            assert_eq!(recipes(text, "all"), None, "{text}");
        }
    }
}
