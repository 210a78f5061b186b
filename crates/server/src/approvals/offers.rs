//! What "for the session" and "always" would write, exactly. The analysis proposes; here each rule is tried in the very
//! session that asks: with it this call passes, and by that rule alone.

use std::sync::Arc;

use mayi_analysis::suggest;
use mayi_core::policy::{Layer, Policy, Source, Written};
use mayi_core::risk::Assessment;
use mayi_core::session::Session;
use mayi_core::step::Step;
use mayi_core::verdict::Verdict;
use mayi_engine::batch::{Decided, Line};
use mayi_engine::remote::wire::{Offer, PolicyOf};

use crate::app::App;
use crate::deciding::asked::Asked;
use crate::deciding::standing::Standing;

/// The rules that an answer to this call may bring.
pub fn offers(app: &App, asked: &Asked, standing: &Standing, decided: &Decided) -> Vec<Offer> {
    let [only] = standing.members.as_slice() else {
        // A rule of one of several agents does not speak for its leads.
        return Vec::new();
    };
    let layers = layers(app, asked, standing);
    let blocked = matches!(decided.inspection.risk, Assessment::Blocked { .. });
    // What asks above the line asks whatever a rule allows, so nothing needs to be tried.
    if blocked || layers.is_empty() || !standing.in_force.takes_rules || decided.decision.step.is_above_the_line() {
        return Vec::new();
    }
    let policy = &standing.in_force.policy;
    let observer = asked.line.observer(&policy.workspace).unwrap_or_default();
    let mut offers = suggest::offers_seeing(&decided.call, policy, &observer);
    offers.retain(|offer| passes(&asked.line, (policy, &only.session), &offer.rule));
    offers.into_iter().map(|offer| Offer { layers: layers.clone(), ..offer }).collect()
}

/// Where a rule may be written: with the session, and to the server's own settings if it was they that asked.
fn layers(app: &App, asked: &Asked, standing: &Standing) -> Vec<Layer> {
    let session = asked.about.session.as_ref().map(|_| Layer::Session);
    let files = [Layer::Local, Layer::User]
        .into_iter()
        .filter(|layer| standing.in_force.of == PolicyOf::Server && app.settings.places().writable(*layer).is_some());
    session.into_iter().chain(files).collect()
}

/// Whether the call passes by this rule.
fn passes(line: &Line, (policy, session): (&Arc<Policy>, &Session), rule: &str) -> bool {
    let mut sources = policy.sources().to_vec();
    let written = Written::new(Verdict::Allow, rule);
    sources.push(Source::of(Layer::Session, &policy.workspace.directory, vec![written]));
    let with = Policy::build(policy.workspace.clone(), sources, policy.options.clone());
    let Ok(Ok(decided)) = line.decide(Arc::new(with), session.clone()) else { return false };
    decided.verdict() == Verdict::Allow && decided.decision.step == Step::AllowRules
}
