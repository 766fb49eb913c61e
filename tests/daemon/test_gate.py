"""Who gets a connection."""

from __future__ import annotations

import base64
import dataclasses
from typing import Any

import pytest
from websockets.datastructures import Headers

from codemode_executor.daemon.accounts import Account, Accounts
from codemode_executor.daemon.gate import Gate, Refusal, hosts_of, is_loopback
from daemon.client import OTHER_TOKEN, PROTOCOL, TOKEN

GOOD = {"Host": "localhost:8787", "Sec-WebSocket-Protocol": PROTOCOL, "Authorization": f"Bearer {TOKEN}"}


def gate(**options: Any) -> Gate:
    accounts = Accounts([("first", TOKEN), ("second", OTHER_TOKEN)])
    made = Gate(accounts, hosts_of("127.0.0.1", []), frozenset(), 2)
    return dataclasses.replace(made, **options)


def check(path: str = "/", *, through: Gate | None = None, **headers: str | None) -> Account | Refusal:
    given = GOOD | {name.replace("_", "-"): value for name, value in headers.items()}
    return (through or gate()).check(path, Headers({name: value for name, value in given.items() if value is not None}))


def code(found: Account | Refusal) -> str:
    return f"{found.status} {found.code}" if isinstance(found, Refusal) else found.name


def offered(token: str) -> str:
    return f"{PROTOCOL}, codemode-executor.token.{base64.urlsafe_b64encode(token.encode()).decode().rstrip('=')}"


def test_a_token_opens_a_connection_in_its_name() -> None:
    assert code(check()) == "first"
    assert code(check(Authorization=f"bearer  {OTHER_TOKEN}")) == "second"


def test_a_token_as_a_subprotocol() -> None:
    assert code(check(Authorization=None, Sec_WebSocket_Protocol=offered(TOKEN))) == "first"


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": None},
        {"Authorization": ""},
        {"Authorization": TOKEN},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN.upper()}"},
        {"Authorization": "Bearer é" + TOKEN},
        {"Authorization": None, "Sec_WebSocket_Protocol": offered(TOKEN + "x")},
        {"Authorization": None, "Sec_WebSocket_Protocol": f"{PROTOCOL}, codemode-executor.token.@@@"},
        {"Authorization": None, "Sec_WebSocket_Protocol": f"{PROTOCOL}, codemode-executor.token."},
        # A wrong header is not made good by a right subprotocol.
        {"Authorization": "Bearer wrong", "Sec_WebSocket_Protocol": offered(TOKEN)},
    ],
)
def test_wrong_tokens(headers: dict[str, str | None]) -> None:
    assert code(check("/", through=None, **headers)) == "401 UNAUTHORIZED"


def test_refusals_hold_no_token() -> None:
    found = check(Authorization="Bearer a-secret-that-is-wrong-000")
    assert isinstance(found, Refusal)
    assert "a-secret" not in repr(found)


@pytest.mark.parametrize("path", ["/?token=x", "/?", "/healthz?x=1"])
def test_a_query_is_refused(path: str) -> None:
    assert code(check(path)) == "400 BAD_HANDSHAKE"


@pytest.mark.parametrize("path", ["/x", "//", "", "/../", "*", "http://localhost/"])
def test_other_paths(path: str) -> None:
    assert code(check(path)) == "404 NOT_FOUND"


@pytest.mark.parametrize("host", ["localhost", "LOCALHOST:1", "127.0.0.1:8787", "[::1]:8787"])
def test_names_of_the_loopback(host: str) -> None:
    assert code(check(Host=host)) == "first"


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "evil.example:8787",
        "localhost.evil.example",
        "localhost:8787@evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.2",
        "localhost:x",
        "localhost,evil.example",
        "localhost evil.example",
        "::1",
        "0",
        "2130706433",
    ],
)
def test_other_names_are_refused(host: str | None) -> None:
    """A page whose name was bound to this address sends its own name."""
    assert code(check(Host=host)) == "403 HOST_REFUSED"


def test_two_hosts_are_refused() -> None:
    headers = Headers(GOOD)
    headers["Host"] = "localhost"
    found = gate().check("/", headers)
    assert code(found) == "403 HOST_REFUSED"


def test_listed_names_and_unix_sockets() -> None:
    named = gate(hosts=hosts_of("0.0.0.0", ["Runner.internal"]))
    assert code(check(through=named, Host="runner.INTERNAL:80")) == "first"
    assert code(check(through=named, Host="localhost")) == "403 HOST_REFUSED"
    assert code(check(through=gate(hosts=None), Host=None)) == "first"


@pytest.mark.parametrize("origin", ["null", "", "http://localhost", "https://evil.example", "file://"])
def test_pages_are_refused(origin: str) -> None:
    assert code(check(Origin=origin)) == "403 ORIGIN_REFUSED"


def test_listed_pages() -> None:
    listed = gate(origins=frozenset(("https://good.example",)))
    assert code(check(through=listed, Origin="https://good.example")) == "first"
    assert code(check(through=listed, Origin="https://good.example.evil.example")) == "403 ORIGIN_REFUSED"
    assert code(check(through=listed, Origin="HTTPS://good.example")) == "403 ORIGIN_REFUSED"
    headers = Headers(GOOD | {"Origin": "https://good.example"})
    headers["Origin"] = "https://evil.example"
    assert code(listed.check("/", headers)) == "403 ORIGIN_REFUSED"


@pytest.mark.parametrize(
    "protocol", [None, "", "codemode-executor.v2", "CODEMODE-EXECUTOR.V1", "codemode-executor.v11"]
)
def test_other_protocols(protocol: str | None) -> None:
    assert code(check(Sec_WebSocket_Protocol=protocol)) == "400 UNKNOWN_PROTOCOL"


def test_connections_of_a_token_are_bounded() -> None:
    crowded = gate()
    found = check(through=crowded)
    assert isinstance(found, Account)
    found.connections = 2
    refused = check(through=crowded)
    assert code(refused) == "429 TOO_MANY_CONNECTIONS"
    assert isinstance(refused, Refusal)
    assert refused.retry_after_s
    assert code(check(through=crowded, Authorization=f"Bearer {OTHER_TOKEN}")) == "second"


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("a", False),
    ],
)
def test_loopback(host: str, expected: bool) -> None:
    assert is_loopback(host) is expected
