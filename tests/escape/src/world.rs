//! The world around the attempts: servers of the host on loopback and on Unix sockets. Nobody confined may reach them,
//! but for the one that is listed; whoever does is written down.

use std::fs;
use std::io::{IoSlice, Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::fd::AsFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::thread;

use anyhow::Result;
use rustix::net::{SendAncillaryBuffer, SendAncillaryMessage, SendFlags};
use serde_json::{Value, json};

/// The servers, and who reached them.
pub struct World {
    folder: PathBuf,
    facts: Value,
    heard: Heard,
}

type Heard = Arc<Mutex<Vec<String>>>;

impl World {
    /// Starts the servers. Their threads end with the tests.
    pub fn start(name: &str) -> Result<Self> {
        let folder = PathBuf::from(format!("/var/tmp/mayi-escape-{}-{name}", std::process::id()));
        let sockets = folder.join("sockets");
        fs::create_dir_all(&sockets)?;
        let heard = Heard::default();
        let abstract_name = format!("mayi-escape-{}-{name}", std::process::id());
        listen_unix(
            UnixListener::bind_addr(&SocketAddr::from_abstract_name(&abstract_name)?)?,
            "an abstract socket",
            &heard,
        );
        listen_unix(UnixListener::bind(sockets.join("docker.sock"))?, "a socket in the file system", &heard);
        listen_datagrams(UnixDatagram::bind(sockets.join("log"))?, &heard);
        give(UnixListener::bind(sockets.join("giver"))?);
        for entry in fs::read_dir(&sockets)? {
            fs::set_permissions(entry?.path(), fs::Permissions::from_mode(0o777))?;
        }
        let facts = json!({
            "sockets": sockets,
            "abstract": abstract_name,
            "tcp": listen(TcpListener::bind("127.0.0.1:0")?, "TCP", &heard)?,
            "tcp_any": listen(TcpListener::bind("0.0.0.0:0")?, "TCP at any address", &heard)?,
            "tcp6": TcpListener::bind("[::1]:0").ok().map(|one| listen(one, "TCP by IPv6", &heard)).transpose()?,
            "udp": echo(UdpSocket::bind("127.0.0.1:0")?, &heard)?,
            "web": serve(TcpListener::bind("127.0.0.1:0")?, "FORBIDDEN SERVER", Some(heard.clone()))?,
            "listed": serve(TcpListener::bind("127.0.0.2:0")?, "LISTED SERVER", None)?,
        });
        Ok(Self { folder, facts, heard })
    }

    /// Where grounds are laid.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// What attempts must know of the servers.
    pub fn facts(&self) -> &Value {
        &self.facts
    }

    /// Who was reached since the last look.
    pub fn heard(&self) -> Vec<String> {
        self.heard.lock().map(|mut heard| std::mem::take(&mut *heard)).unwrap_or_default()
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // What is left is only in the way of the next run.
        let _ = fs::remove_dir_all(&self.folder);
    }
}

fn note(heard: &Heard, what: &str) {
    if let Ok(mut heard) = heard.lock() {
        heard.push(what.to_owned());
    }
}

fn listen(listener: TcpListener, what: &'static str, heard: &Heard) -> Result<u16> {
    let port = listener.local_addr()?.port();
    let heard = heard.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            note(&heard, what);
            let _ = stream.read(&mut [0; 64]);
        }
    });
    Ok(port)
}

fn listen_unix(listener: UnixListener, what: &'static str, heard: &Heard) {
    let heard = heard.clone();
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            note(&heard, what);
            let _ = stream.read(&mut [0; 64]);
        }
    });
}

fn listen_datagrams(socket: UnixDatagram, heard: &Heard) {
    let heard = heard.clone();
    thread::spawn(move || {
        let mut bytes = [0; 64];
        while socket.recv(&mut bytes).is_ok() {
            note(&heard, "a socket for datagrams in the file system");
        }
    });
}

fn echo(socket: UdpSocket, heard: &Heard) -> Result<u16> {
    let port = socket.local_addr()?.port();
    let heard = heard.clone();
    thread::spawn(move || {
        let mut bytes = [0; 64];
        while let Ok((_, from)) = socket.recv_from(&mut bytes) {
            note(&heard, "UDP");
            let _ = socket.send_to(b"heard", from);
        }
    });
    Ok(port)
}

/// Answers every request with a text and what was asked.
fn serve(listener: TcpListener, text: &'static str, heard: Option<Heard>) -> Result<u16> {
    let port = listener.local_addr()?.port();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            if let Some(heard) = &heard {
                note(heard, text);
            }
            thread::spawn(move || respond(stream, text));
        }
    });
    Ok(port)
}

fn respond(mut stream: TcpStream, text: &str) {
    let mut bytes = [0; 4096];
    let length = stream.read(&mut bytes).unwrap_or_default();
    let asked = String::from_utf8_lossy(bytes.get(..length).unwrap_or_default()).into_owned();
    let body = format!("{text}\n{asked}");
    let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    let _ = stream.write_all(format!("{head}{body}").as_bytes());
}

/// Hands out descriptors to whoever asks: `read PATH` or `write PATH`.
fn give(listener: UnixListener) {
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            let _ = hand_over(&stream);
        }
    });
}

fn hand_over(mut stream: &UnixStream) -> Result<()> {
    let mut bytes = [0; 4096];
    let length = stream.read(&mut bytes)?;
    let asked = String::from_utf8_lossy(bytes.get(..length).unwrap_or_default()).into_owned();
    let (how, path) = asked.split_once(' ').unwrap_or_default();
    let file = fs::File::options().read(true).write(how == "write").open(path)?;
    let mut space = [std::mem::MaybeUninit::<u8>::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    let descriptors = [file.as_fd()];
    ancillary.push(SendAncillaryMessage::ScmRights(&descriptors));
    rustix::net::sendmsg(stream, &[IoSlice::new(b"x")], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}
