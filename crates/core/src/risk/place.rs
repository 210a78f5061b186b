//! Places that are written or removed for a reason of their own: start-up files, logs, the agent's own settings.

use mayi_shell::command::{Command, RedirectTarget};

use crate::call::Workspace;
use crate::path;
use crate::risk::{Assessment, data};

/// The category of changing an absolute path, if it is one of those places.
pub(super) fn category_of(changed: &str, workspace: &Workspace) -> Option<&'static str> {
    // A project that lies in such a place is the project first.
    if workspace.holds(changed) {
        return None;
    }
    let home = workspace.home.as_deref();
    data::PLACES.iter().find(|(place, _)| holds(place, changed, home)).map(|(_, category)| *category)
}

fn holds(place: &str, changed: &str, home: Option<&str>) -> bool {
    let below = match (place.strip_prefix('~'), home) {
        (None, _) => changed,
        // What lies in the home is compared without it.
        (Some(_), Some(home)) => match changed.strip_prefix(home) {
            Some(below) => below,
            None => return false,
        },
        (Some(_), None) => return false,
    };
    let place = place.strip_prefix('~').unwrap_or(place);
    match place.strip_suffix('*') {
        Some(beginning) => below.starts_with(beginning),
        None => path::is_within(below, place),
    }
}

/// A redirection leads to the network, in the way of bash: by a file name.
pub(super) fn is_on_socket(command: &Command) -> bool {
    command.redirects.iter().any(|redirect| match &redirect.target {
        RedirectTarget::File(word) => {
            ["/dev/tcp/", "/dev/udp/"].into_iter().any(|socket| word.known_prefix().starts_with(socket))
        }
        RedirectTarget::Descriptor(_) | RedirectTarget::Here(_) => false,
    })
}

/// Editing a file.
pub(crate) fn of_edit(changed: &str, workspace: &Workspace) -> Assessment {
    match category_of(changed, workspace) {
        Some(category) => Assessment::Blocked { category: category.to_owned(), detail: format!("writes `{changed}`") },
        None => Assessment::default(),
    }
}
