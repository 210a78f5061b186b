//! Host patterns as automata.

use mayi_core::rule::domain::DomainPattern;
use mayi_core::rule::text::TextPattern;

use super::bytes::ByteSet;
use super::nfa::{Builder, Nfa, StateId};
use super::text;

/// The automaton of a pattern.
pub(super) fn automaton(pattern: &DomainPattern) -> Nfa {
    let mut builder = Builder::default();
    match pattern {
        DomainPattern::Any => {
            let all = builder.everything();
            builder.start(all);
        }
        DomainPattern::Host(host) => {
            let start = builder.state();
            builder.start(start);
            let end = builder.text(start, host.as_bytes());
            builder.accept(end);
        }
        DomainPattern::Below(apex) => {
            let start = builder.state();
            builder.start(start);
            builder.wildcard(start, ByteSet::ALL, start);
            let end = builder.text(start, format!(".{apex}").as_bytes());
            builder.accept(end);
        }
        DomainPattern::Labels(labels) => self::labels(&mut builder, labels),
    }
    builder.finish()
}

/// Label by label, none of them empty.
fn labels(builder: &mut Builder, labels: &[TextPattern]) {
    let dot = ByteSet::one(b'.');
    let mut end: Option<StateId> = None;
    for label in labels {
        let start = builder.state();
        match end {
            Some(before) => builder.step(before, dot, start),
            None => builder.start(start),
        }
        builder.unbegun(start, dot);
        end = Some(self::label(builder, start, label));
    }
    if let Some(end) = end {
        builder.accept(end);
    }
}

fn label(builder: &mut Builder, start: StateId, pattern: &TextPattern) -> StateId {
    match pattern {
        TextPattern::Exact(text) | TextPattern::Prefix(text) => builder.text(start, text.as_bytes()),
        TextPattern::Glob(glob) => {
            // The label's own start has to stay apart: it is where something must come.
            let inner = builder.state();
            builder.free(start, inner);
            text::pieces(builder, inner, glob, ByteSet::ALL.minus(ByteSet::one(b'.')))
        }
    }
}
