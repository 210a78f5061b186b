//! What goes wrong with a request: a status and words for whoever asked. The one place where a failure becomes an answer.
//!
//! Words from inside (the store's, a library's) do not leave: they may name hosts, files or somebody else's data.

use std::collections::BTreeMap;

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use mayi_engine::remote::wire::Failure;
use utoipa::openapi::{ContentBuilder, Ref, RefOr, ResponseBuilder};

use crate::principal::{Act, Role};
use crate::store::StoreError;

/// Why a request is not answered as its sender wished.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// It cannot be read.
    #[error("{0}")]
    Malformed(String),
    /// Nobody knows who sends it.
    #[error("this needs a token or a sign-in")]
    Unknown,
    /// The token or sign-in is not, or no longer, good.
    #[error("the token or sign-in is not known, or no longer good")]
    Stale,
    /// Who sends it may not do that.
    #[error("the role `{}` may not {}", role.word(), doing(*act))]
    Forbidden {
        /// Who.
        role: Role,
        /// What.
        act: Act,
    },
    /// It is about something of somebody else, or comes from a page of somebody else.
    #[error("{0}")]
    Refused(String),
    /// There is no such thing.
    #[error("{0}")]
    Absent(String),
    /// There is no such way to ask for it.
    #[error("this address does not take that method")]
    Method,
    /// Somebody was faster, or the thing is not what the sender believes.
    #[error("{0}")]
    Conflict(String),
    /// Its time is over.
    #[error("{0}")]
    Gone(String),
    /// It is too long.
    #[error("the request is longer than {0} bytes")]
    TooLong(usize),
    /// It is written in another way than is read here.
    #[error("{0}")]
    Unreadable(String),
    /// It is about another server.
    #[error("this server does not serve `{0}`")]
    OtherHost(String),
    /// It can be read, and cannot be done.
    #[error("{0}")]
    Unfit(String),
    /// There were too many.
    #[error("too many requests")]
    TooMany {
        /// When to come again.
        seconds: u64,
    },
    /// It came too slowly.
    #[error("the request did not arrive in time")]
    Slow,
    /// What it needs is away.
    #[error("{0}")]
    Away(String),
    /// It took too long.
    #[error("no answer in time")]
    TimedOut,
    /// Something is broken here.
    #[error("something is broken in the server")]
    Broken,
}

fn doing(act: Act) -> &'static str {
    match act {
        Act::Ask => "ask",
        Act::See => "see this",
        Act::Answer => "answer",
        Act::Audit => "read the audit",
        Act::Govern => "govern",
    }
}

impl Problem {
    /// The status of the answer.
    pub fn status(&self) -> StatusCode {
        match self {
            Problem::Malformed(_) => StatusCode::BAD_REQUEST,
            Problem::Unknown | Problem::Stale => StatusCode::UNAUTHORIZED,
            Problem::Forbidden { .. } | Problem::Refused(_) => StatusCode::FORBIDDEN,
            Problem::Absent(_) => StatusCode::NOT_FOUND,
            Problem::Method => StatusCode::METHOD_NOT_ALLOWED,
            Problem::Slow => StatusCode::REQUEST_TIMEOUT,
            Problem::Conflict(_) => StatusCode::CONFLICT,
            Problem::Gone(_) => StatusCode::GONE,
            Problem::TooLong(_) => StatusCode::PAYLOAD_TOO_LARGE,
            Problem::Unreadable(_) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Problem::OtherHost(_) => StatusCode::MISDIRECTED_REQUEST,
            Problem::Unfit(_) => StatusCode::UNPROCESSABLE_ENTITY,
            Problem::TooMany { .. } => StatusCode::TOO_MANY_REQUESTS,
            Problem::Broken => StatusCode::INTERNAL_SERVER_ERROR,
            Problem::Away(_) => StatusCode::SERVICE_UNAVAILABLE,
            Problem::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    fn help(&self) -> Option<&'static str> {
        match self {
            Problem::Unknown => Some("send `authorization: Bearer TOKEN`; `mayi token create` makes one"),
            Problem::Stale => Some("`mayi token create` makes another, `mayi token sign-in` a link for a person"),
            Problem::OtherHost(_) => Some("name it with `mayi serve --host NAME` if it is this server's"),
            Problem::TooMany { .. } => Some("come again later"),
            Problem::Away(_) => Some("try again; nothing was changed"),
            Problem::Forbidden { .. }
            | Problem::Malformed(_)
            | Problem::Refused(_)
            | Problem::Absent(_)
            | Problem::Method
            | Problem::Conflict(_)
            | Problem::Gone(_)
            | Problem::TooLong(_)
            | Problem::Unreadable(_)
            | Problem::Unfit(_)
            | Problem::Slow
            | Problem::TimedOut
            | Problem::Broken => None,
        }
    }
}

impl From<StoreError> for Problem {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Away(_) => Problem::Away("the store cannot be reached".to_owned()),
            StoreError::Damaged(_) => Problem::Broken,
            StoreError::Conflict => Problem::Conflict("it was changed by somebody else meanwhile".to_owned()),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let failure = Failure { error: self.to_string(), help: self.help().map(str::to_owned) };
        let mut response = (self.status(), axum::Json(failure)).into_response();
        match self {
            Problem::TooMany { seconds } => {
                response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
            }
            Problem::Unknown | Problem::Stale => {
                let bearer = HeaderValue::from_static("Bearer realm=\"mayi\"");
                response.headers_mut().insert(header::WWW_AUTHENTICATE, bearer);
            }
            Problem::Malformed(_)
            | Problem::Forbidden { .. }
            | Problem::Refused(_)
            | Problem::Absent(_)
            | Problem::Method
            | Problem::Conflict(_)
            | Problem::Gone(_)
            | Problem::TooLong(_)
            | Problem::Unreadable(_)
            | Problem::OtherHost(_)
            | Problem::Unfit(_)
            | Problem::Slow
            | Problem::Away(_)
            | Problem::TimedOut
            | Problem::Broken => {}
        }
        response
    }
}

/// The statuses of every failure, for the OpenAPI document: a route names `Problem` among its responses.
impl utoipa::IntoResponses for Problem {
    fn responses() -> BTreeMap<String, RefOr<utoipa::openapi::Response>> {
        let table = [
            ("400", "the request cannot be read"),
            ("401", "no token or sign-in, or none that is good"),
            ("403", "the role may not do that, or the request comes from elsewhere"),
            ("404", "there is no such thing"),
            ("405", "there is no such method here"),
            ("408", "the request did not arrive in time"),
            ("409", "somebody was faster, or it is about something else"),
            ("410", "its time is over"),
            ("413", "the request is too long"),
            ("415", "the request is written in another way than is read here"),
            ("421", "this server does not serve that host"),
            ("422", "the request can be read, and cannot be done"),
            ("429", "too many requests"),
            ("500", "something is broken in the server"),
            ("503", "what it needs is away"),
            ("504", "no answer in time"),
        ];
        let content = || ContentBuilder::new().schema(Some(Ref::from_schema_name("Failure"))).build();
        let response = |words: &str| ResponseBuilder::new().description(words).content("application/json", content());
        table.into_iter().map(|(status, words)| (status.to_owned(), response(words).build().into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use utoipa::IntoResponses;

    #[test]
    fn every_problem_has_a_documented_status_and_says_nothing_from_inside() {
        let documented = Problem::responses();
        let text = String::new;
        let problems = [
            Problem::Malformed(text()),
            Problem::Unknown,
            Problem::Stale,
            Problem::Forbidden { role: Role::Agent, act: Act::Answer },
            Problem::Refused(text()),
            Problem::Absent(text()),
            Problem::Method,
            Problem::Conflict(text()),
            Problem::Gone(text()),
            Problem::TooLong(1),
            Problem::Unreadable(text()),
            Problem::OtherHost(text()),
            Problem::Unfit(text()),
            Problem::TooMany { seconds: 3 },
            Problem::Slow,
            StoreError::Away("postgres://secret@host".to_owned()).into(),
            StoreError::Damaged("secret".to_owned()).into(),
            Problem::TimedOut,
        ];
        for problem in problems {
            assert!(documented.contains_key(problem.status().as_str()), "{problem:?}");
            assert!(!problem.to_string().contains("secret"), "{problem:?}");
        }
        let response = Problem::TooMany { seconds: 3 }.into_response();
        assert_eq!(response.headers()[header::RETRY_AFTER], "3");
    }
}
