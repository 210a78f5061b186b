//! A permission prompt for agents that take one as an MCP tool: `permission-prompt LOG BEHAVIOUR` writes every
//! question to the log, a line each, and gives the same answer to all of them.

use std::fs::OpenOptions;
use std::io::{BufRead, Write};

use anyhow::{Context, Result};
use serde_json::{Value, json};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let log = arguments.next().context("the log is missing")?;
    let behaviour = arguments.next().context("the behaviour is missing")?;
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line?)?;
        let parameters = message.get("params").cloned().unwrap_or_default();
        let Some(id) = message.get("id") else { continue };
        let result = match message.get("method").and_then(Value::as_str).unwrap_or_default() {
            "initialize" => initialized(&parameters),
            "tools/list" => tools(),
            "tools/call" => {
                let question = parameters.get("arguments").cloned().unwrap_or_default();
                writeln!(OpenOptions::new().create(true).append(true).open(&log)?, "{question}")?;
                answered(&behaviour, &question)
            }
            _ => json!({}),
        };
        writeln!(output, "{}", json!({"jsonrpc": "2.0", "id": id, "result": result}))?;
        output.flush()?;
    }
    Ok(())
}

fn initialized(parameters: &Value) -> Value {
    let version = parameters.get("protocolVersion").cloned().unwrap_or_default();
    let server = json!({"name": "prompt", "version": "1"});
    json!({"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server})
}

fn tools() -> Value {
    let schema = json!({"type": "object", "properties": {}, "additionalProperties": true});
    json!({"tools": [{"name": "ask", "description": "asks the person", "inputSchema": schema}]})
}

fn answered(behaviour: &str, question: &Value) -> Value {
    let answer = match behaviour {
        "allow" => json!({"behavior": "allow", "updatedInput": question.get("input")}),
        _ => json!({"behavior": "deny", "message": "the person said no"}),
    };
    json!({"content": [{"type": "text", "text": answer.to_string()}]})
}
