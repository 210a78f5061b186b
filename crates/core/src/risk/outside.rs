//! Tools of outside services: only their names are known, so only what others would certainly see is said here.

use crate::catalogue;
use crate::risk::{Assessment, data};

/// A tool of a server that is named after an outside service, with a verb that others see.
pub(crate) fn of_tool(tool: &str) -> Assessment {
    let Some(server) = catalogue::mcp_server(tool) else { return Assessment::default() };
    let name = tool.rsplit("__").next().unwrap_or_default().to_lowercase();
    let verb = name.split(['_', '-']).next().unwrap_or_default();
    let server = server.to_lowercase();
    let is_outside = data::OUTSIDE_SERVERS
        .iter()
        .any(|service| server == *service || server.split(['_', '-']).any(|part| part == *service));
    if is_outside && data::OUTSIDE_VERBS.contains(&verb) {
        let detail = format!("`{name}` of {server}: others see it");
        return Assessment::Blocked { category: "outside-writes".to_owned(), detail };
    }
    Assessment::default()
}
