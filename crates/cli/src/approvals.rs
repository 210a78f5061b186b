//! `mayi approvals`: the questions that wait at a server, shown and answered from a terminal. What agents wrote is shown
//! with every character visible.

mod shown;
mod watch;

use std::time::Duration;

use anyhow::{Context, Result};
use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict;
use mayi_engine::remote::client::Client;
use mayi_engine::remote::wire::{AnswerRequest, Approval, Remember, State};
use serde_json::json;

use crate::arguments::{ApprovalTask, Approvals, Where};
use crate::exit::Exit;
use crate::{Out, identity, person, surroundings};

/// How long the server may take for an answer.
pub(super) const WITHIN: Duration = Duration::from_secs(20);

/// How it is answered.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Words,
    Json,
}

pub(crate) fn run(task: Approvals, out: Out<'_>) -> Result<Exit> {
    let client = client(task.settings.clone(), task.server.clone())?;
    identity::runtime()?.block_on(perform(task, &client, out))
}

/// The server that is named, or else the one of the settings.
pub(crate) fn client(settings: Option<String>, server: Option<String>) -> Result<Client> {
    let place =
        Where { settings, cwd: None, add_dir: Vec::new(), allowed_tools: Vec::new(), disallowed_tools: Vec::new() };
    let mut settings = surroundings::local(&place)?.settings;
    settings.server.url = server.or(settings.server.url);
    let environment: Vec<_> = std::env::vars_os().collect();
    let client = Client::of(&settings, &environment)?;
    client.context("settings name no server\nhelp: set `server.url`, or give --server URL")
}

async fn perform(task: Approvals, client: &Client, out: Out<'_>) -> Result<Exit> {
    let form = if task.json { Form::Json } else { Form::Words };
    match task.task {
        None if form == Form::Words && person::is_there() => watch::watch(client, out).await,
        None => list(client, Some(State::Pending), form, out).await,
        Some(ApprovalTask::Watch) => watch::watch(client, out).await,
        Some(ApprovalTask::List { all }) => list(client, (!all).then_some(State::Pending), form, out).await,
        Some(ApprovalTask::Show { id }) => {
            let approval = client.look(&id, Duration::ZERO, WITHIN).await?;
            let text = match form {
                Form::Json => format!("{:#}", json!(approval)),
                Form::Words => shown::whole(&approval),
            };
            writeln!(out, "{text}")?;
            Ok(Exit::Done)
        }
        Some(ApprovalTask::Allow { id, comment, session, always, layer }) => {
            let (remember, rule) = match (session, always) {
                (Some(rule), _) => (Remember::Session, Some(rule)),
                (None, Some(rule)) => (Remember::Always, Some(rule)),
                (None, None) => (Remember::Once, None),
            };
            let layer = if remember == Remember::Session { Some(Layer::Session) } else { layer };
            let wanted = Wanted { verdict: Verdict::Allow, remember, rule, layer, comment };
            answered(client, (&id, wanted), form, out).await
        }
        Some(ApprovalTask::Deny { id, comment }) => {
            answered(client, (&id, Wanted { comment, ..Wanted::no() }), form, out).await
        }
    }
}

async fn list(client: &Client, state: Option<State>, form: Form, out: Out<'_>) -> Result<Exit> {
    let questions = client.questions(state, WITHIN).await?;
    if form == Form::Json {
        writeln!(out, "{:#}", json!(questions))?;
        return Ok(Exit::Done);
    }
    for approval in &questions {
        writeln!(out, "{}", shown::line(approval))?;
    }
    if questions.is_empty() {
        writeln!(out, "nothing waits")?;
    }
    Ok(Exit::Done)
}

/// What a person wants to say.
#[derive(Debug)]
pub(super) struct Wanted {
    pub(super) verdict: Verdict,
    pub(super) remember: Remember,
    pub(super) rule: Option<String>,
    pub(super) layer: Option<Layer>,
    pub(super) comment: Option<String>,
}

impl Wanted {
    pub(super) fn no() -> Self {
        Self { verdict: Verdict::Deny, remember: Remember::Once, rule: None, layer: None, comment: None }
    }

    /// The answer, bound to the question that was shown.
    pub(super) fn about(self, approval: &Approval) -> AnswerRequest {
        let Self { verdict, remember, rule, layer, comment } = self;
        AnswerRequest { verdict, digest: approval.question.digest.clone(), remember, rule, layer, comment }
    }
}

async fn answered(client: &Client, (id, wanted): (&str, Wanted), form: Form, out: Out<'_>) -> Result<Exit> {
    let approval = client.look(id, Duration::ZERO, WITHIN).await?;
    let said = wanted.verdict;
    let settled = client.answer(id, &wanted.about(&approval), WITHIN).await?;
    if form == Form::Json {
        writeln!(out, "{:#}", json!(settled))?;
    } else {
        writeln!(out, "{}", shown::outcome(&settled))?;
    }
    // Somebody else may have said something else before.
    let stands = settled.answer.as_ref().map(|answer| answer.verdict);
    Ok(if stands == Some(said) { Exit::Done } else { Exit::Error })
}
