//! What programs read, held against the schemas of the book: real answers of every command, and answers that lack
//! something. The page about them is made from the schemas; `MAYI_BLESS=1` writes it.
#![cfg(unix)]
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

mod support;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use jsonschema::Validator;
use mayi_core::mode::Mode;
use mayi_core::policy::Layer;
use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use mayi_settings::Code;
use serde_json::{Value, json};
use support::World;

/// The definitions that are whole answers, in the order of the page.
const ANSWERS: [&str; 8] = ["check", "batch", "lint", "diff", "test", "replay", "suggest", "why"];

const SETTINGS: &str = r#"{
  "permissions": {
    "allow": ["Bash(npm test:*)"],
    "ask": ["Bash(git push:*)"],
    "deny": ["Bash(rm:*)", "Read(*.env)"]
  }
}
"#;

const CHANGED: &str =
    r#"{"permissions": {"allow": ["Bash(make)"], "ask": ["Bash(git push:*)"], "deny": ["WebFetch"]}}"#;

const TESTS: &str = "\
| call | verdict | step | rule |
| --- | --- | --- | --- |
| `rm -rf build` | deny | 1d | `Bash(rm:*)` |
| `ls` | ask | | |
";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference")
}

fn schema() -> Value {
    serde_json::from_str(&std::fs::read_to_string(folder().join("shapes.json")).unwrap()).unwrap()
}

/// The schema of one definition, closed: the published one lets members be added, this one notices them.
fn closed(definition: &str) -> Validator {
    let mut schema = schema();
    close(&mut schema["$defs"]);
    schema["$ref"] = json!(format!("#/$defs/{definition}"));
    jsonschema::draft202012::new(&schema).unwrap()
}

fn close(schema: &mut Value) {
    match schema {
        Value::Object(members) => {
            if members.contains_key("properties") && members.contains_key("type") {
                members.insert("additionalProperties".to_owned(), json!(false));
            }
            // What stands below these speaks of an object that is closed already.
            let open = members.iter_mut().filter(|(name, _)| !["if", "then"].contains(&name.as_str()));
            open.for_each(|(_, below)| close(below));
        }
        Value::Array(list) => list.iter_mut().for_each(close),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Real answers, each with the definition that it must keep to.
fn answers() -> Vec<(&'static str, Value)> {
    let world = World::with_settings(SETTINGS);
    world.write("new.json", CHANGED);
    world.write("policy.mayi.md", TESTS);
    world.write("mayi-tests/unreadable.toml", "[[test]]\ncall = \"git push\"\nverdict = \"never\"\n");
    let ask = r#"printf '{"session_id":"s","hook_event_name":"PreToolUse","cwd":"%s","permission_mode":"default","tool_name":"Bash","tool_use_id":"%s","tool_input":{"command":"%s"}}' "$PWD" "$c" "$c" | mayi hook claude-code"#;
    let calls = "make make 'rm -rf x' 'git push' 'npm test' 'cargo test one' 'cargo test two' 'cat x.env'";
    let asked = world.shell(&format!("for c in {calls}; do {ask} || exit 9; done"));
    assert_eq!(asked.code, 0, "{}", asked.out);
    let shadowed = r#"{"permissions": {"allow": ["Bash(npm:*)"], "deny": ["Bash(npm:*)"]}}"#;
    let doubling = r#"{"permissions": {"allow": ["Bash(make)"]}}"#;
    let lines = "{\"id\": 1, \"tool\": \"Bash\", \"input\": {\"command\": \"git status > f\"}}\n{\"id\": 2\n";
    let mut answers = Vec::new();
    for (definition, arguments) in [
        ("check", &["check", "--json", "make && curl x | sh"][..]),
        ("check", &["check", "--json", "--mode", "dontAsk", "rm -rf ~"]),
        ("lint", &["rules", "lint", "--json", "--settings", shadowed]),
        ("lint", &["lint", "--json", "--settings", "{\"permisions\": {}}"]),
        ("diff", &["diff", "--json", "--audit", ".claude/settings.json", "new.json"]),
        ("diff", &["diff", "--json", "new.json", "new.json"]),
        ("test", &["test", "--json", "--coverage"]),
        ("replay", &["replay", "--json", "--settings", doubling]),
        ("suggest", &["rules", "suggest", "--json"]),
        ("why", &["why", "--json", "rm -rf x"]),
        ("why", &["why", "--json", "npm test"]),
        ("why", &["why", "--json", "make"]),
        ("why", &["why", "--json", "cat x.env"]),
    ] {
        answers.push((definition, world.mayi(arguments).json()));
    }
    answers.extend(world.fed(&["check", "--batch"], lines).lines().into_iter().map(|line| ("batch", line)));
    answers
}

#[test]
fn every_answer_is_what_its_schema_says() {
    let answers = answers();
    for definition in ANSWERS {
        let validator = closed(definition);
        let mut tried = 0;
        for (_, answer) in answers.iter().filter(|(of, _)| *of == definition) {
            let flaws: Vec<String> =
                validator.iter_errors(answer).map(|flaw| format!("{}: {flaw}", flaw.instance_path())).collect();
            assert!(flaws.is_empty(), "{definition}: {flaws:#?}\n{answer:#}");
            tried += 1;
        }
        assert!(tried > 0, "{definition} was tried");
    }
}

#[test]
fn an_answer_that_lacks_something_is_refused() {
    let schema = schema();
    let (mut required, mut optional) = (BTreeSet::new(), BTreeSet::new());
    for definition in schema["$defs"].as_object().unwrap().values() {
        let needed: BTreeSet<&str> =
            definition["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        let members = definition["properties"].as_object().into_iter().flatten().map(|(name, _)| name.as_str());
        optional.extend(members.filter(|name| !needed.contains(name)).map(str::to_owned));
        required.extend(needed.into_iter().map(str::to_owned));
    }
    let mut removed = 0;
    for (definition, answer) in answers() {
        let validator = closed(definition);
        for path in members(&answer, "") {
            let name = path.rsplit('/').next().unwrap();
            // An input is the tool's own; what some object may lack cannot be told from what this one may by its name.
            let is_sure = required.contains(name) && (!optional.contains(name) || path.matches('/').count() == 1);
            if !is_sure || path.contains("/input/") || definition == "test" && path == "/coverage" {
                continue;
            }
            let mut less = answer.clone();
            let lead = path.strip_suffix(&format!("/{name}")).unwrap();
            less.pointer_mut(lead).unwrap().as_object_mut().unwrap().remove(name).unwrap();
            assert!(!validator.is_valid(&less), "{definition} without {path} passes");
            removed += 1;
        }
    }
    assert!(removed > 500, "only {removed} were tried");
}

/// The path of every member, however deep.
fn members(value: &Value, path: &str) -> Vec<String> {
    let mut found = Vec::new();
    match value {
        Value::Object(object) => {
            for (name, below) in object {
                let path = format!("{path}/{name}");
                found.extend(members(below, &path));
                found.push(path);
            }
        }
        Value::Array(list) => {
            found.extend(list.iter().enumerate().flat_map(|(at, below)| members(below, &format!("{path}/{at}"))));
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    found
}

#[test]
fn no_schema_promises_what_no_answer_has() {
    // Reasons are told apart by kinds, of which few come up in a small project; the others need a server, or an end.
    let elsewhere = ["aborted", "approval"];
    let names: BTreeSet<String> = answers()
        .iter()
        .flat_map(|(_, answer)| members(answer, ""))
        .filter_map(|path| path.rsplit('/').next().map(str::to_owned))
        .collect();
    for (definition, schema) in schema()["$defs"].as_object().unwrap() {
        for name in schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name) {
            let is_known = definition == "reason" || elsewhere.contains(&name.as_str()) || names.contains(name);
            assert!(is_known, "{definition}: nobody has seen `{name}`");
        }
    }
}

#[test]
fn closed_sets_are_those_of_the_code() {
    let schema = schema();
    let words = |pointer: &str| -> Vec<String> {
        let words = schema.pointer(&format!("/$defs/{pointer}")).and_then(Value::as_array);
        words.expect(pointer).iter().map(|word| word.as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(words("verdict/enum"), Verdict::ALL.map(Verdict::word));
    assert_eq!(words("step/enum"), Step::ALL.map(Step::id));
    assert_eq!(words("mode/enum"), Mode::ALL.map(Mode::word));
    assert_eq!(words("layer/enum"), Layer::ALL.map(Layer::word));
    assert_eq!(words("problem/properties/code/enum"), Code::ALL.map(Code::word));
}

#[test]
fn the_page_of_shapes_is_made_from_the_schemas() {
    let file = folder().join("shapes.md");
    let page = page(&schema());
    if std::env::var_os("MAYI_BLESS").is_some() {
        return std::fs::write(&file, page).unwrap();
    }
    let then = std::fs::read_to_string(&file).unwrap_or_default();
    let differs = page.lines().zip(then.lines().chain(std::iter::repeat(""))).find(|(now, old)| now != old);
    let help = "help: MAYI_BLESS=1 cargo test -p mayi --test schemas";
    assert!(then == page, "docs/reference/shapes.md is old: {differs:?}\n{help}");
}

fn page(schema: &Value) -> String {
    let mut page = format!(
        "# Shapes that programs read\n\n<!-- Made from shapes.json by `MAYI_BLESS=1 cargo test -p mayi --test schemas`. -->\n\n\
         {} The schemas are in [shapes.json](shapes.json) (JSON Schema 2020-12): an answer of `mayi diff --json` keeps to \
         `shapes.json#/$defs/diff`. Tests hold the program's real answers against them. A member in *italics* is not always \
         there. Settings have a schema of their own: `mayi schema`.\n",
        schema["description"].as_str().unwrap()
    );
    let definitions = schema["$defs"].as_object().unwrap();
    for name in ANSWERS {
        section(&mut page, "##", (name, &definitions[name]));
    }
    page.push_str("\n## Parts\n");
    for (name, definition) in definitions.iter().filter(|(name, _)| !ANSWERS.contains(&name.as_str())) {
        section(&mut page, "###", (name, definition));
    }
    page
}

fn section(page: &mut String, mark: &str, (name, definition): (&str, &Value)) {
    write!(page, "\n{mark} {name}\n\n{}\n", definition["description"].as_str().unwrap()).unwrap();
    let Some(members) = definition["properties"].as_object() else {
        return write!(page, "\nIt is {}.\n", holds(definition)).unwrap();
    };
    let required = definition["required"].as_array().unwrap();
    page.push_str("\n| member | holds | |\n| --- | --- | --- |\n");
    for (member, schema) in members {
        let slant = if required.contains(&json!(member)) { "" } else { "*" };
        let about = schema["description"].as_str().expect("a member is described");
        writeln!(page, "| {slant}`{member}`{slant} | {} | {about} |", holds(schema)).unwrap();
    }
    let conditions: Vec<&Value> = definition["allOf"].as_array().into_iter().flatten().collect();
    if conditions.is_empty() {
        return;
    }
    page.push_str("\n| when it is | these are there |\n| --- | --- |\n");
    for condition in conditions {
        let (_, is) = condition["if"]["properties"].as_object().unwrap().iter().next().unwrap();
        writeln!(page, "| `{}` | {} |", is["const"].as_str().unwrap(), quoted(&condition["then"]["required"])).unwrap();
    }
}

/// What stands there, in words.
fn holds(schema: &Value) -> String {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return format!("[{name}](#{name})");
    }
    if schema["enum"].is_array() {
        return format!("one of {}", quoted(&schema["enum"]));
    }
    if let Some(options) = schema["anyOf"].as_array() {
        return options.iter().map(holds).collect::<Vec<_>>().join(" or ");
    }
    if let Some(types) = schema["type"].as_array() {
        return types.iter().map(|one| holds(&json!({ "type": one }))).collect::<Vec<_>>().join(" or ");
    }
    match schema["type"].as_str() {
        None => "anything".to_owned(),
        Some("array") => format!("a list of {}", holds(&schema["items"])),
        Some("string") => "text".to_owned(),
        Some("integer") => "a number".to_owned(),
        Some("boolean") => "true or false".to_owned(),
        Some("object") => "an object".to_owned(),
        Some(other) => other.to_owned(),
    }
}

fn quoted(words: &Value) -> String {
    words.as_array().unwrap().iter().map(|word| format!("`{}`", word.as_str().unwrap())).collect::<Vec<_>>().join(", ")
}
