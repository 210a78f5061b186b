//! Messages on the wire: JSON-RPC, read as far as the gateway must understand them and no further.
//!
//! What passes keeps its text byte for byte. A message that another reader might read differently, by keys written
//! twice or in another case, is never passed on: the server would see something that was not decided.

use std::borrow::Cow;
use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::value::RawValue;
use serde_json::{Value, json};

/// The longest message that is read. Longer ones are dropped, because somebody must hold them in memory.
pub(crate) const LONGEST: usize = 64 << 20;

/// The members of a message, and of the parameters of a call, that the gateway decides by.
const MEMBERS: [&str; 8] = ["jsonrpc", "id", "method", "params", "result", "error", "name", "arguments"];

/// A request's name for itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Id {
    json: Value,
    key: String,
}

impl Id {
    /// An id that is a string or a number.
    pub(crate) fn new(json: Value) -> Option<Self> {
        let key = match &json {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            Value::Null | Value::Bool(_) | Value::Array(_) | Value::Object(_) => return None,
        };
        Some(Self { json, key })
    }

    /// An id of the gateway's own.
    pub(crate) fn own(text: String) -> Self {
        Self { json: Value::String(text.clone()), key: text }
    }

    fn read(raw: &RawValue) -> Option<Self> {
        Self::new(serde_json::from_str(raw.get()).ok()?)
    }

    /// What answers are found by. Some servers write the number 1 back as the string "1", and clients forgive them.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// As it was written.
    pub(crate) fn json(&self) -> &Value {
        &self.json
    }
}

/// What a message is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Somebody wants an answer.
    Request { id: Id, method: String },
    /// Nobody wants an answer.
    Notification { method: String },
    /// An answer, good or bad; without an id it is about a message that could not be read.
    Response { id: Option<Id> },
}

/// One message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    pub(crate) kind: Kind,
    text: String,
}

/// A text that is no message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{problem}")]
pub(crate) struct Unreadable {
    pub(crate) problem: String,
    /// The request that waits for an answer, where that much can be read.
    pub(crate) id: Option<Id>,
}

impl Unreadable {
    fn because(problem: impl fmt::Display) -> Self {
        Self { problem: problem.to_string(), id: None }
    }
}

/// Reads what came in one piece: a message, or a batch of them.
pub(crate) fn read(text: String) -> Vec<Result<Message, Unreadable>> {
    if !text.trim_start().starts_with('[') {
        return vec![Message::read(text)];
    }
    match serde_json::from_str::<Vec<&RawValue>>(&text) {
        Ok(parts) => parts.into_iter().map(|part| Message::read(part.get().to_owned())).collect(),
        Err(error) => vec![Err(Unreadable::because(error))],
    }
}

impl Message {
    /// Reads one message.
    pub(crate) fn read(text: String) -> Result<Self, Unreadable> {
        let text = in_one_line(text);
        let kind = Fields::read(&text)?.kind()?;
        Ok(Self { kind, text })
    }

    /// A message of the gateway's own.
    fn own(kind: Kind, value: &Value) -> Self {
        Self { kind, text: value.to_string() }
    }

    /// A request of the gateway's own.
    pub(crate) fn request(id: Id, method: &str, params: Value) -> Self {
        let value = json!({ "jsonrpc": "2.0", "id": id.json(), "method": method, "params": params });
        Self::own(Kind::Request { id, method: method.to_owned() }, &value)
    }

    /// A notification of the gateway's own.
    pub(crate) fn notification(method: &str, params: Value) -> Self {
        let value = json!({ "jsonrpc": "2.0", "method": method, "params": params });
        Self::own(Kind::Notification { method: method.to_owned() }, &value)
    }

    /// The answer to a request.
    pub(crate) fn result(id: &Id, result: Value) -> Self {
        let value = json!({ "jsonrpc": "2.0", "id": id.json(), "result": result });
        Self::own(Kind::Response { id: Some(id.clone()) }, &value)
    }

    /// The answer to a request that cannot be answered.
    pub(crate) fn error(id: &Id, fault: Fault, words: &str) -> Self {
        let error = json!({ "code": fault.code(), "message": words });
        let value = json!({ "jsonrpc": "2.0", "id": id.json(), "error": error });
        Self::own(Kind::Response { id: Some(id.clone()) }, &value)
    }

    /// The text, in one line.
    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// The method, of a request or a notification.
    pub(crate) fn method(&self) -> Option<&str> {
        match &self.kind {
            Kind::Request { method, .. } | Kind::Notification { method } => Some(method),
            Kind::Response { .. } => None,
        }
    }

    /// Whether this calls a tool, for the server or for one that is careless about how methods are written.
    pub(crate) fn is_call(&self) -> bool {
        self.method().is_some_and(|method| folded(method.trim()) == "tools/call")
    }

    /// A member of the message, such as its parameters or its result.
    pub(crate) fn member(&self, name: &str) -> Option<Value> {
        let fields = Fields::read(&self.text).ok()?;
        serde_json::from_str(fields.of(name)?.get()).ok()
    }

    /// The whole message.
    pub(crate) fn value(&self) -> Result<Value, Unreadable> {
        serde_json::from_str(&self.text).map_err(Unreadable::because)
    }

    /// The call this message asks for: the tool's name and its arguments.
    pub(crate) fn call(&self) -> Result<(String, Value), Unreadable> {
        let fields = Fields::read(&self.text)?;
        let params = fields.of("params").ok_or_else(|| Unreadable::because("a call without parameters"))?;
        serde_json::from_str::<Distinct>(params.get()).map_err(Unreadable::because)?;
        let params = Fields::read(params.get())?;
        let part = |name: &str| params.of(name).map(|raw| serde_json::from_str(raw.get())).transpose();
        match (part("name").map_err(Unreadable::because)?, part("arguments").map_err(Unreadable::because)?) {
            (Some(Value::String(name)), Some(arguments @ Value::Object(_))) => Ok((name, arguments)),
            (Some(Value::String(name)), None | Some(Value::Null)) => Ok((name, json!({}))),
            (Some(_) | None, _) => Err(Unreadable::because("a call takes a `name` and an object of `arguments`")),
        }
    }

    /// The same message with other parameters, and without those that are none. The rest stays as it was written.
    pub(crate) fn with_params(&self, members: &[(&str, Option<&Value>)]) -> Result<Self, Unreadable> {
        let fields = Fields::read(&self.text)?;
        let params = fields.of("params").map_or(Ok(Fields(Vec::new())), |raw| Fields::read(raw.get()))?;
        let stays = |key: &str| members.iter().all(|(name, _)| *name != key);
        let kept = params.0.iter().filter(|(key, _)| stays(key)).map(|(key, raw)| (&**key, raw.get().to_owned()));
        let given = members.iter().filter_map(|(name, value)| Some((*name, value.as_ref()?.to_string())));
        let params = object(kept.chain(given));
        let others = fields.0.iter().filter(|(key, _)| key != "params");
        let others = others.map(|(key, raw)| (&**key, raw.get().to_owned()));
        Ok(Self { kind: self.kind.clone(), text: object(others.chain([("params", params)])) })
    }

    /// The same message with another result.
    pub(crate) fn with_result(&self, result: Value) -> Result<Self, Unreadable> {
        let mut value = self.value()?;
        if let Some(place) = value.get_mut("result") {
            *place = result;
        }
        Ok(Self::own(self.kind.clone(), &value))
    }
}

/// What is wrong with a request, as JSON-RPC counts it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// It is no request.
    Request,
    /// Its parameters are not what the method takes.
    Params,
    /// The server is gone, or cannot be reached.
    Server,
}

impl Fault {
    fn code(self) -> i32 {
        match self {
            Fault::Request => -32600,
            Fault::Params => -32602,
            Fault::Server => -32000,
        }
    }
}

/// The same JSON in one line. Outside strings a line end is a blank, and inside them it is no JSON; left in, it would
/// make several messages of one for a server that reads lines.
fn in_one_line(text: String) -> String {
    if text.contains(['\n', '\r']) { text.replace(['\n', '\r'], " ") } else { text }
}

/// An object with members that are JSON already.
fn object<'a>(members: impl Iterator<Item = (&'a str, String)>) -> String {
    let members = members.map(|(key, text)| format!("{}:{text}", Value::from(key)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

/// The members of an object, unread.
struct Fields<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

impl<'a> Fields<'a> {
    fn read(text: &'a str) -> Result<Self, Unreadable> {
        let fields: Self = serde_json::from_str(text).map_err(Unreadable::because)?;
        match fields.ambiguous() {
            None => Ok(fields),
            Some(name) => Err(Unreadable {
                problem: format!("`{name}` can be read in two ways"),
                id: fields.of("id").and_then(Id::read),
            }),
        }
    }

    fn of(&self, name: &str) -> Option<&'a RawValue> {
        self.0.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
    }

    /// A member that is there twice, or that a reader which does not tell cases apart takes for another.
    fn ambiguous(&self) -> Option<&str> {
        let same = |name: &str| self.0.iter().filter(|(key, _)| key == name).count() > 1;
        let alike = |name: &str| MEMBERS.iter().any(|member| *member != name && folded(name) == *member);
        self.0.iter().map(|(key, _)| &**key).find(|name| same(name) || alike(name))
    }

    fn kind(&self) -> Result<Kind, Unreadable> {
        let id = self.of("id").and_then(Id::read);
        let method = self.of("method").map(|raw| serde_json::from_str::<String>(raw.get()));
        let answers = self.of("result").is_some() || self.of("error").is_some();
        match (method, self.of("id"), answers) {
            (Some(Ok(method)), None, false) => Ok(Kind::Notification { method }),
            (Some(Ok(method)), Some(_), false) => match id {
                Some(id) => Ok(Kind::Request { id, method }),
                None => Err(Unreadable::because("the id of a request is a string or a number")),
            },
            (None, _, true) => Ok(Kind::Response { id }),
            (Some(_) | None, _, _) => Err(Unreadable { problem: "neither request nor answer".to_owned(), id }),
        }
    }
}

/// A name as readers see it that do not tell cases apart; two letters beyond ASCII count as `s` and `k` for them.
fn folded(name: &str) -> String {
    let letter = |letter: char| match letter {
        '\u{17f}' => 's',
        '\u{212a}' => 'k',
        other => other.to_ascii_lowercase(),
    };
    name.chars().map(letter).collect()
}

impl<'de: 'a, 'a> Deserialize<'de> for Fields<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Fields<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a JSON object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut fields = Vec::new();
                while let Some((Key(key), value)) = map.next_entry::<Key<'de>, &'de RawValue>()? {
                    fields.push((key, value));
                }
                Ok(Fields(fields))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// Any JSON in which no object names a member twice.
struct Distinct;

impl<'de> Deserialize<'de> for Distinct {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(Distinct)
    }
}

impl<'de> Visitor<'de> for Distinct {
    type Value = Distinct;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON that names nothing twice")
    }
    fn visit_bool<E>(self, _: bool) -> Result<Distinct, E> {
        Ok(Distinct)
    }
    fn visit_i64<E>(self, _: i64) -> Result<Distinct, E> {
        Ok(Distinct)
    }
    fn visit_u64<E>(self, _: u64) -> Result<Distinct, E> {
        Ok(Distinct)
    }
    fn visit_f64<E>(self, _: f64) -> Result<Distinct, E> {
        Ok(Distinct)
    }
    fn visit_str<E>(self, _: &str) -> Result<Distinct, E> {
        Ok(Distinct)
    }
    fn visit_unit<E>(self) -> Result<Distinct, E> {
        Ok(Distinct)
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut parts: A) -> Result<Distinct, A::Error> {
        while parts.next_element::<Distinct>()?.is_some() {}
        Ok(Distinct)
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Distinct, A::Error> {
        let mut seen = std::collections::HashSet::new();
        while let Some(key) = map.next_key::<String>()? {
            if seen.contains(&key) {
                let _: IgnoredAny = map.next_value()?;
                return Err(serde::de::Error::custom(format!("`{key}` is there twice")));
            }
            let _: Distinct = map.next_value()?;
            seen.insert(key);
        }
        Ok(Distinct)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(text: &str) -> Result<Kind, Unreadable> {
        Message::read(text.to_owned()).map(|message| message.kind)
    }

    #[test]
    fn messages_are_told_apart() {
        let id = |json: Value| Id::new(json).unwrap();
        let request = Kind::Request { id: id(json!(1)), method: "ping".to_owned() };
        assert_eq!(kind(r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#), Ok(request));
        let escaped = kind(r#"{"id":"a","method":"tools\/\u0063all"}"#).unwrap();
        assert_eq!(escaped, Kind::Request { id: id(json!("a")), method: "tools/call".to_owned() });
        assert_eq!(kind(r#"{"method":"x"}"#), Ok(Kind::Notification { method: "x".to_owned() }));
        assert_eq!(kind(r#"{"id":7,"result":null}"#), Ok(Kind::Response { id: Some(id(json!(7))) }));
        assert_eq!(kind(r#"{"id":null,"error":{"code":1}}"#), Ok(Kind::Response { id: None }));
    }

    #[test]
    fn what_can_be_read_in_two_ways_is_no_message() {
        let refused = [
            r#"{"id":1,"method":"ping","method":"tools/call"}"#,
            r#"{"id":1,"method":"ping","Method":"tools/call"}"#,
            r#"{"id":1,"method":"ping","param\u017f":{}}"#,
            r#"{"id":1,"ID":2,"method":"ping"}"#,
            r#"{"id":1,"method":"ping","result":1}"#,
            r#"{"id":{},"method":"ping"}"#,
            r#"{"id":1,"method":["ping"]}"#,
            "{\"id\":1,\"method\":\"pi\nng\"} {}",
            r#"{"id":1,"method":"\ud800"}"#,
            "42",
            "",
        ];
        for text in refused {
            assert!(kind(text).is_err(), "{text}");
        }
        assert_eq!(kind(refused[0]).unwrap_err().id, Id::new(json!(1)));
    }

    #[test]
    fn a_call_says_everything_once() {
        let call = |params: &str| {
            Message::read(format!(r#"{{"id":1,"method":"tools/call","params":{params}}}"#)).unwrap().call()
        };
        assert_eq!(call(r#"{"name":"a"}"#), Ok(("a".to_owned(), json!({}))));
        assert_eq!(call(r#"{"name":"a","arguments":{"b":[1]}}"#), Ok(("a".to_owned(), json!({"b": [1]}))));
        let refused = [
            r#"{"name":"a","name":"b"}"#,
            r#"{"name":"a","Name":"b"}"#,
            r#"{"name":"a","ARGUMENTS":{}}"#,
            r#"{"name":"a","arguments":{"x":1,"x":2}}"#,
            r#"{"name":"a","arguments":{"y":[{"x":1,"\u0078":2}]}}"#,
            r#"{"name":"a","arguments":[]}"#,
            r#"{"name":1}"#,
            "[]",
        ];
        for params in refused {
            assert!(call(params).is_err(), "{params}");
        }
    }

    #[test]
    fn a_message_in_several_lines_becomes_one() {
        let message = Message::read("{\"method\":\r\n\"x\",\n\"params\":{}}".to_owned()).unwrap();
        assert_eq!(message.text(), "{\"method\":  \"x\", \"params\":{}}");
        let hidden = "{\"method\":\"x\",\"params\":\"a\n{\\\"id\\\":1,\\\"method\\\":\\\"tools/call\\\"}\n\"}";
        let text = Message::read(hidden.to_owned()).map(|message| message.text().contains('\n'));
        assert_ne!(text, Ok(true));
    }

    #[test]
    fn a_batch_is_its_messages() {
        let parts = read(r#" [{"method":"a"}, {"id":1,"method":"b"}, 3]"#.to_owned());
        assert_eq!(parts.len(), 3);
        assert!(parts[0].is_ok() && parts[1].is_ok() && parts[2].is_err());
    }

    #[test]
    fn a_number_keeps_all_its_digits_on_the_way_through() {
        let text = r#"{"id":1,"method":"x","params":{"n":123456789012345678901234567890.125}}"#;
        assert_eq!(Message::read(text.to_owned()).unwrap().text(), text);
    }

    #[test]
    fn other_parameters_leave_the_rest_as_it_was_written() {
        let text = r#"{"id":1,"method":"x","params":{"n":12345678901234567890123,"a":1,"b":2,"\u0022":1.50}}"#;
        let message = Message::read(text.to_owned()).unwrap();
        let other = message.with_params(&[("a", None), ("b", Some(&json!([3]))), ("c", Some(&json!("\n")))]).unwrap();
        let expected = r#"{"id":1,"method":"x","params":{"n":12345678901234567890123,"\"":1.50,"b":[3],"c":"\n"}}"#;
        assert_eq!((other.text(), &other.kind), (expected, &message.kind));
        let bare = Message::read(r#"{"id":1,"method":"x"}"#.to_owned()).unwrap();
        assert_eq!(bare.with_params(&[("a", None)]).unwrap().text(), r#"{"id":1,"method":"x","params":{}}"#);
    }

    /// The value of `method` for a reader that takes the first, the last, or the last in any case.
    fn as_others_read(members: &[(&str, &str)]) -> [Option<String>; 3] {
        let text = |value: Option<&(&str, &str)>| value.map(|(_, value)| value.trim_matches('"').to_owned());
        let exact = |(name, _): &&(&str, &str)| *name == "method";
        [
            text(members.iter().find(exact)),
            text(members.iter().rev().find(exact)),
            text(members.iter().rev().find(|(name, _)| folded(name) == "method")),
        ]
    }

    proptest::proptest! {
        #[test]
        fn whoever_reads_a_message_reads_the_same_method(
            members in proptest::collection::vec((
                proptest::sample::select(vec!["method", "Method", "id", "ID", "params", "param\u{17f}", "result", "x"]),
                proptest::sample::select(vec!["1", "\"tools/call\"", "\"ping\"", "null", "{}", "[1]"]),
            ), 0..5),
            gap in proptest::sample::select(vec!["", " ", "\n", "\r\n", "\t"]),
        ) {
            let written: Vec<String> = members.iter().map(|(name, value)| format!("{gap}\"{name}\":{gap}{value}")).collect();
            if let Ok(message) = Message::read(format!("{{{}{gap}}}", written.join(","))) {
                for read in as_others_read(&members) {
                    proptest::prop_assert_eq!(read.as_deref(), message.method());
                }
                proptest::prop_assert!(!message.text().contains(['\n', '\r']));
            }
        }
    }
}
