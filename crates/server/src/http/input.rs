//! How bodies, queries and paths are read: as axum reads them, refused as the rest of the server refuses.

use axum::extract::rejection::{JsonRejection, PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Request};
use axum::http::request::Parts;
use serde::de::DeserializeOwned;

use crate::problem::Problem;

/// A JSON body.
#[derive(Clone, Debug)]
pub struct Body<T>(pub T);

/// A query.
#[derive(Clone, Debug)]
pub struct Query<T>(pub T);

/// The variable parts of a path.
#[derive(Clone, Debug)]
pub struct Path<T>(pub T);

impl<S: Send + Sync, T: DeserializeOwned> FromRequest<S> for Body<T> {
    type Rejection = Problem;

    async fn from_request(request: Request, state: &S) -> Result<Self, Problem> {
        let read = axum::Json::<T>::from_request(request, state).await;
        read.map(|axum::Json(value)| Self(value)).map_err(|rejection| match rejection {
            JsonRejection::MissingJsonContentType(_) => {
                Problem::Unreadable("the body must be `application/json`".to_owned())
            }
            JsonRejection::JsonDataError(error) => Problem::Unfit(error.body_text()),
            other @ (JsonRejection::JsonSyntaxError(_) | JsonRejection::BytesRejection(_) | _) => {
                Problem::Malformed(other.body_text())
            }
        })
    }
}

impl<S: Send + Sync, T: DeserializeOwned> FromRequestParts<S> for Query<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Query::<T>::from_request_parts(parts, state).await;
        let malformed = |rejection: QueryRejection| Problem::Malformed(rejection.body_text());
        read.map(|axum::extract::Query(value)| Self(value)).map_err(malformed)
    }
}

impl<S: Send + Sync, T: DeserializeOwned + Send> FromRequestParts<S> for Path<T> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let read = axum::extract::Path::<T>::from_request_parts(parts, state).await;
        let malformed = |rejection: PathRejection| Problem::Malformed(rejection.body_text());
        read.map(|axum::extract::Path(value)| Self(value)).map_err(malformed)
    }
}
