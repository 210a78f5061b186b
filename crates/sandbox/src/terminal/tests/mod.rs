//! The terminal tried with real ones: a shell with job control at a pseudo-terminal drives a program that runs a
//! command behind a [`Terminal`], as `mayi run` does.

mod session;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open};

use mayi_core::call::Call;
use mayi_core::reason::Reason;
use mayi_core::step::Step;
use mayi_core::trace::Trace;
use mayi_core::verdict::{Decision, Terms, Verdict};

use super::{Job, Signals, Terminal};
use crate::host::Host;
use crate::plan::{Confined, Environment, Files, Limits, Nesting, Network, Plan, Sockets};
use crate::run::{Io, Sandbox};
use session::{Condition, Session};

/// A plain process as a job: the leader of its own session, as a confined command is.
struct Plain {
    process: Pid,
    ended: OwnedFd,
}

impl Job for Plain {
    fn signal(&self, signal: i32) {
        assert_ne!(signal, Signal::USR2.as_raw(), "the program under test panics here");
        if let Some(signal) = Signal::from_named_raw(signal) {
            let _ = kill_process_group(self.process, signal);
        }
    }

    fn ended(&self) -> BorrowedFd<'_> {
        self.ended.as_fd()
    }
}

/// Runs the command of a variable behind a terminal, or without one, and ends as it ends. Run by the tests below, in a
/// process of its own; without the variable there is nothing to run.
#[test]
fn stands_for_the_program_under_test() {
    let Ok(script) = std::env::var("MAYI_TEST_COMMAND") else { return };
    let mut command = Command::new("setsid");
    command.args(["--ctty", "--wait", "bash", "--norc", "-c", &script]).env_remove("MAYI_TEST_COMMAND");
    let terminal = Terminal::open().unwrap();
    let status = match terminal {
        Some(mut terminal) => {
            let aside = terminal.aside().unwrap();
            if std::env::var_os("MAYI_TEST_QUESTION").is_some() {
                std::thread::spawn(move || aside.perform(ask));
            }
            let side = || Stdio::from(terminal.slave().unwrap());
            let mut child = command.stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
            // The command's descriptors must not stay open here.
            drop(command);
            terminal.relay(&plain(&child)).unwrap();
            child.wait().unwrap()
        }
        None => {
            let signals = Signals::listen().unwrap();
            let mut command = Command::new("setsid");
            let mut child = command.args(["bash", "--norc", "-c", &script]).spawn().unwrap();
            signals.pass_on(&plain(&child)).unwrap();
            child.wait().unwrap()
        }
    };
    use std::os::unix::process::ExitStatusExt;
    let code = status.code().or(status.signal().map(|signal| 128 + signal)).unwrap();
    io::stdout().flush().unwrap();
    std::process::exit(code);
}

/// Asks the user something, as somebody beside the command.
fn ask() {
    writeln!(io::stdout(), "what is the word?").unwrap();
    let mut answer = String::new();
    io::stdin().read_line(&mut answer).unwrap();
    writeln!(io::stdout(), "so it is {}.", answer.trim()).unwrap();
}

/// The same for a confined command, with a real sandbox around it.
#[test]
fn stands_for_the_program_that_confines() {
    let Ok(script) = std::env::var("MAYI_TEST_CONFINED") else { return };
    let plan = Plan {
        directory: std::env::temp_dir(),
        files: Files::Confined(Confined::default()),
        network: Network::None,
        sockets: Sockets::None,
        environment: Environment::default(),
        limits: Limits::default(),
        nesting: Nesting::Refused,
        gaps: Vec::new(),
    };
    let decision = Decision {
        verdict: Verdict::Allow,
        step: Step::Human,
        reason: Reason::Confined,
        terms: Terms { confined: true, ..Terms::default() },
        trace: Trace::default(),
    };
    let sandbox = Sandbox::new(plan, &Host::probe()).unwrap();
    let terminal = Terminal::open().unwrap().unwrap();
    let io =
        Io { terminal: Some(terminal.slave().unwrap()), environment: std::env::vars_os().collect(), ..Io::default() };
    let running = sandbox.spawn(&decision.permit(Call::shell(&script)).unwrap(), io).unwrap();
    terminal.relay(&running).unwrap();
    std::process::exit(running.wait().ending.code());
}

#[test]
fn a_confined_command_feels_the_same() {
    let mut session = Session::new();
    let runs = |session: &Session, script: &str| {
        session.types(&format!("MAYI_TEST_CONFINED='{script}' ${{PROGRAM/under_test/that_confines}}\n"));
    };
    session.resize(33, 101);
    runs(&session, "test -t 0 && test -t 1 && test -t 2 && stty size < /dev/tty; exit 7");
    session.sees("33 101");
    session.ended_with(7);
    runs(&session, "echo ready $((1 + 1)); exec sleep 1000");
    session.sees("ready 2");
    session.types("\x03");
    session.ended_with(130);
    session.is_restored();
    runs(&session, "echo ready $((1 + 1)); read line; echo got $line $((1 + 1)); kill -TERM $$");
    session.sees("ready 2");
    session.stops();
    session.is_restored();
    session.continues();
    session.types("hello\n");
    session.sees("got hello 2");
    session.ended_with(143);
    session.is_restored();
}

fn plain(child: &Child) -> Plain {
    let process = Pid::from_child(child);
    Plain { process, ended: pidfd_open(process, PidfdFlags::empty()).unwrap() }
}

#[test]
fn the_command_ends_as_it_would_without_us() {
    let mut session = Session::new();
    for (script, code) in [("exit 7", 7), ("true", 0), ("kill -TERM $$", 143), ("kill -KILL $$", 137)] {
        session.runs(script);
        session.ended_with(code);
    }
    session.is_restored();
}

#[test]
fn the_command_has_a_terminal_of_its_own_with_the_users_size() {
    let mut session = Session::new();
    session.resize(33, 101);
    session.runs(
        "test -t 0 && test -t 1 && test -t 2 && stty size < /dev/tty; tty > /dev/null && echo inside $((40 + 2))",
    );
    session.sees("33 101");
    session.sees("inside 42");
    session.ended_with(0);
    session.runs("trap \"stty size; exit 5\" WINCH; echo ready $((1 + 1)); while :; do sleep 0.05; done");
    session.sees("ready 2");
    session.resize(44, 55);
    session.sees("44 55");
    session.ended_with(5);
}

#[test]
fn an_interrupt_goes_to_the_command() {
    let mut session = Session::new();
    session.runs("echo ready $((1 + 1)); exec sleep 1000");
    session.sees("ready 2");
    session.types("\x03");
    session.ended_with(130);
    session.runs("trap \"echo caught $((2 + 2)); exit 3\" INT; echo ready $((1 + 1)); while :; do sleep 0.05; done");
    session.sees("ready 2");
    session.types("\x03");
    session.sees("caught 4");
    session.ended_with(3);
    session.is_restored();
}

#[test]
fn a_program_that_takes_every_key_gets_every_key() {
    let mut session = Session::new();
    session.runs(
        "stty raw -echo; echo ready $((1 + 1)); for n in 1 2 3 4 5 6; do head -c1 | od -An -tx1; done; stty sane; exit 9",
    );
    session.sees("ready 2");
    session.types("\x03\x1a\x1c\x04q\r");
    for key in ["03", "1a", "1c", "04", "71", "0d"] {
        session.sees(key);
    }
    session.ended_with(9);
}

#[test]
fn the_end_of_input_reaches_the_command() {
    let mut session = Session::new();
    session.runs("cat; echo over $((1 + 1))");
    session.types("line\n");
    session.sees("line\r\nline");
    session.types("\x04");
    session.sees("over 2");
}

#[test]
fn a_stop_stops_all_of_us_and_the_foreground_goes_on() {
    let mut session = Session::new();
    session.runs("echo inner$((1 + 1)) $$.; read line; echo got $line $((1 + 1)); exit 6");
    session.sees("inner2 ");
    let process = session.sees(".");
    let process = process.trim_end_matches('.').to_owned();
    for _ in 0..2 {
        session.stops();
        session.is_restored();
        session.waits_for(&process, Condition::Stopped);
        session.continues();
        session.waits_for(&process, Condition::Running);
    }
    session.types("hello\n");
    session.sees("got hello 2");
    session.ended_with(6);
    session.is_restored();
}

#[test]
fn a_stopped_command_goes_on_in_the_background() {
    let folder = tempfile::tempdir().unwrap();
    let flag = folder.path().join("flag").display().to_string();
    let mut session = Session::new();
    session.runs(&format!(
        "echo ready $((1 + 1)); until test -e {flag}; do sleep 0.05; done; echo seen $((3 + 3)); read x; echo $x$x; exit 4"
    ));
    session.sees("ready 2");
    session.stops();
    session.types("bg\n");
    session.sees("PROMPT> ");
    session.is_restored();
    session.types(&format!("touch {flag}\n"));
    session.sees("seen 6");
    session.is_restored();
    session.continues();
    session.types("abc\n");
    session.sees("abcabc");
    session.ended_with(4);
    session.is_restored();
}

#[test]
fn a_stop_stops_a_command_without_a_terminal_too() {
    let mut session = Session::new();
    session
        .types("MAYI_TEST_COMMAND='echo inner$((1 + 1)) $$.; read line; echo got $line $((1 + 1))' $PROGRAM | cat\n");
    session.sees("inner2 ");
    let process = session.sees(".");
    let process = process.trim_end_matches('.').to_owned();
    session.stops();
    session.waits_for(&process, Condition::Stopped);
    session.types("fg\n");
    session.sees("cat\r\n");
    session.types("hello\n");
    session.sees("got hello 2");
}

#[test]
fn a_command_in_the_background_runs_to_its_end() {
    let mut session = Session::new();
    session.types("MAYI_TEST_COMMAND='echo from $((70 + 7)); exit 5' $PROGRAM & wait $!\n");
    session.sees("from 77");
    session.ended_with(5);
    session.is_restored();
}

#[test]
fn a_shell_inside_has_jobs_of_its_own() {
    let mut session = Session::new();
    session.runs("PS1=\"inner> \" exec bash --norc --noprofile --noediting -i");
    // The first is the echo of what was typed.
    session.sees("inner> ");
    session.sees("inner> ");
    session.types("\x1a");
    session.types("sh -c \"echo up $((1 + 1)); exec sleep 1000\"\n");
    session.sees("up 2");
    session.types("\x1a");
    session.sees("Stopped");
    session.sees("inner> ");
    // It warns of the stopped job, once.
    session.types("exit 8\n");
    session.sees("inner> ");
    session.types("exit 8\n");
    session.ended_with(8);
    session.is_restored();
}

#[test]
fn the_terminal_comes_back_after_a_signal_and_after_a_panic() {
    let mut session = Session::new();
    for (signal, code) in [("TERM", 143), ("HUP", 129), ("USR1", 138)] {
        session.runs(&format!("echo ready $((1 + 1)); kill -{signal} $PPID; exec sleep 1000"));
        session.sees("ready 2");
        session.ended_with(code);
        session.is_restored();
    }
    session.runs("echo ready $((1 + 1)); kill -USR2 $PPID; exec sleep 1000");
    session.sees("the program under test panics here");
    session.ended_with(101);
    session.is_restored();
}

#[test]
fn somebody_else_can_ask_the_user_meanwhile() {
    let mut session = Session::new();
    session.types("export MAYI_TEST_QUESTION=1\n");
    session.sees("PROMPT> ");
    session.runs("read line; echo got $line $((1 + 1))");
    session.sees("what is the word?");
    // The user's own terminal edits the line.
    session.types("twoo\x7f\n");
    session.sees("so it is two.");
    session.types("mine\n");
    session.sees("got mine 2");
    session.ended_with(0);
    session.is_restored();
}

#[test]
fn all_that_is_said_and_typed_arrives() {
    let mut session = Session::new();
    session.runs("seq 200000; exit 2");
    let said = session.sees("\r\n200000\r\n");
    let numbers = said.split("\r\n").filter(|line| line.parse::<u32>().is_ok()).count();
    assert_eq!(numbers, 200_000);
    session.ended_with(2);
    session.runs("stty -echo; echo ready $((1 + 1)); sum=0; while read x && test $x != end; do sum=$((sum + x)); done; echo sum $sum");
    session.sees("ready 2");
    for number in 1..=5000 {
        session.types(&format!("{number}\n"));
    }
    session.types("end\n");
    session.sees("sum 12502500");
}

/// The program under test without a terminal.
fn without_terminal(script: &str) -> Child {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new(program);
    command.args(["--exact", "terminal::tests::stands_for_the_program_under_test", "--nocapture"]);
    command.env("MAYI_TEST_COMMAND", script).stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap()
}

fn until_said(child: &mut Child, text: &str) {
    let mut said = Vec::new();
    let mut byte = [0];
    let output = child.stdout.as_mut().unwrap();
    while !String::from_utf8_lossy(&said).contains(text) {
        assert_eq!(output.read(&mut byte).unwrap(), 1, "{}", String::from_utf8_lossy(&said));
        said.push(byte[0]);
    }
}

#[test]
fn without_a_terminal_signals_and_endings_pass_too() {
    for name in ["INT", "TERM", "HUP", "QUIT", "USR1", "WINCH", "CONT"] {
        let script = format!("trap \"echo caught {name}; exit 12\" {name}; echo ready; while :; do sleep 0.05; done");
        let mut child = without_terminal(&script);
        until_said(&mut child, "ready\n");
        let sent = Command::new("kill").args([&format!("-{name}"), &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        until_said(&mut child, &format!("caught {name}\n"));
        assert_eq!(child.wait().unwrap().code(), Some(12), "{name}");
    }
    let mut child = without_terminal("echo ready; exec sleep 1000");
    until_said(&mut child, "ready\n");
    kill_process(Pid::from_child(&child), Signal::TERM).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(143));
}

#[test]
fn what_is_ignored_stays_ignored() {
    let program = std::env::current_exe().unwrap();
    let mut command = Command::new("bash");
    let text = "trap '' HUP; exec \"$0\" --exact terminal::tests::stands_for_the_program_under_test --nocapture";
    command.args(["-c", text]).arg(program);
    command.env("MAYI_TEST_COMMAND", "echo ready; kill -HUP $PPID $$; echo alive; exit 11");
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
    until_said(&mut child, "alive\n");
    assert_eq!(child.wait().unwrap().code(), Some(11));
}
