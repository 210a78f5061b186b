//! The routes under /v1, but for tokens and signing in. Each says once what it takes and gives, for itself and for the
//! OpenAPI document; what may be done is asked before a body is read.

mod approvals;
mod audit;
mod decide;
mod events;
mod flow;
mod insights;
pub(crate) mod news;
mod policy;
mod sessions;
pub(crate) mod workbench;

use std::marker::PhantomData;
use std::sync::Arc;

use axum::extract::{DefaultBodyLimit, FromRequestParts};
use axum::http::request::Parts;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::app::App;
use crate::principal::{Act, Principal};
use crate::problem::Problem;

/// Every route of the domain.
pub fn routes() -> OpenApiRouter<Arc<App>> {
    OpenApiRouter::new()
        .routes(routes!(decide::decide))
        .routes(routes!(sessions::create, sessions::list))
        .routes(routes!(sessions::one, sessions::change, sessions::end))
        .routes(routes!(approvals::put, approvals::list))
        .routes(routes!(approvals::one, approvals::withdraw))
        .routes(routes!(approvals::answer))
        .routes(routes!(events::events))
        .routes(routes!(audit::ship, audit::query))
        .routes(routes!(audit::export))
        .routes(routes!(audit::verify))
        .routes(routes!(workbench::replay))
        .routes(routes!(workbench::diff))
        .routes(routes!(policy::policy))
        .routes(routes!(policy::lint))
        .routes(routes!(policy::bundle))
        .routes(routes!(policy::key))
        .routes(routes!(insights::insights))
        // The door has read the body already, within a bound for each route.
        .layer(DefaultBodyLimit::disable())
}

/// Somebody who may do something. Before a body in a list of arguments, so that nobody learns from a refusal of their
/// body what they may not do anyway.
pub(crate) struct May<A>(pub(crate) Principal, pub(crate) PhantomData<A>);

/// What somebody may do, as a type.
pub(crate) trait Doing {
    const ACT: Act;
}

macro_rules! acts {
    ($($name:ident: $words:literal),+ $(,)?) => {
        $(
            #[doc = $words]
            pub(crate) struct $name;

            impl Doing for $name {
                const ACT: Act = Act::$name;
            }
        )+
    };
}

acts! {
    Ask: "Asks.",
    See: "Sees.",
    Answer: "Answers.",
    Audit: "Reads the audit.",
    Govern: "Makes and revokes tokens.",
}

impl<A: Doing, S: Sync> FromRequestParts<S> for May<A> {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Problem> {
        let principal = Principal::from_request_parts(parts, state).await?;
        principal.must(A::ACT)?;
        Ok(Self(principal, PhantomData))
    }
}
