//! `mayi`: the command line. Thin: arguments in, words and exit codes out; every subcommand is a file of its own.
#![cfg_attr(all(target_os = "linux", not(test)), no_main)]

mod approvals;
mod arguments;
mod audit;
mod auto_mode;
mod check;
mod classifier;
mod diff;
mod doctor;
mod exit;
mod explain;
mod gateway;
mod identity;
mod import;
mod install;
mod lint;
mod login;
mod logout;
#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod man;
mod mode;
mod paint;
mod person;
mod records;
mod replay;
mod rules;
mod run;
mod serve;
mod ship;
mod subject;
mod suggest;
mod surroundings;
mod test;
mod token;
mod trust;
mod whoami;
mod why;

use std::ffi::OsStr;
use std::io::Write;

use anyhow::Result;
use clap::{CommandFactory, Parser};

use arguments::{Arguments, Run, Task};
use exit::Exit;

/// musl's own allocator takes a fifth of a hook's time.
#[cfg(target_env = "musl")]
use dlmalloc::GlobalDlmalloc as Usual;
#[cfg(not(target_env = "musl"))]
use std::alloc::System as Usual;

/// A hook is gone in a moment, and a run waits for another program for most of its time. Neither takes much memory.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mayi_sandbox::Brief<Usual> = mayi_sandbox::Brief::over(Usual);

/// Where answers go. What is said about a run, and not by it, goes to standard error.
type Out<'a> = &'a mut dyn Write;

#[cfg(all(target_os = "linux", not(test)))]
mayi_sandbox::program!(program);

#[cfg(any(not(target_os = "linux"), test))]
fn main() -> std::process::ExitCode {
    let words: Vec<std::ffi::OsString> = std::env::args_os().collect();
    program(words.iter().map(|word| word.as_os_str())).into()
}

/// From the words of the command line, the program's name first, to the exit code.
fn program<'a>(words: impl Iterator<Item = &'a OsStr> + Clone) -> u8 {
    // Reading arguments with clap takes longer than deciding, and a hook is on the agent's critical path.
    let mut rest = words.clone().skip(1);
    match rest.next().and_then(OsStr::to_str) {
        Some("hook") if !rest.clone().any(|word| word == "--help" || word == "-h") => {
            #[cfg(target_os = "linux")]
            ALLOCATOR.open();
            let words: Vec<String> = rest.map(|word| word.to_string_lossy().into_owned()).collect();
            hook(&words).code()
        }
        _ => task(words),
    }
}

/// Everything but a hook, which has no room on the stack for it.
#[inline(never)]
fn task<'a>(words: impl Iterator<Item = &'a OsStr> + Clone) -> u8 {
    let mut rest = words.clone().skip(1);
    let task = match rest.next().and_then(OsStr::to_str) {
        Some("run") => {
            #[cfg(target_os = "linux")]
            ALLOCATOR.open();
            Run::alone(rest).map(|run| Task::Run(Box::new(run)))
        }
        Some(_) | None => None,
    };
    // clap itself answers usage errors with exit code 2 and help with 0.
    let arguments = task.map_or_else(|| Arguments::parse_from(words), |task| Arguments { task });
    // Nobody holds standard output: the gateway writes to it from threads of its own.
    match run(arguments, &mut anstream::stdout()) {
        Ok(exit) => exit.code(),
        Err(error) => exit::failed(&error).code(),
    }
}

/// Answers an agent and ends the process; comes back only when nobody knows which agent that is. Not a part of `main`,
/// so that its place on the stack is not touched before the pages for it were asked for.
#[inline(never)]
fn hook(words: &[String]) -> Exit {
    // An agent may run under a limit, and one that gets no answer may go ahead.
    #[cfg(target_os = "linux")]
    mayi_sandbox::outlive_file_limit();
    let Err(error) = mayi_agents::hook::run(words, suggest::AT_A_SERVER);
    paint::tell(format!("{}: {error}", paint::alarm("error")));
    Exit::Usage
}

fn run(arguments: Arguments, out: Out<'_>) -> Result<Exit> {
    match arguments.task {
        Task::Check(check) if check.batch => check::batch(),
        Task::Check(check) => check::run(&check, out),
        Task::Run(task) => run::run(&task, out),
        Task::Rules(rules) => rules::run(rules, out),
        Task::Why(why) => why::run(&why, out),
        Task::Test(test) => test::run(&test, out),
        Task::Diff(diff) => diff::run(&diff, out),
        Task::Replay(replay) => replay::run(&replay, out),
        Task::Audit(audit) => audit::run(&audit, out),
        Task::Lint(task) => lint::run(&task, out),
        Task::Mode(mode) => mode::run(mode, out),
        Task::Explain(explain) => explain::run(&explain, out),
        Task::AutoMode(auto_mode) => auto_mode::run(auto_mode, out),
        Task::Classifier(classifier) => classifier::run(classifier, out),
        Task::Trust(trust) => trust::run(&trust, out),
        Task::Hook { words } => Ok(hook(&words)),
        Task::Install(task) => install::install(&task, out),
        Task::Uninstall(task) => install::uninstall(&task, out),
        Task::Doctor(task) => doctor::run(&task, out),
        Task::Login(login) => login::run(&login, out),
        Task::Logout(logout) => logout::run(&logout, out),
        Task::Whoami(whoami) => whoami::run(&whoami, out),
        Task::Gateway(gateway) => gateway::run(gateway),
        Task::Import(import) => import::run(&import, out),
        Task::Serve(task) => serve::run(*task),
        Task::Approvals(task) => approvals::run(*task, out),
        Task::Token(task) => token::run(task, out),
        Task::Ship(ship) => ship::run(&ship, out),
        Task::Schema => {
            writeln!(out, "{:#}", mayi_settings::schema::schema())?;
            Ok(Exit::Done)
        }
        Task::Completions { shell } => {
            // The generator panics when a pipe is closed early, so it writes to memory.
            let mut script = Vec::new();
            clap_complete::generate(shell, &mut Arguments::command(), "mayi", &mut script);
            out.write_all(&script)?;
            Ok(Exit::Done)
        }
    }
}
