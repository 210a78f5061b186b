//! The audit as an auditor reads it: exported, and verified by the server.

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use crate::Client;

/// Every record, oldest first.
pub async fn exported(auditor: &Client) -> Result<Vec<Value>> {
    lines(&exported_text(auditor).await?)
}

/// The export to the letter: a chain is made of texts.
pub async fn exported_text(auditor: &Client) -> Result<String> {
    Ok(auditor.get("/v1/audit/export").await?.must(200)?.body)
}

/// The records of an export.
pub fn lines(text: &str) -> Result<Vec<Value>> {
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("no record: `{line}`"))).collect()
}

/// Lets the server verify its chain, which must be whole. How many records it has.
pub async fn verified(auditor: &Client) -> Result<u64> {
    let verified = auditor.post("/v1/audit/verify", &Value::Null).await?.must(200)?.json()?;
    ensure!(verified.get("broken").is_none_or(Value::is_null), "the chain is broken: {verified}");
    verified.get("records").and_then(Value::as_u64).with_context(|| format!("no number of records: {verified}"))
}
