//! What goes over the wire between a client and the server, as both write and read it. Words only: what is allowed to
//! whom is the server's business.

use mayi_core::mode::Mode;
use mayi_core::policy::Layer;
use mayi_core::verdict::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::digits::{self, hexadecimal};

/// Milliseconds of the Unix clock.
pub type Moment = u64;

/// A question that a person must answer: everything they need to see, and what the answer is bound to.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Question {
    /// The agent program.
    pub agent: String,
    /// Its session.
    pub session: String,
    /// The agent within the session that makes the call.
    pub child: Option<String>,
    /// The session that the question bubbles up to.
    pub lead: Option<String>,
    /// The agent's name for the call.
    pub call_id: Option<String>,
    /// The machine it comes from.
    pub host: Option<String>,
    /// The tool.
    pub tool: String,
    /// Its input, secrets hidden.
    pub input: Value,
    /// The working directory.
    pub cwd: String,
    /// The mode it was decided in.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub mode: Mode,
    /// The version of the policy it was decided by.
    pub policy: String,
    /// What an answer is bound to: see [`digest`].
    pub digest: String,
    /// The step that asks.
    pub step: String,
    /// Why, as data.
    pub reason: Value,
    /// Why, in words.
    pub message: String,
    /// The path through the steps.
    pub trace: Value,
    /// What it does, in short.
    pub effects: Vec<String>,
    /// The parts of a command that matter, for underlining.
    pub parts: Vec<Part>,
    /// What could go wrong, in words.
    pub risk: Option<String>,
    /// What it would change, as a unified diff.
    pub preview: Option<String>,
    /// What "always" and "for the session" would write, exactly.
    pub offers: Vec<Offer>,
    /// Whose policy it was decided by. The server says so itself.
    pub policy_of: PolicyOf,
    /// The token that put it, by its id. The server says so itself.
    pub owner: String,
}

/// Whose policy decided a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum PolicyOf {
    /// The client's own: it keeps what an answer changes.
    #[default]
    Client,
    /// Settings that came with the call, bound by what the server's organisation says.
    Call,
    /// The server's: it keeps what an answer changes, and an answer counts only while that policy is in force.
    Server,
}

/// A part of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Part {
    /// Where it begins, in bytes of the command.
    pub start: usize,
    /// Where it ends.
    pub end: usize,
    /// What is to be said about it.
    pub note: String,
}

/// A rule that an answer may write, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Offer {
    /// The rule, as it would stand in the settings.
    pub rule: String,
    /// The layers it may be written to: `session` always, files where whoever asks can write them.
    #[cfg_attr(feature = "openapi", schema(value_type = Vec<String>))]
    pub layers: Vec<Layer>,
    /// What it would newly let pass, in words.
    pub covers: Vec<String>,
}

/// A question, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Approval {
    /// Its name.
    pub id: String,
    /// When it was put.
    pub created_at: Moment,
    /// When nobody will have answered.
    pub expires_at: Moment,
    /// How it stands.
    pub state: State,
    /// The question.
    pub question: Question,
    /// The answer, once there is one. An expired question is answered no, by nobody.
    pub answer: Option<Answer>,
}

/// A question that was put about a call, as the answer to the call names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Placed {
    /// Its name.
    pub id: String,
    /// When nobody will have answered.
    pub expires_at: Moment,
    /// What an answer is bound to.
    pub digest: String,
}

/// How a question stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum State {
    /// It waits.
    #[default]
    Pending,
    /// Somebody answered.
    Answered,
    /// Nobody did in time, so it is no.
    Expired,
    /// Whoever asked took it back.
    Withdrawn,
}

/// What a person said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Answer {
    /// Allow or deny.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub verdict: Verdict,
    /// Who said it, as the server knows them.
    pub by: String,
    /// When.
    pub at: Moment,
    /// What the agent is told.
    pub comment: Option<String>,
    /// For how long it holds.
    pub remember: Remember,
    /// The rule that goes with it: one of the offers, to the letter.
    pub rule: Option<String>,
    /// Where the rule is written.
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub layer: Option<Layer>,
}

/// For how long an answer holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum Remember {
    /// For this call.
    #[default]
    Once,
    /// For the session.
    Session,
    /// Written to settings.
    Always,
}

/// An answer on its way to the server: `POST /v1/approvals/{id}/answer`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct AnswerRequest {
    /// Allow or deny.
    #[cfg_attr(feature = "openapi", schema(value_type = String))]
    pub verdict: Verdict,
    /// The digest of the question that was shown.
    pub digest: String,
    /// For how long it holds.
    #[serde(default)]
    pub remember: Remember,
    /// The offered rule.
    #[serde(default)]
    pub rule: Option<String>,
    /// Where it is written.
    #[serde(default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>))]
    pub layer: Option<Layer>,
    /// What the agent is told.
    #[serde(default)]
    pub comment: Option<String>,
}

/// A question on its way to the server: `POST /v1/approvals`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct NewApproval {
    /// The question.
    pub question: Question,
    /// How long it may wait, in seconds; the server's own limit holds too.
    pub timeout_seconds: Option<u64>,
}

/// Audit records on their way to the server: `POST /v1/audit`. Sending the same again changes nothing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Shipment {
    /// Whose records: a name that the client made once.
    pub source: String,
    /// The number of the first record, counted by the client without gaps.
    pub first: u64,
    /// The records, as they stand in the local audit.
    pub records: Vec<Value>,
}

/// How far the server has a client's records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Received {
    /// The number of the next record that the server wants.
    pub next: u64,
}

/// Settings for agents: `GET /v1/policy/bundle`. The signature is over the bytes of the whole body, in the header
/// [`SIGNATURE`]; the key is at `/v1/policy/key`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Bundle {
    /// The version, as records name it.
    pub version: String,
    /// When it was made.
    pub issued_at: Moment,
    /// Managed settings.
    pub settings: Value,
}

/// The header with the Ed25519 signature of a bundle, in base64.
pub const SIGNATURE: &str = "mayi-signature";
/// The header that requests with a cookie must carry, with the word that `/v1/me` gives.
pub const CSRF: &str = "mayi-csrf";

/// What goes wrong, as every failing answer says it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub struct Failure {
    /// What, in words.
    pub error: String,
    /// What to do.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub help: Option<String>,
}

/// What an answer is bound to: the tool, its whole input, the directory and the version of the policy. A call that
/// differs in any of them needs an answer of its own.
pub fn digest(tool: &str, input: &Value, (cwd, policy): (&str, &str)) -> String {
    // Serialising a value that came from JSON cannot fail; an empty text would only bind more loosely to nothing.
    let input = serde_json::to_string(input).unwrap_or_default();
    let parts = [tool, &input, cwd, policy].map(|part| ((part.len() as u64).to_le_bytes(), part));
    let parts = parts.each_ref().map(|(length, part)| [length.as_slice(), part.as_bytes()]);
    hexadecimal(&digits::digest(parts.as_flattened()))
}
