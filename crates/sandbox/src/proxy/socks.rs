//! The proxy for SOCKS5: no authentication, `CONNECT` alone. There is no way in (`BIND`) and no UDP.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::gate::Gate;
use super::names::{Host, Target};
use super::refusal::{Failure, Obstacle, Why};
use super::serve::Visit;
use super::tunnel::relay;

/// The first byte of every message, by which the protocol is known.
pub(super) const VERSION: u8 = 5;

const NO_AUTHENTICATION: u8 = 0;
const NO_METHOD: u8 = 0xff;
const CONNECT: u8 = 1;
const IPV4: u8 = 1;
const NAME: u8 = 3;
const IPV6: u8 = 4;

/// What a program is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Code {
    Done = 0,
    Refused = 2,
    Unreachable = 4,
    RefusedByHost = 5,
    TimedOut = 6,
    NoSuchCommand = 7,
    NoSuchAddress = 8,
}

/// Serves one connection of a program.
pub(super) async fn serve(visit: Visit, mut stream: TcpStream) {
    let gate = &visit.gate;
    let asked = match timeout(gate.patience.greeting, ask(gate, &mut stream)).await {
        Ok(Ok(Some(asked))) => asked,
        // It broke off, was too slow, or speaks something else; there is nobody to tell.
        Ok(Ok(None) | Err(_)) | Err(_) => return,
    };
    let reached = match asked {
        Ok(target) => gate.reach(&target).await.map(|upstream| (target, upstream)).map_err(|obstacle| code(&obstacle)),
        Err(code) => Err(code),
    };
    match reached {
        Ok((target, upstream)) => {
            if tell(&mut stream, Code::Done).await.is_ok() {
                relay(gate, &target, stream, upstream).await;
            }
        }
        Err(code) => {
            let _ = tell(&mut stream, code).await;
        }
    }
}

/// What a program wants: a target, or something that it is told it cannot have. `None` when it cannot even be told.
async fn ask(gate: &Gate, stream: &mut TcpStream) -> io::Result<Option<Result<Target, Code>>> {
    let _version = stream.read_u8().await?;
    let mut methods = vec![0; usize::from(stream.read_u8().await?)];
    stream.read_exact(&mut methods).await?;
    if !methods.contains(&NO_AUTHENTICATION) {
        stream.write_all(&[VERSION, NO_METHOD]).await?;
        return Ok(None);
    }
    stream.write_all(&[VERSION, NO_AUTHENTICATION]).await?;
    let mut head = [0; 4];
    stream.read_exact(&mut head).await?;
    let [version, command, reserved, kind] = head;
    if version != VERSION || reserved != 0 {
        return Ok(None);
    }
    let host = match kind {
        IPV4 => IpAddr::V4(Ipv4Addr::from(stream.read_u32().await?)).to_string().into_bytes(),
        IPV6 => IpAddr::V6(Ipv6Addr::from(stream.read_u128().await?)).to_string().into_bytes(),
        NAME => {
            let mut name = vec![0; usize::from(stream.read_u8().await?)];
            stream.read_exact(&mut name).await?;
            name
        }
        _ => return Ok(Some(Err(Code::NoSuchAddress))),
    };
    let port = stream.read_u16().await?;
    if command != CONNECT {
        return Ok(Some(Err(Code::NoSuchCommand)));
    }
    // Bytes that are no UTF-8 are no host name either; the replacement character is refused like them.
    let read = Host::read(&String::from_utf8_lossy(&host)).and_then(|host| Target::new(host, port));
    Ok(Some(read.map_err(|bad| {
        gate.record.refused(&host, port, &Why::Unreadable(bad));
        Code::Refused
    })))
}

fn code(obstacle: &Obstacle) -> Code {
    match obstacle {
        Obstacle::Refused(_) => Code::Refused,
        Obstacle::Failed(Failure::Refused) => Code::RefusedByHost,
        Obstacle::Failed(Failure::TimedOut) => Code::TimedOut,
        Obstacle::Failed(Failure::Unresolved | Failure::Unreachable) => Code::Unreachable,
    }
}

/// Replies. The address of our own end, which has its place there, is nobody's business.
async fn tell(stream: &mut TcpStream, code: Code) -> io::Result<()> {
    stream.write_all(&[VERSION, code as u8, 0, IPV4, 0, 0, 0, 0, 0, 0]).await
}
