//! A server that is a child process: spoken to over its standard input and output, ended with everything it started.

use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::process::{Child, Command};

use super::lines::{self, Attached, Who};
use super::{Connection, GatewayError};

/// How long a server may take to leave, by itself and then when told to. Agents end a gateway by force that takes much
/// more than a second, and its server would be left over.
const GRACE: Duration = Duration::from_millis(700);

/// Starts a server.
pub(crate) fn start(command: &[String], server: &str) -> Result<Connection, GatewayError> {
    let cannot = |source| GatewayError::Start { command: command.join(" "), source };
    let (program, arguments) =
        command.split_first().ok_or_else(|| cannot(std::io::Error::other("there is no command")))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).kill_on_drop(true);
    // A group of its own, so that it can be ended with everything it started.
    #[cfg(unix)]
    command.process_group(0);
    let mut child = command.spawn().map_err(cannot)?;
    let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
        return Err(cannot(std::io::Error::other("its input or output is missing")));
    };
    // A server that neither reads nor writes any more is about to end, which `finish` sees to.
    let Attached { side, .. } = lines::attach(output, input, Who::Server(server.to_owned()));
    Ok(Connection { side, finish: Box::pin(finish(child)) })
}

/// Waits for the server to leave, makes it leave if it does not, and says how it went.
async fn finish(mut child: Child) -> String {
    let group = child.id();
    let left = match tokio::time::timeout(GRACE, child.wait()).await {
        Ok(left) => left,
        Err(_) => {
            signal(group, Signal::Terminate);
            match tokio::time::timeout(GRACE, child.wait()).await {
                Ok(left) => left,
                Err(_) => {
                    signal(group, Signal::Kill);
                    child.wait().await
                }
            }
        }
    };
    // Whatever it started and left behind.
    signal(group, Signal::Kill);
    left.map_or_else(|error| error.to_string(), words)
}

fn words(status: ExitStatus) -> String {
    match status.code() {
        Some(code) => format!("it ended with exit code {code}"),
        None => format!("it was ended: {status}"),
    }
}

#[derive(Clone, Copy)]
enum Signal {
    Terminate,
    Kill,
}

/// Signals the server's process group. One that is gone already needs none.
#[cfg(unix)]
fn signal(group: Option<u32>, signal: Signal) {
    let group = group.and_then(|id| rustix::process::Pid::from_raw(i32::try_from(id).ok()?));
    let Some(group) = group else { return };
    let signal = match signal {
        Signal::Terminate => rustix::process::Signal::TERM,
        Signal::Kill => rustix::process::Signal::KILL,
    };
    let _ = rustix::process::kill_process_group(group, signal);
}

/// Without process groups only the server itself can be ended, which happens when it is let go.
#[cfg(not(unix))]
fn signal(_: Option<u32>, _: Signal) {}
