//! The stand-in is worth its name only if it refuses what the APIs refuse.

use mayi_core::call::Call;
use mayi_engine::classifier::Question;
use serde_json::{Value, json};

use crate::standin::{Api, Seen, Standin, violation};
use crate::{NO, configured, run, say, session};

fn good(api: Api) -> Seen {
    let server = Standin::new(api, [say(NO)]);
    let (transcript, action) = (session(), Call::shell("make"));
    run(configured(&server.settings()).judge(Question::new(&transcript, &action)));
    server.seen().remove(0)
}

/// Sets what a pointer names, and makes it if it is not there.
fn with(seen: &Seen, pointer: &str, value: Value) -> Seen {
    let mut body = seen.json();
    let (parent, name) = pointer.rsplit_once('/').unwrap();
    match (body.pointer_mut(parent).unwrap(), name.parse::<usize>()) {
        (Value::Array(items), Ok(at)) => items[at] = value,
        (object, _) => object[name] = value,
    }
    Seen { body: body.to_string().into_bytes(), ..seen.clone() }
}

fn without_header(seen: &Seen, name: &str) -> Seen {
    let headers = seen.headers.iter().filter(|(own, _)| own != name).cloned().collect();
    Seen { headers, ..seen.clone() }
}

#[test]
fn what_the_messages_api_refuses_is_refused() {
    let seen = good(Api::Anthropic);
    assert_eq!(violation(Api::Anthropic, &seen), None);
    let kept = json!({"type": "ephemeral"});
    let blocks: Vec<Value> = (0..5).map(|_| json!({"type": "text", "text": "x", "cache_control": kept})).collect();
    for wrong in [
        without_header(&seen, "anthropic-version"),
        without_header(&seen, "x-api-key"),
        without_header(&seen, "content-type"),
        Seen { path: "/messages".to_owned(), ..seen.clone() },
        Seen { body: b"{".to_vec(), ..seen.clone() },
        with(&seen, "/max_tokens", Value::Null),
        with(&seen, "/max_tokens", json!("64")),
        with(&seen, "/model", json!("")),
        with(&seen, "/n", json!(1)),
        with(&seen, "/stream", json!(true)),
        with(&seen, "/messages", json!([])),
        with(&seen, "/messages/0", json!({"role": "assistant", "content": "x"})),
        with(&seen, "/messages/0", json!({"role": "user", "content": blocks})),
        with(&seen, "/messages/0", json!({"role": "user", "content": [{"type": "text", "text": "\n"}]})),
        with(&seen, "/system/0/cache_control", json!({"type": "forever"})),
        with(&seen, "/system/0/cache_control", json!(true)),
        with(&seen, "/tool_choice", json!({"type": "tool", "name": "x"})),
    ] {
        assert!(violation(Api::Anthropic, &wrong).is_some(), "{:?}", String::from_utf8_lossy(&wrong.body));
    }
}

#[test]
fn what_a_chat_api_refuses_is_refused() {
    let seen = good(Api::OpenAi);
    assert_eq!(violation(Api::OpenAi, &seen), None);
    let mut other_key = without_header(&seen, "authorization");
    other_key.headers.push(("authorization".to_owned(), "Bearer other".to_owned()));
    for wrong in [
        other_key,
        without_header(&seen, "content-type"),
        Seen { path: "/v1/messages".to_owned(), ..seen.clone() },
        with(&seen, "/max_tokens", json!(-1)),
        with(&seen, "/max_completion_tokens", json!(64)),
        with(&seen, "/cache_control", json!({})),
        with(&seen, "/messages/1", json!({"role": "user", "content": []})),
        with(&seen, "/messages/0", json!({"role": "user", "content": "x"})),
        with(&seen, "/tool_choice", json!("auto")),
    ] {
        assert!(violation(Api::OpenAi, &wrong).is_some(), "{:?}", String::from_utf8_lossy(&wrong.body));
    }
}
