"""A request and a response are bounded where they are built, and again where they are received."""

from __future__ import annotations

from typing import Any, cast

import msgspec
import pytest

from codemode_executor import BadRequest
from codemode_executor.network import OutboundRequest, OutboundResponse, contract


def test_a_request_is_written_as_the_url_standard_has_it() -> None:
    request = OutboundRequest(
        url="HTTP://Example.com/a b", headers=[("A", " b\t")], method="POST", body=cast("bytes", bytearray(b"x"))
    )
    assert request.url == "http://example.com/a%20b"
    assert request.headers == (("A", "b"),)
    assert request.body == b"x"
    assert type(request.body) is bytes


def test_headers_are_found_whatever_their_case() -> None:
    response = OutboundResponse(headers=[("Set-Cookie", "a"), ("X", "1"), ("set-cookie", "b")])
    assert response.header("SET-COOKIE") == "a, b"
    assert response.header("y") is None
    assert OutboundRequest(url="http://a/", headers=[("X", "1")]).header("x") == "1"


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"method": "GE T"}, "token"),
        ({"method": ""}, "token"),
        ({"method": "G" * 33}, "at most 32"),
        ({"method": "GET\r\nX: y"}, "token"),
        ({"method": 1}, "token"),
        ({"method": "connect"}, "never sent"),
        ({"method": "TRACE"}, "never sent"),
        ({"url": "/a"}, "absolute URL"),
        ({"url": ""}, "non-empty"),
        ({"url": None}, "non-empty"),
        ({"url": "http://a/" + "b" * contract.MAX_URL}, "32777 characters long; the limit is 32768"),
        ({"url": "http://a/" + "ü" * 10_000}, "when it is percent-encoded; the limit is 32768"),
        ({"url": "http://\ud800/"}, "absolute URL"),
        ({"headers": {"a": "b"}}, "pairs"),
        ({"headers": "ab"}, "pairs"),
        ({"headers": [("a",)]}, "pairs"),
        ({"headers": ["ab"]}, "pairs"),
        ({"headers": [("a b", "c")]}, "token"),
        ({"headers": [("", "c")]}, "token"),
        ({"headers": [("a:", "c")]}, "token"),
        ({"headers": [("a", "b\r\nc: d")]}, "control characters"),
        ({"headers": [("a", "b\0")]}, "control characters"),
        ({"headers": [("a", "b\n")]}, "control characters"),
        ({"headers": [("a", "\u0100")]}, "one byte"),
        ({"headers": [("a", 1)]}, "must be a string"),
        ({"headers": [("a", "")] * 257}, "257 headers; the limit is 256"),
        ({"headers": [("a", "b" * contract.MAX_HEADER_CHARACTERS)]}, "the limit is 131072"),
        ({"body": b""}, "has no body"),
        ({"method": "POST", "body": "text"}, "bytes, not str"),
        ({"redirect": "maybe"}, "redirect"),
    ],
)
def test_what_is_no_request(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        OutboundRequest(**{"url": "http://a/", **parts})


@pytest.mark.parametrize(
    ("parts", "says"),
    [
        ({"status": 199}, "200 to 599"),
        ({"status": 101}, "200 to 599"),
        ({"status": 600}, "200 to 599"),
        ({"status": True}, "200 to 599"),
        ({"status": "200"}, "200 to 599"),
        ({"status_text": "a\r\nb"}, "controls"),
        ({"status_text": "x" * 1025}, "1024"),
        ({"status_text": None}, "1024"),
        ({"headers": [("a", "b\r\n")]}, "control characters"),
        ({"body": None}, "b''"),
        ({"body": "text"}, "bytes, not str"),
        ({"status": 204, "body": b"x"}, "has no body"),
        ({"status": 304, "body": b"x"}, "has no body"),
        ({"url": "nowhere"}, "absolute URL"),
        ({"redirected": 1}, "redirected"),
    ],
)
def test_what_is_no_response(parts: dict[str, Any], says: str) -> None:
    with pytest.raises(BadRequest, match=says):
        OutboundResponse(**parts)


def test_a_body_beyond_what_is_carried_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contract, "MAX_BODY", 10)
    assert OutboundResponse(body=b"x" * 10).body
    with pytest.raises(BadRequest, match="11 bytes long; the limit is 10"):
        OutboundResponse(body=b"x" * 11)


def test_what_comes_over_a_wire_is_checked_too() -> None:
    request = OutboundRequest(url="http://a/", method="POST", headers=[("a", "b")], body=b"\0\xff")
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(request), type=OutboundRequest) == request
    for broken in (
        {"url": "http://a/", "headers": [["a", "b\r\n"]]},
        {"url": "http://a/", "method": "A B"},
    ):
        with pytest.raises(BadRequest):
            msgspec.msgpack.decode(msgspec.msgpack.encode(broken), type=OutboundRequest)
    for broken in ({"url": "http://a/", "more": 1}, {"url": 1}, {"url": "http://a/", "redirect": "x"}):
        with pytest.raises((BadRequest, msgspec.ValidationError)):
            msgspec.msgpack.decode(msgspec.msgpack.encode(broken), type=OutboundRequest)
