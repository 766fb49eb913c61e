"""Which headers of a program are sent."""

from __future__ import annotations

import pytest

from codemode_executor import BadRequest
from codemode_executor.network.headers import CREDENTIALS, FRAMING, TRUSTED, parse_allowed, returnable, sendable


@pytest.mark.parametrize("name", [*sorted(FRAMING | CREDENTIALS | TRUSTED), "X-Forwarded-For", "X-FORWARDED-HOST"])
def test_held_back(name: str) -> None:
    sent, stripped = sendable([(name, "v"), ("x-mine", "1")], frozenset())
    assert sent == [("x-mine", "1")]
    assert stripped == [name.lower()]


def test_sent() -> None:
    headers = [("Content-Type", "a/b"), ("accept", "*/*"), ("X-Y", "1"), ("x-y", "2"), ("Idempotency-Key", "3")]
    assert sendable(headers, frozenset()) == (headers, [])


def test_what_the_host_allows_is_sent_as_the_program_wrote_it() -> None:
    allowed = parse_allowed(["authorization", "X-Forwarded-For"])
    headers = [("Authorization", "Bearer x"), ("x-forwarded-for", "1.1.1.1"), ("cookie", "a=b")]
    assert sendable(headers, allowed) == (headers[:2], ["cookie"])


def test_what_connection_names_goes_with_it() -> None:
    sent, stripped = sendable(
        [("connection", "x-one , X-Two"), ("X-One", "1"), ("x-two", "2"), ("x-3", "3")], frozenset()
    )
    assert sent == [("x-3", "3")]
    assert stripped == ["connection", "x-one", "x-two"]


@pytest.mark.parametrize("names", [["host"], ["Transfer-Encoding"], ["accept"], [7], "cookie", None])
def test_what_cannot_be_allowed(names: object) -> None:
    with pytest.raises(BadRequest, match=r"AllowList\.allow_headers"):
        parse_allowed(names)


def test_a_response_keeps_all_but_its_connections_headers() -> None:
    headers = [("transfer-encoding", "chunked"), ("set-cookie", "a=b"), ("content-length", "3"), ("connection", "x")]
    assert returnable(headers) == [("set-cookie", "a=b"), ("content-length", "3")]
