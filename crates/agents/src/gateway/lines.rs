//! Messages as lines: how they travel over standard input and output.

use std::{fmt, io};

use tokio::io::{AsyncBufReadExt, AsyncRead, AsyncWrite, AsyncWriteExt, BufReader, BufWriter};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::note;
use super::relay::{Side, WAITING};
use super::skim::{Skim, Skimmed};
use super::wire::{self, Fault, LONGEST, Message, Unreadable};

/// One line of a stream.
enum Line {
    Whole(Vec<u8>),
    /// It was longer than anything that is read, and is gone but for this.
    TooLong(Skim),
    End,
}

async fn line<R: AsyncRead + Unpin>(reader: &mut BufReader<R>) -> io::Result<Line> {
    let mut line = Vec::new();
    let mut too_long: Option<Skim> = None;
    loop {
        let available = reader.fill_buf().await?;
        if available.is_empty() {
            // A last line without an end was cut off.
            return Ok(Line::End);
        }
        let end = available.iter().position(|byte| *byte == b'\n');
        let part = available.get(..end.unwrap_or(available.len())).unwrap_or_default();
        if too_long.is_none() && line.len() + part.len() > LONGEST {
            let mut skim = Skim::default();
            skim.read(&std::mem::take(&mut line));
            too_long = Some(skim);
        }
        match &mut too_long {
            Some(skim) => skim.read(part),
            None => line.extend_from_slice(part),
        }
        let used = part.len() + usize::from(end.is_some());
        reader.consume(used);
        if end.is_some() {
            return Ok(too_long.map_or(Line::Whole(line), Line::TooLong));
        }
    }
}

/// Who is at the other end of the lines.
pub(crate) enum Who {
    /// The agent, who is told of a request that cannot be read.
    Agent,
    /// A server, by name.
    Server(String),
}

impl fmt::Display for Who {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Who::Agent => f.write_str("the agent"),
            Who::Server(name) => write!(f, "the server `{name}`"),
        }
    }
}

/// A side that speaks in lines, and the tasks that read and write them.
pub(crate) struct Attached {
    pub(crate) side: Side,
    pub(crate) reading: JoinHandle<()>,
    pub(crate) writing: JoinHandle<io::Result<()>>,
}

/// Makes a side of a stream to read and one to write.
pub(crate) fn attach<R, W>(reader: R, writer: W, who: Who) -> Attached
where
    R: AsyncRead + Unpin + Send + 'static,
    W: AsyncWrite + Unpin + Send + 'static,
{
    let (outgoing, to_write) = mpsc::channel(WAITING);
    let (read_from, incoming) = mpsc::channel(WAITING);
    let answers = match who {
        Who::Agent => Some(outgoing.clone()),
        Who::Server(_) => None,
    };
    let reading = tokio::spawn(async move { read(reader, read_from, &From { who, answers }).await });
    let writing = tokio::spawn(write(writer, to_write));
    Attached { side: Side { incoming, outgoing }, reading, writing }
}

/// Where messages are read from.
struct From {
    who: Who,
    /// Where a request that cannot be read is answered.
    answers: Option<mpsc::Sender<Message>>,
}

/// Reads messages until the stream ends or nobody wants them. What is no message is dropped, with a note.
async fn read<R: AsyncRead + Unpin>(reader: R, to: mpsc::Sender<Message>, from: &From) {
    let mut reader = BufReader::with_capacity(1 << 16, reader);
    loop {
        let bytes = match line(&mut reader).await {
            Ok(Line::Whole(bytes)) => bytes,
            Ok(Line::TooLong(skim)) => {
                too_long(skim, &to, from).await;
                continue;
            }
            Ok(Line::End) => return,
            Err(error) => return note(&format!("{} cannot be read any more: {error}", from.who)),
        };
        if bytes.trim_ascii().is_empty() {
            continue;
        }
        let parts = match String::from_utf8(bytes) {
            Ok(text) => wire::read(text),
            Err(error) => vec![Err(Unreadable { problem: error.to_string(), id: None })],
        };
        for part in parts {
            match part {
                Ok(message) => {
                    if to.send(message).await.is_err() {
                        return;
                    }
                }
                Err(unreadable) => complain(&unreadable, from).await,
            }
        }
    }
}

/// Tells of a message that was too long, and answers in its place whoever waits for an answer.
async fn too_long(skim: Skim, to: &mpsc::Sender<Message>, from: &From) {
    let words = format!("a message of {} is longer than {} MiB, and was dropped", from.who, LONGEST >> 20);
    note(&words);
    match (skim.seen(), &from.answers) {
        (Some(Skimmed::Request(id)), Some(answers)) => {
            let _ = answers.send(Message::error(&id, Fault::Request, &words)).await;
        }
        // In the place of the server's own answer, so that the agent does not wait for ever.
        (Some(Skimmed::Answer(id)), None) => drop(to.send(Message::error(&id, Fault::Server, &words)).await),
        (Some(Skimmed::Request(_)), None) | (Some(Skimmed::Answer(_)), Some(_)) | (None, _) => {}
    }
}

async fn complain(unreadable: &Unreadable, from: &From) {
    note(&format!("a line of {} is no message: {unreadable}", from.who));
    if let (Some(id), Some(answers)) = (&unreadable.id, &from.answers) {
        let _ = answers.send(Message::error(id, Fault::Request, &unreadable.problem)).await;
    }
}

/// Writes messages until there are no more.
async fn write<W: AsyncWrite + Unpin>(writer: W, mut from: mpsc::Receiver<Message>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, writer);
    while let Some(message) = from.recv().await {
        writer.write_all(message.text().as_bytes()).await?;
        writer.write_all(b"\n").await?;
        // Messages that wait already go out together.
        if from.is_empty() {
            writer.flush().await?;
        }
    }
    writer.flush().await?;
    writer.shutdown().await
}
