//! The variables of a command: what the plan leaves of the caller's, and what a sandbox adds.

use std::ffi::OsString;
use std::path::Path;

use crate::plan::{Environment, Network, Plan};
use crate::proxy::inside_environment;
use crate::run::PROXY_PORT;

/// The variables that the plan leaves, and those that a sandbox adds.
pub(crate) fn variables(
    given: Vec<(OsString, OsString)>,
    plan: &Plan,
    temporary: Option<&Path>,
) -> Vec<(OsString, OsString)> {
    let mut kept: Vec<(OsString, OsString)> =
        given.into_iter().filter(|(name, _)| !is_removed(&plan.environment, name)).collect();
    let mut set = |name: &str, value: OsString| {
        kept.retain(|(known, _)| known != name);
        kept.push((name.into(), value));
    };
    set("PWD", plan.directory.clone().into_os_string());
    if let Some(folder) = temporary {
        set("TMPDIR", folder.as_os_str().to_owned());
    }
    match plan.network {
        Network::Proxied(_) => {
            for (name, value) in inside_environment(PROXY_PORT) {
                set(&name, value.into());
            }
        }
        Network::None | Network::Own { .. } => (),
    }
    kept
}

fn is_removed(environment: &Environment, name: &OsString) -> bool {
    environment.removed.iter().any(|removed| match removed.strip_suffix('*') {
        Some(start) => name.as_encoded_bytes().starts_with(start.as_bytes()),
        None => name == removed.as_str(),
    })
}
