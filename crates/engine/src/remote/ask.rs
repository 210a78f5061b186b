//! Putting a question to the people at the server, and waiting for their answer as long as the agent's patience lasts.
//!
//! Only an answer to exactly this question counts: its name, its digest, and a rule that was offered. Whatever goes
//! wrong is no answer.

use std::time::{Duration, Instant};

use mayi_core::policy::Layer;
use mayi_core::rule::Rule;
use mayi_core::verdict::Verdict;
use mayi_settings::update::{Destination, PermissionUpdate, RuleValue, Rules};

use super::client::{Client, ServerError};
use super::wire::{Answer, Approval, NewApproval, Offer, Question, Remember, State};

/// How long one request waits for an answer, before the next one does.
const TURN: Duration = Duration::from_secs(25);
/// How long a server that went away is left alone before it is asked again.
const PAUSE: Duration = Duration::from_millis(500);
/// How long taking a question back may take.
const WITHDRAWING: Duration = Duration::from_secs(1);

/// What came of a question.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Word {
    /// Somebody answered.
    Given { verdict: Verdict, comment: Option<String>, by: String, update: Option<PermissionUpdate> },
    /// Nobody did, and why.
    Nobody(String),
}

/// Puts a question, and waits for its answer.
pub(crate) async fn ask(client: &Client, question: Question, left: Duration) -> Word {
    let begun = Instant::now();
    // Taking the question back needs time as well.
    let last = left.saturating_sub(WITHDRAWING.min(left / 4));
    let rest = || last.saturating_sub(begun.elapsed());
    let timeout_seconds = Some(left.as_secs().max(1));
    let digest = question.digest.clone();
    let offers = question.offers.clone();
    let put = match client.put(&NewApproval { question, timeout_seconds }, rest()).await {
        Ok(put) => put,
        Err(error) => return Word::Nobody(error.to_string()),
    };
    let mut approval = put.clone();
    loop {
        if approval.id != put.id || approval.question.digest != digest {
            return Word::Nobody(format!("the server `{}` speaks about another question", client.host()));
        }
        match approval.state {
            State::Pending => {}
            State::Answered => return heard(client, approval, &offers),
            State::Expired | State::Withdrawn => return Word::Nobody(unanswered(client, begun.elapsed())),
        }
        match next(client, &put.id, &rest).await {
            Ok(Some(newer)) => approval = newer,
            Ok(None) => break,
            Err(error) => {
                take_back(client, &put.id).await;
                return Word::Nobody(error.to_string());
            }
        }
    }
    take_back(client, &put.id).await;
    Word::Nobody(unanswered(client, begun.elapsed()))
}

/// How the question stands a while later; `None` when the time is up. A server that went away may come back.
async fn next(client: &Client, id: &str, rest: &impl Fn() -> Duration) -> Result<Option<Approval>, ServerError> {
    loop {
        let left = rest();
        if left.is_zero() {
            return Ok(None);
        }
        let asked = Instant::now();
        match client.look(id, TURN.min(left), left).await {
            Ok(approval) => {
                // A server that does not wait must not be asked without end.
                if approval.state == State::Pending {
                    tokio::time::sleep(rest().min(PAUSE.saturating_sub(asked.elapsed()))).await;
                }
                return Ok(Some(approval));
            }
            Err(error) if error.may_pass() => tokio::time::sleep(rest().min(PAUSE)).await,
            Err(error) => return Err(error),
        }
    }
}

/// Whoever looks at the server need not answer any more. If that cannot be said, the question expires by itself.
async fn take_back(client: &Client, id: &str) {
    let _ = client.withdraw(id, WITHDRAWING).await;
}

fn unanswered(client: &Client, waited: Duration) -> String {
    format!("nobody at the server `{}` answered within {} seconds", client.host(), waited.as_secs().max(1))
}

fn heard(client: &Client, approval: Approval, offers: &[Offer]) -> Word {
    let Some(Answer { verdict, by, comment, remember, rule, layer, .. }) = approval.answer else {
        return Word::Nobody(format!("the server `{}` gave no answer", client.host()));
    };
    let update = match (verdict, remember, rule) {
        (Verdict::Ask | Verdict::Deny, _, _) | (Verdict::Allow, Remember::Once, _) | (_, _, None) => Ok(None),
        (Verdict::Allow, Remember::Session | Remember::Always, Some(rule)) => {
            kept(&rule, (remember, layer), offers).map(Some)
        }
    };
    match update {
        Ok(update) => Word::Given { verdict, comment, by, update },
        Err(rule) => Word::Nobody(format!("the answer brings a rule that was not offered: `{rule}`")),
    }
}

/// What is to be written, if it was offered to the letter.
fn kept(
    rule: &str,
    (remember, layer): (Remember, Option<Layer>),
    offers: &[Offer],
) -> Result<PermissionUpdate, String> {
    let refused = || super::client::cleaned(rule);
    let layer = match (remember, layer) {
        (Remember::Session, _) | (Remember::Once, _) => Layer::Session,
        (Remember::Always, layer) => layer.unwrap_or(Layer::Local),
    };
    let offered = offers.iter().any(|offer| offer.rule == rule && offer.layers.contains(&layer));
    let destination = match layer {
        Layer::Session => Destination::Session,
        Layer::Local => Destination::LocalSettings,
        Layer::Project => Destination::ProjectSettings,
        Layer::User => Destination::UserSettings,
        Layer::Managed | Layer::Flag | Layer::Cli | Layer::Command => return Err(refused()),
    };
    let parsed: Rule = rule.parse().map_err(|_| refused())?;
    if !offered {
        return Err(refused());
    }
    Ok(PermissionUpdate::AddRules(Rules {
        rules: vec![RuleValue::from(&parsed)],
        behavior: Verdict::Allow,
        destination,
    }))
}
