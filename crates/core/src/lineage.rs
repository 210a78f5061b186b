//! Several agents: a lead starts others, and a child is never permitted more than its lead.

use serde::{Deserialize, Serialize};

use crate::reason::Reason;
use crate::verdict::{Decision, Terms, Verdict};

/// What becomes of a child's ask.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Inheritance {
    /// A person answers it on the child's own prompt.
    #[default]
    Ask,
    /// It waits at the lead's prompt, labelled with the child.
    Bubble,
    /// It is allowed if, and only if, the lead itself would be allowed the same call.
    Allow,
}

/// The child's decision, bound by what its lead would be told about the same call: the stricter of both.
///
/// A lead's list of tools is no permission and is not looked at here: a lead that only delegates may start a child
/// that edits.
///
/// INVARIANT: what either of them would only be let do confined stays confined, whoever allows it in the end.
pub fn bind(child: Decision, lead: (&str, &Decision), inheritance: Inheritance) -> Decision {
    let (name, lead) = lead;
    let terms = Terms {
        confined: child.terms.confined || lead.terms.confined,
        bounds: child.terms.bounds.min(lead.terms.bounds),
    };
    let vouched = child.verdict == Verdict::Ask && lead.verdict == Verdict::Allow && inheritance == Inheritance::Allow;
    if child.verdict >= lead.verdict && !vouched {
        return Decision { terms, ..child };
    }
    // The lead's decision stands, so its steps are the ones to show.
    let (name, because) = (name.to_owned(), Box::new(lead.reason.clone()));
    let reason = if vouched { Reason::Vouched { lead: name, because } } else { Reason::Lead { lead: name, because } };
    Decision { verdict: lead.verdict, step: lead.step, reason, terms, trace: lead.trace.clone() }
}
