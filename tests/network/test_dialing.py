"""From a name to a connection: only an address that was judged is connected to."""

from __future__ import annotations

import asyncio
import ipaddress
import socket
import ssl
import threading
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from codemode_executor.network import (
    AllowList,
    OutboundError,
    OutboundFailed,
    OutboundRefused,
    OutboundRequest,
    dialing,
)
from codemode_executor.network.addresses import Address
from codemode_executor.network.dialing import Dialer, Resolver, SystemResolver
from codemode_executor.network.session import Session
from network.local_servers import http_server, response, saying


class Names:
    """A name server whose answers change."""

    def __init__(self, *answers: Sequence[str]) -> None:
        self._answers = list(answers)
        self.asked: list[tuple[str, int]] = []

    async def __call__(self, host: str, port: int) -> Sequence[str]:
        self.asked.append((host, port))
        return self._answers[min(len(self.asked), len(self._answers)) - 1]


async def test_a_name_that_changes_its_mind() -> None:
    """DNS rebinding: what was judged is connected to, and each new connection is judged anew."""
    async with http_server(saying(response(body=b"open"))) as server:
        inner_server = http_server(saying(response(body=b"secret")), host="127.0.0.2", port=server.port)
        async with inner_server as inner:
            names = Names(["127.0.0.1"], ["127.0.0.2"])
            origin = f"http://rebinding.example.com:{server.port}"
            policy = AllowList(origins=[origin], allow_private=["127.0.0.1"], resolver=names)
            async with policy.session() as session:
                for _ in range(2):  # the second one on the connection of the first
                    assert (await session(OutboundRequest(url=origin))).body == b"open"
                assert names.asked == [("rebinding.example.com", server.port)]
                with pytest.raises(OutboundRefused) as caught:
                    await session(OutboundRequest(method="POST", url=origin))
    assert caught.value.rule == "address"
    assert "127.0.0.2" not in str(caught.value)
    assert caught.value.note == "127.0.0.2 is loopback"
    assert len(names.asked) == 2
    assert (server.connections, inner.connections) == (1, 0)


async def test_of_several_addresses_only_those_that_may_be_reached() -> None:
    async with (
        http_server(saying(response(body=b"open"))) as server,
        http_server(saying(response(body=b"secret")), host="127.0.0.2", port=server.port) as inner,
    ):
        names = Names(["127.0.0.2", "::1", "fe80::1%lo", "10.0.0.1", "127.0.0.1"])
        origin = f"http://many.example.com:{server.port}"
        policy = AllowList(origins=[origin], allow_private=["127.0.0.1"], resolver=names)
        async with policy.session() as session:
            assert (await session(OutboundRequest(url=origin))).body == b"open"
    assert inner.connections == 0


async def test_the_next_address_is_tried() -> None:
    async with http_server(saying(response(body=b"open"))) as server:
        names = Names(["127.0.0.3", "127.0.0.1"])  # nobody listens at the first
        origin = f"http://two.example.com:{server.port}"
        async with AllowList(origins=[origin], allow_private=["127.0.0.0/8"], resolver=names).session() as session:
            assert (await session(OutboundRequest(url=origin))).body == b"open"


async def test_nobody_listens() -> None:
    origin = "http://127.0.0.1:1"
    async with AllowList(origins=[origin], allow_private=["127.0.0.1"]).session() as session:
        with pytest.raises(OutboundFailed, match=r"no connection to http://127\.0\.0\.1:1$") as caught:
            await session(OutboundRequest(url=origin))
    assert (caught.value.part, caught.value.note) == ("connect", "127.0.0.1: ECONNREFUSED")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9/", "http://2130706433:9/", "http://[::ffff:127.0.0.1]:9/", "http://[::1]:9/"]
)
async def test_a_listed_address_is_still_judged(url: str) -> None:
    policy = AllowList(origins=["http://127.0.0.1:9", "http://[::ffff:7f00:1]:9", "http://[::1]:9"])
    async with policy.session() as session:
        with pytest.raises(OutboundRefused) as caught:
            await session(OutboundRequest(url=url))
    assert caught.value.rule == "address"


async def test_an_address_of_this_machine_is_not_public_whatever_it_looks_like(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dialing, "refusal", lambda _address, _listed: None)
    async with http_server(saying(response())) as server:
        async with AllowList(origins=[server.origin]).session() as session:
            with pytest.raises(OutboundRefused) as caught:
                await session(OutboundRequest(url=server.origin))
        assert caught.value.note == "127.0.0.1 is this machine's own"
        assert server.connections == 0


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ([], "has no address"),
        (["nonsense"], "cannot be looked up"),
        (["127.0.0.1 "], "cannot be looked up"),
        (["fe80::1%lo"], "has no address"),
        (OSError("dead"), "cannot be looked up"),
        (socket.gaierror(-2, "unknown"), "cannot be looked up"),
    ],
)
async def test_a_name_that_leads_nowhere(answer: Any, says: str) -> None:
    async def resolver(_host: str, _port: int) -> Sequence[str]:
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with AllowList(origins=["http://a.example.com"], resolver=resolver).session() as session:
        with pytest.raises(OutboundFailed, match=says) as caught:
            await session(OutboundRequest(url="http://a.example.com"))
    assert caught.value.part == "lookup"


async def test_a_lookup_that_hangs_holds_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    release = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_args, **_options: release.wait(20) and [])
    monkeypatch.setattr(dialing, "_MAX_LOOKUPS", 3)
    resolver = SystemResolver()
    policy = AllowList(origins=["http://a.example.com"], resolver=resolver, timeout_s=0.2)
    try:
        async with policy.session() as session:
            results = await asyncio.gather(
                *(session(OutboundRequest(url="http://a.example.com")) for _ in range(4)), return_exceptions=True
            )
            assert sorted(str(result).partition(":")[0] for result in results) == [
                "a.example.com was not looked up",
                *["fetch was not done after 0.2 seconds, the limit (AllowList.timeout_s)"] * 3,
            ]
    finally:
        release.set()
    async with asyncio.timeout(10):
        while resolver._running:
            await asyncio.sleep(0.01)


async def test_the_systems_own_lookup() -> None:
    assert "127.0.0.1" in await SystemResolver()("localhost", 80) or "::1" in await SystemResolver()("localhost", 80)
    with pytest.raises(OSError, match=r".*"):
        await SystemResolver()("name.invalid", 80)
    async with AllowList(origins=["http://localhost:9"]).session() as session:
        with pytest.raises(OutboundRefused) as caught:
            await session(OutboundRequest(url="http://localhost:9"))
    assert caught.value.rule == "address"


# --- no text of a URL leads to an address that is not public ----------------------------------------------------------

V4 = st.one_of(
    st.sampled_from(["127.0.0.1", "10.0.0.1", "169.254.169.254", "192.168.0.1", "0.0.0.0", "8.8.8.8", "1.1.1.1"]),
    st.integers(min_value=0, max_value=2**32 - 1).map(lambda value: str(ipaddress.IPv4Address(value))),
)


def _odd(text: str, form: int) -> str:
    value = int(ipaddress.IPv4Address(text))
    parts = text.split(".")
    return [
        text,
        str(value),
        hex(value),
        f"0{value:o}",
        ".".join(hex(int(part)) for part in parts),
        ".".join(f"0{int(part):o}" for part in parts),
        f"{parts[0]}.{value & 0xFFFFFF}",
        f"{text}.",
        "".join(chr(0xFF10 + int(c)) if c.isdigit() else c for c in text),
        "".join(f"%{ord(c):02x}" for c in text),
        f"[::ffff:{text}]",
        f"[::{text}]",
        f"[64:ff9b::{text}]",
        f"[2002:{value >> 16:x}:{value & 0xFFFF:x}::1]",
        f"[2606:4700::5efe:{text}]",
        f"[2001:0:{value >> 16:x}:{value & 0xFFFF:x}::]",
        f"example.com@{text}",
        f"{text}#@example.com",
        f"{text}\\@example.com",
        f"example.com:80@{text}",
    ][form]


HOSTS = st.one_of(
    st.builds(_odd, V4, st.integers(min_value=0, max_value=19)),
    st.integers(min_value=0, max_value=2**128 - 1).map(lambda value: f"[{ipaddress.IPv6Address(value)}]"),
    st.sampled_from(["localhost", "example.com", "metadata.google.internal", "example.com.", "a..b", "xn--", "[::1]"]),
    st.text(max_size=12),
)
URLS = st.builds(
    lambda scheme, slashes, host, port, rest: f"{scheme}{slashes}{host}{port}{rest}",
    st.sampled_from(["http:", "https:", "HTTP:", "ht\ttp:", "file:", "data:", " http:", "http:\n"]),
    st.sampled_from(["//", "/", "", "\\\\", "///", "/\\"]),
    HOSTS,
    st.sampled_from(["", ":80", ":443", ":22", ":0", ":"]),
    st.sampled_from(["", "/", "/a?b#c", "?@127.0.0.1", "\\..\\x"]),
)
ANSWERS = st.lists(
    st.one_of(
        V4,
        st.integers(min_value=0, max_value=2**128 - 1).map(lambda value: str(ipaddress.IPv6Address(value))),
        V4.map(lambda text: f"::ffff:{text}"),
        V4.map(lambda text: f"64:ff9b::{text}"),
        st.sampled_from(["::1", "fe80::1", "fc00::1", "fd00:ec2::254", "ff02::1", "2606:4700::1111", "2001:db8::1"]),
    ),
    max_size=6,
)

PLAINLY_PUBLIC = ("8.8.8.8", "1.1.1.1", "2606:4700::1111")
PRIVATE = [
    ipaddress.ip_network(text)
    for text in (
        "0.0.0.0/8 10.0.0.0/8 100.64.0.0/10 127.0.0.0/8 169.254.0.0/16 172.16.0.0/12 192.0.0.0/24 192.0.2.0/24"
        " 192.168.0.0/16 198.18.0.0/15 198.51.100.0/24 203.0.113.0/24 224.0.0.0/3 168.63.129.16/32"
    ).split()
]


def is_public(address: Address) -> bool:
    """Written apart from the code under test: the standard library's word, and the address's own bytes."""
    if isinstance(address, ipaddress.IPv6Address):
        packed = address.packed
        if packed[:12] in (bytes(10) + b"\xff\xff", bytes.fromhex("0064ff9b") + bytes(8)):
            return is_public(ipaddress.IPv4Address(packed[12:]))
        if packed[8:12] in (b"\0\0\x5e\xfe", b"\2\0\x5e\xfe") and not is_public(ipaddress.IPv4Address(packed[12:])):
            return False
        tunnel = packed[:2] == b"\x20\x02" or packed[:4] == b"\x20\x01\0\0"
        return packed[0] >> 5 == 1 and address.is_global and not address.is_multicast and not tunnel
    return address.is_global and not any(address in network for network in PRIVATE)


class Recording:
    """Takes the place of the kernel: remembers what would have been connected to, and connects to nothing."""

    def __init__(self) -> None:
        self.dialed: list[Address] = []

    async def __call__(self, address: Address, _port: int, _timeout_s: float) -> socket.socket:
        self.dialed.append(address)
        raise ConnectionRefusedError


async def dialed_for(url: str, resolver: Resolver) -> list[Address] | None:
    """What a request to ``url`` connects to, under a list that names exactly its origin; ``None`` if it is no URL."""
    from codemode_executor.network.origins import parse_target

    try:
        request = OutboundRequest(url=url)
        origin = parse_target(url).origin
    except Exception:
        return None
    kernel = Recording()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    policy = AllowList(origins=[origin, "http://**", "https://**"], resolver=resolver, ssl_context=context)
    async with Session(policy, Dialer((), resolver, context, kernel)) as session:
        with pytest.raises(OutboundError):
            await session(request)
    return kernel.dialed


@given(answers=ANSWERS)
def test_no_answer_leads_to_an_address_that_is_not_public(answers: list[str]) -> None:
    async def resolver(_host: str, _port: int) -> Sequence[str]:
        return answers

    dialed = asyncio.run(dialed_for("http://example.com/", resolver)) or []
    assert all(is_public(address) for address in dialed)
    assert {ipaddress.ip_address(text) for text in answers if text in PLAINLY_PUBLIC} <= set(dialed)


@settings(max_examples=400)
@given(url=URLS, answers=ANSWERS)
@example(url="http://8.8.8.8/", answers=[])
@example(url="http://example.com/", answers=["8.8.8.8", "10.0.0.1"])
@example(url="http://[::ffff:7f00:1]/", answers=[])
def test_no_url_leads_to_an_address_that_is_not_public(url: str, answers: list[str]) -> None:
    async def resolver(host: str, _port: int) -> Sequence[str]:
        # A resolver reads some names as addresses. It is never asked such a name.
        for read in (socket.inet_aton, ipaddress.ip_address):
            with pytest.raises((OSError, ValueError)):
                read(host)
        return answers

    for address in asyncio.run(dialed_for(url, resolver)) or []:
        assert is_public(address), (url, address)


async def test_the_property_would_notice() -> None:
    """The recording sees what is dialed: public addresses are."""
    names = Names(["8.8.8.8", "10.0.0.1", "::1", "2606:4700::1111"])
    assert await dialed_for("http://example.com/", names) == [
        ipaddress.ip_address("8.8.8.8"),
        ipaddress.ip_address("2606:4700::1111"),
    ]
    assert await dialed_for("http://134744072/", names) == [ipaddress.ip_address("8.8.8.8")]
    assert not is_public(ipaddress.ip_address("10.0.0.1"))
