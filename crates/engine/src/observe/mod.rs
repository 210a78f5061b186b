//! Looking at the machine: the answers to what an analysis declares it must know. Bounded, and never by running
//! anything.

mod imagined;
mod machine;
mod repository;

pub use imagined::{BadFile, Imagined};
pub use machine::Machine;

use mayi_shell::observe::{Answer, Question};

/// Somebody who can look.
pub trait Observer {
    /// Looks into one question. Whatever cannot be found out is [`Answer::Unknown`].
    fn look(&self, question: &Question) -> Answer;
}

impl<O: Observer + ?Sized> Observer for &O {
    fn look(&self, question: &Question) -> Answer {
        (**self).look(question)
    }
}
