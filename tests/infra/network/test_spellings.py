"""However a forbidden address is written, named or pointed to, the client never connects to it.

Every spelling goes through `Client.fetch` while servers listen on this machine's own addresses, on the very port that is asked
for. They must see nothing; and no dial may leave for any other forbidden address.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

import pytest

from ferrule.infra.network.client import Client
from ferrule.infra.network.guard import Forbidden, Guard
from ferrule.infra.network.redirects import RedirectStep, follow
from ferrule.infra.network.request import BrokenAnswer, Unreachable
from ferrule.infra.network.urls import BadUrl, parse_url

from .servers import FakeSite, SitePeer, ok, run, running_site

FORBIDDEN = [
    "127.0.0.1", "127.0.0.2", "127.1.2.3", "127.255.255.254", "0.0.0.0", "0.0.0.1", "10.0.0.1", "10.255.255.255",
    "172.16.0.1",
    "172.31.255.255", "192.168.0.1", "192.168.1.1", "169.254.169.254", "169.254.170.2", "169.254.0.1", "100.100.100.200",
    "100.64.0.1", "192.0.0.192", "168.63.129.16", "198.18.0.1", "224.0.0.1", "240.0.0.1", "255.255.255.255", "192.88.99.1",
]  # fmt: skip

NAMES = {
    "localhost": ["127.0.0.1", "::1"], "LOCALHOST": ["127.0.0.1"], "localhost.": ["127.0.0.1"],
    "LocalHost.LocalDomain": ["127.0.0.1"],
    "localhost6": ["::1"], "ip6-localhost": ["::1"], "ip6-loopback": ["::1"], "foo.localhost": ["127.0.0.1"],
    "127.0.0.1.nip.io": ["127.0.0.1"], "7f000001.rebind.test": ["127.0.0.1"], "metadata": ["169.254.169.254"],
    "metadata.google.internal": ["169.254.169.254"], "metadata.google.internal.": ["169.254.169.254"],
    "instance-data": ["169.254.169.254"], "instance-data.ec2.internal": ["169.254.169.254"],
    "metadata.azure.internal": ["168.63.129.16"],
    "kubernetes.default.svc": ["10.96.0.1"], "host.docker.internal": ["172.17.0.1"],
    "gateway.docker.internal": ["192.168.65.1"],
    "mixed.test": ["93.184.216.34", "127.0.0.1"], "mixed2.test": ["127.0.0.1", "93.184.216.34"],
    "mixed3.test": ["2606:4700::1", "::ffff:127.0.0.1"], "mapped.test": ["::ffff:127.0.0.1"], "zone.test": ["fe80::1%1"],
    "ula.test": ["fd00:ec2::254"], "nat64.test": ["64:ff9b::7f00:1"], "sixtofour.test": ["2002:7f00:1::"],
    "odd.test": ["not an address"],
    "any.test": ["0.0.0.0"], "any6.test": ["::"], "xn--lcalhost-0ta.test": ["127.0.0.1"], "a_b.test": ["10.0.0.1"],
}  # fmt: skip


def decimal_spellings(address: str) -> list[str]:
    """Numbers, in all bases and lengths that some program reads."""
    a, b, c, d = map(int, address.split("."))
    whole = int(ipaddress.IPv4Address(address))
    last2, last3 = c << 8 | d, b << 16 | c << 8 | d
    return [
        address, f"{address}.", f"{address}..", f"{whole}", f"{whole}.", f"{whole:#x}", f"0X{whole:X}",
        f"0{whole:o}", f"0000{whole:o}",
        f"0x{whole:012x}", f"{a}.{last3}", f"{a}.{b}.{last2}", f"{a:#x}.{b:#x}.{c:#x}.{d:#x}",
        f"0X{a:X}.0X{b:X}.0X{c:X}.0X{d:X}",
        f"0{a:o}.0{b:o}.0{c:o}.0{d:o}", f"000{a:o}.000{b:o}.000{c:o}.000{d:o}", f"{a:#x}.{last3}", f"0{a:o}.{b}.{last2:#x}",
        f"{a}.{b}.{c}.{d:#04x}", f"0x{a:08x}.{b}.{c}.{d}", f"{a:#x}.0{b:o}.{c}.{d}", f"{whole + 2**32}",
        f"{a + 256}.{b}.{c}.{d}",
        f"{a:03}.{b:03}.{c:03}.{d:03}", f"{address}.0", f"0.{address}", f"+{address}", f"-{whole}", f"{address}%00",
        f"{whole}e0",
    ]  # fmt: skip


def disguised_spellings(address: str) -> list[str]:
    """Letters that some programs turn into digits and dots, and signs that some programs overlook."""
    wide = address.translate({ord("0") + n: 0xFF10 + n for n in range(10)})
    circled = address.translate({ord("0") + n: 0x2460 + n - 1 if n else 0x24EA for n in range(10)})
    arabic = address.translate({ord("0") + n: 0x0660 + n for n in range(10)})
    bold = address.translate({ord("0") + n: 0x1D7CE + n for n in range(10)})
    high = address.translate({ord("0") + n: "⁰¹²³⁴⁵⁶⁷⁸⁹"[n] for n in range(10)})
    encoded = "".join(f"%{ord(letter):02x}" for letter in address)
    return [
        wide, circled, arabic, bold, high, encoded, encoded.upper(), address.replace(".", "%2e"), address.replace(".", "。"),
        address.replace(".", "．"), address.replace(".", "｡"), address.replace(".", "․"), f"%20{address}",
        f"{address}%20", f" {address}",
        f"{address} ", f"\t{address}", f"{address}\t", f"{address[:3]}\t{address[3:]}", f"{address[:3]}\n{address[3:]}",
        f"{address}\n",
        f"{address}\r\n", f"{address}\0", f"\u200b{address}", f"{address}\u00ad", f"{address[:2]}\ufeff{address[2:]}",
        f"\\\\{address}",
        f"{address}\\@example.com", f"user@{address}", f"user:pass@{address}", f"example.com@{address}",
        f"example.com%40{address}",
        f"{address}#@example.com", f"example.com#@{address}", f"{address}?@example.com", f"[{address}]", f"[::{address}",
        f"{address}:80:", f"({address})", f"{address};x", f"{address},1", f"'{address}'", f"{address}/..",
        f"example.com\\.{address}",
    ]  # fmt: skip


def wrapped_spellings(address: str) -> list[str]:
    """IPv6 addresses that lead to an IPv4 one."""
    number = int(ipaddress.IPv4Address(address))
    high, low = number >> 16, number & 0xFFFF
    inner = [
        f"::ffff:{address}", f"::FFFF:{high:x}:{low:x}", f"0:0:0:0:0:ffff:{address}",
        f"0000:0000:0000:0000:0000:ffff:{high:04x}:{low:04x}",
        f"::ffff:0:{address}", f"::{address}", f"::{high:x}:{low:x}", f"64:ff9b::{address}", f"64:ff9b::{high:x}:{low:x}",
        f"64:ff9b:1::{address}", f"0064:ff9b:0:0:0:0:{high:x}:{low:x}", f"2002:{high:x}:{low:x}::",
        f"2002:{high:x}:{low:x}::1",
        f"2001:0:4136:e378:8000:63bf:{high ^ 0xFFFF:x}:{low ^ 0xFFFF:x}", f"2606:4700::5efe:{address}",
        f"fe80::5efe:{address}",
        f"::ffff:{address}%eth0", f"::ffff:{address}%25eth0", f"::ffff:{high:x}.{low}", f"::ffff:0{address}",
    ]  # fmt: skip
    return [f"[{text}]" for text in inner]


SIXES = [
    f"[{text}]" for text in (
        "::1", "0:0:0:0:0:0:0:1", "0000:0000:0000:0000:0000:0000:0000:0001", "::0001", "0::1", "::0:1", "::", "0::0",
        "::1%lo", "::1%25lo",
        "::1%251", "fe80::1", "fe80::1%1", "fe80::1%25eth0", "FE80::1", "fec0::1", "fc00::1", "fd00::1", "fd00:ec2::254",
        "fd20:ce::254",
        "ff02::1", "ff01::1", "2001:db8::1", "3fff::1", "100::1", "2001::1", "2001:10::1", "5f00::1", "::2", "4000::1", "1::",
        "[::1]", "::1]", "::1 ", " ::1", "0:0:0:0:0:0:0:1:0", "::1::", "::g", "v1.::1", "::ffff:7f00:1",
    )
]  # fmt: skip


@asynccontextmanager
async def trap() -> AsyncIterator[tuple[int, list[Any]]]:
    """Servers on this machine's own addresses, on one port; gives it, and who came."""
    came: list[Any] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        came.append(writer.get_extra_info("sockname"))
        writer.transport.abort()

    first = await asyncio.start_server(serve, "0.0.0.0", 0)
    servers, port = [first], first.sockets[0].getsockname()[1]
    if socket.has_ipv6:
        with suppress(OSError):
            servers.append(await asyncio.start_server(serve, "::1", port))
    try:
        yield port, came
    finally:
        for server in servers:
            server.close()
            await server.wait_closed()


def bare(address: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    """What an address is, without the IPv6 around an IPv4 one."""
    parsed = ipaddress.ip_address(address)
    return getattr(parsed, "ipv4_mapped", None) or parsed


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were dialled; only this machine's own are really reached."""
    seen: list[str] = []
    real = asyncio.BaseEventLoop.create_connection

    async def create_connection(loop: Any, factory: Any, host: str, port: int, **options: Any) -> Any:
        seen.append(host)
        if not bare(host).is_loopback:
            raise ConnectionRefusedError
        return await real(loop, factory, host, port, **options)

    monkeypatch.setattr(asyncio.BaseEventLoop, "create_connection", create_connection)
    return seen


def look_up(host: str, port: int) -> list[str]:
    """Names of the table; any other text goes to the C library's own reading of numbers, as a careless client would do it."""
    for name, addresses in NAMES.items():
        if name.lower().rstrip(".") == host.lower().rstrip("."):
            return addresses
    try:
        return [socket.inet_ntoa(socket.inet_aton(host))]
    except OSError:
        raise OSError("no such host") from None


def spellings() -> list[str]:
    found = [*NAMES, *SIXES]
    for address in FORBIDDEN:
        found += decimal_spellings(address) + wrapped_spellings(address)
    for address in ("127.0.0.1", "169.254.169.254", "10.0.0.1"):
        found += disguised_spellings(address)
    return list(dict.fromkeys(found))


HOSTS = spellings()


def urls(host: str, port: int) -> list[str]:
    return [f"http://{host}:{port}/", f"HTTP://{host}:{port}", f"https://{host}:{port}/x?y", f"http://{host}:{port}#z"]


def test_there_are_many_spellings() -> None:
    assert len(HOSTS) > 1000


def test_no_spelling_reaches_anything(dialled: list[str]) -> None:
    async def story() -> None:
        async with trap() as (port, came):
            http = Client(Guard(resolver=look_up))
            for host in HOSTS:
                for url in urls(host, port):
                    try:
                        answer = await http.fetch("GET", url)
                    except (Forbidden, BadUrl):
                        pass
                    except Unreachable:
                        # Refused on the way, or no such name; what it dialled is looked at below.
                        pass
                    else:
                        pytest.fail(f"{url!r} was answered: {answer!r}")
                    assert not came, f"{url!r} reached {came}"
                    assert all(bare(address).is_global for address in dialled), f"{url!r} dialled {dialled}"
                    dialled.clear()
            await http.aclose()

    run(story(), 60)


def test_the_trap_is_set(dialled: list[str]) -> None:
    """The same trap catches a client that may go there: the test above can fail."""

    async def story() -> None:
        async with trap() as (port, came):
            for host in ("127.0.0.1", "2130706433", "0x7f.1", "localhost", "127.0.0.2", "[::ffff:127.0.0.1]"):
                allowed = [parse_url(f"http://{host}/").host]
                http = Client(Guard(allowed, look_up))
                with pytest.raises(Unreachable):
                    await http.fetch("GET", f"http://{host}:{port}/")
                assert came and dialled, host
                came.clear()
                await http.aclose()

    run(story())


def test_no_redirect_reaches_anything(dialled: list[str]) -> None:
    """From a host that may be reached, to every spelling of one that may not."""

    async def story() -> None:
        async with trap() as (port, came):
            location = ""

            async def answer(there: FakeSite, peer: SitePeer) -> None:
                while await peer.read() is not None:
                    head = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
                    await peer.write(head.encode("utf-8", "replace"))

            answering: Callable[[FakeSite, SitePeer], Awaitable[None]] = answer
            async with running_site(answering) as there:
                resolver = {"start.test": ["127.0.0.1"]}
                http = Client(
                    Guard([f"start.test:{there.port}"], lambda host, port: resolver.get(host) or look_up(host, port))
                )
                start = RedirectStep("GET", parse_url(f"http://start.test:{there.port}/"))
                for host in HOSTS:
                    for location in (f"http://{host}:{port}/", f"//{host}:{port}/"):
                        if "\n" in location or "\r" in location or "\0" in location:
                            continue  # a head cannot hold it; see test_framing.py
                        with pytest.raises((Forbidden, BrokenAnswer)):
                            await follow(http, start)
                        assert not came, f"{location!r} reached {came}"
                assert http.count_requests(start.target) == 0
                assert set(dialled) == {"127.0.0.1"}  # the start itself
                await http.aclose()

    run(story(), 60)


def test_a_redirect_within_the_host_is_judged_by_its_port(dialled: list[str]) -> None:
    async def story() -> None:
        async with trap() as (port, came):
            moved = f"HTTP/1.1 302 Found\r\nLocation: http://start.test:{port}/\r\nContent-Length: 0\r\n\r\n".encode()
            async with running_site(moved) as there:
                http = Client(Guard([f"start.test:{there.port}"], lambda host, port: ["127.0.0.1"]))
                with pytest.raises(Forbidden):
                    await follow(http, RedirectStep("GET", parse_url(f"http://start.test:{there.port}/")))
                assert not came
                await http.aclose()

    run(story())


def test_a_name_is_judged_each_time_it_is_looked_up_and_never_looked_up_again(dialled: list[str]) -> None:
    """Rebinding: public when it is judged, private when it is dialled, would need a second look-up in between. There is none."""

    async def story() -> None:
        async with trap() as (port, came):
            asked = 0

            def rebinding(host: str, port: int) -> list[str]:
                nonlocal asked
                asked += 1
                return ["93.184.216.34"] if asked % 2 else ["127.0.0.1"]

            http = Client(Guard(resolver=rebinding))
            with pytest.raises(Unreachable):
                await http.fetch("GET", f"http://rebind.test:{port}/")
            assert asked == 1 and dialled == ["93.184.216.34"]
            with pytest.raises(Forbidden):
                await http.fetch("GET", f"http://rebind.test:{port}/")
            assert asked == 2 and dialled == ["93.184.216.34"] and not came
            await http.aclose()

    run(story())


def test_the_second_address_is_not_dialled_when_it_is_private(dialled: list[str]) -> None:
    async def story() -> None:
        async with trap() as (port, came):
            for addresses in (["93.184.216.34", "127.0.0.1"], ["127.0.0.1", "93.184.216.34"], ["93.184.216.34", "::1"]):
                http = Client(Guard(resolver=lambda host, port, found=addresses: found))  # type: ignore[misc]
                with pytest.raises(Forbidden):
                    await http.fetch("GET", f"http://mixed.test:{port}/")
                await http.aclose()
            assert not came and not dialled

    run(story())


def test_what_is_listed_is_reached_by_host_and_by_port(dialled: list[str]) -> None:
    async def story() -> None:
        async with running_site(ok()) as there:
            for entry, url in (
                ("127.0.0.1", f"http://2130706433:{there.port}/"), (f"127.0.0.1:{there.port}", f"http://127.1:{there.port}/"),
                ("inner.test", f"http://INNER.test.:{there.port}/"), (f"inner.test:{there.port}",
                f"http://inner.test:{there.port}/"),
            ):  # fmt: skip
                http = Client(Guard([entry], lambda host, port: ["127.0.0.1"]))
                assert (await http.fetch("GET", url, listed_only=True)).body == b"hello"
                await http.aclose()
            http = Client(Guard(["127.0.0.1:1"], lambda host, port: ["127.0.0.1"]))
            with pytest.raises(Forbidden):
                await http.fetch("GET", there.url())
            await http.aclose()

    run(story())
