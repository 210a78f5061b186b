"""Talking the proxy into reaching what is not listed. Only 127.0.0.2 at one port and the name `localhost` are listed;
a server of the host at 127.0.0.1 answers whoever reaches it."""

import errno
import os
import socket
import struct

from frame import Refused, attempt

GONE = (errno.ECONNREFUSED, errno.ECONNRESET, errno.EPIPE, errno.ENETUNREACH)


def talk(*parts):
    """Says each part, and gives back all that comes until the end."""
    with socket.socket() as connection:
        connection.settimeout(5)
        connection.connect(("127.0.0.1", 3128))
        heard = b""
        for part in parts:
            connection.sendall(part)
            if part is not parts[-1]:
                heard += connection.recv(4096)
        try:
            while more := connection.recv(4096):
                heard += more
        except (TimeoutError, ConnectionResetError):
            pass
        return heard


def reached(heard):
    if b"FORBIDDEN SERVER" not in heard:
        raise Refused(heard.split(b"\r\n")[0].decode("latin1")[:60])


def get(target, host, *more):
    lines = [f"GET {target} HTTP/1.1", f"Host: {host}", "Connection: close", *more, "", ""]
    return talk("\r\n".join(lines).encode("latin1"))


def request(ground):
    return f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{ground.facts['web']}\r\nConnection: close\r\n\r\n".encode()


def tunnel(ground, authority):
    return talk(f"CONNECT {authority} HTTP/1.1\r\nHost: {authority}\r\n\r\n".encode("latin1"), request(ground))


def socks(ground, kind, address, command=1):
    asked = bytes([5, command, 0, kind]) + address + struct.pack("!H", ground.facts["web"])
    return talk(b"\x05\x01\x00", asked, request(ground))


def name(text):
    return bytes([len(text)]) + text


@attempt(also=GONE, proved=False)
def ask_the_proxy_for_an_address(ground):
    """Plain HTTP to an address that is not listed."""
    reached(get(f"http://127.0.0.1:{ground.facts['web']}/", f"127.0.0.1:{ground.facts['web']}"))


@attempt(also=GONE, proved=False)
def tunnel_to_an_address(ground):
    """CONNECT to an address that is not listed."""
    reached(tunnel(ground, f"127.0.0.1:{ground.facts['web']}"))


@attempt(also=GONE, proved=False)
def tunnel_to_another_port(ground):
    """CONNECT to the listed address, at a port that is not."""
    reached(tunnel(ground, f"127.0.0.2:{ground.facts['tcp_any']}"))


@attempt(also=GONE, proved=False)
def tunnel_to_a_name_that_leads_to_the_host(ground):
    """CONNECT to a listed name that resolves to the host's own address."""
    reached(tunnel(ground, f"localhost:{ground.facts['web']}"))


@attempt(also=GONE, proved=False)
def tunnel_to_a_host_that_is_not_listed(ground):
    """CONNECT to a name that nobody listed."""
    reached(tunnel(ground, f"unlisted.test:{ground.facts['web']}"))


@attempt(also=GONE, proved=False)
def spell_an_address_oddly(ground):
    """The host's own address, in the spellings that resolvers take."""
    for spelling in ("2130706433", "0x7f000001", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]", "[::1]", "0.0.0.0",
                     "localhost.", "127.0.0.1."):
        try:
            return reached(tunnel(ground, f"{spelling}:{ground.facts['web']}"))
        except Refused as no:
            last = no
    raise last


@attempt(also=GONE, proved=False)
def disagree_about_the_host(ground):
    """The listed server in the target, another one in the header."""
    listed = f"127.0.0.2:{ground.facts['listed']}"
    heard = get(f"http://{listed}/", f"127.0.0.1:{ground.facts['web']}")
    if f"host: 127.0.0.1:{ground.facts['web']}".encode() not in heard.lower():
        raise Refused("the server saw its own name")


@attempt(also=GONE, proved=False)
def hide_the_host_behind_a_user(ground):
    """The listed server as the user of another."""
    reached(get(f"http://127.0.0.2:{ground.facts['listed']}@127.0.0.1:{ground.facts['web']}/", "127.0.0.2"))


@attempt(also=GONE, proved=False)
def ask_for_another_host_on_the_same_connection(ground):
    """A second request in the same breath, to another host."""
    listed = f"127.0.0.2:{ground.facts['listed']}"
    first = f"GET http://{listed}/ HTTP/1.1\r\nHost: {listed}\r\n\r\n".encode()
    second = f"GET http://127.0.0.1:{ground.facts['web']}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode()
    reached(talk(first + second))


@attempt(also=GONE, proved=False)
def smuggle_a_request(ground):
    """A second request in what one of two lengths calls the body of the first."""
    listed = f"127.0.0.2:{ground.facts['listed']}"
    inner = f"GET http://127.0.0.1:{ground.facts['web']}/ HTTP/1.1\r\nHost: x\r\n\r\n"
    outer = f"POST http://{listed}/ HTTP/1.1\r\nHost: {listed}\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n"
    reached(talk((outer + "0\r\n\r\n" + inner).encode()))


@attempt(also=GONE, proved=False)
def end_the_name_early(ground):
    """A NUL in the name: what is judged is longer than what would be resolved."""
    try:
        reached(tunnel(ground, f"127.0.0.1\0.localhost:{ground.facts['web']}"))
    except Refused:
        reached(socks(ground, 3, name(b"127.0.0.1\0.localhost")))


@attempt(also=GONE, proved=False)
def socks_to_an_address(ground):
    """SOCKS5 to an address that is not listed."""
    reached(socks(ground, 1, bytes([127, 0, 0, 1])))


@attempt(also=GONE, proved=False)
def socks_to_a_newer_address(ground):
    """SOCKS5 to IPv6 addresses that mean the host."""
    try:
        reached(socks(ground, 4, bytes(15) + b"\x01"))
    except Refused:
        reached(socks(ground, 4, bytes(10) + b"\xff\xff\x7f\x00\x00\x01"))


@attempt(also=GONE, proved=False)
def socks_to_the_metadata_of_a_cloud(ground):
    """SOCKS5 to the link-local address; a refusal must come at once, not after a try."""
    heard = socks(ground, 1, bytes([169, 254, 169, 254]))
    if heard[2:4] != b"\x05\x02":
        return
    raise Refused("not allowed by ruleset")


@attempt(also=GONE, proved=False)
def socks_to_a_name_that_leads_to_the_host(ground):
    """SOCKS5 to a listed name that resolves to the host's own address."""
    reached(socks(ground, 3, name(b"localhost")))


@attempt(also=GONE, proved=False)
def socks_for_datagrams_and_listeners(ground):
    """SOCKS5's other two commands."""
    for command in (2, 3):
        if socks(ground, 1, bytes([127, 0, 0, 2]), command)[2:4] == b"\x05\x00":
            return
    raise Refused("no such command")


@attempt(also=GONE, proved=False)
def tell_the_host_in_the_variables(ground):
    """Drops the variables that name the proxy."""
    for variable in list(os.environ):
        if "proxy" in variable.lower():
            del os.environ[variable]
    with socket.create_connection(("127.0.0.1", ground.facts["web"]), 2) as connection:
        connection.sendall(request(ground))
        reached(connection.recv(4096))
