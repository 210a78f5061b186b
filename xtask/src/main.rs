//! Project tasks: `cargo xtask TASK`. Everything a contributor or the build machine does is one of these.

mod bench;
mod book;
mod clients;
mod dist;
mod embed;
mod escape;
mod identity;
mod man;
mod real;
mod run;
mod server;
mod tidy;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Result, bail};

use real::LIVE;
use run::cargo;

const HELP: &str = "\
usage: cargo xtask TASK

  test          everything a change must pass: format, tidy, lints, all tests, docs, and all of these five:
  book          the book as pages, by mdBook; every link in it followed
  clients [NAME…]  real agent programs end to end, with mayi as their hook; all of them unless named
  identity [NAME…]  sign-in with a real provider, browser and credential store; all of it unless named
  server [NAME…]  the server with a real PostgreSQL, browser, crashes and attacks; all of it unless named
  escape        real attempts to break out of the sandbox, as root and as an ordinary user, and real work inside
  embed         the smallest embedding builds, and brings little along
  tidy          the house rules that no lint knows
  deny          licences, bans and sources of dependencies (installs cargo-deny if needed)
  bench core    decisions against growing rule sets, beside other policy engines
  bench shell   shell text read, beside other parsers, and how that grows
  bench lint    ten thousand rules linted, and patterns made to explode
  bench sandbox a confined command, beside bubblewrap and unconfined
  bench server  decisions, audit, waiting approvals and listeners of one server, on SQLite and PostgreSQL
  bench embed   a first build of the smallest embedding, and of everything
  bench peers [PART…]  mayi beside its peers: hooks, sandboxes, engines, and verdicts on the same commands
  bench hook    a hook call as a cold process, beside /bin/true and other hooks
  man [DIR]     a manual page for every command, and completions for every shell; into target/man unless told
  dist          the static release binary, packed with its manual pages and completions
  order         what a hook calls, for the linker of a plain release build; writes `crates/cli/hook.ld`
  fuzz [SECONDS]  every fuzz target for some seconds each (default 60)
  bless         rewrites the golden matrix from what the code does now; read the diff";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match task(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn task(words: &[&str]) -> Result<()> {
    match words {
        ["test"] => test(),
        ["tidy"] => tidy::tidy(),
        ["embed"] => embed::embed(),
        ["clients", names @ ..] => clients::clients(names),
        ["identity", names @ ..] => identity::identity(names),
        ["server", names @ ..] => server::server(names),
        ["book"] => book::book(),
        ["escape"] => escape::escape(),
        ["deny"] => deny(),
        ["bench", "core"] => bench::core(),
        ["bench", "shell"] => bench::shell(),
        ["bench", "lint"] => bench::lint(),
        ["bench", "hook"] => bench::hook(),
        ["bench", "embed"] => embed::bench(),
        ["bench", "peers", names @ ..] => bench::peers(names),
        ["bench", "server"] => bench::server(),
        ["bench", "sandbox"] => bench::sandbox(),
        ["man"] => man::man(&real::target().join("man")),
        ["man", folder] => man::man(Path::new(folder)),
        ["dist"] => dist::dist(),
        ["order"] => dist::order(),
        ["fuzz"] => fuzz("60"),
        ["fuzz", seconds] => fuzz(seconds),
        ["bless"] => bless(),
        [] | ["help" | "--help" | "-h"] => {
            eprintln!("{HELP}");
            Ok(())
        }
        other => bail!("there is no task `{}`\n\n{HELP}", other.join(" ")),
    }
}

fn test() -> Result<()> {
    cargo(&["fmt", "--all", "--check"])?;
    tidy::tidy()?;
    embed::embed()?;
    cargo(&["clippy", "--workspace", "--all-targets", "--features", LIVE, "--quiet", "--", "--deny", "warnings"])?;
    cargo(&["test", "--workspace", "--quiet"])?;
    run::run("cargo", &["doc", "--workspace", "--no-deps", "--quiet"], &[("RUSTDOCFLAGS", "--deny warnings")])?;
    book::book()?;
    man::man(&real::target().join("man"))?;
    escape::escape()?;
    clients::clients(&[])?;
    identity::identity(&[])?;
    server::server(&[])
}

fn deny() -> Result<()> {
    if !run::succeeds("cargo", &["deny", "--version"]) {
        cargo(&["install", "cargo-deny", "--locked"])?;
    }
    // Advisories need a database from outside; licences, bans and sources are checked from the lock file alone.
    cargo(&["deny", "check", "licenses", "bans", "sources"])
}

fn fuzz(seconds: &str) -> Result<()> {
    if !run::succeeds("cargo", &["fuzz", "--version"]) {
        cargo(&["install", "cargo-fuzz", "--locked"])?;
    }
    let time = format!("-max_total_time={seconds}");
    // The sanitizers need unstable flags; the stable toolchain takes them when told so.
    let stable = [("RUSTC_BOOTSTRAP", "1")];
    for target in ["rule", "settings", "decide", "shell"] {
        run::run("cargo", &["fuzz", "run", target, "--", &time, "-max_len=65536"], &stable)?;
    }
    Ok(())
}

fn bless() -> Result<()> {
    run::run("cargo", &["test", "--package", "mayi-spec", "--quiet"], &[("UPDATE", "1")])
}
