//! Where a request comes from and whom it is meant for: the `Host` it names, and the page that sent it.
//!
//! Two attacks end here: a stranger's name that points to this machine (the host is not ours), and a stranger's page that
//! sends requests in a person's name (the origin is not ours).

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};

use super::peer::Peer;
use crate::access::site::{Front, Site};
use crate::problem::Problem;

/// The host that a request is meant for, if that is this server.
pub(super) fn host(request: &Parts, site: &Site, peer: &Peer) -> Result<String, Problem> {
    let text = |name| request.headers.get(name).and_then(|host| host.to_str().ok());
    let forwarded = match site.front {
        Front::Nobody => None,
        Front::Proxy => text(header::HeaderName::from_static("x-forwarded-host")),
    };
    // A request line with a whole address in it goes before the header, as HTTP has it.
    let named = request.uri.authority().map(|authority| authority.as_str());
    let host = forwarded.or(named).or_else(|| text(header::HOST)).unwrap_or_default().trim();
    if request.headers.get_all(header::HOST).iter().count() > 1 || !site.serves(host, peer.local) {
        let shown: String = host.chars().filter(|letter| !letter.is_control()).take(100).collect();
        return Err(Problem::OtherHost(shown));
    }
    Ok(host.to_owned())
}

/// Whether a request that changes something comes from a page of this server, or from no page at all.
pub(super) fn own_page(request: &Parts, site: &Site, host: &str) -> Result<(), Problem> {
    if request.method.is_safe() {
        return Ok(());
    }
    let headers = &request.headers;
    let refused = || Err(Problem::Refused("the request comes from a page of another site".to_owned()));
    if is_foreign(headers) {
        return refused();
    }
    let Some(origin) = headers.get(header::ORIGIN) else { return Ok(()) };
    let scheme = match site.front {
        Front::Nobody => None,
        Front::Proxy => headers.get("x-forwarded-proto").and_then(|scheme| scheme.to_str().ok()),
    };
    if site.is_own_origin(origin.to_str().unwrap_or_default(), host, scheme) { Ok(()) } else { refused() }
}

/// Whether the browser says that another site's page sends this.
pub(super) fn is_foreign(headers: &HeaderMap) -> bool {
    let said = headers.get("sec-fetch-site").map(|said| said.as_bytes());
    said.is_some_and(|said| said != b"same-origin" && said != b"none")
}
