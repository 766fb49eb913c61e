"""Programs and the network, end to end: what a host opens, and what it survives that way."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from codemode_executor import (
    AllowList,
    BadRequest,
    ExecuteResult,
    IsolateExecutor,
    Limits,
    Module,
    OutboundRequest,
    OutboundResponse,
    Provider,
)
from network.local_servers import Asked, http_server, open_to, raw_server, response, saying
from pools import fresh
from witness import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

BLOCKED = (
    "This worker is not permitted to access the internet via global functions like fetch(). It must use capabilities"
    " (such as bindings in 'env') to talk to the outside world."
)
#: What a failed `fetch` looks like to a program.
CAUGHT = """async () => {
  try { const r = await fetch(%s); return ['no error', r.status] } catch (e) {
    return [e.constructor === TypeError, e.name, e.message, e.code]
  }
}"""


class Recorder:
    """A handler that remembers what it was asked, and what became of it."""

    def __init__(self, answer: Callable[[OutboundRequest], Awaitable[OutboundResponse]]) -> None:
        self._answer = answer
        self.asked: list[OutboundRequest] = []
        self.cancelled = 0

    async def __call__(self, request: OutboundRequest) -> OutboundResponse:
        self.asked.append(request)
        try:
            return await self._answer(request)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise


async def saying_ok(_request: OutboundRequest) -> OutboundResponse:
    return OutboundResponse(body=b"ok")


async def never(_request: OutboundRequest) -> OutboundResponse:
    await asyncio.Event().wait()
    raise AssertionError("unreachable")


async def run(executor: IsolateExecutor, code: str, outbound: Any, **options: Any) -> Any:
    outcome = await executor.execute(code, outbound=outbound, **options)
    assert outcome.error is None, f"{outcome.error}\n{outcome.detail.stack}"
    return outcome.result


@pytest.mark.parametrize("blocked", [{}, {"outbound": None}])
@pytest.mark.usefixtures("leaves_nothing")
async def test_nothing_is_open_unless_the_host_opens_it(executor: IsolateExecutor, blocked: dict[str, Any]) -> None:
    code = "async () => { try { await fetch('https://a.test') } catch (e) { return [e.name, e.message] } }"
    assert (await executor.execute(code, **blocked)).result == ["Error", BLOCKED]


@pytest.mark.parametrize("outbound", ["https://a.test", ["https://a.test"], 1, object()])
async def test_what_cannot_serve_requests_is_refused(executor: IsolateExecutor, outbound: Any) -> None:
    with pytest.raises(BadRequest, match=r"^outbound must be an async function of an OutboundRequest, an AllowList or"):
        await executor.execute("1", outbound=outbound)


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_handler_gets_the_request_as_it_is_and_gives_the_response(executor: IsolateExecutor) -> None:
    async def answer(_request: OutboundRequest) -> OutboundResponse:
        headers = [("Content-Type", "application/json"), ("Set-Cookie", "a=1"), ("set-cookie", "b=2")]
        return OutboundResponse(status=201, status_text="All Right", headers=headers, body=b'{"n": 1}')

    handler = Recorder(answer)
    code = """async () => {
      const r = await fetch('https://a.test/x?y#z', {
        method: 'put', headers: { 'X-Mine': 'é', 'content-type': 'text/x' }, body: new Uint8Array([0, 255]),
      })
      return [r.status, r.statusText, r.url, [...r.headers], await r.json()]
    }"""
    assert await run(executor, code, handler) == [
        201,
        "All Right",
        "https://a.test/x?y",
        [["content-type", "application/json"], ["set-cookie", "a=1"], ["set-cookie", "b=2"]],
        {"n": 1},
    ]
    assert handler.asked == [
        OutboundRequest(
            method="PUT",
            url="https://a.test/x?y",
            headers=[("content-length", "2"), ("content-type", "text/x"), ("x-mine", "\u00c3\u00a9")],
            body=b"\x00\xff",
            redirect="manual",
        )
    ]


@pytest.mark.usefixtures("leaves_nothing")
async def test_every_byte_crosses_both_ways(executor: IsolateExecutor) -> None:
    async def mirror(request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(body=request.body or b"")

    code = """async () => {
      const sent = Uint8Array.from({ length: 300_000 }, (_, i) => i * 7)
      const got = await (await fetch('http://a.test', { method: 'POST', body: sent })).bytes()
      return got.length === sent.length && got.every((byte, i) => byte === sent[i])
    }"""
    assert await run(executor, code, mirror) is True


@pytest.mark.usefixtures("leaves_nothing")
async def test_every_hop_of_a_redirect_asks_the_handler(executor: IsolateExecutor) -> None:
    async def answer(request: OutboundRequest) -> OutboundResponse:
        if request.url.endswith("/start"):
            return OutboundResponse(status=307, headers=[("Location", "https://b.test/end")])
        if request.url.startswith("https://b.test"):
            raise PermissionError("b.test is not for you")
        return OutboundResponse(body=b"never")

    handler = Recorder(answer)
    code = """async () => {
      try {
        await fetch('https://a.test/start', { method: 'POST', body: 'b', headers: { authorization: 's', 'x-a': '1' } })
      } catch (e) { return [e.name, e.message] }
    }"""
    assert await run(executor, code, handler) == ["PermissionError", "b.test is not for you"]
    first, second = handler.asked
    assert (first.header("authorization"), first.redirect) == ("s", "manual")
    assert (second.url, second.method, second.body, second.header("x-a")) == ("https://b.test/end", "POST", b"b", "1")
    assert second.header("authorization") is None


# --- what a handler may do to its host --------------------------------------------------------------------------------


class Odd(Exception):
    """No argument at all."""

    def __str__(self) -> str:
        return ""


@pytest.mark.parametrize(
    ("thrown", "seen"),
    [
        (TypeError("fetch failed"), [True, "TypeError", "fetch failed", None]),
        (ValueError("no such host"), [False, "ValueError", "no such host", None]),
        (Odd(), [False, "Odd", "Odd", None]),
        (SystemExit(3), [False, "SystemExit", "3", 3]),
        (asyncio.CancelledError("mine"), [False, "CancelledError", "mine", None]),
    ],
)
@pytest.mark.usefixtures("leaves_nothing")
async def test_a_handler_that_raises_fails_that_request(
    executor: IsolateExecutor, thrown: BaseException, seen: list[object]
) -> None:
    async def handler(_request: OutboundRequest) -> OutboundResponse:
        raise thrown

    assert await run(executor, CAUGHT % "'https://a.test'", handler) == seen


@pytest.mark.parametrize("answer", [None, "text", {"status": 200}, 7])
@pytest.mark.usefixtures("leaves_nothing")
async def test_a_handler_that_answers_nonsense_fails_that_request(executor: IsolateExecutor, answer: object) -> None:
    async def handler(_request: OutboundRequest) -> Any:
        return answer

    is_type_error, name, message, code = await run(executor, CAUGHT % "'https://a.test'", handler)
    assert (is_type_error, name, code) == (True, "TypeError", "OUTBOUND_FAILED")
    assert message == f"the host's outbound handler must return an OutboundResponse, not {type(answer).__name__}"


async def test_a_handler_that_never_returns_ends_with_the_run() -> None:
    handler = Recorder(never)
    async with fresh() as executor:
        outcome = await executor.execute(
            "async () => fetch('https://a.test')", outbound=handler, limits=Limits(timeout_s=0.3)
        )
        assert (outcome.error, outcome.detail.bound) == ("Execution timed out", "timeout")
        await eventually(lambda: handler.cancelled == 1, "the handler's cancellation")


async def test_a_handler_that_ignores_its_cancellation_holds_nobody() -> None:
    release = asyncio.Event()
    ignored: list[str] = []

    async def stubborn(_request: OutboundRequest) -> OutboundResponse:
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                ignored.append("cancelled")
        return OutboundResponse(body=b"late")

    async with fresh() as executor:
        started = time.monotonic()
        outcome = await executor.execute(
            "async () => fetch('https://a.test')", outbound=stubborn, limits=Limits(timeout_s=0.3)
        )
        assert outcome.error == "Execution timed out"
        await eventually(lambda: ignored == ["cancelled"], "the cancellation that is ignored")
        assert (await executor.execute("async () => 2")).result == 2
        assert time.monotonic() - started < 10
        release.set()
        await asyncio.sleep(0.05)


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_plain_function_may_answer_too(executor: IsolateExecutor) -> None:
    def plain(_request: OutboundRequest) -> Any:
        return OutboundResponse(body=b"at once")

    assert await run(executor, "async () => (await fetch('https://a.test')).text()", plain) == "at once"


async def test_a_cancelled_run_cancels_its_requests() -> None:
    handler = Recorder(never)
    async with fresh() as executor:
        task = asyncio.create_task(
            executor.execute(
                "async () => Promise.all([fetch('https://a.test/1'), fetch('https://a.test/2')])", outbound=handler
            )
        )
        await eventually(lambda: len(handler.asked) == 2, "two requests")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await eventually(lambda: handler.cancelled == 2, "their cancellation")


@pytest.mark.usefixtures("leaves_nothing")
async def test_an_aborted_request_is_cancelled_and_the_program_goes_on(executor: IsolateExecutor) -> None:
    async def answer(request: OutboundRequest) -> OutboundResponse:
        return await (never if request.url.endswith("/never") else saying_ok)(request)

    handler = Recorder(answer)
    code = """async () => {
      const seen = []
      for (let i = 0; i < 5; i++) {
        const c = new AbortController()
        setTimeout(() => c.abort(), 5)
        try { await fetch('https://a.test/never', { signal: c.signal }) } catch (e) { seen.push(e === c.signal.reason) }
      }
      return [seen, await (await fetch('https://a.test/text')).text(), await t.running()]
    }"""

    async def running() -> int:
        # One that is cancelled before it has begun never begins.
        return sum(request.url.endswith("/never") for request in handler.asked) - handler.cancelled

    providers = [Provider("t", {"running": running})]
    assert await run(executor, code, handler, providers=providers) == [[True] * 5, "ok", 0]


@pytest.mark.usefixtures("leaves_nothing")
async def test_aborted_requests_make_room_at_once(executor: IsolateExecutor) -> None:
    handler = Recorder(never)
    code = """async () => {
      const running = []
      let aborted = 0
      for (let i = 0; i < 40; i++) {
        const c = new AbortController()
        running.push(c)
        fetch('https://a.test', { signal: c.signal }).catch(() => { aborted += 1 })
        if (running.length === 5) running.shift().abort()
        if (i % 7 === 0) await t.pause()
      }
      for (const c of running) c.abort()
      await t.pause()
      return aborted
    }"""
    outcome = await executor.execute(
        code,
        outbound=handler,
        providers=[Provider("t", {"pause": lambda: None})],
        limits=Limits(tool_calls_in_flight=5),
    )
    assert (outcome.error, outcome.result) == (None, 40)
    await eventually(lambda: handler.cancelled == len(handler.asked), "every request's cancellation")


@pytest.mark.usefixtures("leaves_nothing")
async def test_requests_that_are_aborted_on_their_way_out_hold_nothing(executor: IsolateExecutor) -> None:
    handler = Recorder(never)
    code = """async () => {
      for (let i = 0; i < 2000; i++) {
        const c = new AbortController()
        fetch('https://a.test', { method: 'POST', body: 'x'.repeat(50_000), signal: c.signal }).catch(() => {})
        for (let turns = i % 12; turns > 0; turns--) await undefined
        c.abort()
        if (i % 20 === 0) await t.pause()
      }
      return 1
    }"""
    outcome = await executor.execute(code, outbound=handler, providers=[Provider("t", {"pause": lambda: None})])
    assert (outcome.error, outcome.result) == (None, 1)
    await eventually(lambda: handler.cancelled == len(handler.asked), "every request's cancellation")


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_request_that_nobody_awaits_is_made(executor: IsolateExecutor) -> None:
    done = asyncio.Event()

    async def handler(_request: OutboundRequest) -> OutboundResponse:
        await asyncio.sleep(0.05)
        done.set()
        return OutboundResponse()

    assert await run(executor, "async () => { fetch('https://a.test'); return 1 }", handler) == 1
    await asyncio.wait_for(done.wait(), 10)


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_thousand_requests(executor: IsolateExecutor) -> None:
    running = most = 0

    async def answer(request: OutboundRequest) -> OutboundResponse:
        nonlocal running, most
        running += 1
        most = max(most, running)
        await asyncio.sleep(0)
        running -= 1
        return OutboundResponse(body=request.url.rpartition("?")[2].encode())

    handler = Recorder(answer)
    code = """async () => {
      let sum = 0
      for (let i = 0; i < 10; i++) {
        const one = async (_, k) => +(await (await fetch(`https://a.test/?${i * 100 + k}`)).text())
        for (const n of await Promise.all(Array.from({ length: 100 }, one))) sum += n
      }
      return sum
    }"""
    outcome = await executor.execute(code, outbound=handler, limits=Limits(tool_calls_in_flight=20))
    assert (outcome.error, outcome.result, outcome.usage.tool_calls) == (None, 499_500, 1000)
    assert len({request.url for request in handler.asked}) == 1000
    assert 1 < most <= 20


@pytest.mark.usefixtures("leaves_nothing")
async def test_requests_count_as_calls(executor: IsolateExecutor) -> None:
    handler = Recorder(saying_ok)
    code = "async () => { for (;;) await fetch('https://a.test') }"
    outcome = await executor.execute(code, outbound=handler, limits=Limits(tool_calls=7))
    assert outcome.detail.bound == "tool_calls"
    assert len(handler.asked) == 7


# --- bounds -----------------------------------------------------------------------------------------------------------

_RESPONSE_BOUND = re.compile(
    r"the response is (\d+) bytes long; the limit is (\d+) bytes,"
    r" which is what Limits\.tool_result_bytes leaves room for"
)


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_response_beyond_its_bound_is_refused_and_one_within_arrives(executor: IsolateExecutor) -> None:
    async def handler(request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(body=b"x" * int(request.url.rpartition("?")[2]))

    limits = Limits(tool_result_bytes=1_000_000)
    outcome = await executor.execute(CAUGHT % "'https://a.test/?1000000'", outbound=handler, limits=limits)
    is_type_error, _, message, code = outcome.result
    assert (is_type_error, code) == (True, "OUTBOUND_REFUSED")
    found = _RESPONSE_BOUND.fullmatch(message)
    assert found is not None, message
    assert found[1] == "1000000"
    room = int(found[2])
    assert room > 500_000
    code = f"async () => (await (await fetch('https://a.test/?{room}')).bytes()).length"
    assert await run(executor, code, handler, limits=limits) == room
    outcome = await executor.execute(CAUGHT % f"'https://a.test/?{room + 1}'", outbound=handler, limits=limits)
    assert _RESPONSE_BOUND.fullmatch(outcome.result[2])


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_request_beyond_its_bound_is_refused_in_the_program(executor: IsolateExecutor) -> None:
    handler = Recorder(saying_ok)
    code = CAUGHT % "'https://a.test', { method: 'POST', body: 'x'.repeat(200_000) }"
    outcome = await executor.execute(code, outbound=handler, limits=Limits(argument_bytes=100_000))
    assert outcome.result[:2] == [True, "TypeError"]
    assert re.fullmatch(r"The request cannot be sent: .* the limit is 100000 bytes .*", outcome.result[2])
    assert handler.asked == []


@pytest.mark.parametrize(
    ("init", "message"),
    [
        (
            "{ headers: Array.from({ length: 257 }, (_, i) => [`x-${i}`, '']) }",
            "there are 257 headers; the limit is 256",
        ),
        ("{ headers: { x: 'y'.repeat(200_000) } }", "the headers are 200001 characters long; the limit is 131072"),
        ("{ headers: { 'x': '\\u0001' } }", "the value of the header 'x' must be a string without control characters"),
        ("{ method: 'TRACE' }", "the method TRACE is never sent"),
    ],
)
@pytest.mark.usefixtures("leaves_nothing")
async def test_what_no_request_may_be_is_refused(executor: IsolateExecutor, init: str, message: str) -> None:
    handler = Recorder(saying_ok)
    is_type_error, name, text, _ = await run(executor, CAUGHT % f"'https://a.test', {init}", handler)
    assert (is_type_error, name) == (True, "TypeError")
    assert text.startswith(f"The request cannot be sent: {message}")
    assert handler.asked == []


_TAMPERING = [
    "String.prototype.slice = () => 'https'; String.prototype.indexOf = () => 0;",
    "for (const k of ['protocol', 'href']) Object.defineProperty(URL.prototype, k, { get: () => 'https:' });",
    "URL.parse = () => ({ href: 'file:///etc/passwd', protocol: 'https:' });",
    "RegExp.prototype.test = () => false; Array.prototype.map = function () { return [['host', 'evil']] };",
    "Object.prototype.url = 'file:///etc/passwd'; Object.prototype.toJSON = () => ({ url: 'file:///etc/passwd' });",
    "Promise.prototype.then = function () { return this }; Object.prototype.then = undefined;",
]


@pytest.mark.parametrize("tampering", _TAMPERING)
@pytest.mark.usefixtures("leaves_nothing")
async def test_a_program_that_bends_its_platform_sends_no_other_kind_of_request(
    executor: IsolateExecutor, tampering: str
) -> None:
    async def answer(request: OutboundRequest) -> OutboundResponse:
        if request.url.endswith("/go"):
            return OutboundResponse(status=302, headers=[("location", "file:///etc/passwd")])
        return OutboundResponse(body=b"ok")

    handler = Recorder(answer)
    code = f"""async () => {{ URL; {tampering}
      for (const url of ['https://a.test/go', 'file:///etc/passwd', 'gopher://a.test'])
        try {{ await fetch(url) }} catch {{}}
    }}"""
    await executor.execute(code, outbound=handler, limits=Limits(timeout_s=2))
    assert all(request.url.startswith("https://") for request in handler.asked), handler.asked


@pytest.mark.usefixtures("leaves_nothing")
async def test_nothing_of_the_host_reaches_the_program_but_what_it_said(executor: IsolateExecutor) -> None:
    async def handler(_request: OutboundRequest) -> OutboundResponse:
        secret = "s3cret"
        raise RuntimeError(f"the pool is {'*' * len(secret)}")

    code = """async () => {
      try { await fetch('https://a.test') } catch (e) { return [String(e.stack), ...Object.values(e)].join() }
    }"""
    text = await run(executor, code, handler)
    assert "the pool is ******" in text
    assert ".py" not in text
    assert "s3cret" not in text


# --- who may use it ---------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("leaves_nothing")
async def test_modules_and_preludes_fetch(executor: IsolateExecutor) -> None:
    async def handler(request: OutboundRequest) -> OutboundResponse:
        return OutboundResponse(body=request.url.encode())

    modules: dict[str, str | Module] = {
        "esm.js": "export const load = async (path) => (await fetch('https://m.test/' + path)).text()",
        "common.cjs": "module.exports = (path) => fetch('https://c.test/' + path).then((r) => r.text())",
    }
    prelude = "t.load = async (path) => (await fetch('https://p.test/' + path)).text()"
    code = """async () => {
      const { load } = await import('esm.js')
      const { default: common } = await import('common.cjs')
      return [await load('a'), await common('b'), await t.load('c')]
    }"""
    result = await run(executor, code, handler, modules=modules, providers=[Provider("t", {"x": print}, prelude)])
    assert result == ["https://m.test/a", "https://c.test/b", "https://p.test/c"]


async def test_a_retained_run_goes_on_fetching() -> None:
    async with http_server(saying(response(body=b"page"))) as server, fresh() as executor:
        code = f"async () => ({{ load: async () => (await fetch('{server.origin}/')).text() }})"
        outcome = await executor.execute(code, outbound=open_to(server, max_requests=3), retain_handles=True)
        assert outcome.retained is not None
        load = outcome.result["load"]
        assert [await load(), await load(), await load()] == ["page"] * 3
        assert server.connections == 1
        with pytest.raises(Exception, match=r"sent 3 requests, the limit \(AllowList\.max_requests\)"):
            await load()
        assert not server.ended.is_set()
        await outcome.retained.dispose()
        # The run is over: so is its connection.
        await asyncio.wait_for(server.ended.wait(), 10)


async def test_requests_of_a_retained_run_end_with_it() -> None:
    handler = Recorder(never)
    async with fresh() as executor:
        code = "async () => ({ start: () => { fetch('https://a.test'); return 1 } })"
        outcome = await executor.execute(code, outbound=handler, retain_handles=True)
        assert outcome.retained is not None
        assert await outcome.result["start"]() == 1
        await eventually(lambda: len(handler.asked) == 1, "the request")
        await outcome.retained.dispose()
        await eventually(lambda: handler.cancelled == 1, "its cancellation")


# --- an allow-list ----------------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_listed_origin_is_reached(executor: IsolateExecutor) -> None:
    async def answer(asked: Asked, writer: asyncio.StreamWriter) -> None:
        shown = {"method": asked.method, "path": asked.path, "body": asked.body.decode(), "x": asked.header("x-mine")}
        packed = gzip.compress(json.dumps(shown).encode())
        writer.write(response("200 Fine", ["Content-Type: application/json", "Content-Encoding: gzip"], packed))

    async with http_server(answer) as server:
        code = f"""async () => {{
          const r = await fetch('{server.origin}/a?b#c', {{
            method: 'POST', body: JSON.stringify({{ n: 1 }}),
            headers: {{ 'x-mine': 'é', authorization: 'secret', host: 'other', 'content-type': 'application/json' }},
          }})
          return [r.status, r.statusText, r.url, r.redirected, await r.json()]
        }}"""
        result = await run(executor, code, open_to(server))
        (asked,) = server.asked
    sent = {"method": "POST", "path": "/a?b", "body": '{"n":1}', "x": "\u00c3\u00a9"}
    assert result == [200, "Fine", f"{server.origin}/a?b", False, sent]
    assert asked.header("authorization") is None
    assert asked.header("content-length") == "7"
    assert asked.header("host") == f"127.0.0.1:{server.port}"


@pytest.mark.usefixtures("leaves_nothing")
async def test_what_is_not_listed_is_refused_with_the_rule(executor: IsolateExecutor) -> None:
    async with http_server(saying(response())) as listed, http_server(saying(response())) as other:
        policy = open_to(listed, methods=["GET"])
        for fetched, rule in [
            (f"'{other.origin}/'", "AllowList.origins"),
            ("'https://elsewhere.test/'", "AllowList.origins"),
            (f"'http://localhost:{listed.port}/'", "AllowList.origins"),
            (f"'{listed.origin}/', {{ method: 'POST' }}", "AllowList.methods"),
        ]:
            is_type_error, _, message, code = await run(executor, CAUGHT % fetched, policy)
            assert (is_type_error, code) == (True, "OUTBOUND_REFUSED"), message
            assert f"({rule})" in message
    assert (listed.connections, other.connections) == (0, 0)


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_listed_name_that_leads_inside_is_refused(executor: IsolateExecutor) -> None:
    async def inside(_host: str, _port: int) -> list[str]:
        return ["127.0.0.1"]

    async with http_server(saying(response())) as server:
        policy = AllowList(origins=[f"http://inside.test:{server.port}"], resolver=inside)
        is_type_error, _, message, code = await run(executor, CAUGHT % f"'http://inside.test:{server.port}/'", policy)
        assert (is_type_error, code) == (True, "OUTBOUND_REFUSED")
        assert "127.0.0.1" not in message
    assert server.connections == 0


@pytest.mark.usefixtures("leaves_nothing")
async def test_redirects_are_followed_within_the_list_and_its_count(executor: IsolateExecutor) -> None:
    async def hop(asked: Asked, writer: asyncio.StreamWriter) -> None:
        n = int(asked.path.rpartition("/")[2])
        writer.write(response("302 Found", [f"Location: /{n - 1}"]) if n else response(body=b"end"))

    async with http_server(hop) as server:
        code = f"""async () => {{
          const r = await fetch('{server.origin}/2')
          return [r.url, r.redirected, await r.text()]
        }}"""
        assert await run(executor, code, open_to(server, max_redirects=2)) == [f"{server.origin}/0", True, "end"]
        _, _, message, _ = await run(executor, CAUGHT % f"'{server.origin}/3'", open_to(server, max_redirects=2))
        assert message == "Too many redirects: the limit is 2"

    async with http_server(saying(response())) as secret:
        answer = saying(response("307 Temporary Redirect", [f"Location: {secret.origin}/"]))
        async with http_server(answer) as server:
            for mode in ("follow", "manual"):
                code = f"""async () => {{
                  let r = await fetch('{server.origin}/', {{ redirect: 'manual' }})
                  try {{ await fetch('{mode}' === 'follow' ? '{server.origin}/' : r.headers.get('location')) }}
                  catch (e) {{ return [r.status, e.message] }}
                }}"""
                status, message = await run(executor, code, open_to(server))
                assert status == 307
                assert "(AllowList.origins)" in message
        assert secret.connections == 0


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_body_that_cannot_be_sent_twice_is_not(executor: IsolateExecutor) -> None:
    async with http_server(saying(response("307 Temporary Redirect", ["Location: /again"]))) as server:
        code = CAUGHT % f"'{server.origin}/', {{ method: 'POST', body: new Response('once').body }}"
        _, _, message, _ = await run(executor, code, open_to(server))
    assert message.startswith("A request with a one-time-use body")
    assert [asked.path for asked in server.asked] == ["/"]


@pytest.mark.usefixtures("leaves_nothing")
async def test_each_run_has_counters_of_its_own(executor: IsolateExecutor) -> None:
    async with http_server(saying(response(body=b"x" * 1000))) as server:
        policy = open_to(server, max_requests=2)
        code = f"""async () => {{
          const seen = []
          for (let i = 0; i < 3; i++) {{
            try {{ seen.push((await fetch('{server.origin}/')).status) }} catch (e) {{ seen.push(e.message) }}
          }}
          return seen
        }}"""
        for _ in range(2):
            first, second, third = await run(executor, code, policy)
            assert (first, second) == (200, 200)
            assert third == "the program has sent 2 requests, the limit (AllowList.max_requests)"
        _, _, message, _ = await run(executor, CAUGHT % f"'{server.origin}/'", open_to(server, max_total_bytes=500))
        assert message.endswith("the limit is 500 (AllowList.max_total_bytes)")
    assert len(server.asked) == 5


async def test_the_end_of_a_run_ends_its_connections() -> None:
    async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, _server: object) -> None:
        while await reader.read(1024):
            pass

    async with raw_server(hang) as server, fresh() as executor:
        outcome = await executor.execute(
            f"async () => fetch('{server.origin}/')", outbound=open_to(server), limits=Limits(timeout_s=0.5)
        )
        assert outcome.error == "Execution timed out"
        await asyncio.wait_for(server.ended.wait(), 10)


@pytest.mark.usefixtures("leaves_nothing")
async def test_an_abort_closes_the_connection(executor: IsolateExecutor) -> None:
    async def hang(reader: asyncio.StreamReader, _writer: asyncio.StreamWriter, _server: object) -> None:
        while await reader.read(1024):
            pass

    async with raw_server(hang) as server:
        ended = asyncio.create_task(server.ended.wait())

        async def wait() -> bool:
            return await asyncio.wait_for(asyncio.shield(ended), 10)

        code = f"""async () => {{
          try {{ await fetch('{server.origin}/', {{ signal: AbortSignal.timeout(50) }}) }} catch (e) {{
            return [e.name, await t.closed()]
          }}
        }}"""
        result = await run(executor, code, open_to(server), providers=[Provider("t", {"closed": wait})])
    assert result == ["TimeoutError", True]


@pytest.mark.usefixtures("leaves_nothing")
async def test_a_bomb_hurts_only_its_request(executor: IsolateExecutor) -> None:
    bomb = gzip.compress(bytes(50_000_000))
    async with http_server(saying(response(headers=["Content-Encoding: gzip"], body=bomb))) as server:
        code = f"async () => {{ try {{ await fetch('{server.origin}/') }} catch (e) {{ return [e.code, e.message] }} }}"
        name, message = await run(executor, code, open_to(server))
    assert name == "OUTBOUND_REFUSED"
    assert "(AllowList.max_response_bytes)" in message
    assert sys.getsizeof(message) < 1000


async def test_many_programs_share_one_list() -> None:
    async with http_server(saying(response(body=b"shared"))) as server, fresh(min_workers=2) as executor:
        policy = open_to(server)

        async def one() -> ExecuteResult:
            return await executor.execute(f"async () => (await fetch('{server.origin}/')).text()", outbound=policy)

        outcomes = await asyncio.gather(*(one() for _ in range(8)))
    assert [outcome.result for outcome in outcomes] == ["shared"] * 8
    assert len(server.asked) == 8
