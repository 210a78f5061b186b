//! A word aside with the user while the command has the terminal: a question that comes up during a run. The relay itself
//! puts it, so that nobody else reads what is typed, and the command waits as long as it does not read.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver, Sender};

type Question = Box<dyn FnOnce() + Send>;

/// The way to a user whose terminal a command has.
#[derive(Debug)]
pub struct Aside {
    questions: Sender<Question>,
    wake: UnixStream,
}

impl Aside {
    /// Does something with the user's own terminal, as it was before the command had it. `None` where that cannot be
    /// done: the run is over, or somebody else is in the foreground.
    pub fn perform<T: Send + 'static>(&self, deed: impl FnOnce() -> T + Send + 'static) -> Option<T> {
        let (tell, told) = mpsc::channel();
        let question = move || {
            // Whoever asked may have gone meanwhile.
            let _ = tell.send(deed());
        };
        self.questions.send(Box::new(question)).ok()?;
        (&self.wake).write_all(&[0]).ok()?;
        told.recv().ok()
    }
}

/// The relay's side of it.
#[derive(Debug)]
pub(super) struct Asked {
    questions: Receiver<Question>,
    woken: UnixStream,
    /// As long as the other end is open, nobody is woken for nothing when the last [`Aside`] is gone.
    _wake: UnixStream,
}

/// Both sides.
pub(super) fn pair() -> io::Result<(Aside, Asked)> {
    let (sender, questions) = mpsc::channel();
    let (wake, woken) = UnixStream::pair()?;
    woken.set_nonblocking(true)?;
    let other = wake.try_clone()?;
    Ok((Aside { questions: sender, wake }, Asked { questions, woken, _wake: other }))
}

impl Asked {
    /// The next question, if there is one.
    pub(super) fn next(&self) -> Option<Question> {
        let mut bytes = [0; 64];
        while (&self.woken).read(&mut bytes).is_ok_and(|length| length > 0) {}
        self.questions.try_recv().ok()
    }
}

impl AsFd for Asked {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.woken.as_fd()
    }
}
