//! Lists of tools: what the agent is shown of them. Tools that are denied outright are left out; everything else
//! about a list stays as the server wrote it.

use serde_json::Value;

use super::counter::Counter;
use super::wire::Message;

/// A server's wish that a person sees every call of a tool. It can only make a call stricter.
const NEEDS_PERSON: &str = "anthropic/requiresUserInteraction";

/// A list as the agent gets it, and the tools in it that want a person.
pub(crate) struct Listing {
    pub(crate) message: Message,
    pub(crate) need_person: Vec<String>,
}

/// Reads the answer to `tools/list`. One that is no list of tools is passed on as it is.
pub(crate) fn read(message: Message, counter: &Counter) -> Listing {
    let mut need_person = Vec::new();
    let Some(mut result) = message.member("result") else { return Listing { message, need_person } };
    let Some(tools) = result.get_mut("tools").and_then(Value::as_array_mut) else {
        return Listing { message, need_person };
    };
    let before = tools.len();
    tools.retain(|tool| {
        let name = tool.get("name").and_then(Value::as_str).unwrap_or_default();
        if tool.get("_meta").and_then(|meta| meta.get(NEEDS_PERSON)) == Some(&Value::Bool(true)) {
            need_person.push(name.to_owned());
        }
        !counter.hides(name)
    });
    if tools.len() == before {
        return Listing { message, need_person };
    }
    let message = message.with_result(result).unwrap_or(message);
    Listing { message, need_person }
}
