//! The API against its own description: a fuzzer makes requests of what `/v1/openapi.json` says, good ones and bad ones,
//! and no answer may be a failure of the server or other than the document promises.

use std::process::Command;

use anyhow::{Context, Result, ensure};
use mayi_server_tests::{Options, Server, told};
use serde_json::json;

/// What must hold for every answer.
const CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,\
response_schema_conformance,response_headers_conformance,unsupported_method,allow_header_conformance,\
missing_required_header";

/// How each operation is tried: the edges of every parameter, requests made at random, and chains in which what one
/// operation made is used by the next. So many examples for each; a limit of time would be filled, however long it is.
const TRIED: [&str; 6] = ["--phases", "examples,coverage,fuzzing,stateful", "--max-examples", "20", "--workers", "2"];

#[test]
fn every_answer_is_as_the_document_says() -> Result<()> {
    let options = Options::sqlite("openapi")?;
    // The fuzzer asks to wait for years; nothing waits longer than this.
    options.settings(&json!({"server": {"approvalTimeoutSeconds": 1}}))?;
    let server = Server::start(options)?;
    let token = server.options().tokens.get("admin").context("no token of an admin")?.clone();
    let mut fuzzer = Command::new(told("MAYI_SERVER_FUZZER")?);
    fuzzer.arg("run").arg(format!("{}/v1/openapi.json", server.base()));
    fuzzer.arg("-H").arg(format!("authorization: Bearer {token}"));
    fuzzer.args(["--checks", CHECKS]).args(TRIED);
    // The stream of events does not end by itself: what it tells is tried beside the routes and in the browser. And the
    // fuzzer would revoke its own token.
    fuzzer.args(["--exclude-path", "/v1/events", "--exclude-path-regex", "^/v1/tokens/"]);
    fuzzer.args(["--seed", "7878", "--no-shrink", "--continue-on-failure", "--request-timeout", "30"]);
    fuzzer.args(["--warnings", "off", "--no-color"]);
    let run = fuzzer.current_dir(&server.options().home).output().context("cannot run the fuzzer")?;
    let said = String::from_utf8_lossy(&run.stdout);
    ensure!(run.status.success(), "{said}\n{}\n{}", String::from_utf8_lossy(&run.stderr), server.said());
    ensure!(said.contains("passed"), "nothing was tried:\n{said}");
    Ok(())
}
