//! Running a hook's program: with its own environment, process group, time and room, and never longer or louder than
//! that. Whatever it starts and leaves in its group ends with it when it is late.

use std::ffi::OsString;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::process::{Child, ChildStdin, Command};
use tokio::time::{Instant, sleep_until, timeout};

use crate::hooks::failure::Failure;

/// More than this from either stream is a failure.
pub(super) const ROOM: usize = 1 << 20;
/// How long output may stay open after the program has ended, and how long a killed program may take to be gone.
const GRACE: Duration = Duration::from_millis(500);
/// Shells for command lines, best first. Hooks are written for bash; where it is not at home, sh has to do.
const SHELLS: [&str; 2] = ["/bin/bash", "/bin/sh"];

/// A program to run.
pub(super) struct Program {
    command: Command,
}

/// How a program ended, and what it said.
#[derive(Debug)]
pub(super) struct Ended {
    pub(super) status: ExitStatus,
    pub(super) stdout: Vec<u8>,
    pub(super) stderr: Vec<u8>,
    pub(super) extent: Extent,
}

/// Whether the program said all it had to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Its output was closed.
    Whole,
    /// Its answer was, but something it started still holds the stream for complaints.
    Loose,
    /// Something it started still held its answer open when it was long gone.
    CutOff,
}

impl Program {
    /// A command line for a shell or, with arguments, a program that no shell sees.
    pub(super) fn new(line: &str, arguments: Option<&[String]>, project: &Path) -> Self {
        let command = match arguments {
            None => {
                let shell = SHELLS.iter().find(|shell| Path::new(shell).exists()).unwrap_or(&"sh");
                let mut command = Command::new(shell);
                command.arg("-c").arg(line);
                command
            }
            Some(arguments) => {
                let mut command = Command::new(in_project(line, project));
                command.args(arguments.iter().map(|argument| in_project(argument, project)));
                command
            }
        };
        Self { command }
    }

    /// Starts it with these variables and no others, in this directory.
    pub(super) async fn run(
        mut self,
        surroundings: (Vec<(OsString, OsString)>, &Path),
        input: &[u8],
        limit: Duration,
    ) -> Result<Ended, Failure> {
        let (variables, directory) = surroundings;
        self.command.env_clear().envs(variables).current_dir(directory);
        self.command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.process_group(0).kill_on_drop(true);
        let mut child = self.command.spawn().map_err(|error| Failure::NotStarted(error.to_string()))?;
        let group = Group::of(&child);
        let ended = timeout(limit, converse(&mut child, input)).await;
        let ended = ended.unwrap_or(Err(Failure::TimedOut(limit)));
        match &ended {
            Ok(Ended { extent: Extent::Whole, .. }) => group.leave(),
            Ok(Ended { extent: Extent::Loose | Extent::CutOff, .. }) | Err(_) => {
                drop(group);
                // A killed process is gone at once, unless the kernel holds it; nobody waits for that.
                let _ = timeout(GRACE, child.wait()).await;
            }
        }
        ended
    }
}

/// Without a shell nobody else would fill in the project's folder.
fn in_project(text: &str, project: &Path) -> String {
    let folder = project.to_string_lossy();
    ["${CLAUDE_PROJECT_DIR}", "${MAYI_PROJECT_DIR}"]
        .iter()
        .fold(text.to_owned(), |text, name| text.replace(name, &folder))
}

/// Tells and listens at once, so that neither side waits for the other, until the program has ended and its output
/// is closed.
async fn converse(child: &mut Child, input: &[u8]) -> Result<Ended, Failure> {
    let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
    let (mut ended, mut told, mut heard, mut complained) = (None, false, false, false);
    {
        let mut telling = std::pin::pin!(tell(child.stdin.take(), input));
        let mut hearing = std::pin::pin!(listen(child.stdout.take(), &mut stdout));
        let mut complaining = std::pin::pin!(listen(child.stderr.take(), &mut stderr));
        while ended.is_none() || !heard || !complained {
            let patience = ended.map_or_else(|| Instant::now() + GRACE, |(_, at)| at + GRACE);
            tokio::select! {
                status = child.wait(), if ended.is_none() => {
                    let status = status.map_err(|error| Failure::NotStarted(error.to_string()))?;
                    ended = Some((status, Instant::now()));
                }
                () = &mut telling, if !told => told = true,
                result = &mut hearing, if !heard => { result?; heard = true; }
                result = &mut complaining, if !complained => { result?; complained = true; }
                () = sleep_until(patience), if ended.is_some() => break,
            }
        }
    }
    let Some((status, _)) = ended else { return Err(Failure::LeftRunning) };
    let extent = match (heard, complained) {
        (true, true) => Extent::Whole,
        (true, false) => Extent::Loose,
        (false, _) => Extent::CutOff,
    };
    Ok(Ended { status, stdout, stderr, extent })
}

/// Writes the input. A program that does not read it, or not all of it, has not failed.
async fn tell(stdin: Option<ChildStdin>, input: &[u8]) {
    if let Some(mut stdin) = stdin {
        let _ = stdin.write_all(input).await;
    }
}

/// Reads until the stream is closed or too much was said.
async fn listen(stream: Option<impl AsyncRead + Unpin>, heard: &mut Vec<u8>) -> Result<(), Failure> {
    let Some(stream) = stream else { return Ok(()) };
    let read = stream.take(ROOM as u64 + 1).read_to_end(heard).await;
    match read {
        Ok(_) if heard.len() > ROOM => Err(Failure::TooMuch),
        // What was read before a broken pipe still stands; the exit code says whether the program failed.
        Ok(_) | Err(_) => Ok(()),
    }
}

/// The process group of a program. Dropped, it is killed: also when whoever waited for the hook goes away.
struct Group(Option<Pid>);

impl Group {
    fn of(child: &Child) -> Self {
        Self(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)))
    }

    /// Lets the group be: the program has ended by itself.
    fn leave(mut self) {
        self.0 = None;
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // The group may be gone already, which is just as well.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}
