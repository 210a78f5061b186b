//! The questions and the audit of a server, for whoever answers and verifies from a command line.

use std::time::Duration;

use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;

use super::client::{Client, ServerError, segment};
use super::wire::{AnswerRequest, Approval, State};

#[derive(Deserialize)]
struct Listed {
    approvals: Vec<Approval>,
}

impl Client {
    /// Its questions: those that wait, or all of the last ones.
    pub async fn questions(&self, state: Option<State>, within: Duration) -> Result<Vec<Approval>, ServerError> {
        let path = match state {
            Some(State::Pending) => "/v1/approvals?state=pending",
            Some(State::Answered) => "/v1/approvals?state=answered",
            Some(State::Expired) => "/v1/approvals?state=expired",
            Some(State::Withdrawn) => "/v1/approvals?state=withdrawn",
            None => "/v1/approvals",
        };
        let listed: Listed = self.json(within, || self.request(Method::GET, path)).await?;
        Ok(listed.approvals)
    }

    /// Answers a question. How it stands then: somebody else may have been faster.
    pub async fn answer(&self, id: &str, answer: &AnswerRequest, within: Duration) -> Result<Approval, ServerError> {
        let path = format!("/v1/approvals/{}/answer", segment(id));
        self.json(within, || self.posting(&path, serde_json::to_vec(answer))).await
    }

    /// Has the server read the whole chain of its audit: what it found, in its own words.
    pub async fn verify(&self, within: Duration) -> Result<Value, ServerError> {
        self.json(within, || self.request(Method::POST, "/v1/audit/verify")).await
    }
}
