//! A key from standard input: a line of a pipe, or typed at a terminal that shows none of it.

use std::io::{self, IsTerminal, Read};

use anyhow::{Context, Result, bail};
use secrecy::SecretString;
use zeroize::Zeroizing;

use crate::paint;

/// No key is longer.
const LONGEST: usize = 64 * 1024;

/// Reads a key. Whatever was read of it is wiped.
pub(super) fn key(question: &str) -> Result<SecretString> {
    let stdin = io::stdin();
    let mut line = Zeroizing::new(Vec::with_capacity(LONGEST));
    if stdin.is_terminal() {
        let typed = terminal::typed(question, &mut line);
        paint::tell("");
        typed?;
    } else {
        piped(&mut stdin.lock(), &mut line)?;
    }
    let text = std::str::from_utf8(&line).ok().map(str::trim).context("a key is text, and this is none")?;
    if text.is_empty() {
        bail!("there is no key on standard input\nhelp: mayi login --api-key < FILE, or type it at a terminal");
    }
    if text.contains(|letter: char| letter.is_control() || letter == ' ') {
        bail!("a key is one word on one line\nhelp: check what is on standard input");
    }
    Ok(SecretString::from(text))
}

/// Everything there is. The buffer has its whole length from the start: growing would leave copies behind.
fn piped(input: &mut impl Read, line: &mut Vec<u8>) -> Result<()> {
    input.take(LONGEST as u64).read_to_end(line).context("standard input cannot be read")?;
    if line.len() >= LONGEST {
        bail!("what is on standard input is too long for a key");
    }
    Ok(())
}

#[cfg(unix)]
mod terminal {
    //! A terminal that shows nothing. Its signals are off as well: a run that ended in the middle of a line would leave
    //! a terminal behind that stays silent.

    use std::io;

    use anyhow::{Context, Result, bail};
    use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};

    use super::LONGEST;
    use crate::paint;

    const INTERRUPT: u8 = 3;
    const END: u8 = 4;
    const BACKSPACE: [u8; 2] = [8, 127];
    const CLEAR: u8 = 21;

    struct Silence(Termios);

    impl Silence {
        fn begin() -> Result<Self> {
            let before = tcgetattr(io::stdin()).context("the terminal cannot be asked")?;
            let mut silent = before.clone();
            silent.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
            tcsetattr(io::stdin(), OptionalActions::Flush, &silent).context("the terminal does not fall silent")?;
            Ok(Self(before))
        }
    }

    impl Drop for Silence {
        fn drop(&mut self) {
            // A terminal that went away needs nothing.
            let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.0);
        }
    }

    /// Asks, and reads what is typed, to the end of the line.
    pub(super) fn typed(question: &str, line: &mut Vec<u8>) -> Result<()> {
        let _silence = Silence::begin()?;
        paint::ask(question);
        let mut letter = [0];
        loop {
            let read = rustix::io::read(io::stdin(), &mut letter).context("the terminal cannot be read")?;
            match letter {
                _ if read == 0 => return Ok(()),
                [b'\n' | b'\r' | END] => return Ok(()),
                [INTERRUPT] => bail!("cancelled; nothing was kept"),
                [CLEAR] => line.clear(),
                [letter] if BACKSPACE.contains(&letter) => drop(line.pop()),
                [_] if line.len() >= LONGEST => bail!("this is too long for a key"),
                [letter] => line.push(letter),
            }
        }
    }
}

#[cfg(not(unix))]
mod terminal {
    //! Where a terminal cannot be silenced, nothing is typed at it.

    use anyhow::{Result, bail};

    pub(super) fn typed(_question: &str, _line: &mut Vec<u8>) -> Result<()> {
        bail!("a key cannot be typed unseen at this terminal\nhelp: mayi login --api-key < FILE")
    }
}
