//! Text patterns as automata: commands, tool names, agents, skills, values of parameters.

use mayi_core::rule::text::{Ending, Glob, TextPattern};

use super::bytes::ByteSet;
use super::nfa::{Builder, Nfa, StateId};

/// What ends a word.
const BLANKS: &str = " \t\n";

/// The automaton of a pattern.
pub(super) fn automaton(pattern: &TextPattern) -> Nfa {
    let mut builder = Builder::default();
    let start = builder.state();
    builder.start(start);
    match pattern {
        TextPattern::Exact(text) => {
            let end = builder.text(start, text.as_bytes());
            builder.accept(end);
        }
        // An empty prefix matches nothing: an empty command is no command.
        TextPattern::Prefix(prefix) if prefix.is_empty() => {}
        TextPattern::Prefix(prefix) => {
            let end = builder.text(start, prefix.as_bytes());
            end_of_word(&mut builder, end);
        }
        TextPattern::Glob(glob) => {
            let end = pieces(&mut builder, start, glob, ByteSet::ALL);
            match &glob.last {
                Ending::Text(_) => builder.accept(end),
                Ending::Word(_) => end_of_word(&mut builder, end),
            }
        }
    }
    builder.finish()
}

/// The pieces of a glob with wildcards over `any` between them; gives the state after the last one.
pub(super) fn pieces(builder: &mut Builder, start: StateId, glob: &Glob, any: ByteSet) -> StateId {
    let Glob { first, middle, last } = glob;
    let (Ending::Text(last) | Ending::Word(last)) = last;
    let mut at = builder.text(start, first.as_bytes());
    for piece in middle.iter().chain([last]) {
        let star = builder.state();
        builder.free(at, star);
        builder.wildcard(star, any, start);
        at = builder.text(star, piece.as_bytes());
    }
    at
}

/// The end, or a blank and anything.
fn end_of_word(builder: &mut Builder, end: StateId) {
    builder.accept(end);
    let anything = builder.everything();
    builder.step(end, ByteSet::of(BLANKS), anything);
}
