//! The gateway between the official TypeScript client and published MCP servers.
//!
//! The client is a script, because the SDK is one; each of its checks is a line of its output.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

#[test]
fn the_official_client_speaks_to_published_servers_through_the_gateway() -> Result<()> {
    let driver = Path::new(env!("CARGO_MANIFEST_DIR")).join("mcp/driver.mjs");
    let output = Command::new("node").arg(driver).output().context("`node` cannot be run")?;
    let said = String::from_utf8_lossy(&output.stdout);
    let passed = said.lines().filter(|line| line.starts_with("ok ")).count();
    let trouble = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success() && passed > 100, "{passed} checks passed\n{said}\n{trouble}");
    Ok(())
}
