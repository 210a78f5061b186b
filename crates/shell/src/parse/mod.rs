//! Bash's grammar, read by recursive descent into a [`tree`].
//!
//! Total and linear: any text gives a tree or an [`Opaque`] with its place; nothing here panics, recurses
//! without bound or reads a byte more than a fixed number of times per level. A form that is not known is an
//! error, never skipped, because a skipped form is a command nobody saw.

mod arithmetic;
mod classes;
mod compound;
mod condition;
mod cursor;
mod expansion;
mod heredoc;
mod keyword;
mod list;
mod odd;
mod quote;
mod redirect;
mod simple;
mod substitution;
pub(crate) mod tree;
mod word;

use crate::command::{Opaque, Why};
use crate::word::Span;
pub(crate) use classes::{in_name, starts_name};
use cursor::{Parsed, Parser};
use tree::{Piece, Tree};

/// Limits; a text beyond one of them is opaque.
pub(crate) mod budget {
    /// Bytes of text.
    pub(crate) const BYTES: usize = 64 * 1024;
    /// Levels of nesting, nested scripts included.
    pub(crate) const DEPTH: usize = 64;
    /// Commands, nested ones included.
    pub(crate) const COMMANDS: usize = 4096;
}

/// Parses a whole script that already stands `depth` levels deep.
pub(crate) fn parse(text: &str, depth: usize) -> Result<Tree, Opaque> {
    check(text)?;
    let mut parser = Parser::new(text, depth, 0);
    let list = parser.script()?;
    Ok(Tree { list, here: parser.here.into() })
}

/// Pieces with the here-documents that stand in them.
pub(crate) type Pieces = Result<(Vec<Piece>, Tree), Opaque>;

/// Parses text that bash would evaluate as arithmetic: an operand of `let`, a subscript, a variable's value.
pub(crate) fn parse_arithmetic(text: &str, depth: usize) -> Pieces {
    parse_pieces(text, depth, Parser::arithmetic_text)
}

/// Parses text that bash would expand like a double-quoted string: a prompt.
pub(crate) fn parse_quoted(text: &str, depth: usize) -> Pieces {
    parse_pieces(text, depth, Parser::here_text)
}

fn parse_pieces<'t>(text: &'t str, depth: usize, read: impl FnOnce(&mut Parser<'t>) -> Parsed<Vec<Piece>>) -> Pieces {
    check(text)?;
    let mut parser = Parser::new(text, depth, 0);
    let pieces = read(&mut parser)?;
    Ok((pieces, Tree { list: tree::List::default(), here: parser.here.into() }))
}

fn check(text: &str) -> Result<(), Opaque> {
    if text.len() > budget::BYTES {
        return Err(Opaque { why: Why::TooLong, span: Span { start: 0, end: text.len() } });
    }
    odd::check(text)
}
