//! The person at the terminal: asked on `/dev/tty`, so that a command's own input and output stay what they are. Where
//! there is no terminal nobody is asked, and nobody answers.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};

/// What a person said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// Yes.
    Yes,
    /// No, or nothing that is a yes.
    No,
    /// Nobody is there.
    Nothing,
}

/// Asks a question that can be answered with yes. Everything else is a no. Text from outside must have been made visible.
pub(crate) fn asked(question: &str) -> Said {
    let Some(terminal) = terminal() else { return Said::Nothing };
    let Ok(writing) = terminal.try_clone() else { return Said::Nothing };
    let mut writing = anstream::AutoStream::auto(writing);
    if write!(writing, "{question} [y/N] ").and_then(|()| writing.flush()).is_err() {
        return Said::Nothing;
    }
    let mut line = String::new();
    match BufReader::new(terminal).read_line(&mut line) {
        Ok(read) if read > 0 && is_yes(&line) => Said::Yes,
        Ok(_) => Said::No,
        Err(_) => Said::Nothing,
    }
}

/// Whether somebody can be asked.
pub(crate) fn is_there() -> bool {
    terminal().is_some()
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_ascii_lowercase().as_str(), "y" | "yes")
}

fn terminal() -> Option<File> {
    OpenOptions::new().read(true).write(true).open("/dev/tty").ok()
}
