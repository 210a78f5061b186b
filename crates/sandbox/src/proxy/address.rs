//! Addresses that a name must not lead to: this machine, its networks, and what is no public host at all.

use std::fmt;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};

/// Why an address is not public.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Special {
    /// Loopback.
    Loopback,
    /// A private network.
    Private,
    /// Link-local: among them the metadata services of clouds.
    LinkLocal,
    /// Addresses that providers share among their customers.
    Shared,
    /// To many or to all.
    Multicast,
    /// `0.0.0.0`, `::` and their like, which lead to this machine.
    Unspecified,
    /// Set aside for documentation, tests, tunnels or the future.
    Reserved,
    /// An address of this machine.
    Own,
}

/// Why an address is not public, by its number alone; `None` for a public one.
///
/// IPv6 addresses that stand for an IPv4 address are what that address is.
pub fn special(address: IpAddr) -> Option<Special> {
    match address {
        IpAddr::V4(address) => special_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(inner) => special_v6(address).or_else(|| special_v4(inner)),
            None => special_v6(address),
        },
    }
}

/// An address, and the one that it stands for.
pub fn faces(address: IpAddr) -> impl Iterator<Item = IpAddr> {
    let inner = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => embedded(address).map(IpAddr::V4),
    };
    std::iter::once(address).chain(inner)
}

/// Whether this machine has an address. Nothing is sent; what cannot be found out counts as yes.
pub fn is_own(address: IpAddr) -> bool {
    let unassigned = match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 0, 0, 0, 0, 1)),
    };
    if !can_bind(address) {
        return false;
    }
    // Some machines let programs bind addresses that they do not have. There, the way back to oneself tells.
    !can_bind(unassigned) || is_its_own_source(address)
}

fn can_bind(address: IpAddr) -> bool {
    match UdpSocket::bind(SocketAddr::new(address, 0)) {
        Ok(_) => true,
        Err(error) => error.kind() != ErrorKind::AddrNotAvailable,
    }
}

fn is_its_own_source(address: IpAddr) -> bool {
    let any = match address {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    };
    let source = UdpSocket::bind(SocketAddr::new(any, 0)).and_then(|socket| {
        socket.connect(SocketAddr::new(address, 9))?;
        socket.local_addr()
    });
    source.map_or(true, |source| source.ip() == address)
}

fn special_v4(address: Ipv4Addr) -> Option<Special> {
    match address.octets() {
        [0, ..] => Some(Special::Unspecified),
        [127, ..] => Some(Special::Loopback),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some(Special::Private),
        [169, 254, ..] => Some(Special::LinkLocal),
        [100, 64..=127, ..] => Some(Special::Shared),
        [224..=239, ..] | [255, 255, 255, 255] => Some(Special::Multicast),
        [192, 0, 0 | 2, _] | [198, 18 | 19, ..] | [198, 51, 100, _] | [203, 0, 113, _] | [192, 88, 99, _] => {
            Some(Special::Reserved)
        }
        [240..=255, ..] => Some(Special::Reserved),
        _ => None,
    }
}

fn special_v6(address: Ipv6Addr) -> Option<Special> {
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some(Special::Unspecified),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some(Special::Loopback),
        // IPv4 in an outdated way of writing; nobody serves there.
        [0, 0, 0, 0, 0, 0, ..] => Some(Special::Reserved),
        [0, 0, 0, 0, 0, 0xffff, ..] | [0, 0, 0, 0, 0xffff, 0, ..] => None,
        // Translation within a network, whose insides cannot be told from outside.
        [0x64, 0xff9b, 1, ..] => Some(Special::Private),
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => None,
        [0xfc00..=0xfdff, ..] => Some(Special::Private),
        [0xfe80..=0xfebf, ..] => Some(Special::LinkLocal),
        // Site-local, outdated and still routed in places.
        [0xfec0..=0xfeff, ..] => Some(Special::Private),
        [0xff00..=0xffff, ..] => Some(Special::Multicast),
        // Teredo and the other tunnels of 2001::/23, documentation, segment routing.
        [0x2001, 0..=0x1ff, ..] | [0x2001, 0xdb8, ..] | [0x3fff, 0..=0xfff, ..] | [0x5f00, ..] => {
            Some(Special::Reserved)
        }
        // Public addresses come from 2000::/3 alone.
        [0x2000..=0x3fff, ..] => None,
        _ => Some(Special::Reserved),
    }
}

/// The IPv4 address inside an IPv6 one: mapped, translated, 6to4 or ISATAP.
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let join = |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0 | 1] => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [_, _, _, _, 0 | 0x200, 0x5efe, high, low]
        | [0x2002, high, low, ..] => Some(join(high, low)),
        _ => None,
    }
}

impl fmt::Display for Special {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Special::Loopback => "a loopback address",
            Special::Private => "a private address",
            Special::LinkLocal => "a link-local address",
            Special::Shared => "an address of a shared range",
            Special::Multicast => "a multicast address",
            Special::Unspecified => "an unspecified address",
            Special::Reserved => "a reserved address",
            Special::Own => "an address of this machine",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_that_are_not_public() {
        let rows = [
            ("127.0.0.1", Some(Special::Loopback)),
            ("127.255.1.2", Some(Special::Loopback)),
            ("0.0.0.0", Some(Special::Unspecified)),
            ("0.1.2.3", Some(Special::Unspecified)),
            ("10.1.2.3", Some(Special::Private)),
            ("172.16.0.1", Some(Special::Private)),
            ("172.31.255.255", Some(Special::Private)),
            ("172.32.0.1", None),
            ("192.168.1.1", Some(Special::Private)),
            ("169.254.169.254", Some(Special::LinkLocal)),
            ("100.64.0.1", Some(Special::Shared)),
            ("100.128.0.1", None),
            ("100.100.100.200", Some(Special::Shared)),
            ("224.0.0.1", Some(Special::Multicast)),
            ("255.255.255.255", Some(Special::Multicast)),
            ("240.0.0.1", Some(Special::Reserved)),
            ("192.0.2.7", Some(Special::Reserved)),
            ("198.19.0.1", Some(Special::Reserved)),
            ("8.8.8.8", None),
            ("::", Some(Special::Unspecified)),
            ("::1", Some(Special::Loopback)),
            ("::127.0.0.1", Some(Special::Reserved)),
            ("::8.8.8.8", Some(Special::Reserved)),
            ("::ffff:127.0.0.1", Some(Special::Loopback)),
            ("::ffff:8.8.8.8", None),
            ("::ffff:0:169.254.169.254", Some(Special::LinkLocal)),
            ("64:ff9b::169.254.169.254", Some(Special::LinkLocal)),
            ("64:ff9b::8.8.8.8", None),
            ("64:ff9b:1::808:808", Some(Special::Private)),
            ("2002:7f00:1::", Some(Special::Loopback)),
            ("2002:a9fe:a9fe::1", Some(Special::LinkLocal)),
            ("2002:808:808::1", None),
            ("2001:0:4136:e378:8000:63bf:3fff:fdd2", Some(Special::Reserved)),
            ("2606:4700::5efe:10.0.0.1", Some(Special::Private)),
            ("2606:4700::1111", None),
            ("fc00::1", Some(Special::Private)),
            ("fd00:ec2::254", Some(Special::Private)),
            ("fe80::1", Some(Special::LinkLocal)),
            ("fec0::1", Some(Special::Private)),
            ("ff02::1", Some(Special::Multicast)),
            ("2001:db8::1", Some(Special::Reserved)),
            ("4000::1", Some(Special::Reserved)),
        ];
        for (text, expected) in rows {
            assert_eq!(special(text.parse().unwrap()), expected, "{text}");
        }
    }

    #[test]
    fn loopback_is_this_machine_and_the_documentation_is_not() {
        assert!(is_own("127.0.0.1".parse().unwrap()));
        assert!(!is_own("192.0.2.77".parse().unwrap()));
        assert!(is_its_own_source("127.0.0.1".parse().unwrap()));
    }
}
