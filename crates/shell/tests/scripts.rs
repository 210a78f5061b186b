//! Every shell script on the machine: what bash accepts should be understood, and nothing may panic.

#![allow(clippy::expect_used, clippy::print_stdout, reason = "a test fails by panicking and reports what it saw")]

mod support;

#[path = "support/machine.rs"]
mod machine;

use std::path::Path;
use std::process::Command;

const MOST: usize = 3000;

#[test]
fn scripts_that_bash_accepts_are_understood() {
    if !support::bash_exists() {
        return;
    }
    let scripts = machine::scripts(MOST);
    let (mut accepted, mut refused_too) = (0, 0);
    let (mut opaque, mut laxer) = (Vec::new(), Vec::new());
    for (path, text) in &scripts {
        let analysis = support::analyse(text);
        let valid = is_valid(path);
        accepted += usize::from(valid);
        match (valid, &analysis.opaque) {
            (true, None) => {}
            (true, Some(reason)) => opaque.push(format!("{}: {:?}", path.display(), reason.why)),
            (false, None) => laxer.push(path.display().to_string()),
            (false, Some(_)) => refused_too += 1,
        }
    }
    println!(
        "{accepted} scripts, opaque {}, refused by both {refused_too}, accepted by us alone: {laxer:?}",
        opaque.len()
    );
    println!("{}", opaque.join("\n"));
    if accepted < 20 {
        return eprintln!("only {accepted} scripts on this machine: too few to judge a share");
    }
    assert!(opaque.len() * 50 <= accepted, "{} of {accepted} scripts are opaque:\n{}", opaque.len(), opaque.join("\n"));
}

fn is_valid(path: &Path) -> bool {
    Command::new("bash").arg("-n").arg(path).output().expect("bash runs").status.success()
}
