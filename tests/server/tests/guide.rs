//! The guide, run as it stands: every block of shell in `docs/server.md`, one after the other, against a server.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use mayi_server_tests::{Options, Server};
use serde_json::Value;

/// A block of the guide, and the answer that it shows.
struct Example {
    script: String,
    shown: Option<Value>,
}

#[test]
fn every_example_of_the_guide_works_as_it_says() -> Result<()> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/server.md");
    let examples = examples(&fs::read_to_string(page)?)?;
    ensure!(examples.len() >= 8, "the guide has only {} examples", examples.len());
    let server = Server::start(Options::sqlite("guide")?)?;
    let variables = server.options().home.join("variables");
    fs::write(&variables, "")?;
    for Example { script, shown } in examples {
        // What one block sets, the next ones have.
        let script = format!(
            "set -euo pipefail; set -a; . '{0}'; {script}\ndeclare -p ID DIGEST > '{0}' 2>/dev/null || true",
            variables.display()
        );
        let mut command = Command::new("bash");
        command.args(["-c", &script]).env("MAYI", server.base()).current_dir(&server.options().home);
        for (role, token) in &server.options().tokens {
            command.env(role.to_uppercase(), token);
        }
        let output = command.output().context("cannot run `bash`")?;
        let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "{script}\n{out}{err}");
        if let Some(shown) = shown {
            let answer: Value =
                serde_json::from_str(out.trim()).with_context(|| format!("{script}\nno JSON: {out}"))?;
            ensure!(holds(&answer, &shown), "{script}\nanswers {answer}\nand not {shown}");
        }
    }
    Ok(())
}

/// Blocks of shell that use curl, each with the JSON that follows it at once.
fn examples(page: &str) -> Result<Vec<Example>> {
    let mut found: Vec<Example> = Vec::new();
    let mut is_answered = true;
    for (place, part) in page.split("```").enumerate() {
        let (kind, text) = part.split_once('\n').unwrap_or_default();
        if place % 2 == 0 {
            is_answered |= !part.trim().is_empty();
        } else if kind == "sh" && text.contains("curl ") {
            found.push(Example { script: text.to_owned(), shown: None });
            is_answered = false;
        } else if kind == "json" && !is_answered {
            let shown = serde_json::from_str(text).with_context(|| format!("no JSON: {text}"))?;
            found.last_mut().context("an answer to nothing")?.shown = Some(shown);
            is_answered = true;
        }
    }
    Ok(found)
}

/// Whether an answer holds everything that is shown; what is left out is shown as `…`.
fn holds(answer: &Value, shown: &Value) -> bool {
    match (answer, shown) {
        (_, Value::String(text)) if text == "…" => true,
        (Value::Object(answer), Value::Object(shown)) => {
            shown.iter().all(|(name, shown)| answer.get(name).is_some_and(|answer| holds(answer, shown)))
        }
        (Value::Array(answer), Value::Array(shown)) => {
            shown.iter().all(|shown| answer.iter().any(|answer| holds(answer, shown)))
        }
        (answer, shown) => answer == shown,
    }
}
