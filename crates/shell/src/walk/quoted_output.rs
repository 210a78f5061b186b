//! The one command whose output is in the text: `$(cat <<'E' … E)`, the usual way to write a long message. Nothing
//! else is taken for granted.

use super::source::Source;
use crate::parse::tree::{
    Body, Content, Ending, HereBody, List, RedirectOperator, Simple, Stage, Substitution, Target,
};

/// What the substitution prints, when it is `cat` and a here-document with a quoted delimiter, and nothing more.
pub(super) fn known<'t>(source: &'t Source, substitution: &'t Substitution) -> Option<&'t str> {
    let Body::Inline(List { items }) = &substitution.body else { return None };
    let [item] = items.as_slice() else { return None };
    let ([Stage::Simple(simple)], []) = (item.first.stages.as_slice(), item.rest.as_slice()) else { return None };
    if item.ending != Ending::Waits {
        return None;
    }
    let text = here_text(source, simple)?;
    // A substitution drops the newlines at the end of what it captures.
    Some(text.trim_end_matches('\n'))
}

fn here_text<'t>(source: &'t Source, simple: &Simple) -> Option<&'t str> {
    let ([], [program], [redirect]) =
        (simple.assignments.as_slice(), simple.words.as_slice(), simple.redirects.as_slice())
    else {
        return None;
    };
    let is_cat = matches!(program.content, Content::Plain) && source.slice(program.span) == "cat";
    let (true, RedirectOperator::HereDocument, Target::Here(index)) = (is_cat, redirect.operator, &redirect.target)
    else {
        return None;
    };
    let HereBody::Data(text) = &source.here.get(*index)?.body else { return None };
    Some(text)
}
