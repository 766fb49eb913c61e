"""Requests under an allow-list, against real servers."""

from __future__ import annotations

import asyncio
import gzip
import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import brotli
import pytest

from codemode_executor.network import (
    AllowList,
    OutboundFailed,
    OutboundRefused,
    OutboundRequest,
    OutboundTimeout,
)
from network.local_servers import Asked, Server, certificate, http_server, open_to, raw_server, response, saying


def get(url: str, **parts: Any) -> OutboundRequest:
    return OutboundRequest(url=url, **parts)


async def test_a_request_and_its_response() -> None:
    answer = response("201 All Right", ["X-One: 1", "x-two: a", "X-Two: b", "Set-Cookie: c=d"], b"hello")
    async with http_server(saying(answer)) as server, open_to(server).session() as session:
        got = await session(
            get(f"{server.origin}/a?b#c", method="POST", headers=[("X-Mine", "\u00fc"), ("x-mine", "2")], body=b"data")
        )
        (asked,) = server.asked
        traffic = session.traffic
    assert (got.status, got.status_text, got.body) == (201, "All Right", b"hello")
    assert (got.url, got.redirected) == (f"{server.origin}/a?b", False)
    assert (got.header("x-two"), got.header("set-cookie"), got.header("content-length")) == ("a, b", "c=d", "5")
    assert (asked.method, asked.path, asked.body) == ("POST", "/a?b", b"data")
    assert asked.header("x-mine") == "\u00fc, 2"
    assert asked.header("host") == f"127.0.0.1:{server.port}"
    assert asked.header("accept") == "*/*"
    assert asked.header("accept-encoding") == "gzip, deflate, br"
    assert asked.header("user-agent") == "codemode-executor"
    assert asked.header("content-length") == "4"
    assert asked.header("content-type") is None
    assert (traffic.requests, traffic.refused, traffic.decoded) == (1, 0, 0)
    assert traffic.received == len(answer)
    assert traffic.sent > len(b"data")


@pytest.mark.parametrize(
    ("method", "body", "length"),
    [
        ("GET", None, None),
        ("HEAD", None, None),
        ("DELETE", None, None),
        ("DELETE", b"x", "1"),
        ("POST", None, "0"),
        ("PUT", b"", "0"),
        ("PATCH", b"xy", "2"),
        ("OPTIONS", None, None),
    ],
)
async def test_methods_and_bodies(method: str, body: bytes | None, length: str | None) -> None:
    async def answer(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(response(body=b"" if method == "HEAD" else b"ok"))

    async with http_server(answer) as server, open_to(server).session() as session:
        got = await session(get(server.origin, method=method, body=body))
        assert got.status == 200
    assert (server.asked[0].method, server.asked[0].body) == (method, body or b"")
    assert server.asked[0].header("content-length") == length


async def test_headers_that_are_not_the_programs_to_send() -> None:
    forged = [
        ("Host", "internal"),
        ("Content-Length", "0"),
        ("Transfer-Encoding", "chunked"),
        ("Connection", "close, X-Hop"),
        ("X-Hop", "1"),
        ("Upgrade", "h2c"),
        ("Expect", "100-continue"),
        ("Authorization", "Bearer secret"),
        ("Cookie", "a=b"),
        ("X-Forwarded-For", "127.0.0.1"),
        ("Metadata-Flavor", "Google"),
        ("User-Agent", "mine"),
        ("Accept-Encoding", "identity"),
    ]
    async with http_server(saying(response())) as server:
        async with open_to(server).session() as session:
            await session(get(server.origin, method="POST", body=b"abc", headers=forged))
        async with open_to(server, allow_headers=["authorization"]).session() as session:
            await session(get(server.origin, headers=forged))
    first, second = server.asked
    assert [name.lower() for name, _ in first.headers] == [
        "host",
        "user-agent",
        "accept-encoding",
        "content-length",
        "accept",
    ]
    assert (first.header("host"), first.body) == (f"127.0.0.1:{server.port}", b"abc")
    assert (first.header("user-agent"), first.header("accept-encoding")) == ("mine", "identity")
    assert (second.header("authorization"), second.header("cookie")) == ("Bearer secret", None)


async def test_nothing_is_taken_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login me password secret\n")
    async with raw_server(lambda *_: asyncio.sleep(0)) as proxy, http_server(saying(response())) as server:
        for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.origin)
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv("NETRC", str(tmp_path / ".netrc"))
        async with open_to(server).session() as session:
            assert (await session(get(server.origin))).status == 200
    assert proxy.connections == 0
    assert server.asked[0].header("authorization") is None


async def test_no_cookie_is_kept() -> None:
    async with (
        http_server(saying(response(headers=["Set-Cookie: a=b; Path=/"]))) as server,
        open_to(server, allow_headers=["cookie"]).session() as session,
    ):
        await session(get(server.origin))
        await session(get(server.origin))
    assert [asked.header("cookie") for asked in server.asked] == [None, None]


async def test_a_connection_serves_one_run_only_and_no_request_that_must_not_be_repeated() -> None:
    async with http_server(saying(response(body=b"x"))) as server:
        policy = open_to(server)
        async with policy.session() as session:
            for _ in range(3):
                await session(get(server.origin))
            assert server.connections == 1
            await session(get(server.origin, method="POST", body=b"1"))
            assert server.connections == 2
        async with policy.session() as session:
            await session(get(server.origin))
        assert server.connections == 3


async def test_a_connection_that_was_closed_while_it_waited_is_replaced() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response(body=b"x"))
        if server.connections == 1:
            await reader.readuntil(b"\r\n\r\n")  # the second request is read and never answered

    async with raw_server(serve) as server, open_to(server).session() as session:
        assert (await session(get(server.origin))).body == b"x"
        assert (await session(get(server.origin))).body == b"x"
        assert (server.connections, session.traffic.requests) == (2, 3)


# --- what is refused --------------------------------------------------------------------------------------------------


async def refusal_of(policy: AllowList, request: OutboundRequest) -> OutboundRefused:
    async with policy.session() as session:
        with pytest.raises(OutboundRefused) as caught:
            await session(request)
        assert session.traffic.refused == 1
    return caught.value


async def test_an_origin_that_is_not_listed_is_not_even_looked_up(caplog: pytest.LogCaptureFixture) -> None:
    asked: list[str] = []

    async def resolver(host: str, _port: int) -> Sequence[str]:
        asked.append(host)
        return ["127.0.0.1"]

    policy = AllowList(origins=["https://*.example.com"], resolver=resolver)
    with caplog.at_level(logging.INFO, "codemode_executor.network"):
        refused = await refusal_of(policy, get("https://secret.evil.net/x?token=1"))
    assert refused.rule == "origin"
    assert str(refused) == ("https://secret.evil.net is not among the origins that the host allows (AllowList.origins)")
    assert asked == []
    assert "https://secret.evil.net" in caplog.text
    assert "token" not in caplog.text


@pytest.mark.parametrize("url", ["file:///etc/passwd", "data:,x", "http://me@a.example.com/", "ftp://a.example.com/"])
async def test_urls_that_are_never_requested(url: str) -> None:
    refused = await refusal_of(AllowList(origins=["https://**", "http://**"]), get(url))
    assert refused.rule in ("scheme", "userinfo")


async def test_rules_on_the_request() -> None:
    async with http_server(saying(response())) as server:
        refused = await refusal_of(open_to(server, methods=["GET"]), get(server.origin, method="POST"))
        assert (refused.rule, "POST is not among" in str(refused)) == ("method", True)
        refused = await refusal_of(open_to(server), get(server.origin, method="PURGE"))
        assert refused.rule == "method"
        refused = await refusal_of(open_to(server), get(server.origin, method="get"))
        assert refused.rule == "method"
        refused = await refusal_of(
            open_to(server, max_request_bytes=3), get(server.origin, method="POST", body=b"1234")
        )
        assert str(refused) == ("the body of the request is 4 bytes long; the limit is 3 (AllowList.max_request_bytes)")
        refused = await refusal_of(
            open_to(server, max_total_bytes=1000), get(server.origin, method="POST", body=bytes(1000))
        )
        assert refused.rule == "total_bytes"
    assert server.asked == []


async def test_requests_of_a_run_are_counted_with_every_hop() -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(response("302 Found", [f"Location: {asked.path}x"]) if len(asked.path) < 3 else response())

    async with http_server(answer) as server, open_to(server, max_requests=4).session() as session:
        await session(get(f"{server.origin}/"))
        assert session.traffic.requests == 3
        with pytest.raises(OutboundRefused, match=r"has sent 4 requests, the limit \(AllowList\.max_requests\)"):
            await session(get(f"{server.origin}/"))
    assert len(server.asked) == 4


async def test_bytes_of_a_run_are_counted_over_its_requests() -> None:
    async with http_server(saying(response(body=bytes(4000)))) as server:
        async with open_to(server, max_total_bytes=20_000).session() as session:
            for _ in range(4):
                await session(get(server.origin))
            with pytest.raises(OutboundRefused) as caught:
                await session(get(server.origin))
            assert caught.value.rule == "total_bytes"
            with pytest.raises(OutboundRefused):
                await session(get(server.origin))
        async with open_to(server, max_total_bytes=20_000).session() as session:
            assert (await session(get(server.origin))).status == 200


async def test_no_more_requests_at_a_time_than_allowed() -> None:
    now = most = 0

    async def answer(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        nonlocal now, most
        now += 1
        most = max(most, now)
        await asyncio.sleep(0.01)
        now -= 1
        writer.write(response())

    async with http_server(answer) as server, open_to(server, max_in_flight=3).session() as session:
        await asyncio.gather(*(session(get(server.origin)) for _ in range(20)))
    assert (most, len(server.asked)) == (3, 20)


# --- redirects --------------------------------------------------------------------------------------------------------


async def test_a_chain_of_redirects_is_judged_at_each_hop() -> None:
    async with http_server(saying(response(body=b"secret")), host="127.0.0.2") as inner:
        steps = ["/two", f"http://127.0.0.1:{inner.port}/", f"{inner.origin}/"]

        async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
            where = {"/": "/two", "/two": steps[2]}[asked.path]
            writer.write(response("302 Found", [f"Location: {where}"]))

        async with http_server(answer) as outer:
            refused = await refusal_of(open_to(outer), get(outer.origin))
            assert refused.rule == "origin"
            # Its origin is listed, and yet its address is not.
            refused = await refusal_of(open_to(outer, inner), get(outer.origin))
            assert refused.rule == "address"
            async with open_to(outer, inner, allow_private=["127.0.0.0/30"]).session() as session:
                got = await session(get(outer.origin))
    assert (got.body, got.redirected, got.url) == (b"secret", True, f"{inner.origin}/")
    assert inner.connections == 1


@pytest.mark.parametrize(
    "location",
    [
        "file:///etc/passwd",
        "data:text/plain,x",
        "http://169.254.169.254/latest/meta-data/",
        "http://[::ffff:169.254.169.254]/",
        "http://2852039166/",
        "http://0xa9fea9fe/",
        "http://user@127.0.0.1/",
        "//evil.net/",
        "ftp://127.0.0.1/",
    ],
)
async def test_a_redirect_opens_nothing(location: str) -> None:
    async with http_server(saying(response("307 Temporary Redirect", [f"Location: {location}"]))) as server:
        refused = await refusal_of(open_to(server), get(server.origin, method="POST", body=b"secret"))
    assert refused.rule in ("scheme", "origin", "userinfo")
    assert len(server.asked) == 1


async def test_redirects_without_end() -> None:
    async with http_server(saying(response("302 Found", ["Location: /"]))) as server:
        refused = await refusal_of(open_to(server, max_redirects=5), get(server.origin))
    assert (refused.rule, len(server.asked)) == ("redirect", 6)


# --- responses --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("coding", "encode"), [("gzip", gzip.compress), ("br", brotli.compress)])
async def test_a_compressed_body(coding: str, encode: Any) -> None:
    plain = b"hello " * 50_000
    packed = encode(plain)
    async with http_server(saying(response(headers=[f"Content-Encoding: {coding}"], body=packed))) as server:
        async with open_to(server).session() as session:
            got = await session(get(server.origin))
            assert (session.traffic.decoded, session.traffic.received < len(plain)) == (len(plain), True)
        assert (got.body == plain, got.header("content-encoding")) == (True, coding)
        refused = await refusal_of(open_to(server, max_response_bytes=100_000), get(server.origin))
        assert refused.rule == "response_bytes"
        refused = await refusal_of(open_to(server, max_total_bytes=100_000), get(server.origin))
        assert refused.rule == "total_bytes"


@pytest.mark.parametrize("coding", ["gzip", "br"])
async def test_a_bomb(coding: str) -> None:
    zeros = bytes(64 << 20)
    bomb = gzip.compress(zeros, 6) if coding == "gzip" else brotli.compress(zeros, quality=1)
    assert len(bomb) < 100_000
    async with (
        http_server(saying(response(headers=[f"content-encoding: {coding}"], body=bomb))) as server,
        open_to(server, max_response_bytes=1 << 20).session() as session,
    ):
        with pytest.raises(OutboundRefused, match="longer than 1048576 bytes"):
            await session(get(server.origin))
        assert session.traffic.decoded < 2 << 20


async def test_bodies_up_to_the_limit_and_one_beyond() -> None:
    async with http_server(saying(response(body=bytes(5000)))) as server:
        async with open_to(server, max_response_bytes=5000).session() as session:
            assert len((await session(get(server.origin))).body) == 5000
        refused = await refusal_of(open_to(server, max_response_bytes=4999), get(server.origin))
        assert "longer than 4999 bytes, the limit (AllowList.max_response_bytes)" in str(refused)


async def endless(writer: asyncio.StreamWriter, head: bytes, again: bytes) -> None:
    writer.write(head)
    while True:
        writer.write(again)
        await writer.drain()


@pytest.mark.parametrize(
    ("head", "again", "rule"),
    [
        (b"HTTP/1.1 200 OK\r\n\r\n", bytes(65536), "response_bytes"),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            b"1000\r\n" + bytes(4096) + b"\r\n",
            "response_bytes",
        ),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"4\r\nxxxx\r\n" * 1000, "response_bytes"),
        (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n" * 100, "headers"),
        (b"HTTP/1.1 200 OK\r\n", b"x-y: z\r\n" * 1000, "headers"),
    ],
)
async def test_a_response_without_end(head: bytes, again: bytes, rule: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await endless(writer, head, again)

    async with raw_server(serve) as server:
        refused = await refusal_of(open_to(server, max_response_bytes=300_000), get(server.origin))
        assert refused.rule == rule
        async with asyncio.timeout(10):  # and the server is rid of it
            await server.ended.wait()


async def test_what_frames_a_body_counts_as_the_body() -> None:
    """A body of 1000 bytes, each in a chunk with a kilobyte of extensions."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        writer.write((b"1;" + b"e" * 1000 + b"\r\nx\r\n") * 1000 + b"0\r\n\r\n")
        await writer.drain()

    async with raw_server(serve) as server:
        refused = await refusal_of(open_to(server, max_response_bytes=10_000), get(server.origin))
        assert refused.rule == "response_bytes"
        async with open_to(server).session() as session:
            assert (await session(get(server.origin))).body == b"x" * 1000


async def test_a_body_in_the_smallest_pieces() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await endless(writer, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10_000)

    async with raw_server(serve) as server:
        refused = await refusal_of(open_to(server), get(server.origin))
    assert "more than 100000 pieces" in str(refused)


async def test_failures_are_logged_a_few_times(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "codemode_executor.network"):
        async with AllowList(origins=["https://a"]).session() as session:
            for _ in range(100):
                with pytest.raises(OutboundRefused):
                    await session(get("https://b"))
            assert session.traffic.refused == 100
    assert len(caplog.records) == 21
    assert "further failures" in caplog.text


async def test_trailers_without_end() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        await endless(writer, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"x-y: z\r\n" * 1000)

    async with raw_server(serve) as server, open_to(server).session() as session:
        with pytest.raises(OutboundFailed, match="not HTTP"):
            await session(get(server.origin))


@pytest.mark.parametrize("stage", ["connection", "head", "body", "informational"])
async def test_a_response_that_drips(stage: str) -> None:
    starts = {
        "connection": b"",
        "head": b"HTTP/1.1 200 OK\r\nx",
        "body": b"HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n",
        "informational": b"HTTP/1.1 103 x\r\n\r\n",
    }

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(starts[stage])
        while True:
            await asyncio.sleep(0.01)
            if stage != "connection":
                writer.write(b"x" if stage != "informational" else starts[stage])
            await writer.drain()
            if writer.is_closing():
                return

    async with raw_server(serve) as server, open_to(server, timeout_s=0.3).session() as session:
        with pytest.raises(OutboundTimeout, match=r"not done after 0\.3 seconds, the limit \(AllowList\.timeout_s\)"):
            await session(get(server.origin))
        if stage != "connection":
            async with asyncio.timeout(10):
                await server.ended.wait()


async def test_time_counts_for_all_redirects_together() -> None:
    async def answer(_asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.1)
        writer.write(response("302 Found", ["Location: /"]))

    async with http_server(answer) as server, open_to(server, timeout_s=0.35).session() as session:
        with pytest.raises(OutboundTimeout):
            await session(get(server.origin))
    assert 1 <= len(server.asked) <= 4


@pytest.mark.parametrize(
    ("sent", "says"),
    [
        (b"", "closed the connection without a response"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf", "ended in the middle"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhal", "ended in the middle"),
        (b"HTTP/1.1 200 OK\r\ncontent-le", "ended in the middle"),
        (b"HTTP/1.1 100 Continue\r\n\r\n", "ended in the middle"),
        (b"SSH-2.0-OpenSSH_9.0\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nxx", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\nxx", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", "not HTTP"),
        (b"HTTP/1.1 200 OK\r\na b: c\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\n\r\n", "not HTTP"),
        (b"HTTP/1.1 700 Odd\r\ncontent-length: 0\r\n\r\n", "the status 700"),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 3\r\n\r\nabc", "not valid gzip"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 300 + b"content-length: 0\r\n\r\n", "cannot be used: there are 301"),
    ],
)
async def test_what_is_no_response(sent: bytes, says: str) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)

    async with raw_server(serve) as server, open_to(server).session() as session:
        with pytest.raises(OutboundFailed, match=says):
            await session(get(server.origin))
        with pytest.raises(OutboundFailed):
            await session(get(server.origin, method="POST", body=bytes(300_000)))


@pytest.mark.parametrize(
    ("sent", "body"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", b"until the end"),
        (b"HTTP/1.1 200\r\ncontent-length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok", b"ok"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1;a=b\r\no\r\n1\r\nk\r\n0\r\nx: y\r\n\r\n", b"ok"),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b""),
        (b"HTTP/1.1 304 Not Modified\r\ncontent-length: 10\r\n\r\n", b""),
        (b"HTTP/1.1 205 Reset Content\r\ncontent-length: 2\r\n\r\nxx", b""),
        (b"HTTP/1.1 200 OK\r\ncontent-encoding: x-unknown\r\ncontent-length: 2\r\n\r\nok", b"ok"),
    ],
)
async def test_what_is_one(sent: bytes, body: bytes) -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(sent)

    async with raw_server(serve) as server, open_to(server).session() as session:
        assert (await session(get(server.origin))).body == body


async def test_an_answer_that_comes_before_the_request_was_read() -> None:
    """A server that wants no more of a body answers and reads no further; its answer is not lost."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(response("413 Content Too Large", body=b"too much"))
        await writer.drain()
        await asyncio.sleep(30)

    async with raw_server(serve) as server, open_to(server).session() as session:
        got = await session(get(server.origin, method="PUT", body=bytes(20 << 20)))
    assert (got.status, got.body) == (413, b"too much")


async def test_large_bodies_go_both_ways() -> None:
    data = bytes(range(256)) * 40_000

    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        writer.write(response(body=asked.body))

    async with http_server(answer) as server, open_to(server).session() as session:
        got = await session(get(server.origin, method="POST", body=data))
    assert got.body == data


# --- ends -------------------------------------------------------------------------------------------------------------


async def test_cancelling_ends_a_request_at_once() -> None:
    reached = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.readuntil(b"\r\n\r\n")
        reached.set()
        await reader.read()

    async with raw_server(serve) as server, open_to(server, max_in_flight=1).session() as session:
        for _ in range(3):
            task = asyncio.create_task(session(get(server.origin)))
            await reached.wait()
            reached.clear()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            async with asyncio.timeout(10):
                await server.ended.wait()
            server.ended.clear()


async def test_many_cancellations_leave_the_session_usable() -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(int(asked.path[1:]) / 1000)
        writer.write(response(body=b"x" * 10_000))

    async with (
        http_server(answer) as server,
        open_to(server, max_in_flight=2, max_requests=10_000).session() as session,
    ):
        for round_ in range(100):
            tasks = [asyncio.create_task(session(get(f"{server.origin}/{n % 3}"))) for n in range(4)]
            await asyncio.sleep(round_ % 7 / 1000)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        async with asyncio.timeout(10):
            assert (await session(get(f"{server.origin}/0"))).status == 200


async def test_closing_ends_what_is_in_flight_and_lets_nothing_begin() -> None:
    async def serve(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.read()

    async with raw_server(serve) as server:
        session = open_to(server).session()
        task = asyncio.create_task(session(get(server.origin)))
        async with asyncio.timeout(10):
            while not server.connections:
                await asyncio.sleep(0.01)
            await session.aclose()
            with pytest.raises(OutboundFailed):
                await task
            with pytest.raises(OutboundFailed, match="the run is over"):
                await session(get(server.origin))
            await session.aclose()


# --- TLS --------------------------------------------------------------------------------------------------------------


async def test_tls_is_with_the_name_although_the_connection_is_to_the_address(tmp_path: Path) -> None:
    tls, trusting = certificate(tmp_path, "api.example.com")
    names: list[str | None] = []
    tls.sni_callback = lambda _ssl, name, _context: names.append(name)

    async def resolver(_host: str, _port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    async with http_server(saying(response(body=b"ok")), tls=tls) as server:
        rules: dict[str, Any] = {"allow_private": ["127.0.0.1"], "resolver": resolver}
        origins = [f"https://*.example.com:{server.port}"]
        async with AllowList(origins=origins, ssl_context=trusting, **rules).session() as session:
            got = await session(get(f"https://api.example.com:{server.port}/"))
            assert got.body == b"ok"
            with pytest.raises(OutboundFailed, match=r"no secure connection to https://other\.example\.com") as caught:
                await session(get(f"https://other.example.com:{server.port}/"))
            assert caught.value.part == "tls"
        async with AllowList(origins=origins, **rules).session() as session:
            with pytest.raises(OutboundFailed, match=r"self.signed certificate"):
                await session(get(f"https://api.example.com:{server.port}/"))
    assert names == ["api.example.com", "other.example.com", "api.example.com"]
    assert server.asked[0].header("host") == f"api.example.com:{server.port}"


async def test_a_server_that_speaks_no_tls(tmp_path: Path) -> None:
    _, trusting = certificate(tmp_path, "127.0.0.1")

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.read(1)
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    async with raw_server(serve) as server:
        server.scheme = "https"
        async with open_to(server, ssl_context=trusting).session() as session:
            with pytest.raises(OutboundFailed, match="no secure connection"):
                await session(get(server.origin))


async def test_a_handshake_that_never_ends(tmp_path: Path) -> None:
    _, trusting = certificate(tmp_path, "127.0.0.1")

    async def serve(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, _server: Server) -> None:
        await reader.read()

    async with raw_server(serve) as server:
        server.scheme = "https"
        async with open_to(server, ssl_context=trusting, timeout_s=0.3).session() as session:
            with pytest.raises(OutboundTimeout):
                await session(get(server.origin))
        async with asyncio.timeout(10):
            await server.ended.wait()


async def test_a_connection_with_tls_is_used_again(tmp_path: Path) -> None:
    tls, trusting = certificate(tmp_path, "127.0.0.1")
    async with (
        http_server(saying(response(body=b"ok")), tls=tls) as server,
        open_to(server, ssl_context=trusting).session() as session,
    ):
        for _ in range(3):
            assert (await session(get(server.origin))).body == b"ok"
    assert server.connections == 1
