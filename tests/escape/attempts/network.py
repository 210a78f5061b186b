"""Reaching the network past the proxy, and processes of the host by sockets."""

import errno
import os
import socket
import struct

from frame import Refused, Untried, attempt, check, libc, reaches_the_kernel, system

NOWHERE = (errno.ENETUNREACH, errno.ECONNREFUSED, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EINPROGRESS)


def connect(family, address, kind=socket.SOCK_STREAM):
    """Connects and says who it is; whoever listens on the host takes that for an escape."""
    with socket.socket(family, kind) as connection:
        connection.settimeout(1)
        try:
            connection.connect(address)
            connection.sendall(b"escaped")
        except TimeoutError:
            raise Refused("no answer") from None


@attempt(also=NOWHERE)
def connect_to_the_loopback_of_the_host(ground):
    """TCP to a server of the host."""
    connect(socket.AF_INET, ("127.0.0.1", ground.facts["tcp"]))


@attempt(also=NOWHERE)
def connect_to_the_loopback_by_its_other_names(ground):
    """The same by other addresses that mean this host."""
    for address in ("0.0.0.0", "127.1.2.3"):
        try:
            connect(socket.AF_INET, (address, ground.facts["tcp_any"]))
            return
        except OSError as error:
            last = error
    raise last


@attempt(also=NOWHERE)
def connect_by_the_newer_internet(ground):
    """TCP to a server of the host by IPv6."""
    if not ground.facts["tcp6"]:
        raise Untried("there is no IPv6 here")
    connect(socket.AF_INET6, ("::1", ground.facts["tcp6"]))


@attempt(also=NOWHERE)
def connect_by_a_mapped_address(ground):
    """TCP by an IPv4 address in the clothes of IPv6."""
    connect(socket.AF_INET6, ("::ffff:127.0.0.1", ground.facts["tcp"]))


@attempt(also=NOWHERE, proved=False)
def connect_to_the_metadata_of_a_cloud(ground):
    """TCP to the link-local address where clouds keep credentials."""
    connect(socket.AF_INET, ("169.254.169.254", 80))


@attempt(also=NOWHERE, proved=False)
def connect_to_the_internet(ground):
    """TCP to an address that documentation reserves."""
    connect(socket.AF_INET, ("192.0.2.1", 443))


@attempt(also=NOWHERE)
def send_a_datagram(ground):
    """UDP to a server of the host."""
    connect(socket.AF_INET, ("127.0.0.1", ground.facts["udp"]), socket.SOCK_DGRAM)
    answer(ground, "udp")


@attempt(also=NOWHERE, proved=False)
def ask_a_name_server(ground):
    """UDP to the name servers that the machine is set up with."""
    try:
        socket.getaddrinfo("escape.example.org", 80)
    except socket.gaierror as error:
        raise Refused(str(error)) from None


@attempt(also=NOWHERE)
def send_data_with_the_first_packet(ground):
    """TCP without `connect`: data in the first packet."""
    with socket.socket() as connection:
        connection.sendto(b"escaped", socket.MSG_FASTOPEN, ("127.0.0.1", ground.facts["tcp"]))


def answer(ground, name):
    """A datagram is gone without a word; the other side writes down what it got."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as connection:
        connection.settimeout(1)
        connection.connect(("127.0.0.1", ground.facts[name]))
        connection.send(b"escaped")
        try:
            connection.recv(16)
        except TimeoutError:
            raise Refused("no answer") from None


@attempt(proved=False)
def open_a_raw_socket(ground):
    """Packets written by hand."""
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_TCP)


@attempt(proved=False)
def open_a_packet_socket(ground):
    """Frames written by hand."""
    socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)


@attempt(also=NOWHERE, proved=False)
def send_an_echo_request(ground):
    """ICMP, as ping does without rights, to an address that is not inside."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP) as connection:
        connection.sendto(struct.pack("!BBHHH", 8, 0, 0, 1, 1), ("192.0.2.1", 0))


@attempt(proved=False)
def open_sockets_of_far_families(ground):
    """Virtual machines, cryptography, Bluetooth and other corners of the kernel."""
    for family in (socket.AF_VSOCK, socket.AF_ALG, 31, 44, 21, 30, 43):
        try:
            system("socket", family, socket.SOCK_SEQPACKET if family == 38 else socket.SOCK_DGRAM, 0)
            return
        except OSError as error:
            if error.errno in (errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT, errno.EPROTOTYPE):
                raise Refused("reached the family, which has no such kind") from None
            last = error
    raise last


@attempt(lack="unix-sockets", also=(errno.ENOENT,))
def connect_to_a_socket_in_the_file_system(ground):
    """A server of the host that would do as it is told, as docker's does."""
    connect(socket.AF_UNIX, ground.socket("docker.sock"))


@attempt(lack="unix-sockets", also=(errno.ENOENT,))
def connect_to_the_agent_with_the_keys(ground):
    """The socket that a variable names."""
    connect(socket.AF_UNIX, os.environ.get("SSH_AUTH_SOCK") or "/nowhere")


@attempt(lack="unix-sockets", also=(errno.ENOENT,))
def connect_through_a_link_to_a_socket(ground):
    """The same by a link in the project."""
    os.chdir(ground.scratch)
    os.symlink(ground.socket("docker.sock"), "socket")
    connect(socket.AF_UNIX, "socket")


@attempt(lack="unix-sockets", also=(errno.ECONNREFUSED,))
def connect_to_an_abstract_socket(ground):
    """A server of the host whose name is in no file system."""
    connect(socket.AF_UNIX, "\0" + ground.facts["abstract"])


@attempt(lack="unix-sockets", also=(errno.ENOENT, errno.EPROTOTYPE))
def send_a_datagram_to_a_socket_in_the_file_system(ground):
    """A datagram to a server of the host."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
        connection.sendto(b"escaped", ground.socket("log"))


@attempt(lack="unix-sockets", also=(errno.ENOENT, errno.EPROTOTYPE, errno.EISCONN))
def send_a_datagram_from_a_pair(ground):
    """One of a pair of sockets, which may be made, sends to somebody else."""
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    one.sendto(b"escaped", ground.socket("log"))


@attempt(lack="unix-sockets", also=(errno.ENOENT, errno.EINVAL, errno.EISCONN, errno.EPROTOTYPE), proved=False)
def connect_one_of_a_pair_anew(ground):
    """One of a pair of streams is connected to somebody else."""
    one, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    check(libc.connect(one.fileno(), struct.pack("H", 0), 2))
    one.connect(ground.socket("docker.sock"))


@attempt(also=(errno.ENODEV, errno.ENOENT), proved=False)
def configure_the_network(ground):
    """Adds an address by netlink."""
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0) as link:
        body = struct.pack("BBBBI", socket.AF_INET, 24, 0, 0, 1) + struct.pack("HH4s", 8, 2, bytes([10, 9, 8, 7]))
        link.send(struct.pack("IHHII", 16 + len(body), 20, 0x405, 1, 0) + body)
        _, kind, _, _, _, error = struct.unpack("IHHIIi", link.recv(4096)[:20])
        if kind == 2 and error < 0:
            raise OSError(-error, os.strerror(-error))


@attempt(also=(errno.ENOENT,), proved=False)
def enter_the_network_of_the_host(ground):
    """Joins the network namespace of the program that runs the sandbox."""
    namespace = os.open(f"/proc/{ground.runner()}/ns/net", os.O_RDONLY)
    system("setns", namespace, 0x40000000)


@attempt(proved=False)
def connect_past_the_filter(ground):
    """io_uring, which makes calls that no filter sees."""
    reaches_the_kernel("io_uring_setup", 1, None)
