//! The server's HTTP surface: every route, and the door that every request passes before it gets there.
//!
//! No cross-origin answers are ever given, so no other site's page can read anything here.

pub mod accept;
mod body;
mod document;
mod door;
mod health;
pub mod input;
pub mod limit;
mod origin;
pub mod peer;
mod stream;
pub mod tls;

use std::sync::Arc;

use axum::extract::DefaultBodyLimit;
use axum::{Router, middleware};
use utoipa_axum::router::OpenApiRouter;

use crate::access::{self, Access};
use crate::api;
use crate::app::App;
use crate::page;
use crate::problem::Problem;
use crate::telemetry::Telemetry;

use door::Door;
use limit::Rates;

pub use peer::Peer;

/// What stands behind the HTTP surface.
#[derive(Debug)]
pub struct Surface {
    /// What every request shares.
    pub app: Arc<App>,
    /// Who may come in.
    pub access: Access,
    /// What is counted and told.
    pub telemetry: Telemetry,
    /// How often somebody may come.
    pub rates: Rates,
}

/// Everything that is served, with the usual limits.
pub fn router(app: Arc<App>, access: Access) -> Router {
    Surface { app, access, telemetry: Telemetry::default(), rates: Rates::default() }.router()
}

impl Surface {
    /// Everything that is served.
    pub fn router(self) -> Router {
        let Surface { app, access, telemetry, rates } = self;
        let routes = OpenApiRouter::with_openapi(document::beginning())
            .merge(health::routes().with_state((Arc::clone(&app), telemetry.clone())))
            .merge(access::routes().with_state(access.clone()))
            .merge(api::routes().with_state(app));
        let (router, document) = routes.split_for_parts();
        let door = Arc::new(Door::new(access, telemetry, rates));
        router
            .merge(document::route(document))
            .merge(page::routes())
            .fallback(async || Problem::Absent("there is nothing at this address".to_owned()))
            .method_not_allowed_fallback(async || Problem::Method)
            // The door has measured every body before.
            .layer(DefaultBodyLimit::disable())
            .layer(middleware::from_fn_with_state(door, door::pass))
    }
}
