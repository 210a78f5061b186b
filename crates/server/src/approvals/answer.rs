//! Answering: once, by somebody who may, about the very question that was shown. What goes with an answer is one of the
//! offers, to the letter.

use std::sync::atomic::Ordering;

use mayi_core::policy::Layer;
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;
use mayi_engine::remote::wire::{Answer, AnswerRequest, Approval, PolicyOf, Remember, State};
use mayi_settings::update::{Destination, PermissionUpdate, RuleValue, Rules};
use serde_json::json;

use super::overdue;
use crate::app::App;
use crate::principal::{Act, Principal};
use crate::problem::Problem;
use crate::record;
use crate::store::{SessionState, Settled, StoreError};

/// A comment is a sentence, not a document.
const LONGEST_COMMENT: usize = 4 * 1024;
/// How often a session is read again because others changed it meanwhile.
const TRIES: usize = 50;

/// Answers a question.
pub async fn answer(app: &App, principal: &Principal, id: &str, request: AnswerRequest) -> Result<Settled, Problem> {
    principal.must(Act::Answer)?;
    let absent = || Problem::Absent(format!("there is no question `{id}`"));
    let approval = app.store.approval(id.to_owned()).await?.ok_or_else(absent)?;
    if approval.question.digest != request.digest {
        return Err(Problem::Conflict("the answer is about another call than the one that waits".to_owned()));
    }
    match approval.state {
        State::Pending => {}
        State::Answered | State::Withdrawn => return Ok(Settled::Before(approval)),
        State::Expired => return Err(Problem::Gone("nobody answered in time, so it was no".to_owned())),
    }
    if approval.expires_at <= app.now() {
        let settled = overdue::expire(app, &approval).await?.ok_or_else(absent)?;
        return before(settled);
    }
    if is_outdated(app, &approval) {
        super::withdraw(app, &approval, "the policy changed meanwhile: ask again").await?;
        return Err(Problem::Conflict("the policy changed since the question was put".to_owned()));
    }
    let answer = checked(app, principal, &approval, request)?;
    let records = vec![record::answer(&approval, &answer)];
    let settled = app.store.settle(approval.id.clone(), State::Answered, Some(answer.clone()), records).await?;
    match settled.ok_or_else(absent)? {
        Settled::Before(approval) => before(approval),
        Settled::Now(approval) => {
            app.tally.answers.fetch_add(1, Ordering::Relaxed);
            keep(app, principal, &approval, &answer).await?;
            Ok(Settled::Now(approval))
        }
    }
}

/// How a question stands that somebody else settled first.
fn before(approval: Approval) -> Result<Settled, Problem> {
    match approval.state {
        State::Expired => Err(Problem::Gone("nobody answered in time, so it was no".to_owned())),
        State::Pending | State::Answered | State::Withdrawn => Ok(Settled::Before(approval)),
    }
}

/// Whether the server's policy is another one than when the question was put. The disk is looked at: an edit that
/// nobody has noticed yet counts.
fn is_outdated(app: &App, approval: &Approval) -> bool {
    app.settings.refresh();
    approval.question.policy_of == PolicyOf::Server && *approval.question.policy != *app.policies.version()
}

/// The answer, if it is one that may be given.
fn checked(app: &App, principal: &Principal, approval: &Approval, request: AnswerRequest) -> Result<Answer, Problem> {
    let unfit = |words: &str| Err(Problem::Unfit(words.to_owned()));
    let AnswerRequest { verdict, remember, rule, layer, comment, .. } = request;
    if comment.as_ref().is_some_and(|comment| comment.len() > LONGEST_COMMENT) {
        return unfit("the comment is longer than 4096 bytes");
    }
    let layer = match (verdict, remember) {
        (Verdict::Ask, _) => return unfit("an answer is `allow` or `deny`"),
        (Verdict::Deny, Remember::Session | Remember::Always) => return unfit("only an `allow` is remembered"),
        (Verdict::Allow | Verdict::Deny, Remember::Once) => match (&rule, layer) {
            (None, None) => None,
            _ => return unfit("an answer for once brings no rule and no layer"),
        },
        (Verdict::Allow, Remember::Session) => Some(layer.unwrap_or(Layer::Session)),
        (Verdict::Allow, Remember::Always) => layer,
    };
    if remember != Remember::Once {
        let offers = &approval.question.offers;
        let offer = rule.as_ref().and_then(|rule| offers.iter().find(|offer| offer.rule == *rule));
        let Some(offer) = offer else { return unfit("the rule was not offered, to the letter") };
        let is_session = layer == Some(Layer::Session);
        if !layer.is_some_and(|layer| offer.layers.contains(&layer)) || is_session != (remember == Remember::Session) {
            return unfit("the layer was not offered for this rule");
        }
    }
    Ok(Answer { verdict, by: principal.name.clone(), at: app.now(), comment, remember, rule, layer })
}

/// Keeps what goes with an answer. Rules of a client's own files are written by the client.
async fn keep(app: &App, principal: &Principal, approval: &Approval, answer: &Answer) -> Result<(), Problem> {
    let question = &approval.question;
    let unsaved = |why: String| Problem::Unfit(format!("the answer counts for this call; its rule is not kept: {why}"));
    if question.policy_of != PolicyOf::Client
        && let (Some(rule), Some(layer)) = (&answer.rule, answer.layer)
        && layer != Layer::Session
    {
        write(app, principal, (rule, layer)).await.map_err(unsaved)?;
    }
    if question.session.is_empty() || answer.verdict != Verdict::Allow {
        return Ok(());
    }
    let rule = answer.rule.as_deref().filter(|_| answer.layer == Some(Layer::Session));
    for _ in 0..TRIES {
        let Some(mut state) = app.store.session(question.session.clone()).await? else { return Ok(()) };
        let before = state.record.clone();
        // A person's yes ends the run of denials.
        state.record.session.note_allow();
        state.record.awaiting.retain(|id| Some(id) != question.call_id.as_ref());
        let records = match rule {
            Some(rule) => {
                let update = added(rule, Destination::Session).map_err(unsaved)?;
                state.record.permissions.apply(&update);
                vec![ruled(app, principal, &state, rule)]
            }
            None => Vec::new(),
        };
        if state.record == before {
            return Ok(());
        }
        match app.store.put_session(state, records).await {
            Ok(_) => return Ok(()),
            Err(StoreError::Conflict) => {}
            Err(error) => return Err(error.into()),
        }
    }
    Err(unsaved("the session is changed by too many at once".to_owned()))
}

fn ruled(app: &App, principal: &Principal, state: &SessionState, rule: &str) -> crate::store::NewRecord {
    let members = json!({"by": principal.name, "added": [rule], "layer": Layer::Session});
    record::of("rules", app.now(), Some(&state.id), members)
}

fn added(rule: &str, destination: Destination) -> Result<PermissionUpdate, String> {
    let rule: Rule = rule.parse().map_err(|error: mayi_core::rule::RuleError| error.to_string())?;
    Ok(PermissionUpdate::AddRules(Rules { rules: vec![RuleValue::from(&rule)], behavior: Verdict::Allow, destination }))
}

/// Writes a rule to the server's own settings.
async fn write(app: &App, principal: &Principal, (rule, layer): (&str, Layer)) -> Result<(), String> {
    let destination = match layer {
        Layer::Local => Destination::LocalSettings,
        Layer::Project => Destination::ProjectSettings,
        Layer::User => Destination::UserSettings,
        Layer::Managed | Layer::Flag | Layer::Cli | Layer::Command | Layer::Session => {
            return Err(format!("{layer} settings are not written by mayi"));
        }
    };
    let update = added(rule, destination)?;
    let places = app.settings.places().clone();
    let saved = tokio::task::spawn_blocking(move || mayi_settings::write::save(&places, &[update])).await;
    saved.map_err(|error| error.to_string())?.map_err(|error| error.to_string())?;
    app.settings.refresh();
    let members = json!({"by": principal.name, "added": [rule], "layer": layer, "policy": *app.policies.version()});
    let record = record::of("rules", app.now(), None, members);
    app.store.append(vec![record]).await.map(drop).map_err(|error| error.to_string())
}
