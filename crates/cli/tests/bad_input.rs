//! Everything that can be wrong with what mayi is given: a clear message with the place, a safe verdict, the right exit
//! code, and nothing lost or half-written.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, symlink};

use support::World;

/// What a person sees after a file was broken: `check` asks about a command that would have run, `rules add` refuses to
/// touch the file, and no file of the world has changed.
#[track_caller]
fn refuses_to_guess(world: &World, told: &[&str]) {
    let before = world.files();
    let said = world.mayi(&["check", "ls"]);
    assert_eq!(said.code, 10, "a read asks, too: {}{}", said.out, said.err);
    for words in told {
        assert!(said.err.contains(words), "{words:?} is not in\n{}", said.err);
    }
    let added = world.mayi(&["rules", "add", "--to", "project", "Bash(true)"]);
    assert_eq!((added.code, added.out.as_str()), (1, ""), "{}", added.err);
    assert!(added.err.contains(".claude/settings.json"), "{}", added.err);
    assert_eq!(world.mayi(&["rules", "lint"]).code, 1);
    assert_eq!(world.mayi(&["mode", "plan", "--to", "project"]).code, 1);
    assert_eq!(world.files(), before);
}

#[test]
fn broken_json() {
    let world = World::with_settings("{\n  \"permissions\": {\n    \"deny\" [\"Bash(rm:*)\"]\n  }\n}\n");
    let line = " 3 |     \"deny\" [\"Bash(rm:*)\"]\n   |            ^";
    refuses_to_guess(&world, &["error[broken-file]: this is not JSON", "--> project .claude/settings.json:3:12", line]);
    let added = world.mayi(&["rules", "add", "--to", "project", "Bash(true)"]);
    assert!(added.err.contains("project/.claude/settings.json:3:12"), "{}", added.err);
    assert!(added.err.contains(line), "{}", added.err);
}

#[test]
fn a_file_that_was_cut_off() {
    for text in ["{\"permissions\": {\"deny\": [\"Bash(rm", "{", "   ", "// only a comment\n"] {
        let world = World::with_settings(text);
        let said = world.mayi(&["check", "ls"]);
        assert_eq!(said.code, 10, "{text:?}");
        assert!(said.err.contains("error[broken-file]"), "{text:?}: {}", said.err);
    }
}

#[test]
fn json_that_is_no_object() {
    for text in ["[]", "5", "\"text\"", "null"] {
        let world = World::with_settings(text);
        let said = world.mayi(&["check", "ls"]);
        assert_eq!(said.code, 10, "{text}");
        assert!(said.err.contains("settings are an object"), "{text}: {}", said.err);
        assert!(said.err.contains(".claude/settings.json:1:1"), "{text}: {}", said.err);
    }
}

#[test]
fn invalid_utf_8() {
    let world = World::with_settings(b"{\"permissions\": {\"deny\": [\"Bash(\xff:*)\"]}}");
    refuses_to_guess(&world, &["error[broken-file]: the file is not UTF-8 text", "project .claude/settings.json"]);
}

#[test]
fn a_settings_file_that_is_a_directory() {
    let world = World::new();
    fs::create_dir_all(world.path(".claude/settings.json")).unwrap();
    refuses_to_guess(&world, &["error[broken-file]: this is not a file", "project .claude/settings.json"]);
}

#[test]
fn a_settings_file_in_a_loop_of_links() {
    let world = World::new();
    fs::create_dir(world.path(".claude")).unwrap();
    symlink("settings.json", world.path(".claude/settings.json")).unwrap();
    let before = world.files();
    let said = world.mayi(&["check", "ls"]);
    assert_eq!(said.code, 10, "{}", said.err);
    assert!(said.err.contains("project .claude/settings.json"), "{}", said.err);
    assert_eq!(world.mayi(&["rules", "add", "--to", "project", "Bash(true)"]).code, 1);
    assert_eq!(world.files(), before);
}

#[test]
fn a_settings_file_that_is_a_pipe_keeps_nobody_waiting() {
    let world = World::new();
    fs::create_dir(world.path(".claude")).unwrap();
    assert!(world.command("mkfifo").arg(world.path(".claude/settings.json")).status().unwrap().success());
    refuses_to_guess(&world, &["error[broken-file]: this is not a file"]);
}

#[test]
fn a_settings_file_that_may_not_be_read() {
    let world = World::with_settings("{}");
    fs::set_permissions(world.path(".claude/settings.json"), Permissions::from_mode(0o000)).unwrap();
    // The superuser may read everything; then there is nothing to complain of.
    let expected = if fs::read(world.path(".claude/settings.json")).is_ok() { 0 } else { 10 };
    assert_eq!(world.mayi(&["check", "ls"]).code, expected);
}

#[test]
fn a_link_that_leads_out_is_never_written_through() {
    let world = World::new();
    world.write("../home/theirs.json", "{}\n");
    fs::create_dir(world.path(".claude")).unwrap();
    symlink("../../home/theirs.json", world.path(".claude/settings.json")).unwrap();
    let before = world.files();
    let said = world.mayi(&["rules", "add", "--to", "project", "Bash(true)"]);
    assert_eq!(said.code, 1);
    assert!(said.err.contains("through a symbolic link"), "{}", said.err);
    assert_eq!(world.files(), before);
}

#[test]
fn wrong_types_are_pointed_at_and_leave_their_neighbours_alone() {
    let text = "{\n  \"permissions\": {\n    \"allow\": \"Bash(x)\",\n    \"deny\": [\"Bash(curl:*)\", 5]\n  }\n}\n";
    let world = World::with_settings(text);
    let denied = world.mayi(&["check", "curl x"]);
    assert_eq!(denied.code, 11, "the rule beside still counts: {}", denied.out);
    for place in ["project .claude/settings.json:3:14", "project .claude/settings.json:4:30"] {
        assert!(denied.err.contains(place), "{place}: {}", denied.err);
    }
    assert!(denied.err.contains(" 3 |     \"allow\": \"Bash(x)\",\n   |              ^^^^^^^^^"), "{}", denied.err);
    let before = world.files();
    assert_eq!(world.mayi(&["rules", "add", "--to", "project", "Bash(true)"]).code, 1, "a list that is none");
    assert_eq!(world.files(), before);
}

#[test]
fn an_unknown_key_warns_with_the_nearest_and_nothing_more() {
    let world = World::with_settings("{\"permisions\": {\"deny\": [\"Bash(ls)\"]}}");
    let said = world.mayi(&["check", "ls"]);
    assert_eq!((said.code, said.err.as_str()), (0, ""));
    let lint = world.mayi(&["rules", "lint"]);
    assert_eq!(lint.code, 1);
    assert!(lint.out.contains("warning[unknown-key]"), "{}", lint.out);
    assert!(lint.out.contains("did you mean `permissions`?"), "{}", lint.out);
}

#[test]
fn a_deny_that_does_not_parse_makes_its_tool_ask_and_no_other() {
    let world = World::with_settings("{\"permissions\": {\"deny\": [\"Bash(rm -rf\", \"Bash(curl:*)\"]}}");
    let said = world.mayi(&["check", "ls"]);
    assert_eq!(said.code, 10);
    assert!(said.err.contains("error[malformed-rule]: `Bash(rm -rf` is no rule"), "{}", said.err);
    assert!(said.err.contains("project .claude/settings.json:1:27"), "{}", said.err);
    assert_eq!(world.mayi(&["check", "curl x"]).code, 11, "its neighbour still denies");
    assert_eq!(world.mayi(&["check", "--tool", "Read", "a"]).code, 0, "another tool is not held up");
}

#[test]
fn an_allow_that_does_not_parse_allows_nothing() {
    let world = World::new();
    world
        .write("../home/.claude/settings.json", "{\"permissions\": {\"allow\": [\"Bash(frobnicate\", \"Bash(a) b\"]}}");
    let said = world.mayi(&["check", "frobnicate"]);
    assert_eq!(said.code, 10);
    assert!(said.err.contains("user ~/.claude/settings.json:1:28"), "{}", said.err);
}

#[test]
fn ten_megabytes_of_rules_are_read_and_more_is_refused() {
    let rules: Vec<String> = (0..300_000).map(|number| format!("\"Bash(tool-{number} do something:*)\"")).collect();
    let text = format!("{{\"permissions\": {{\"deny\": [{}]}}}}", rules.join(","));
    assert!(text.len() > 10_000_000);
    let world = World::with_settings(&text);
    let denied = world.mayi(&["check", "tool-299999 do something now"]);
    assert_eq!(denied.code, 11, "{}", denied.err);
    let giant = World::with_settings(format!("{{\"permissions\": {{\"deny\": [\"{}\"]}}}}", "x".repeat(17 << 20)));
    let said = giant.mayi(&["check", "ls"]);
    assert_eq!(said.code, 10);
    assert!(said.err.contains("more than 16 MiB"), "{}", said.err);
}

#[test]
fn deep_nesting_is_an_error_and_not_a_crash() {
    let world = World::with_settings("[".repeat(100_000));
    let said = world.mayi(&["check", "ls"]);
    assert_eq!(said.code, 10);
    assert!(said.err.contains("error[broken-file]"), "{}", said.err);
    let deep = format!("{{\"command\": {}", "[".repeat(50_000));
    assert_eq!(world.mayi(&["check", "--input", &deep]).code, 2);
}

#[test]
fn broken_settings_on_the_command_line() {
    let world = World::new();
    let said = world.mayi(&["check", "--settings", "{\"permissions\": }", "ls"]);
    assert_eq!(said.code, 10);
    assert!(said.err.contains("flag --settings:1:"), "{}", said.err);
    let folder = world.mayi(&["check", "--settings", ".", "ls"]);
    assert_eq!(folder.code, 10, "a directory is no settings: {}", folder.err);
    let rule = world.mayi(&["check", "--disallowed-tools", "Bash(", "ls"]);
    assert_eq!(rule.code, 10, "{}", rule.err);
    assert!(rule.err.contains("error[malformed-rule]"), "{}", rule.err);
}

#[test]
fn a_tool_input_that_misses_its_field_is_denied() {
    let world = World::new();
    for (tool, input, words) in [
        ("Bash", "{}", "`command` is missing"),
        ("Bash", "{\"command\": [\"ls\"]}", "`command` is not text"),
        ("Read", "{\"path\": \"a\"}", "`file_path` is missing"),
        ("Write", "{\"file_path\": null}", "`file_path` is"),
        ("WebFetch", "{\"url\": 5}", "`url` is not text"),
        ("Bash", "[]", "the input is not a JSON object"),
        ("Bash", "\"ls\"", "the input is not a JSON object"),
    ] {
        let said = world.mayi(&["check", "--tool", tool, "--input", input]);
        assert_eq!(said.code, 11, "{tool} {input}: {}", said.out);
        assert!(said.out.contains(words), "{tool} {input}: {}", said.out);
    }
}

#[test]
fn input_that_is_no_json_is_pointed_at() {
    let world = World::new();
    let said = world.mayi(&["check", "--input", "{\"command\":\n  ls}"]);
    assert_eq!((said.code, said.out.as_str()), (2, ""));
    assert!(said.err.contains("--> --input:2:3\n   |\n 2 |   ls}\n   |   ^"), "{}", said.err);
    for input in ["", "{", "ls", "{'command': 'ls'}", "{\"command\": \"ls\"} x"] {
        let said = world.mayi(&["check", "--input", input]);
        assert_eq!((said.code, said.out.as_str()), (2, ""), "{input:?}");
        assert!(said.err.contains("--input is no JSON"), "{input:?}: {}", said.err);
    }
}

#[test]
fn a_path_in_a_loop_of_links_is_denied() {
    let world = World::new();
    symlink("loop", world.path("loop")).unwrap();
    for arguments in [&["check", "--tool", "Read", "loop"][..], &["check", "--tool", "Write", "loop/below"]] {
        let said = world.mayi(arguments);
        assert_eq!(said.code, 11, "{}", said.out);
        assert!(said.out.contains("is a loop of symbolic links"), "{}", said.out);
    }
}

#[test]
fn secrets_in_settings_are_never_shown() {
    let secret = format!("ghp_{}", "a1B2c3D4e5F6".repeat(3));
    let world = World::with_settings(format!("{{\"permissions\": {{\"deny\": [\"Bash(curl -H {secret}\"]}}}}"));
    for arguments in
        [&["check", "ls"][..], &["check", "--json", "ls"], &["rules", "lint"], &["rules", "lint", "--json"]]
    {
        let said = world.mayi(arguments);
        assert!(!said.out.contains(&secret) && !said.err.contains(&secret), "{arguments:?}: {}{}", said.out, said.err);
    }
}
