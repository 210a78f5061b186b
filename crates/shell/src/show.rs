//! Reasons for not understanding, in words for people.

use std::fmt;

use crate::command::Why;
use crate::effect::Effect;

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Why::Syntax(what) => f.write_str(what),
            Why::TooLong => f.write_str("it is too long"),
            Why::TooDeep => f.write_str("it is nested too deeply"),
            Why::TooMuch => f.write_str("it is too much to follow"),
            Why::OddCharacter(letter) => write!(f, "it holds the hidden character {}", letter.escape_unicode()),
            Why::NotText => f.write_str("it is not UTF-8"),
        }
    }
}

impl fmt::Display for Effect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.act.fmt(f)
    }
}
