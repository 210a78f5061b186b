//! The table of tool names: every entry names a tool of ours, its fields, and no tool twice.

#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "a test fails by panicking")]

use mayi_agents::translate::catalogue::{AGENTS, Shape};
use mayi_core::catalogue;

#[test]
fn every_entry_is_a_tool_of_ours() {
    for (agent, tools) in AGENTS {
        for named in *tools {
            assert!(
                catalogue::built_in(named.is).is_some(),
                "{agent} {}: `{}` is no tool of ours",
                named.name,
                named.is
            );
        }
    }
}

#[test]
fn every_tool_that_is_judged_by_a_field_has_it() {
    for (agent, tools) in AGENTS {
        for named in *tools {
            let field = catalogue::built_in(named.is).unwrap().field;
            let needed = match named.shape {
                Shape::Patch => Some("patch"),
                Shape::Plain | Shape::Words | Shape::Urls => field,
            };
            let has = |needed: &str| named.fields.iter().any(|(ours, theirs)| *ours == needed && !theirs.is_empty());
            assert!(needed.is_none_or(has), "{agent} {}: `{}` is judged by {needed:?}", named.name, named.is);
        }
    }
}

#[test]
fn only_commands_have_directories_and_lists_of_words() {
    for (agent, tools) in AGENTS {
        for named in *tools {
            let runs = catalogue::built_in(named.is).unwrap().runs_commands();
            let moves = !named.directory.is_empty() && named.shape != Shape::Patch;
            assert!(runs || !(moves || named.shape == Shape::Words), "{agent} {}", named.name);
        }
    }
}

#[test]
fn tables_are_sorted_and_belong_to_a_dialect() {
    for (agent, tools) in AGENTS {
        assert!(mayi_agents::dialect::named(agent).is_some(), "{agent}");
        assert!(tools.windows(2).all(|pair| pair[0].name < pair[1].name), "{agent}");
    }
}

#[test]
fn dialects_are_found_by_their_exact_name() {
    let names: Vec<_> = mayi_agents::dialect::ALL.iter().map(|dialect| dialect.name).collect();
    let expected = ["claude-code", "codex", "gemini", "copilot", "cursor", "opencode", "cline", "goose", "generic"];
    assert_eq!(names, expected);
    assert!(mayi_agents::dialect::named("Codex").is_none());
}
