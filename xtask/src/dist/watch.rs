//! Which functions a program calls. In the memory of a process that is about to run, each begins with an instruction
//! that stops it; whoever stops is noted, gets its first byte back and goes on.
//!
//! The compiler counts what it compiles itself. The standard library and the C library came compiled, and only show
//! when somebody calls them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use nix::sys::ptrace::{self, Options};
use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use nix::unistd::Pid;

/// `int3`: stops with the instruction pointer behind it.
const STOP: u8 = 0xcc;

/// Where functions of a program begin, under which names, and how often somebody was seen there.
pub(super) struct Watch {
    program: PathBuf,
    functions: BTreeMap<u64, Function>,
}

#[derive(Default)]
struct Function {
    names: Vec<String>,
    runs: usize,
}

impl Watch {
    /// Of the functions of a program that still has its names, as `nm` lists them.
    pub(super) fn over(program: &Path, nm: &Path) -> Result<Self> {
        let listed = Command::new(nm).args(["--defined-only", "--format=posix"]).arg(program).output()?;
        let mut functions: BTreeMap<u64, Function> = BTreeMap::new();
        for line in String::from_utf8(listed.stdout)?.lines() {
            let mut words = line.split(' ');
            if let (Some(name), Some("t" | "T" | "w" | "W"), Some(address)) = (words.next(), words.next(), words.next())
            {
                functions.entry(u64::from_str_radix(address, 16)?).or_default().names.push(name.to_owned());
            }
        }
        ensure!(!functions.is_empty(), "`{}` has no names of functions", program.display());
        Ok(Self { program: program.canonicalize()?, functions })
    }

    /// Runs the program once, by a shell, with words and some input, notes what it calls, and says what it printed.
    pub(super) fn run(&mut self, mut shell: Command, words: &[&str], input: &[u8]) -> Result<Vec<u8>> {
        // It becomes the program, but not before somebody watches.
        shell.args(["-c", "read -r go && exec \"$0\" \"$@\""]).arg(&self.program).args(words);
        let mut child = shell.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        let leader = Pid::from_raw(i32::try_from(child.id())?);
        let offspring = Options::PTRACE_O_TRACECLONE | Options::PTRACE_O_TRACEFORK | Options::PTRACE_O_TRACEVFORK;
        let options = Options::PTRACE_O_EXITKILL | Options::PTRACE_O_TRACEEXEC | offspring;
        ptrace::seize(leader, options).context("the program cannot be watched")?;
        let mut pipe = child.stdin.take().context("the program has no input")?;
        pipe.write_all(b"go\n")?;
        pipe.write_all(input)?;
        drop(pipe);
        for place in self.follow(leader)? {
            self.functions.entry(place).or_default().runs += 1;
        }
        let mut said = Vec::new();
        child.stdout.take().context("the program has no output")?.read_to_end(&mut said)?;
        Ok(said)
    }

    /// Follows it and its children until it ends: where functions begin that any of them called.
    fn follow(&self, leader: Pid) -> Result<BTreeSet<u64>> {
        let mut called = BTreeSet::new();
        let mut marks = None;
        // Whoever this thread watches, and no child of another one.
        let own = WaitPidFlag::__WALL | WaitPidFlag::__WNOTHREAD;
        loop {
            match waitpid(None, Some(own))? {
                WaitStatus::PtraceEvent(pid, _, event) => {
                    // The shell itself may only just have begun.
                    let began = event == ptrace::Event::PTRACE_EVENT_EXEC as i32;
                    if began && fs::read_link(format!("/proc/{pid}/exe"))? == self.program {
                        marks = Some(Marks::set(pid, self.functions.keys())?);
                    }
                    ptrace::cont(pid, None)?;
                }
                WaitStatus::Stopped(pid, Signal::SIGTRAP) => {
                    let mut registers = ptrace::getregs(pid)?;
                    registers.rip -= 1;
                    marks.as_ref().context("it stopped before it began")?.clear(pid, registers.rip)?;
                    called.insert(registers.rip);
                    ptrace::setregs(pid, registers)?;
                    ptrace::cont(pid, None)?;
                }
                WaitStatus::Stopped(pid, signal) => ptrace::cont(pid, signal)?,
                WaitStatus::Exited(pid, _) if pid == leader => return Ok(called),
                WaitStatus::Signaled(pid, signal, _) if pid == leader => bail!("the program was ended by {signal}"),
                WaitStatus::Exited(..)
                | WaitStatus::Signaled(..)
                | WaitStatus::PtraceSyscall(_)
                | WaitStatus::Continued(_)
                | WaitStatus::StillAlive => {}
            }
        }
    }

    /// All names of what so many runs called at least: what every run needed first, what one alone needed last.
    pub(super) fn names(&self, least: usize) -> Vec<&str> {
        let mut called: Vec<&Function> = self.functions.values().filter(|function| function.runs >= least).collect();
        called.sort_by_key(|function| std::cmp::Reverse(function.runs));
        called.into_iter().flat_map(|function| function.names.iter().map(String::as_str)).collect()
    }
}

/// What stands where functions stop a process.
struct Marks {
    from: u64,
    code: Vec<u8>,
}

impl Marks {
    /// Has every function stop a process.
    fn set<'a>(pid: Pid, functions: impl Iterator<Item = &'a u64>) -> Result<Self> {
        let memory = memory(pid)?;
        let places: Vec<u64> = functions.copied().collect();
        let (from, last) = (places.first().context("no function")?, places.last().context("no function")?);
        let mut code = vec![0; usize::try_from(last - from + 1)?];
        memory.read_exact_at(&mut code, *from)?;
        let mut stopping = code.clone();
        for place in &places {
            if let Some(byte) = stopping.get_mut(usize::try_from(place - from)?) {
                *byte = STOP;
            }
        }
        memory.write_all_at(&stopping, *from)?;
        Ok(Self { from: *from, code })
    }

    /// Gives a function its first byte back.
    fn clear(&self, pid: Pid, place: u64) -> Result<()> {
        let at = usize::try_from(place.checked_sub(self.from).context("not a mark")?)?;
        memory(pid)?.write_all_at(self.code.get(at..=at).context("not a mark")?, place)?;
        Ok(())
    }
}

fn memory(pid: Pid) -> Result<File> {
    Ok(File::options().read(true).write(true).open(format!("/proc/{pid}/mem"))?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = r#"
        #[inline(never)] #[unsafe(no_mangle)] fn often(text: &str) { print!("{text}") }
        #[inline(never)] #[unsafe(no_mangle)] fn once(text: &str) { print!("once {text}") }
        #[inline(never)] #[unsafe(no_mangle)] fn never(text: &str) { print!("never {text}") }
        fn main() {
            let mut line = String::new();
            let _ = std::io::stdin().read_line(&mut line);
            std::thread::spawn(|| often("well")).join().unwrap();
            match line.as_str() { "x" => never("x"), "y" => once("y"), _ => {} }
        }
    "#;

    /// What is called is noted, by whichever thread; what every run calls comes first, and what none calls is not there.
    #[test]
    fn whoever_is_called_is_noted() {
        let folder = std::env::temp_dir().join(format!("mayi-watch-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (source, program) = (folder.join("main.rs"), folder.join("main"));
        fs::write(&source, PROGRAM).unwrap();
        let fixed = ["--edition=2024", "-C", "relocation-model=static", "-C", "opt-level=1", "-o"];
        assert!(Command::new("rustc").args(fixed).args([&program, &source]).status().unwrap().success());
        let mut watch = Watch::over(&program, Path::new("nm")).unwrap();
        for (input, wanted) in [("y", "wellonce y"), ("z", "well")] {
            let said = watch.run(Command::new("sh"), &[], input.as_bytes()).unwrap();
            assert_eq!(String::from_utf8(said).unwrap(), wanted);
        }
        assert!(!watch.names(2).contains(&"once"));
        let names = watch.names(1);
        let place = |name| names.iter().position(|known| *known == name);
        assert!(place("often").is_some() && place("often") < place("once"), "{names:?}");
        assert_eq!(place("never"), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
