//! The gateway between two streams: what passes, what is decided, and what becomes of everything that goes wrong.
//! The other ends are lines written by hand, and the official Rust SDK on both sides.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mayi_agents::gateway::{Asker, Counter, between};
use mayi_core::session::Attendance;
use mayi_engine::desk::{Desk, Manner};
use mayi_settings::store::Store;
use mayi_settings::{Given, Places};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ServerHandler, ServiceExt};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, ReadHalf, WriteHalf};

/// Generous, because machines that build are slow; nothing waits this long unless it is broken.
const PATIENCE: Duration = Duration::from_secs(60);

const RULES: &str = r#"{ "permissions": {
    "allow": ["mcp__s__fine", "mcp__s__odd_name"],
    "ask": ["mcp__s__asks"],
    "deny": ["mcp__s__hidden"]
} }"#;

/// One end of the gateway, in lines.
struct End {
    reader: BufReader<ReadHalf<DuplexStream>>,
    writer: WriteHalf<DuplexStream>,
    /// Lists these tools when the gateway itself wants to know them, and says nothing of it.
    lists: Option<Value>,
}

impl End {
    fn new(stream: DuplexStream) -> Self {
        let (reader, writer) = tokio::io::split(stream);
        Self { reader: BufReader::new(reader), writer, lists: None }
    }

    async fn say(&mut self, text: &str) {
        self.writer.write_all(format!("{text}\n").as_bytes()).await.unwrap();
    }

    async fn send(&mut self, message: Value) {
        self.say(&message.to_string()).await;
    }

    async fn line(&mut self) -> Option<String> {
        loop {
            let mut line = String::new();
            let read = tokio::time::timeout(PATIENCE, self.reader.read_line(&mut line)).await.expect("nothing came");
            if read.unwrap() == 0 {
                return None;
            }
            match self.lists.clone().filter(|_| line.contains("mayi-") && line.contains("tools/list")) {
                Some(tools) => {
                    let asked: Value = serde_json::from_str(&line).unwrap();
                    self.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": tools}})).await;
                }
                None => return Some(line.trim_end_matches('\n').to_owned()),
            }
        }
    }

    async fn hear(&mut self) -> Value {
        serde_json::from_str(&self.line().await.expect("the stream ended")).unwrap()
    }
}

/// A gateway with a hand-written agent and server.
struct Scene {
    agent: End,
    server: End,
    folder: tempfile::TempDir,
}

fn desk(folder: &Path, attendance: Attendance) -> Desk {
    std::fs::write(folder.join("settings.json"), RULES).unwrap();
    let places = Places {
        directory: folder.to_owned(),
        user: vec![folder.join("settings.json")],
        state: Some(folder.join("state")),
        ..Places::default()
    };
    let settings = Store::open(places.clone(), Given::default());
    Desk::lasting(places, settings, Manner { attendance, ..Manner::default() })
}

fn counter(folder: &Path, attendance: Attendance) -> Counter {
    let asker = Asker { server: "s".to_owned(), session: "test".to_owned(), attendance };
    Counter::new(Arc::new(desk(folder, attendance)), asker)
}

fn scene_with(attendance: Attendance) -> Scene {
    let folder = tempfile::tempdir().unwrap();
    let (agent, gateway_agent) = tokio::io::duplex(1 << 16);
    let (server, gateway_server) = tokio::io::duplex(1 << 16);
    tokio::spawn(between(gateway_agent, gateway_server, counter(folder.path(), attendance)));
    let names = ["fine", "odd name", "later", "asks", "hidden"];
    let tools = names.map(|name| json!({"name": name, "inputSchema": {"type": "object"}}));
    let server = End { lists: Some(json!(tools)), ..End::new(server) };
    Scene { agent: End::new(agent), server, folder }
}

fn scene() -> Scene {
    scene_with(Attendance::Attended)
}

fn call(id: u64, tool: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": tool, "arguments": {"a": 1}}})
}

fn ping(id: u64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

impl Scene {
    /// Lets the agent introduce itself as one with a person who can be asked.
    async fn with_person(mut self) -> Self {
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": {}});
        let message = json!({"jsonrpc": "2.0", "id": "init", "method": "initialize", "params": params});
        self.agent.send(message.clone()).await;
        assert_eq!(self.server.hear().await, message);
        let answer = json!({"jsonrpc": "2.0", "id": "init", "result": {"serverInfo": {"name": "other"}, "x": 1}});
        self.server.send(answer.clone()).await;
        assert_eq!(self.agent.hear().await, answer);
        self
    }

    /// The server has heard nothing before this ping.
    async fn server_heard_nothing(&mut self) {
        self.agent.send(ping(999)).await;
        assert_eq!(self.server.hear().await, ping(999));
    }

    /// The person hears the next question, and answers it.
    async fn person_says(&mut self, answer: &str) {
        let question = self.agent.hear().await;
        assert_eq!(question["method"], "elicitation/create");
        let result = json!({"action": "accept", "content": {"answer": answer}});
        self.agent.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": result})).await;
    }

    async fn refused(&mut self, id: u64) -> String {
        let answer = self.agent.hear().await;
        assert_eq!(answer["id"], id);
        assert_eq!(answer["result"]["isError"], true, "{answer}");
        answer["result"]["content"][0]["text"].as_str().unwrap().to_owned()
    }
}

#[tokio::test]
async fn everything_but_calls_passes_byte_for_byte() {
    let mut scene = scene();
    let from_agent = [
        r#"{"jsonrpc":"2.0", "id":"ä\u0031","method":"resources/subscribe","params":{"uri":"x:y","_meta":{"k":[1e400]}}}"#,
        r#"{"method":"notifications/progress","params":{"progressToken":3,"progress":0.10},"jsonrpc":"2.0"}"#,
        r#"{"jsonrpc":"2.0","id":12345678901234567890123,"method":"some/extension","params":[],"more":{"z":1,"a":2}}"#,
        r#"{"jsonrpc":"2.0","id":"s-1","result":{"roots":[]}}"#,
        r#"{"jsonrpc":"2.0","id":"s-2","error":{"code":-1,"message":"no"}}"#,
    ];
    for text in from_agent {
        scene.agent.say(text).await;
        assert_eq!(scene.server.line().await.unwrap(), text);
    }
    let from_server = [
        r#"{"jsonrpc":"2.0","id":"s-1","method":"roots/list"}"#,
        r#"{"jsonrpc":"2.0","id":"s-2","method":"sampling/createMessage","params":{"n":1.50}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"id":"ä1","jsonrpc":"2.0","result":{"structuredContent":{"n":1e2}}}"#,
    ];
    for text in from_server {
        scene.server.say(text).await;
        assert_eq!(scene.agent.line().await.unwrap(), text);
    }
}

#[tokio::test]
async fn an_allowed_call_passes_byte_for_byte() {
    let mut scene = scene();
    let text = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fine","arguments":{"n":1.00,"k":"\u00e4"},"_meta":{"progressToken":"p"}}}"#;
    scene.agent.say(text).await;
    assert_eq!(scene.server.line().await.unwrap(), text);
    let answer = r#"{"jsonrpc":"2.0","id":1,"result":{"content":[],"structuredContent":{"x":1.0}}}"#;
    scene.server.say(answer).await;
    assert_eq!(scene.agent.line().await.unwrap(), answer);
}

#[tokio::test]
async fn a_denied_call_never_reaches_the_server() {
    let mut scene = scene();
    for (id, tool) in [(1, "hidden"), (2, "asks"), (3, "nobody-knows"), (4, "hidden ")] {
        scene.agent.send(call(id, tool)).await;
        assert!(scene.refused(id).await.starts_with("denied by mayi: "));
    }
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn where_nobody_can_be_asked_the_rule_is_named() {
    for attendance in [Attendance::Attended, Attendance::Unattended] {
        let mut scene = scene_with(attendance);
        scene.agent.send(call(1, "nobody-knows")).await;
        let words = scene.refused(1).await;
        if attendance == Attendance::Attended {
            assert!(words.contains("mayi rules add 'mcp__s__nobody-knows'"), "{words}");
        }
    }
}

#[tokio::test]
async fn a_rule_is_not_named_where_none_would_help() {
    let mut scene = scene();
    scene.agent.send(call(1, "asks")).await;
    let words = scene.refused(1).await;
    assert!(words.contains("no allow rule overrules the rule that asks") && !words.contains("rules add"), "{words}");
    scene.agent.send(call(2, "fine")).await;
    scene.lists(json!({"result": {"tools": [wanting("fine")]}})).await;
    let words = scene.refused(2).await;
    assert!(words.contains("no rule can allow it") && !words.contains("rules add"), "{words}");
}

#[tokio::test]
async fn odd_names_are_ruled_by_their_plain_form() {
    let mut scene = scene();
    scene.agent.send(call(1, "odd name")).await;
    assert_eq!(scene.server.hear().await["params"]["name"], "odd name");
    scene.agent.send(call(2, "hidden\u{0}")).await;
    scene.refused(2).await;
}

#[tokio::test]
async fn a_person_answers_through_the_agent() {
    let rows = [
        (json!({"result": {"action": "accept", "content": {"answer": "allow"}}}), true),
        (json!({"result": {"action": "accept", "content": {"answer": "deny"}}}), false),
        (json!({"result": {"action": "accept"}}), false),
        (json!({"result": {"action": "decline"}}), false),
        (json!({"error": {"code": -32601, "message": "no"}}), false),
    ];
    let mut scene = scene().with_person().await;
    for (id, (answer, runs)) in (1..).zip(rows) {
        scene.agent.send(call(id, "asks")).await;
        let question = scene.agent.hear().await;
        assert_eq!(question["method"], "elicitation/create");
        assert!(question["params"]["message"].as_str().unwrap().contains("mcp__s__asks"));
        let mut message = answer.clone();
        message["jsonrpc"] = json!("2.0");
        message["id"] = question["id"].clone();
        scene.agent.send(message.clone()).await;
        if runs {
            assert_eq!(scene.server.hear().await, call(id, "asks"), "{answer}");
            scene.server.send(json!({"jsonrpc": "2.0", "id": id, "result": {}})).await;
            scene.agent.hear().await;
        } else {
            scene.refused(id).await;
        }
    }
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn a_persons_yes_and_no_are_on_record() {
    let mut scene = scene().with_person().await;
    for (id, answer) in [(1, "allow"), (2, "deny")] {
        scene.agent.send(call(id, "asks")).await;
        scene.person_says(answer).await;
        match answer {
            "allow" => assert_eq!(scene.server.hear().await, call(id, "asks")),
            _ => drop(scene.refused(id).await),
        }
    }
    let text = std::fs::read_to_string(scene.folder.path().join("state/audit.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let brief: Vec<_> = lines.iter().map(|line| json!([line["kind"], line["call_id"], line["verdict"]])).collect();
    let expected = [
        json!(["decision", "1", "ask"]),
        json!(["answer", "1", "allow"]),
        json!(["decision", "2", "ask"]),
        json!(["answer", "2", "deny"]),
    ];
    assert_eq!(brief, expected, "{text}");
    for (name, value) in [("agent", "gateway"), ("session", "test"), ("tool", "mcp__s__asks"), ("by", "elicitation")] {
        assert_eq!(lines[1][name], value, "{text}");
    }
}

#[tokio::test]
async fn a_yes_that_cannot_be_recorded_is_none() {
    let mut scene = scene().with_person().await;
    // Nobody can append to a folder.
    std::fs::create_dir_all(scene.folder.path().join("state/audit.jsonl")).unwrap();
    scene.agent.send(call(1, "asks")).await;
    scene.person_says("allow").await;
    let words = scene.refused(1).await;
    assert!(words.contains("a person allowed it, but the audit"), "{words}");
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn a_cancelled_question_drops_its_call() {
    let mut scene = scene().with_person().await;
    scene.agent.send(call(1, "asks")).await;
    let question = scene.agent.hear().await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    scene.agent.send(cancel.clone()).await;
    let withdrawn = scene.agent.hear().await;
    assert_eq!(withdrawn["method"], "notifications/cancelled");
    assert_eq!(withdrawn["params"]["requestId"], question["id"]);
    // The person's yes comes too late. It is no answer to anything the server asked, either.
    let yes = json!({"action": "accept", "content": {"answer": "allow"}});
    scene.agent.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": yes})).await;
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn a_cancellation_of_what_the_server_has_goes_to_the_server() {
    let mut scene = scene();
    scene.agent.send(call(1, "fine")).await;
    scene.server.hear().await;
    let cancel = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}});
    scene.agent.send(cancel.clone()).await;
    assert_eq!(scene.server.hear().await, cancel);
}

#[tokio::test]
async fn lists_lose_what_is_denied_outright_and_nothing_else() {
    let mut scene = scene();
    let tools =
        |names: &[&str]| names.iter().map(|name| json!({"name": name, "x": {"b": 1, "a": 2}})).collect::<Vec<_>>();
    for (id, page) in [(1, vec!["fine", "hidden", "asks"]), (2, vec!["hidden", "hidden"]), (3, vec!["fine", "fine"])] {
        scene.agent.send(json!({"jsonrpc": "2.0", "id": id, "method": "tools/list"})).await;
        scene.server.hear().await;
        let result = json!({"tools": tools(&page), "nextCursor": "more", "_meta": {"m": 1}});
        scene.server.send(json!({"jsonrpc": "2.0", "id": id, "result": result})).await;
        let left: Vec<&str> = page.into_iter().filter(|name| *name != "hidden").collect();
        let result = json!({"tools": tools(&left), "nextCursor": "more", "_meta": {"m": 1}});
        assert_eq!(scene.agent.hear().await["result"], result);
    }
}

#[tokio::test]
async fn a_list_answered_under_the_number_as_a_string_is_filtered_all_the_same() {
    let mut scene = scene();
    scene.agent.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    scene.server.hear().await;
    scene.server.send(json!({"jsonrpc": "2.0", "id": "1", "result": {"tools": [{"name": "hidden"}]}})).await;
    assert_eq!(scene.agent.hear().await["result"]["tools"], json!([]));
}

#[tokio::test]
async fn a_tool_that_wants_a_person_is_not_allowed_without_one() {
    let mut scene = scene();
    scene.agent.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    scene.server.hear().await;
    let tool = json!({"name": "fine", "annotations": {"readOnlyHint": true}, "_meta": {"anthropic/requiresUserInteraction": true}});
    scene.server.send(json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}})).await;
    scene.agent.hear().await;
    scene.agent.send(call(2, "fine")).await;
    scene.refused(2).await;
}

#[tokio::test]
async fn annotations_never_allow() {
    let mut scene = scene();
    scene.agent.send(json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})).await;
    scene.server.hear().await;
    let tool = json!({"name": "asks", "annotations": {"readOnlyHint": true, "destructiveHint": false}});
    scene.server.send(json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [tool]}})).await;
    scene.agent.hear().await;
    scene.agent.send(call(2, "asks")).await;
    scene.refused(2).await;
}

#[tokio::test]
async fn what_can_be_read_in_two_ways_is_not_passed_on() {
    let mut scene = scene();
    let twice = [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/call","params":{"name":"hidden"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"ping","METHOD":"tools/call","params":{"name":"hidden"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fine","name":"hidden"}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"fine","arguments":{"a":1,"a":2}}}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":["fine"]}"#,
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#,
    ];
    for text in twice {
        scene.agent.say(text).await;
        let answer = scene.agent.hear().await;
        assert!(answer["id"] == 1 && answer["error"]["code"].is_i64(), "{text}: {answer}");
    }
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn a_call_by_any_other_writing_is_a_call() {
    let mut scene = scene();
    scene.agent.send(json!({"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "fine"}})).await;
    scene.agent.send(json!({"jsonrpc": "2.0", "id": null, "method": "tools/call", "params": {"name": "fine"}})).await;
    for (id, method) in (1..).zip(["Tools/Call", " tools/call\n", "tool\u{17f}/call"]) {
        scene.agent.send(json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"name": "hidden"}})).await;
        scene.refused(id).await;
    }
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn a_carriage_return_hides_no_second_message() {
    let mut scene = scene();
    let hidden = call(7, "hidden").to_string();
    scene.agent.say(&format!("{{\"jsonrpc\":\"2.0\",\"method\":\"x\",\"params\":\r{hidden}\r}}")).await;
    assert!(!scene.server.line().await.unwrap().contains('\r'));
}

#[tokio::test]
async fn garbage_from_either_side_is_dropped() {
    let mut scene = scene();
    for garbage in ["", "   ", "hello", "{", "[]", "[1,", "\u{feff}{}", "null", "{\"a\":1}"] {
        scene.agent.say(garbage).await;
        scene.server.say(garbage).await;
    }
    scene.agent.writer.write_all(b"\xff\xfe\n").await.unwrap();
    scene.server.writer.write_all(b"\xff\xfe\n").await.unwrap();
    scene.server_heard_nothing().await;
    scene.server.send(json!({"jsonrpc": "2.0", "id": 999, "result": {}})).await;
    assert_eq!(scene.agent.hear().await["id"], 999);
}

#[tokio::test]
async fn batches_are_decided_one_by_one() {
    let mut scene = scene();
    scene.agent.send(json!([call(1, "hidden"), ping(2), call(3, "fine")])).await;
    scene.refused(1).await;
    let heard = [scene.server.hear().await, scene.server.hear().await];
    assert!(heard.contains(&ping(2)) && heard.contains(&call(3, "fine")));
    scene
        .server
        .send(json!([{"jsonrpc": "2.0", "id": 2, "result": {}}, {"jsonrpc": "2.0", "id": 3, "result": {}}]))
        .await;
    assert_eq!((scene.agent.hear().await["id"].clone(), scene.agent.hear().await["id"].clone()), (json!(2), json!(3)));
}

#[tokio::test]
async fn a_server_cannot_answer_what_it_was_not_asked() {
    let mut scene = scene().with_person().await;
    scene.agent.send(call(1, "asks")).await;
    let question = scene.agent.hear().await;
    scene.server.send(json!({"jsonrpc": "2.0", "id": 1, "result": {"content": []}})).await;
    scene.server.send(json!({"jsonrpc": "2.0", "id": 55, "result": {}})).await;
    scene.server.send(json!({"jsonrpc": "2.0", "method": "x"})).await;
    assert_eq!(scene.agent.hear().await["method"], "x");
    scene.agent.send(json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}})).await;
    scene.refused(1).await;
}

#[tokio::test]
async fn an_id_in_use_is_refused() {
    let mut scene = scene();
    scene.agent.send(ping(1)).await;
    scene.agent.send(call(1, "fine")).await;
    assert_eq!(scene.agent.hear().await["error"]["code"], -32600);
    assert_eq!(scene.server.hear().await, ping(1));
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn requests_end_in_an_error_when_the_server_is_gone() {
    let mut scene = scene();
    scene.agent.send(ping(1)).await;
    scene.agent.send(call(2, "fine")).await;
    scene.server.hear().await;
    scene.server.hear().await;
    drop(scene.server);
    let mut ids = vec![];
    for _ in 0..2 {
        let answer = scene.agent.hear().await;
        assert!(answer["error"]["message"].as_str().unwrap().contains("the server `s` is gone"), "{answer}");
        ids.push(answer["id"].as_u64().unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
    assert_eq!(scene.agent.line().await, None);
}

#[tokio::test]
async fn the_server_hears_the_end_when_the_agent_leaves() {
    let mut scene = scene();
    scene.agent.send(call(1, "fine")).await;
    scene.agent.writer.shutdown().await.unwrap();
    // A call that was on its way is still decided and delivered; then comes the end.
    assert_eq!(scene.server.hear().await, call(1, "fine"));
    assert_eq!(scene.server.line().await, None);
}

#[tokio::test]
async fn a_server_that_does_not_read_can_still_speak() {
    let mut scene = scene();
    let big = "x".repeat(1 << 16);
    // More than pipes and queues hold, towards a server that reads nothing.
    let flood = tokio::spawn({
        let mut writer = scene.agent.writer;
        async move {
            for id in 0..300 {
                let message = json!({"jsonrpc": "2.0", "id": id, "method": "x", "params": {"big": big}});
                if writer.write_all(format!("{message}\n").as_bytes()).await.is_err() {
                    return;
                }
            }
        }
    });
    scene.server.say(r#"{"method":"notifications/message"}"#).await;
    let mut line = String::new();
    tokio::time::timeout(PATIENCE, scene.agent.reader.read_line(&mut line)).await.expect("it was held up").unwrap();
    assert_eq!(line.trim_end(), r#"{"method":"notifications/message"}"#);
    flood.abort();
}

#[tokio::test]
async fn fifty_megabytes_pass() {
    let mut scene = scene();
    let text = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"fine","arguments":{{"a":"{}"}}}}}}"#,
        "y".repeat(50_000_000)
    );
    let (_, heard) = tokio::join!(scene.agent.say(&text), scene.server.line());
    assert_eq!(heard.unwrap().len(), text.len());
}

#[tokio::test]
async fn changed_settings_count_from_the_next_call_on() {
    let mut scene = scene();
    scene.agent.send(call(1, "later")).await;
    scene.refused(1).await;
    let rules = r#"{ "permissions": { "allow": ["mcp__s__later"], "deny": ["mcp__s__fine"] } }"#;
    std::fs::write(scene.folder.path().join("settings.json"), rules).unwrap();
    scene.agent.send(call(2, "later")).await;
    assert_eq!(scene.server.hear().await, call(2, "later"));
    scene.agent.send(call(3, "fine")).await;
    scene.refused(3).await;
}

/// A server built with the official SDK: three tools, and a record of what was called.
#[derive(Clone, Default)]
struct Upstream {
    called: Arc<Mutex<Vec<String>>>,
}

impl ServerHandler for Upstream {
    fn get_info(&self) -> rmcp::model::ServerConfig {
        rmcp::model::ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, rmcp::ErrorData> {
        let schema = Arc::new(json!({"type": "object"}).as_object().unwrap().clone());
        let tools = ["fine", "asks", "hidden"].map(|name| Tool::new(name, "a tool", Arc::clone(&schema)));
        Ok(ListToolsResult::with_all_items(tools.into()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, rmcp::ErrorData> {
        self.called.lock().unwrap().push(request.name.to_string());
        Ok(CallToolResult::success(vec![ContentBlock::text("done")]).into())
    }
}

#[tokio::test]
async fn the_official_sdk_speaks_through_it() {
    let folder = tempfile::tempdir().unwrap();
    let (agent, gateway_agent) = tokio::io::duplex(1 << 16);
    let (server, gateway_server) = tokio::io::duplex(1 << 16);
    tokio::spawn(between(gateway_agent, gateway_server, counter(folder.path(), Attendance::Attended)));
    let upstream = Upstream::default();
    let called = Arc::clone(&upstream.called);
    tokio::spawn(async move { upstream.serve(server).await.unwrap().waiting().await });
    let client = ().serve(agent).await.unwrap();
    let listed = client.list_all_tools().await.unwrap();
    assert_eq!(listed.iter().map(|tool| &*tool.name).collect::<Vec<_>>(), ["fine", "asks"]);
    for (tool, fails) in [("fine", false), ("asks", true), ("hidden", true)] {
        let result = client.call_tool(CallToolRequestParams::new(tool)).await.unwrap();
        assert_eq!(result.is_error, Some(fails), "{tool}: {result:?}");
    }
    assert_eq!(*called.lock().unwrap(), ["fine"]);
    client.cancel().await.unwrap();
}

/// A call in the protocol without sessions, in which every request says what its agent can do.
fn sessionless(id: u64, tool: &str, elicitation: Value) -> Value {
    let mut message = call(id, tool);
    message["params"]["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": elicitation,
        "progressToken": id,
    });
    message
}

fn with_form(id: u64, tool: &str) -> Value {
    sessionless(id, tool, json!({"elicitation": {"form": {}}}))
}

/// The same call, sent again with an answer to what the gateway wanted to know.
fn again(id: u64, tool: &str, required: &Value, answer: &Value) -> Value {
    let key = required["inputRequests"].as_object().unwrap().keys().next().unwrap();
    let mut message = with_form(id, tool);
    message["params"]["requestState"] = required["requestState"].clone();
    message["params"]["inputResponses"] = json!({ key: answer });
    message
}

fn says(answer: &str) -> Value {
    json!({"action": "accept", "content": {"answer": answer}})
}

impl Scene {
    /// What the gateway wants to know before it lets a call of the protocol without sessions run.
    async fn input_required(&mut self, id: u64) -> Value {
        let answer = self.agent.hear().await;
        assert_eq!(
            (&answer["id"], &answer["result"]["resultType"]),
            (&json!(id), &json!("input_required")),
            "{answer}"
        );
        answer["result"].clone()
    }
}

#[tokio::test]
async fn a_refusal_is_complete_where_results_say_what_they_are() {
    let mut scene = scene();
    for (id, tool) in [(1, "hidden"), (2, "asks")] {
        scene.agent.send(sessionless(id, tool, json!({}))).await;
        let answer = scene.agent.hear().await;
        assert_eq!((&answer["result"]["isError"], &answer["result"]["resultType"]), (&json!(true), &json!("complete")));
    }
    // Clients of older protocols may know nothing of it.
    scene.agent.send(call(3, "hidden")).await;
    assert_eq!(scene.agent.hear().await["result"].get("resultType"), None);
}

#[tokio::test]
async fn without_sessions_the_question_is_the_answer_to_the_call() {
    let mut scene = scene();
    let rows = [(says("allow"), true), (says("deny"), false), (json!({"action": "decline"}), false), (json!(1), false)];
    for (id, (answer, runs)) in (0..).step_by(2).zip(rows) {
        scene.agent.send(with_form(id, "asks")).await;
        let required = scene.input_required(id).await;
        let question = required["inputRequests"].as_object().unwrap().values().next().unwrap();
        assert_eq!(question["method"], "elicitation/create");
        assert!(question["params"]["message"].as_str().unwrap().contains("mcp__s__asks"));
        scene.agent.send(again(id + 1, "asks", &required, &answer)).await;
        if runs {
            // The server is not shown what it did not ask for.
            assert_eq!(scene.server.hear().await, with_form(id + 1, "asks"));
            scene.server.send(json!({"jsonrpc": "2.0", "id": id + 1, "result": {}})).await;
            scene.agent.hear().await;
        } else {
            scene.refused(id + 1).await;
        }
    }
    scene.server_heard_nothing().await;
    let text = std::fs::read_to_string(scene.folder.path().join("state/audit.jsonl")).unwrap();
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let said = lines.iter().filter(|line| line["kind"] == "answer");
    let said: Vec<_> = said.map(|line| json!([line["call_id"], line["verdict"]])).collect();
    assert_eq!(said, [json!(["0", "allow"]), json!(["2", "deny"]), json!(["4", "deny"])]);
}

#[tokio::test]
async fn a_yes_is_for_one_call_and_no_other() {
    let mut scene = scene();
    scene.agent.send(with_form(1, "asks")).await;
    let required = scene.input_required(1).await;
    let mut other = again(2, "asks", &required, &says("allow"));
    other["params"]["arguments"] = json!({"a": 2});
    scene.agent.send(other).await;
    assert!(scene.refused(2).await.contains("another call"));
    scene.agent.send(again(3, "asks", &required, &says("allow"))).await;
    assert!(scene.refused(3).await.contains("no longer open"));
    scene.agent.send(with_form(4, "asks")).await;
    let required = scene.input_required(4).await;
    scene.agent.send(again(5, "nobody-knows", &required, &says("allow"))).await;
    scene.refused(5).await;
    scene.agent.send(with_form(6, "asks")).await;
    let required = scene.input_required(6).await;
    scene.agent.send(again(7, "asks", &required, &says("allow"))).await;
    scene.server.hear().await;
    scene.agent.send(again(8, "asks", &required, &says("allow"))).await;
    scene.refused(8).await;
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn what_the_server_wanted_to_know_reaches_it_after_a_question() {
    let mut scene = scene();
    let mut first = with_form(1, "asks");
    first["params"]["requestState"] = json!("the server's own");
    first["params"]["inputResponses"] = json!({"name": {"action": "accept", "content": {"name": "x"}}});
    scene.agent.send(first.clone()).await;
    let required = scene.input_required(1).await;
    scene.agent.send(again(2, "asks", &required, &says("allow"))).await;
    let heard = scene.server.hear().await;
    assert_eq!((&heard["id"], &heard["params"]["_meta"]["progressToken"]), (&json!(2), &json!(2)));
    for member in ["requestState", "inputResponses", "arguments", "name"] {
        assert_eq!(heard["params"][member], first["params"][member], "{member}");
    }
}

#[tokio::test]
async fn an_unattended_run_asks_nobody_without_sessions_either() {
    let mut scene = scene_with(Attendance::Unattended);
    scene.agent.send(with_form(1, "asks")).await;
    scene.refused(1).await;
    scene.server_heard_nothing().await;
}

/// A tool that its server wants a person to see every call of.
fn wanting(name: &str) -> Value {
    json!({"name": name, "_meta": {"anthropic/requiresUserInteraction": true}})
}

impl Scene {
    /// The gateway wants to know the server's tools, and is told.
    async fn lists(&mut self, answer: Value) -> Value {
        self.server.lists = None;
        let asked = self.server.hear().await;
        assert_eq!(asked["method"], "tools/list", "{asked}");
        let mut message = answer;
        message["jsonrpc"] = json!("2.0");
        message["id"] = asked["id"].clone();
        self.server.send(message).await;
        asked
    }
}

#[tokio::test]
async fn a_tool_that_nobody_listed_yet_is_looked_up_first() {
    let mut scene = scene();
    scene.agent.send(call(1, "fine")).await;
    let asked = scene.lists(json!({"result": {"tools": [{"name": "other"}], "nextCursor": "two"}})).await;
    assert_eq!(asked["params"], json!({}));
    let asked = scene.lists(json!({"result": {"tools": [wanting("fine")]}})).await;
    assert_eq!(asked["params"], json!({"cursor": "two"}));
    // The agent hears nothing of the lists.
    assert!(scene.refused(1).await.contains("wants a person to see every call"));
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn a_tool_is_looked_up_once_and_again_when_the_list_has_changed() {
    let mut scene = scene();
    for (id, lists) in [(1, true), (2, false)] {
        scene.agent.send(call(id, "fine")).await;
        if lists {
            scene.lists(json!({"result": {"tools": [{"name": "fine"}]}})).await;
        }
        assert_eq!(scene.server.hear().await, call(id, "fine"));
    }
    let changed = json!({"jsonrpc": "2.0", "method": "notifications/tools/list_changed"});
    scene.server.send(changed.clone()).await;
    assert_eq!(scene.agent.hear().await, changed);
    scene.agent.send(call(3, "fine")).await;
    scene.lists(json!({"result": {"tools": [wanting("fine")]}})).await;
    scene.refused(3).await;
    // A wish that was heard once stays.
    scene.server.send(changed.clone()).await;
    assert_eq!(scene.agent.hear().await, changed);
    scene.agent.send(call(4, "fine")).await;
    scene.refused(4).await;
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn a_server_that_does_not_say_what_it_wants_gets_a_person() {
    let rows = [
        json!({"error": {"code": -32601, "message": "no"}}),
        json!({"result": {"echo": 1}}),
        json!({"result": {"tools": 1}}),
    ];
    for row in rows {
        let mut scene = scene().with_person().await;
        scene.agent.send(call(1, "fine")).await;
        scene.lists(row).await;
        scene.person_says("allow").await;
        assert_eq!(scene.server.hear().await, call(1, "fine"));
    }
}

/// A server sees under which id it is asked for its tools. That tells it nothing of the ids of questions to the person.
#[tokio::test]
async fn a_server_cannot_ask_in_the_gateways_name() {
    let mut scene = scene().with_person().await;
    scene.agent.send(call(1, "fine")).await;
    let listed = scene.lists(json!({"result": {"tools": [{"name": "fine"}, {"name": "asks"}]}})).await;
    assert_eq!(scene.server.hear().await, call(1, "fine"));
    scene.agent.send(call(2, "asks")).await;
    let question = scene.agent.hear().await;
    assert_eq!(question["method"], "elicitation/create");
    let prefix = |id: &Value| id.as_str().unwrap().rsplit_once('-').unwrap().0.to_owned();
    assert_ne!(prefix(&listed["id"]), prefix(&question["id"]));
    // Should it find out all the same, nobody hears it.
    let forged = json!({"jsonrpc": "2.0", "id": question["id"], "method": "elicitation/create", "params": {}});
    scene.server.send(forged).await;
    let own = json!({"jsonrpc": "2.0", "id": 7, "method": "roots/list"});
    scene.server.send(own.clone()).await;
    assert_eq!(scene.agent.hear().await, own);
}

#[tokio::test]
async fn another_writing_of_a_name_does_not_get_round_its_wish() {
    let mut scene = scene();
    scene.agent.send(call(1, "odd name")).await;
    scene.lists(json!({"result": {"tools": [{"name": "odd name"}, wanting("Odd_Name")]}})).await;
    scene.refused(1).await;
    // A tool that the server does not list has no wish of its own.
    scene.agent.send(call(2, "fine")).await;
    scene.lists(json!({"result": {"tools": []}})).await;
    assert_eq!(scene.server.hear().await, call(2, "fine"));
}

#[tokio::test]
async fn without_sessions_a_look_at_the_list_says_what_every_request_must() {
    let mut scene = scene();
    scene.agent.send(with_form(1, "fine")).await;
    let asked = scene.lists(json!({"result": {"tools": [wanting("fine")]}})).await;
    let mut meta = with_form(1, "fine")["params"]["_meta"].clone();
    meta.as_object_mut().unwrap().remove("progressToken");
    assert_eq!(asked["params"], json!({"_meta": meta}));
    let required = scene.input_required(1).await;
    scene.agent.send(again(2, "fine", &required, &says("allow"))).await;
    assert_eq!(scene.server.hear().await, with_form(2, "fine"));
}

#[tokio::test]
async fn an_agent_cannot_take_an_id_of_the_gateways_own() {
    let mut scene = scene();
    scene.agent.send(call(1, "fine")).await;
    scene.server.lists = None;
    let asked = scene.server.hear().await;
    scene.agent.send(json!({"jsonrpc": "2.0", "id": asked["id"], "method": "ping"})).await;
    assert_eq!(scene.agent.hear().await["error"]["code"], -32600);
    scene.server.send(json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"tools": [{"name": "fine"}]}})).await;
    assert_eq!(scene.server.hear().await, call(1, "fine"));
}

#[tokio::test]
async fn an_answer_that_is_too_long_is_an_error_for_its_request() {
    let long = "z".repeat(65 << 20);
    let rows = [
        (format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"id":5,"text":"{long}"}}}}"#), true),
        (format!(r#"{{"result":{{"id":[5],"text":["\\\"{long}}}]","id"]}} , "id" : 1 }}"#), true),
        (format!(r#"{{"jsonrpc":"2.0","id":1,"method":"x","params":"{long}"}}"#), false),
        (format!(r#"{{"result":{{"id":1}},"text":"{long}"}}"#), false),
    ];
    for (text, answers) in rows {
        let mut scene = scene();
        scene.agent.send(ping(1)).await;
        scene.server.hear().await;
        scene.server.say(&text).await;
        scene.server.send(json!({"jsonrpc": "2.0", "id": 1, "result": {"late": true}})).await;
        let answer = scene.agent.hear().await;
        assert_eq!((&answer["id"], answer["error"]["code"].is_i64()), (&json!(1), answers), "{}", &text[..60]);
    }
}

#[tokio::test]
async fn a_request_that_is_too_long_is_answered_too() {
    let mut scene = scene();
    let long = "z".repeat(65 << 20);
    scene.agent.say(&format!(r#"{{"jsonrpc":"2.0","id":"s-1","result":"{long}"}}"#)).await;
    scene.agent.say(&format!(r#"{{"jsonrpc":"2.0","method":"tools/call","params":"{long}","id":7}}"#)).await;
    let answer = scene.agent.hear().await;
    assert_eq!((&answer["id"], &answer["error"]["code"]), (&json!(7), &json!(-32600)));
    scene.server_heard_nothing().await;
}

#[tokio::test]
async fn nobody_is_waited_for_who_can_no_longer_answer() {
    let mut scene = scene().with_person().await;
    scene.agent.send(call(1, "asks")).await;
    assert_eq!(scene.agent.hear().await["method"], "elicitation/create");
    scene.agent.send(call(2, "asks")).await;
    scene.agent.writer.shutdown().await.unwrap();
    let mut ids = vec![];
    while let Some(line) = scene.agent.line().await {
        let answer: Value = serde_json::from_str(&line).unwrap();
        if answer["method"].is_null() {
            assert_eq!(answer["result"]["isError"], true, "{answer}");
            ids.push(answer["id"].as_u64().unwrap());
        }
    }
    ids.sort_unstable();
    assert_eq!(ids, [1, 2]);
}
