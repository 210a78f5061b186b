//! As much of HTTP/1.1 as a client of an API needs, written out so that it can be broken on purpose.

use std::io::{BufRead, BufReader, Read, Write};

use serde_json::Value;

use super::{Act, State, strict};

/// A request as it came.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
    /// Why the API would refuse it.
    pub(crate) violation: Option<String>,
}

impl Seen {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Every text the model would read but the system's, in order.
    pub(crate) fn texts(&self) -> String {
        let body = self.json();
        let messages = body["messages"].as_array().cloned().unwrap_or_default();
        let user = messages.iter().filter(|message| message["role"] == "user");
        user.flat_map(|message| match &message["content"] {
            Value::String(text) => vec![text.clone()],
            Value::Array(blocks) => blocks.iter().map(|block| block["text"].as_str().unwrap().to_owned()).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => panic!("not a content: {message}"),
        })
        .collect()
    }
}

/// Answers the requests of a connection.
pub(crate) fn serve(stream: impl Read + Write, state: &State) {
    let mut stream = BufReader::new(stream);
    while let Some(mut request) = read(&mut stream) {
        request.violation = strict::violation(state.api, &request);
        let refused = request.violation.clone();
        state.seen.lock().unwrap().push(request.clone());
        let act = state.acts.lock().unwrap().pop_front();
        let (Some(act), None) = (act, refused) else {
            let said = r#"{"type":"error","error":{"type":"invalid_request_error","message":"not allowed"}}"#;
            let _ = write(stream.get_mut(), 400, &[("content-type", "application/json".to_owned())], said.as_bytes());
            return;
        };
        let json = [("content-type", "application/json; charset=utf-8".to_owned())];
        let body = state.body(&request, &act).unwrap_or_default();
        let written = match act {
            Act::Say(_) | Act::Ends(..) | Act::Call(..) => write(stream.get_mut(), 200, &json, &body),
            Act::Raw(status, headers, body) => write(stream.get_mut(), status, &headers, &body),
            Act::Stream(_) => {
                let events = format!("event: message\ndata: {}\n\n", String::from_utf8_lossy(&body));
                write(stream.get_mut(), 200, &[("content-type", "text/event-stream".to_owned())], events.as_bytes())
            }
            Act::Truncate(_) => {
                let _ = cut_off(stream.get_mut(), &body);
                return;
            }
            Act::HangUp => return,
            Act::Stall => {
                // Until the client gives up and closes the connection.
                let _ = stream.read(&mut [0]);
                return;
            }
        };
        if written.is_err() {
            return;
        }
    }
}

fn read(stream: &mut impl BufRead) -> Option<Seen> {
    let mut line = String::new();
    stream.read_line(&mut line).ok()?;
    let mut words = line.split_whitespace();
    let (method, path) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else { break };
        headers.push((name.to_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length").map(|(_, value)| value.parse().unwrap());
    let mut body = vec![0; length.unwrap_or(0)];
    stream.read_exact(&mut body).ok()?;
    Some(Seen { method, path, headers, body, violation: None })
}

fn write(stream: &mut impl Write, status: u16, headers: &[(&str, String)], body: &[u8]) -> std::io::Result<()> {
    let mut head = format!("HTTP/1.1 {status} said\r\ncontent-length: {}\r\n", body.len());
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    stream.write_all(head.as_bytes())?;
    stream.write_all(b"\r\n")?;
    stream.write_all(body)?;
    stream.flush()
}

fn cut_off(stream: &mut impl Write, body: &[u8]) -> std::io::Result<()> {
    let head =
        format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n", body.len() + 9);
    stream.write_all(head.as_bytes())?;
    stream.write_all(body)?;
    stream.flush()
}
