//! A companion: a node program beside the test that takes one JSON order a line and gives one JSON answer a line.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::told;

/// A companion that runs until it is dropped.
#[derive(Debug)]
pub struct Companion {
    child: Child,
    orders: ChildStdin,
    answers: BufReader<ChildStdout>,
}

impl Companion {
    /// Starts a program of this crate's folder `node`, and returns its first line with it.
    pub fn start(program: &str) -> Result<(Self, Value)> {
        Self::of(&Path::new(env!("CARGO_MANIFEST_DIR")).join("node").join(program))
    }

    /// Starts a program from anywhere.
    pub fn of(script: &Path) -> Result<(Self, Value)> {
        let mut command = Command::new("node");
        command.arg(script).env_clear().envs(std::env::var_os("PATH").map(|search| ("PATH", search)));
        // The browser keeps a profile in the temporary folder; nothing else is wanted of the machine.
        command.env("MAYI_BROWSER_PACKAGES", told("MAYI_BROWSER_PACKAGES")?).env("HOME", "/nonexistent");
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().context("cannot run `node`")?;
        let orders = child.stdin.take().context("no way to give orders")?;
        let answers = BufReader::new(child.stdout.take().context("no way to hear answers")?);
        let mut companion = Self { child, orders, answers };
        let first = companion.heard().with_context(|| format!("`{}` does not start", script.display()))?;
        Ok((companion, first))
    }

    /// Gives an order and waits for its answer.
    pub fn ask(&mut self, order: &str, mut given: Value) -> Result<Value> {
        if let Some(members) = given.as_object_mut() {
            members.insert("order".to_owned(), order.into());
        } else {
            given = json!({ "order": order });
        }
        writeln!(self.orders, "{given}")?;
        let mut answer = self.heard()?;
        match answer.get_mut("ok") {
            Some(value) => Ok(value.take()),
            None => bail!("`{given}` failed: {answer:#}"),
        }
    }

    fn heard(&mut self) -> Result<Value> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        serde_json::from_str(&line).with_context(|| format!("no answer: `{line}`"))
    }
}

impl Drop for Companion {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
