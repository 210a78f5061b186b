//! A stand-in for a sign-in service, for answers that no real one gives. It listens on this machine alone and records
//! what it was asked.

#![allow(dead_code, reason = "each test uses a part of it")]

use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// An answer.
#[derive(Clone, Debug)]
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) kind: &'static str,
    pub(crate) body: String,
}

impl Reply {
    pub(crate) fn json(status: u16, body: impl ToString) -> Self {
        Self { status, kind: "application/json", body: body.to_string() }
    }
}

/// What was asked: the path, and the form.
pub(crate) type Asked = (String, String);
type Answers = dyn Fn(usize, &Asked) -> Reply + Send + Sync;

pub(crate) struct StandIn {
    pub(crate) address: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    serving: tokio::task::JoinHandle<()>,
}

impl StandIn {
    /// A service that answers by the number of the request and what it asks.
    pub(crate) async fn start(answers: impl Fn(usize, &Asked) -> Reply + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = format!("http://{}", listener.local_addr().unwrap());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let (answers, log): (Arc<Answers>, _) = (Arc::new(answers), Arc::clone(&asked));
        let serving = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(converse(stream, Arc::clone(&answers), Arc::clone(&log)));
            }
        });
        Self { address, asked, serving }
    }

    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }
}

impl Drop for StandIn {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

async fn converse(mut stream: TcpStream, answers: Arc<Answers>, log: Arc<Mutex<Vec<Asked>>>) {
    let mut text = Vec::new();
    let mut piece = [0; 4096];
    let asked = loop {
        let Ok(length @ 1..) = stream.read(&mut piece).await else { return };
        text.extend_from_slice(&piece[..length]);
        if let Some(asked) = whole(&String::from_utf8_lossy(&text)) {
            break asked;
        }
    };
    let number = {
        let mut log = log.lock().unwrap();
        log.push(asked.clone());
        log.len()
    };
    let Reply { status, kind, body } = answers(number, &asked);
    let head = format!(
        "HTTP/1.1 {status} X\r\ncontent-type: {kind}\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: {}\r\n\
         connection: close\r\n\r\n",
        body.len()
    );
    let _ = stream.write_all(format!("{head}{body}").as_bytes()).await;
}

fn whole(text: &str) -> Option<Asked> {
    let (head, body) = text.split_once("\r\n\r\n")?;
    let header = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length:").map(str::to_owned));
    let length: usize = header.map_or(0, |length| length.trim().parse().unwrap());
    let path = head.split(' ').nth(1)?;
    (body.len() >= length).then(|| (path.to_owned(), body.to_owned()))
}
