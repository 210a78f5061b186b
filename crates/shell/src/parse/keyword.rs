//! Reserved words, which mean something only where a command may start.

use super::classes::ends_word;
use super::cursor::Parser;

/// A reserved word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keyword {
    If,
    Then,
    Elif,
    Else,
    Fi,
    For,
    Select,
    While,
    Until,
    Do,
    Done,
    Case,
    Esac,
    In,
    Function,
    Coproc,
    Time,
    Open,
    Close,
    Bang,
    Condition,
}

/// The longest reserved word.
const LONGEST: usize = 8;

impl Keyword {
    fn named(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"if" => Self::If,
            b"then" => Self::Then,
            b"elif" => Self::Elif,
            b"else" => Self::Else,
            b"fi" => Self::Fi,
            b"for" => Self::For,
            b"select" => Self::Select,
            b"while" => Self::While,
            b"until" => Self::Until,
            b"do" => Self::Do,
            b"done" => Self::Done,
            b"case" => Self::Case,
            b"esac" => Self::Esac,
            b"in" => Self::In,
            b"function" => Self::Function,
            b"coproc" => Self::Coproc,
            b"time" => Self::Time,
            b"{" => Self::Open,
            b"}" => Self::Close,
            b"!" => Self::Bang,
            b"[[" => Self::Condition,
            _ => return None,
        })
    }

    /// Ends the list it follows.
    pub(super) fn ends_list(self) -> bool {
        matches!(
            self,
            Self::Then | Self::Elif | Self::Else | Self::Fi | Self::Do | Self::Done | Self::Esac | Self::Close
        )
    }
}

impl Parser<'_> {
    /// The reserved word here, and where it ends; the head does not move.
    pub(super) fn peek_keyword(&mut self) -> Option<(Keyword, usize)> {
        let first = self.peek()?;
        if !matches!(first, b'a'..=b'z' | b'{' | b'}' | b'!' | b'[') {
            return None;
        }
        let mut word = [0_u8; LONGEST];
        let mut at = self.position;
        let mut length = 0;
        loop {
            at = self.past_continuations(at);
            match self.byte(at) {
                None => break,
                Some(byte) if ends_word(byte) => break,
                Some(byte) => {
                    *word.get_mut(length)? = byte;
                    length += 1;
                    at += 1;
                }
            }
        }
        Some((Keyword::named(word.get(..length)?)?, at))
    }

    /// Steps over `keyword` if it is here.
    pub(super) fn eat_keyword(&mut self, keyword: Keyword) -> bool {
        match self.peek_keyword() {
            Some((found, end)) if found == keyword => {
                self.position = end;
                true
            }
            Some(_) | None => false,
        }
    }
}
