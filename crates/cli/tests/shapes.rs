//! What programs read: JSON shapes, the schema, completions, exit codes through pipes; and colours for people only.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use serde_json::{Value, json};
use support::World;

const PROJECT: &str = r#"{
  "permissions": {
    "allow": ["Bash(npm test:*)"],
    "deny": ["Bash(npm:*)", "Bash(curl:*)"]
  }
}
"#;

fn trusted() -> World {
    let world = World::with_settings(PROJECT);
    assert_eq!(world.mayi(&["trust"]).code, 0);
    world
}

#[test]
fn check_answers_as_json() {
    let said = trusted().mayi(&["check", "--json", "curl x"]);
    assert_eq!((said.code, said.err.as_str()), (11, ""));
    let answer = said.json();
    let keys: Vec<&String> = answer.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["tool", "verdict", "step", "reason", "message", "terms", "trace", "effects", "problems"]);
    let origin = json!({"layer": "project", "file": ".claude/settings.json", "line": 4, "column": 29});
    assert_eq!(answer["reason"]["rule"], json!({"list": "deny", "rule": "Bash(curl:*)", "origin": origin}));
    assert_eq!((&answer["verdict"], &answer["step"]), (&json!("deny"), &json!("1d")));
    let broken = World::with_settings("{").mayi(&["check", "--json", "ls"]);
    assert_eq!((broken.code, broken.json()["problems"][0]["code"].as_str()), (10, Some("broken-file")));
}

#[test]
fn lint_answers_in_the_stable_shape() {
    let said = trusted().mayi(&["rules", "lint", "--json"]);
    assert_eq!(said.code, 1);
    let problems = said.json();
    let shadowed = problems.as_array().unwrap().iter().find(|problem| problem["code"] == "deny-shadowed").unwrap();
    assert_eq!(shadowed["rule"], "Bash(npm test:*)");
    assert_eq!(shadowed["list"], "allow");
    assert_eq!(shadowed["severity"], "warning");
    let origin = json!({"layer": "project", "file": ".claude/settings.json", "line": 3, "column": 15});
    assert_eq!(shadowed["origin"], origin);
    assert_eq!(shadowed["by"], json!(["Bash(npm:*)"]));
    assert!(shadowed["message"].is_string() && shadowed["fix"].is_string());
    let clean = World::new().mayi(&["rules", "lint", "--json"]);
    assert_eq!((clean.code, clean.json()), (0, json!([])));
}

#[test]
fn notes_alone_fail_no_build() {
    let untrusted = World::with_settings("{\"permissions\": {\"allow\": [\"Bash(frobnicate one:*)\"]}}");
    let said = untrusted.mayi(&["rules", "lint", "--json"]);
    assert_eq!((said.code, said.json()[0]["code"].as_str()), (0, Some("needs-trust")));
}

#[test]
fn the_list_of_rules_answers_as_json() {
    let rules = World::with_settings(PROJECT).mayi(&["rules", "list", "--json"]).json();
    let shown = |rule: &Value| format!("{} {} {}", rule["list"], rule["rule"], rule["live"]);
    let shown: Vec<String> = rules.as_array().unwrap().iter().map(shown).collect();
    let expected =
        [r#""deny" "Bash(npm:*)" true"#, r#""deny" "Bash(curl:*)" true"#, r#""allow" "Bash(npm test:*)" false"#];
    assert_eq!(shown, expected);
    assert_eq!(rules[0]["origin"]["line"], 4);
}

/// A little of what a schema means: enough to tell a typical file from a wrong one.
fn accepts(whole: &Value, schema: &Value, value: &Value) -> bool {
    if let Some(name) = schema["$ref"].as_str() {
        return accepts(whole, whole.pointer(&name[1..]).unwrap(), value);
    }
    let any = |key: &str| {
        let options = schema[key].as_array();
        options.is_none_or(|options| options.iter().any(|option| accepts(whole, option, value)))
    };
    let is = |word: &Value| match word.as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("integer" | "number") => value.is_number(),
        Some("null") => value.is_null(),
        other => panic!("an unknown type {other:?}"),
    };
    let typed = match &schema["type"] {
        Value::Null => true,
        Value::Array(words) => words.iter().any(is),
        word @ (Value::String(_) | Value::Bool(_) | Value::Number(_) | Value::Object(_)) => is(word),
    };
    let listed = schema["enum"].as_array().is_none_or(|words| words.contains(value));
    let members = value.as_object().into_iter().flatten().all(|(key, member)| match schema["properties"].get(key) {
        Some(schema) => accepts(whole, schema, member),
        None => schema["additionalProperties"] != json!(false),
    });
    let items = value
        .as_array()
        .into_iter()
        .flatten()
        .all(|item| schema.get("items").is_none_or(|of| accepts(whole, of, item)));
    typed && listed && members && items && any("anyOf") && any("oneOf")
}

#[test]
fn the_schema_accepts_a_typical_file_and_refuses_wrong_types() {
    let schema = World::new().mayi(&["schema"]).json();
    assert!(schema["$schema"].as_str().unwrap().starts_with("https://json-schema.org/"));
    let typical = json!({
        "permissions": {
            "allow": ["Bash(npm test:*)", {"tool": "Bash", "content": "ls"}],
            "ask": ["Bash(git push:*)"],
            "deny": ["Read(./.env)"],
            "defaultMode": "acceptEdits",
            "additionalDirectories": ["../other"]
        },
        "env": {"A": "1"},
        "hooks": {},
        "sandbox": {"enabled": true}
    });
    assert!(accepts(&schema, &schema, &typical));
    assert!(schema["properties"]["permissions"]["properties"]["deny"].is_object());
    for wrong in [
        json!([]),
        json!({"permissions": []}),
        json!({"permissions": {"allow": "Bash"}}),
        json!({"permissions": {"allow": [5]}}),
        json!({"permissions": {"defaultMode": "fast"}}),
    ] {
        assert!(!accepts(&schema, &schema, &wrong), "{wrong}");
    }
}

#[test]
fn every_shell_gets_its_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let said = World::new().mayi(&["completions", shell]);
        assert_eq!(said.code, 0);
        assert!(said.out.contains("mayi") && said.out.contains("lint") && said.out.contains("unattended"), "{shell}");
    }
    let world = World::new();
    let checked = world.shell("mayi completions bash > c.sh && bash -n c.sh");
    assert_eq!((checked.code, checked.out.as_str()), (0, ""), "bash reads what it is given");
}

#[test]
fn help_fits_a_screen() {
    for arguments in [
        &["--help"][..],
        &["check", "--help"],
        &["run", "--help"],
        &["rules", "--help"],
        &["rules", "add", "--help"],
        &["mode", "--help"],
        &["trust", "-h"],
        &["install", "--help"],
        &["doctor", "--help"],
    ] {
        let said = World::new().mayi(arguments);
        assert_eq!(said.code, 0);
        assert!(said.out.lines().count() <= 24, "{arguments:?} has {} lines", said.out.lines().count());
        assert!(said.out.lines().all(|line| line.chars().count() <= 100), "{arguments:?}");
    }
    assert!(World::new().mayi(&["--version"]).out.starts_with("mayi "));
}

#[test]
fn the_first_help_names_every_command_but_those_for_programs() {
    let world = World::new();
    let help = world.mayi(&["--help"]).out;
    // Completions know all of them.
    let script = world.mayi(&["completions", "fish"]).out;
    let names = script.lines().filter(|line| line.contains("__fish_mayi_needs_command") && line.contains("-a \""));
    let names: Vec<&str> = names.filter_map(|line| line.split("-a \"").nth(1)?.split('"').next()).collect();
    assert!(names.len() > 10, "{names:?}");
    for name in names.into_iter().filter(|name| !["hook", "ship"].contains(name)) {
        assert!(help.contains(&format!(" {name}")), "{name} is not in the help");
    }
}

#[test]
fn colours_are_for_terminals() {
    let world = World::with_settings("{\"permisions\": {}}");
    for line in ["mayi check ls", "mayi rules lint", "mayi mode", "mayi check --mode dontAsk frobnicate"] {
        assert!(!world.shell(line).out.contains('\u{1b}'), "{line}: a pipe gets none");
        let forced = world.shell(&format!("CLICOLOR_FORCE=1 {line}")).out;
        assert!(forced.contains('\u{1b}'), "{line}");
        assert!(!world.shell(&format!("NO_COLOR=1 CLICOLOR_FORCE=1 {line}")).out.contains('\u{1b}'), "{line}");
    }
}

#[test]
fn what_comes_from_outside_never_reaches_a_terminal_raw() {
    let world = World::with_settings(
        "{\"permissions\": {\"deny\": [\"Bash(\\u001b[2J:*)\", \"Bash(x\\u202e\"]}, \"\\u001b]0;x\": 1}",
    );
    let odd = "frobnicate \u{1b}[2J\u{202e}\r";
    for arguments in [
        &["check", odd][..],
        &["check", "--tool", odd, "--input", "{}"],
        &["check", "--cwd", odd, "ls"],
        &["check", "--settings", odd, "ls"],
        &["check", "--input", odd],
        &["rules", "list"],
        &["rules", "lint"],
        &["rules", "add", odd],
        &["rules", "lint", "--explain", odd],
        &["trust", odd],
    ] {
        let said = world.mayi(arguments);
        let shown = format!("{}{}", said.out, said.err);
        assert!(!shown.contains(['\u{1b}', '\u{202e}', '\r']), "{arguments:?}: {shown:?}");
    }
}

#[test]
fn a_reader_that_has_read_enough_is_no_error_to_tell_of() {
    let world = World::with_settings(PROJECT);
    for line in
        ["mayi schema | head -1", "mayi rules list | true", "mayi completions zsh | head -1", "mayi check ls | true"]
    {
        let said = world.shell(line);
        assert_eq!(said.code, 0, "{line}");
        assert!(!said.out.contains("panicked") && !said.out.contains("error"), "{line}: {}", said.out);
    }
}

/// Tried as a user that the system does not know.
#[cfg(target_os = "linux")]
#[test]
fn a_user_without_a_home_is_asked_about_everything() {
    let world = World::new();
    let stranger = "unset HOME; unshare --map-user=54321";
    let said = world.shell(&format!("{stranger} mayi check ls"));
    assert_eq!(said.code, 10, "{}", said.out);
    assert!(said.out.contains("home directory that is not known"), "{}", said.out);
    let said = world.shell(&format!("{stranger} mayi trust"));
    assert_eq!(said.code, 1, "{}", said.out);
    assert!(said.out.contains("there is no home directory"), "{}", said.out);
}
