//! Any line is answered, with a verdict or an error; the same line gets the same answer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use mayi_engine::batch::Batch;

fuzz_target!(|text: &str| {
    let mut batch = Batch::new("/w");
    // As a line, and as the command of one.
    let command = serde_json::json!({ "tool": "Bash", "input": { "command": text }, "mode": "auto", "classifier": "none",
        "settings": { "permissions": { "deny": ["Bash(rm:*)"], "allow": ["Bash(git *)"] } } });
    for line in [text.to_owned(), command.to_string()] {
        let answer = batch.answer(&line);
        let parsed: serde_json::Value = serde_json::from_str(&answer).expect("every answer is JSON");
        assert!(parsed.get("verdict").is_some() != parsed.get("error").is_some(), "{answer}");
        assert_eq!(batch.answer(&line), answer);
    }
});
