//! Reads the recipes of a justfile. Lines that hold more than shell text (interpolations, settings, other files) are
//! shown as far as they are known, and the recipe counts as the project's code as well.

use std::collections::BTreeMap;

use crate::effect::task::expansion::{Expansion, Extent, order};
use crate::effect::task::is_shell;

/// A recipe: what it needs, and its lines without their indentation.
struct Recipe<'t> {
    needs: Vec<String>,
    lines: Vec<&'t str>,
    extent: Extent,
}

/// What the whole file says.
struct Justfile<'t> {
    recipes: BTreeMap<&'t str, Recipe<'t>>,
    aliases: BTreeMap<&'t str, &'t str>,
    /// Settings, imports and evaluated variables make every recipe more than its text.
    extent: Extent,
}

/// Settings under which recipes run as they are written.
const HARMLESS_SETTINGS: [&str; 3] = ["quiet", "positional-arguments", "ignore-comments"];
/// Attributes under which a recipe runs as it is written.
const HARMLESS_ATTRIBUTES: [&str; 5] = ["private", "group", "doc", "confirm", "no-exit-message"];
/// Stands in a shell line for what only `just` knows.
const HOLE: &str = "${interpolated_by_just}";

/// What a recipe and the recipes it needs run.
pub(super) fn recipe(text: &str, name: &str) -> Option<Expansion> {
    let file = read(text)?;
    let name = file.aliases.get(name).copied().unwrap_or(name);
    file.recipes.get(name)?;
    let order = order(name, &|name| file.recipes.get(name).map(|recipe| recipe.needs.clone()));
    let mut all = Expansion { texts: Vec::new(), extent: file.extent.max(order.extent) };
    for recipe in order.names.iter().filter_map(|name| file.recipes.get(name.as_str())) {
        let own = shell_texts(&recipe.lines);
        all.texts.extend(own.texts);
        all.extent = all.extent.max(recipe.extent).max(own.extent);
    }
    Some(all)
}

fn read(text: &str) -> Option<Justfile<'_>> {
    let mut file = Justfile { recipes: BTreeMap::new(), aliases: BTreeMap::new(), extent: Extent::Whole };
    let mut current = None;
    let mut attributes = Extent::Whole;
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        if line.starts_with([' ', '\t']) {
            file.recipes.get_mut(current?)?.lines.push(line.trim_start());
            continue;
        }
        current = None;
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [first, ..] if first.starts_with('#') => {}
            [first, ..] if first.starts_with('[') => attributes = attributes.max(attribute(line)),
            ["set", "working-directory", ..] => return None,
            ["set", name, ..] if HARMLESS_SETTINGS.contains(name) => {}
            ["set" | "import" | "import?" | "mod" | "mod?" | "unexport", ..] => file.extent = Extent::Part,
            ["alias", name, ":=", target] => _ = file.aliases.insert(name, target),
            _ => match line.split_once(":=") {
                Some((left, value)) if !left.contains(':') => file.extent = file.extent.max(assigned(left, value)?),
                Some(_) | None => {
                    let (name, mut recipe) = header(line)?;
                    recipe.extent = recipe.extent.max(std::mem::replace(&mut attributes, Extent::Whole));
                    if let Some(other) = file.recipes.remove(name) {
                        // One for each system, or the later takes the place of the earlier: both are looked at.
                        recipe.extent = Extent::Part;
                        recipe.needs.extend(other.needs);
                        recipe.lines.extend(other.lines);
                    }
                    file.recipes.insert(name, recipe);
                    current = Some(name);
                }
            },
        }
    }
    Some(file)
}

fn attribute(line: &str) -> Extent {
    let name = line.trim_start_matches('[').split(['(', ']', ':', ',']).next().unwrap_or_default().trim();
    let only = line.matches(['[', ',']).count() == 1;
    if only && HARMLESS_ATTRIBUTES.contains(&name) { Extent::Whole } else { Extent::Part }
}

/// A variable. Its value may be evaluated whether it is used or not; one that goes on in the next line hides which
/// lines are recipes.
fn assigned(left: &str, value: &str) -> Option<Extent> {
    let mut open = None;
    let mut chars = value.trim().chars();
    let mut strings = 0;
    let mut bare = false;
    while let Some(char) = chars.next() {
        match (open, char) {
            (Some('"'), '\\') => _ = chars.next(),
            (Some(quote), _) if quote == char => open = None,
            (Some(_), _) => {}
            (None, '\'' | '"' | '`') => {
                open = Some(char);
                strings += 1;
                bare = bare || char == '`';
            }
            (None, _) => bare = true,
        }
    }
    if open.is_some() || value.contains("'''") || value.contains("\"\"\"") || value.contains("```") {
        return None;
    }
    let plain = strings == 1 && !bare && left.split_whitespace().count() == 1;
    Some(if plain { Extent::Whole } else { Extent::Part })
}

/// `name parameters: needs && after`.
fn header(line: &str) -> Option<(&str, Recipe<'_>)> {
    let (left, right) = line.split_once(':')?;
    let name = left.trim_start_matches('@').split_whitespace().next()?;
    let clever = left.contains(['`', '(', '\'', '"', '$']) || right.contains(['(', '`', '\'', '"', ':']);
    let needs = right.split('#').next().unwrap_or_default();
    let is_name = |word: &&str| !word.is_empty() && *word != "&&";
    let needs = needs.split([' ', '\t', '(', ')']).filter(is_name).map(str::to_string).collect();
    let extent = if clever { Extent::Part } else { Extent::Whole };
    Some((name, Recipe { needs, lines: Vec::new(), extent }))
}

/// Each line is a shell of its own, unless the first names an interpreter for all of them.
fn shell_texts(lines: &[&str]) -> Expansion {
    let mut extent = Extent::Whole;
    let whole = lines.join("\n");
    if whole.starts_with("#!") {
        let texts = if is_shell(&whole) { vec![filled(&whole)] } else { Vec::new() };
        return Expansion { texts, extent: Extent::Part };
    }
    if whole.contains("{{") {
        extent = Extent::Part;
    }
    let mut texts = Vec::new();
    let mut started = String::new();
    for line in lines {
        let line = if started.is_empty() { line.trim_start_matches(['@', '-', '?']) } else { line };
        started.push_str(line.strip_suffix('\\').unwrap_or(line));
        if !line.ends_with('\\') {
            texts.push(filled(&std::mem::take(&mut started)));
        }
    }
    if !started.is_empty() {
        texts.push(filled(&started));
    }
    Expansion { texts, extent }
}

/// The text with a variable that nobody knows in place of each interpolation.
fn filled(text: &str) -> String {
    let mut parts = text.split("{{");
    let mut filled = parts.next().unwrap_or_default().to_string();
    for part in parts {
        filled.push_str(HOLE);
        filled.push_str(part.split_once("}}").map_or("", |(_, rest)| rest));
    }
    filled
}

#[cfg(test)]
mod tests {
    use super::recipe;
    use crate::effect::task::expansion::{Expansion, Extent};

    fn found(texts: &[&str], extent: Extent) -> Option<Expansion> {
        Some(Expansion { texts: texts.iter().map(ToString::to_string).collect(), extent })
    }

    #[test]
    fn plain_recipes_are_read() {
        let text = "# ours\nset quiet\nx := 'a'\nalias l := list\n\n[private]\nall: list && last # all\n    \
                    @-echo all \\\n      done\n    pwd\n\nlist:\n\tls -la\nlast:\n  date\n";
        let all = ["ls -la", "date", "echo all done", "pwd"];
        assert_eq!(recipe(text, "all"), found(&all, Extent::Whole));
        assert_eq!(recipe(text, "l"), found(&["ls -la"], Extent::Whole));
        assert_eq!(recipe(text, "none"), None);
    }

    #[test]
    fn what_only_just_knows_is_the_projects_code() {
        let hole = ["rm ${interpolated_by_just}/x"];
        assert_eq!(recipe("a dir:\n  rm {{dir}}/x", "a"), found(&hole, Extent::Part));
        for text in [
            "set shell := ['x']\na:\n  ls",
            "import 'b'\na:\n  ls",
            "mod b\na:\n  ls",
            "x := `id`\na:\n  ls",
            "export PATH := 'x'\na:\n  ls",
            "a: missing\n  ls",
            "a: (a 'x')\n  ls",
            "[no-cd]\na:\n  ls",
            "a x=`id`:\n  ls",
        ] {
            assert_eq!(recipe(text, "a"), found(&["ls"], Extent::Part), "{text}");
        }
        assert_eq!(recipe("a:\n  #!/usr/bin/env python\n  ls", "a"), found(&[], Extent::Part));
        assert_eq!(recipe("a:\n  #!/bin/sh\n  ls", "a"), found(&["#!/bin/sh\nls"], Extent::Part));
    }

    #[test]
    fn what_hides_the_recipes_gives_nothing() {
        for text in [
            "x := '''\na:\n  ls\n'''",
            "x := '\na:\n  ls\n'",
            "  ls\na:\n  ls",
            "set working-directory := 'x'\na:\n  ls",
        ] {
            assert_eq!(recipe(text, "a"), None, "{text}");
        }
    }
}
