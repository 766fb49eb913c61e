"""The daemon on real sockets: openings, bounds, floods, slow readers, how it leaves."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import socket
import ssl
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.protocol import State

from codemode_executor import BadRequest, Limits
from codemode_executor.daemon.server import Daemon
from codemode_executor.daemon.settings import Settings
from daemon.client import OTHER_TOKEN, TOKEN, WAIT_S, Client, write
from daemon.conftest import TOKENS
from witness import Traces, descendants, eventually, settle

T = [{"name": "t", "tools": ["x"]}]


def small(**options: Any) -> Daemon:
    """A daemon of its own for a test that changes what it does."""
    given = {"port": 0, "min_workers": 1, "max_workers": 2, "limits": Limits(timeout_s=20, memory_mb=64)}
    return Daemon(Settings(**(given | options)), TOKENS)


def url(daemon: Daemon) -> str:
    assert daemon.url is not None
    return daemon.url


async def get(daemon: Daemon, path: str) -> tuple[int, str]:
    """A request without a WebSocket."""
    host, port = url(daemon).removeprefix("ws://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET {path} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
    answer = (await asyncio.wait_for(reader.read(), WAIT_S)).decode()
    writer.close()
    await writer.wait_closed()
    head, _, body = answer.partition("\r\n\r\n")
    return int(head.split()[1]), body


async def refused(daemon: Daemon, **options: Any) -> tuple[int, str, dict[str, str]]:
    """The answer to an opening that is refused."""
    with pytest.raises(InvalidStatus) as raised:
        await Client.open(url(daemon), **options)
    response = raised.value.response
    headers = {name.lower(): value for name, value in response.headers.raw_items()}
    return response.status_code, json.loads(response.body)["code"], headers


# --- openings ---------------------------------------------------------------------------------------------------------


@pytest.mark.asyncio(loop_scope="module")
async def test_who_is_refused(daemon: Daemon) -> None:
    status, code, headers = await refused(daemon, token="wrong-wrong-wrong-wrong")
    assert (status, code, headers["www-authenticate"]) == (401, "UNAUTHORIZED", "Bearer")
    assert headers["content-type"] == "application/json"
    assert (await refused(daemon, token=None))[:2] == (401, "UNAUTHORIZED")
    assert (await refused(daemon, origin="null"))[:2] == (403, "ORIGIN_REFUSED")
    assert (await refused(daemon, origin="https://evil.example"))[:2] == (403, "ORIGIN_REFUSED")
    assert (await refused(daemon, subprotocols=["mqtt"]))[:2] == (400, "UNKNOWN_PROTOCOL")
    port = url(daemon).rpartition(":")[2]
    evil = {"host": "127.0.0.1", "port": int(port)}
    with pytest.raises(InvalidStatus) as raised:
        await Client.open(f"ws://rebound.example:{port}/", **evil)
    assert json.loads(raised.value.response.body)["code"] == "HOST_REFUSED"
    with pytest.raises(InvalidStatus) as raised:
        await Client.open(f"{url(daemon)}/?token={TOKEN}")
    assert raised.value.response.status_code == 400


@pytest.mark.asyncio(loop_scope="module")
async def test_a_token_as_a_subprotocol_is_not_selected(daemon: Daemon) -> None:
    offered = ["codemode-executor.token.YS10b2tlbi1vZi10aGUtdGVzdHMtMDEyMzQ1Njc4OQ", "codemode-executor.v1"]
    async with await Client.open(url(daemon), token=None, subprotocols=offered) as client:
        assert client.socket.subprotocol == "codemode-executor.v1"
        assert (await client.execute("async () => 1")).value == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_nothing_is_compressed(daemon: Daemon) -> None:
    async with await Client.open(url(daemon), compression="deflate") as client:
        assert client.socket.protocol.extensions == []


@pytest.mark.asyncio(loop_scope="module")
async def test_health(daemon: Daemon) -> None:
    assert await get(daemon, "/healthz") == (200, "ok\n")
    assert await get(daemon, "/readyz") == (200, "ready\n")
    assert (await get(daemon, "/nothing"))[0] == 404
    assert (await get(daemon, "/"))[0] in (400, 403)


async def test_it_is_not_ready_while_no_worker_can_be_started_and_tries_again_by_itself(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "python"
    script.write_text("#!/bin/sh\necho 'no engine on this machine' >&2\nexit 3\n")
    script.chmod(0o755)
    others = {process.pid for process in descendants()}
    async with small() as daemon, await Client.open(url(daemon)) as client:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", str(script))
            for process in descendants():
                if process.pid not in others:
                    os.kill(process.pid, signal.SIGKILL)
            end = (await client.execute("async () => 1")).end
            while end.t == "fault":  # it met a worker that was dying
                end = (await client.execute("async () => 1")).end
            assert (end.t, end["code"]) == ("refused", "WORKER_START_FAILED")
            for _ in range(3):
                assert await get(daemon, "/readyz") == (503, "no worker can be started; the log says why\n")
                await asyncio.sleep(0.1)
            assert await get(daemon, "/healthz") == (200, "ok\n")
        async with asyncio.timeout(WAIT_S):
            while (await get(daemon, "/readyz"))[0] != 200:
                await asyncio.sleep(0.05)
        assert (await client.execute("async () => 2")).value == 2


@pytest.mark.asyncio(loop_scope="module")
async def test_a_thousand_connections_opened_and_dropped(daemon: Daemon) -> None:
    async def one(index: int) -> None:
        async with gate:
            client = await Client.open(url(daemon))
            if index % 10 == 0:
                await client.start("async () => { while (true) await t.x() }", providers=T)
            if index % 2:
                client.socket.transport.abort()
            else:
                await client.socket.close()

    gate = asyncio.Semaphore(50)
    before = Traces.take()
    await asyncio.gather(*(one(index) for index in range(1000)))
    await eventually(lambda: daemon.connections == 0, "every connection forgotten")
    async with await Client.open(url(daemon)) as client:
        assert (await client.execute("async () => 1")).value == 1
    left = await settle_but_workers(before)
    assert not left


async def settle_but_workers(before: Traces) -> str:
    """What is left but worker processes, of which there may be more or fewer."""

    def found() -> str:
        now = Traces.take()
        return Traces(before.descriptors, before.families, now.threads, now.tasks).beyond(before)

    until = asyncio.get_running_loop().time() + WAIT_S
    while (left := found()) and asyncio.get_running_loop().time() < until:
        await asyncio.sleep(0.05)
    return left


async def test_connections_are_bounded_per_token_and_in_all() -> None:
    async with small(max_connections=5, connections_per_token=3) as daemon:
        mine = [await Client.open(url(daemon)) for _ in range(3)]
        status, code, headers = await refused(daemon)
        assert (status, code, int(headers["retry-after"]) > 0) == (429, "TOO_MANY_CONNECTIONS", True)
        others = [await Client.open(url(daemon), token=OTHER_TOKEN) for _ in range(2)]
        assert (await refused(daemon, token=OTHER_TOKEN))[:2] == (503, "TOO_MANY_CONNECTIONS")
        await mine[0].socket.close()
        await eventually(lambda: daemon.connections == 4, "a connection less")
        others.append(await Client.open(url(daemon), token=OTHER_TOKEN))
        for client in mine + others:
            await client.socket.close()


async def test_an_opening_that_does_not_come_is_not_waited_for() -> None:
    async with small(open_timeout_s=0.3) as daemon:
        host, port = url(daemon).removeprefix("ws://").split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(b"GET / HTTP/1.1\r\nHost: local")
        assert await asyncio.wait_for(reader.read(), WAIT_S) == b""
        writer.close()
        await writer.wait_closed()


async def test_sockets_that_say_nothing_keep_nobody_out() -> None:
    async with small() as daemon:
        host, port = url(daemon).removeprefix("ws://").split(":")
        silent = [await asyncio.open_connection(host, int(port)) for _ in range(400)]
        async with await Client.open(url(daemon)) as client:
            assert (await client.execute("async () => 1")).value == 1
        # The oldest had to go, and no more than that.
        await asyncio.wait_for(silent[0][0].read(), WAIT_S)
        assert silent[0][0].at_eof()
        assert not silent[-1][0].at_eof()
        for _, writer in silent:
            writer.transport.abort()


# --- bounds of what clients send --------------------------------------------------------------------------------------


async def test_a_message_one_byte_beyond_the_bound_closes_the_connection() -> None:
    async with small(max_message_bytes=1024 * 1024) as daemon:
        head = '{"t":"run","run":1,"code":"async () => 1"}\n'
        for more, expected in ((0, None), (1, 1009)):
            async with await Client.open(url(daemon)) as client:
                padding = 1024 * 1024 - len(head) - 7 + more
                await client.socket.send(head + '{"a":"' + "x" * (padding - 1) + '"}')
                if expected is None:
                    assert (await client.finish()).value == 1
                else:
                    assert (await client.closed())[0] == expected


@pytest.mark.parametrize(
    "frame",
    [
        "",
        "nonsense",
        "{}",
        '{"t":"hello"}',
        '{"t":"later"}',
        '{"t":"run","run":1}',
        '{"t":"answer","run":1,"call":1}\n1',
        '{"t":"run","run":1,"code":"async () => 1"}',
        "[" * 1_000_000,
        b'{"t":"ping","n":1}',
        b"\x00",
    ],
)
@pytest.mark.asyncio(loop_scope="module")
async def test_violations_close_the_connection_with_their_reason(daemon: Daemon, frame: str | bytes) -> None:
    async with await Client.open(url(daemon)) as client:
        await client.socket.send(frame)
        code, reason = await client.closed()
        assert code == 4400
        assert reason
    await eventually(lambda: daemon.connections == 0, "the connection forgotten")


@pytest.mark.asyncio(loop_scope="module")
async def test_a_violation_ends_the_run_that_goes_on(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        await client.start("async () => { while (true); }")
        await client.until("accepted")
        await client.start("async () => 1")
        assert (await client.closed()) == (4400, "run 2 was sent while run 1 goes on")
    async with await Client.open(url(daemon)) as client:
        assert (await client.execute("async () => 1")).value == 1


@pytest.mark.asyncio(loop_scope="module")
async def test_a_message_that_drips_in_is_a_message(daemon: Daemon) -> None:
    async with await Client.open(url(daemon)) as client:
        text = write(({"t": "run", "run": 1, "code": "async () => 'dripped'"}, "{}"))

        async def drops() -> AsyncIterator[str]:
            for letter in text:
                yield letter
                await asyncio.sleep(0.001)

        await client.socket.send(drops())
        assert (await client.finish()).value == "dripped"


@pytest.mark.asyncio(loop_scope="module")
async def test_a_message_in_too_many_parts(daemon: Daemon) -> None:
    client = await Client.open(url(daemon))
    protocol = client.socket.protocol
    protocol.send_text(b"{", fin=False)
    with contextlib.suppress(ConnectionClosed, OSError):
        for _ in range(200):
            for _ in range(1000):
                protocol.send_continuation(b"", fin=False)
            client.socket.send_data()
            await client.socket.drain()
            await asyncio.sleep(0)
            if protocol.state is not State.OPEN:
                break
    code, reason = await client.closed()
    assert (code, reason) in ((1009, "a message has more than 4096 fragments"), (None, ""))
    await eventually(lambda: daemon.connections == 0, "the connection closed")


async def test_a_worker_that_dies_is_a_fault_and_the_connection_goes_on() -> None:
    before = {process.pid for process in descendants()}
    async with small(max_workers=1) as daemon, await Client.open(url(daemon)) as client:
        await client.start("async () => await t.x()", providers=T)
        await client.until("call")
        new = [process for process in descendants() if process.pid not in before]
        (worker,) = [process.pid for process in new if process.parent != os.getpid()]
        os.kill(worker, signal.SIGKILL)
        end = (await client.finish()).end
        assert (end.t, end["code"]) == ("fault", "WORKER_CRASHED")
        assert (await client.execute("async () => 1")).value == 1


async def test_a_token_that_floods_is_cut_and_nobody_else_is() -> None:
    """Messages that never end, on as many connections as it may have."""
    async with small(max_buffered_bytes=4 * 1024 * 1024, connections_per_token=8) as daemon:
        quiet = await Client.open(url(daemon), token=OTHER_TOKEN)
        floods = [await Client.open(url(daemon)) for _ in range(8)]

        async def flood(client: Client) -> str:
            async def endless() -> AsyncIterator[str]:
                while True:
                    yield "x" * 65536

            try:
                await client.socket.send(endless())
            except ConnectionClosed:
                return "cut"
            return "not cut"

        flooding = [asyncio.create_task(flood(client)) for client in floods]
        for number in range(20):
            assert (await quiet.execute(f"async () => {number}")).value == number
        assert await asyncio.wait_for(asyncio.gather(*flooding), WAIT_S) == ["cut"] * 8
        await eventually(lambda: daemon.connections == 1, "the flood forgotten")
        assert (await quiet.execute("async () => 1")).value == 1
        await quiet.socket.close()


async def test_a_token_that_floods_with_runs_is_busy_and_the_other_is_served() -> None:
    async with small(runs_per_token=6, max_queue=20, max_workers=2) as daemon:
        floods = [await Client.open(url(daemon)) for _ in range(12)]
        for client in floods:
            await client.start("async () => await t.x()", providers=T)
        firsts = await asyncio.gather(*(client.until("call", "refused") for client in floods[6:]))
        assert {message.header.get("code") for message in firsts} == {"BUSY"}
        assert all(message["retry_after_s"] > 0 for message in firsts)
        async with await Client.open(url(daemon), token=OTHER_TOKEN) as other:
            await other.start("async () => 'served'")
            # Two of the flood hold the workers, four wait, and so does this one. Turns go by token: it gets the second
            # worker that is free, whatever else waits.
            holding = floods[:6]
            for client in holding[:2]:
                await client.until("call")
                await client.send({"t": "answer", "run": 1, "call": 1}, "1")
                assert (await client.finish()).end.t == "result"
            assert (await other.finish()).value == "served"
        for client in floods:
            await client.socket.close()


async def test_the_queue_is_bounded_and_says_when_to_come_back() -> None:
    async with small(max_queue=1, max_workers=1) as daemon:
        clients = [await Client.open(url(daemon)) for _ in range(3)]
        await clients[0].start("async () => await t.x()", providers=T)
        await clients[0].until("call")
        await clients[1].start("async () => 1")
        async with await Client.open(url(daemon)) as client:
            while (await get(daemon, "/readyz"))[0] != 503:
                await asyncio.sleep(0.01)
            refusal = (await client.execute("async () => 1")).end
            assert (refusal.t, refusal["code"]) == ("refused", "QUEUE_FULL")
            assert refusal["retry_after_s"] > 0
        for client in clients:
            await client.socket.close()


# --- readers that are slow --------------------------------------------------------------------------------------------


async def test_a_client_that_stops_reading_is_cut_and_its_run_ends() -> None:
    async with small(send_timeout_s=0.5, max_workers=1) as daemon:
        stopped = await Client.open(url(daemon), max_queue=1)
        stopped.socket.transport.pause_reading()
        await stopped.start("async () => { await t.x('x'.repeat(20000000)); while (true); }", providers=T)
        async with await Client.open(url(daemon)) as client:
            # There is one worker: it is free again when the stopped one's run was ended.
            assert (await client.execute("async () => 1")).value == 1
        await eventually(lambda: daemon.connections == 0, "the stopped reader cut")
        stopped.socket.transport.abort()


async def test_a_ping_is_answered_between_frames_however_long_they_are() -> None:
    async with small(limits=Limits(memory_mb=128)) as daemon, await Client.open(url(daemon)) as client:
        client.socket.transport.pause_reading()
        await client.start("async () => 'x'.repeat(20000000)")
        await asyncio.sleep(0.5)  # the frame has begun to leave
        pongs = [await client.socket.ping() for _ in range(3)]
        client.socket.transport.resume_reading()
        assert (await client.finish()).value == "x" * 20_000_000
        async with asyncio.timeout(WAIT_S):
            await asyncio.gather(*pongs)
        assert (await client.execute("async () => 1")).value == 1


async def test_a_slow_reader_gets_everything() -> None:
    async with small(send_timeout_s=10, limits=Limits(memory_mb=128)) as daemon:
        client = await Client.open(url(daemon), max_queue=1)
        async with client:
            await client.start(
                """async () => {
                  for (let i = 0; i < 50; i++) console.log('y'.repeat(100000))
                  return 'x'.repeat(3000000)
                }"""
            )
            for _ in range(10):
                client.socket.transport.pause_reading()
                await asyncio.sleep(0.02)
                client.socket.transport.resume_reading()
                await asyncio.sleep(0.01)
            outcome = await client.finish()
            assert len(outcome.value) == 3_000_000
            assert [len(text) for _, text in outcome.logs] == [100_000] * 50


async def test_pings_whose_answers_nobody_reads_are_bounded() -> None:
    async with small() as daemon:
        client = await Client.open(url(daemon))
        client.socket.transport.pause_reading()
        with pytest.raises(ConnectionClosed):
            async with asyncio.timeout(WAIT_S):
                while True:
                    for _ in range(200):
                        client.socket.protocol.send_ping(b"x" * 125)
                    client.socket.send_data()
                    await client.socket.drain()
                    await asyncio.sleep(0)
                    if client.socket.transport.is_closing():
                        await client.socket.wait_closed()
                        raise ConnectionClosed(None, None)
        client.socket.transport.abort()
        await eventually(lambda: daemon.connections == 0, "the connection cut")


async def test_a_client_that_answers_no_ping_is_lost() -> None:
    async with small(heartbeat_s=0.2) as daemon:
        host, port = url(daemon).removeprefix("ws://").split(":")
        client = await Client.open(url(daemon))
        client.socket.protocol.data_to_send = list  # it reads, and says nothing any more
        await eventually(lambda: daemon.connections == 0, f"the silent client of {host}:{port} forgotten")
        client.socket.transport.abort()


async def test_ten_megabytes_both_ways_eight_at_a_time() -> None:
    async def one(index: int) -> int:
        async def big(_header: dict[str, Any], payload: str) -> str:
            assert len(payload) == 10_000_004
            return json.dumps(str(index) * 10_000_000)

        async with await Client.open(url(daemon)) as client:
            code = "async () => { const s = await t.x('y'.repeat(10000000)); return s + s[5] }"
            outcome = await client.execute(code, big, providers=T)
            assert outcome.value == str(index) * 10_000_001
            return index

    async with small(max_workers=4, limits=Limits(timeout_s=60, memory_mb=256)) as daemon:
        assert await asyncio.wait_for(asyncio.gather(*(one(i) for i in range(8))), 100) == list(range(8))


# --- how it leaves ----------------------------------------------------------------------------------------------------


async def test_draining_lets_runs_end_and_takes_no_other() -> None:
    async with small(drain_s=WAIT_S) as daemon:
        busy, idle = await Client.open(url(daemon)), await Client.open(url(daemon))
        await busy.start("async () => await t.x()", providers=T)
        call = await busy.until("call")
        draining = asyncio.create_task(daemon.drain())
        assert (await idle.until("draining"))["drain_s"] == WAIT_S
        assert (await idle.closed())[0] == 1001
        assert await get(daemon, "/healthz") == (200, "ok\n")
        assert await get(daemon, "/readyz") == (503, "draining\n")
        assert (await refused(daemon))[:2] == (503, "DRAINING")
        assert not draining.done()
        await busy.until("draining")
        await busy.send({"t": "answer", "run": 1, "call": call["call"]}, '"late"')
        assert (await busy.finish()).value == "late"
        assert (await busy.closed())[0] == 1001
        await asyncio.wait_for(draining, WAIT_S)
        assert daemon.connections == 0


async def test_draining_ends_and_what_goes_on_is_cut() -> None:
    async with small(drain_s=0.3) as daemon:
        client = await Client.open(url(daemon))
        await client.start("async () => { while (true); }")
        await client.until("accepted")
        await asyncio.wait_for(daemon.drain(), WAIT_S)
        await daemon.aclose()
        assert (await client.closed())[0] == 1001


async def test_a_run_that_waits_while_the_daemon_leaves_has_not_run() -> None:
    async with small(drain_s=0.2, max_workers=1) as daemon:
        holder, waiter = await Client.open(url(daemon)), await Client.open(url(daemon))
        await holder.start("async () => await t.x()", providers=T)
        await holder.until("call")
        await waiter.start("async () => 1")
        await waiter.send({"t": "ping", "n": 1})
        await waiter.until("pong")
        await daemon.drain()
        await daemon.aclose()
        seen: list[str] = []
        with pytest.raises(ConnectionClosed) as raised:
            while True:
                seen.append((await waiter.next()).t)
        assert raised.value.rcvd is not None
        assert raised.value.rcvd.code == 1001
        assert "accepted" not in seen


async def test_a_daemon_leaves_nothing_behind(tmp_path: Path) -> None:
    before = Traces.take()
    async with small(unix=str(tmp_path / "s"), port=0, max_workers=4) as daemon:
        clients = [await Client.open(url(daemon)) for _ in range(3)]
        clients.append(await Client.open(unix=str(tmp_path / "s")))
        await clients[0].start("async () => { while (true); }")
        await clients[1].execute("async () => () => 1", retain=True)
        await clients[2].start("async () => t.x()", providers=T)
        await clients[2].until("call")
    for client in clients:
        await client.closed()
    assert not (tmp_path / "s").exists()
    left = await settle(before)
    assert not left, left


# --- Unix sockets and TLS ---------------------------------------------------------------------------------------------


async def test_a_unix_socket_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    async with small(port=None, unix=str(path)) as daemon:
        assert daemon.url is None
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        async with await Client.open(unix=str(path)) as client:
            assert (await client.execute("async () => 1")).value == 1
        with pytest.raises(InvalidStatus):
            await Client.open(unix=str(path), token=None)
        with pytest.raises(BadRequest, match="another process listens"):
            async with small(port=None, unix=str(path)):
                pass
        assert path.exists()
    assert not path.exists()


async def test_a_socket_that_was_left_over_is_replaced_and_a_file_is_not(tmp_path: Path) -> None:
    path = tmp_path / "socket"
    left = socket.socket(socket.AF_UNIX)
    left.bind(str(path))
    left.close()
    async with small(port=None, unix=str(path)), await Client.open(unix=str(path)) as client:
        assert (await client.execute("async () => 1")).value == 1
    path.write_text("precious")
    with pytest.raises(BadRequest, match="there is a file of that name"):
        async with small(port=None, unix=str(path)):
            pass
    assert path.read_text() == "precious"


async def test_a_port_that_is_taken() -> None:
    async with small() as daemon:
        port = int(url(daemon).rpartition(":")[2])
        with pytest.raises(BadRequest, match=f"port {port}: .*in use"):
            async with small(port=port):
                pass


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[str, str]:
    """A certificate of localhost and its key."""
    cert, key = str(tmp_path / "cert.pem"), str(tmp_path / "key.pem")
    kind = ["-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    subprocess.run(["openssl", "req", *kind, *name, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


async def test_tls(certificate: tuple[str, str]) -> None:
    cert, key = certificate
    async with small(tls_cert=cert, tls_key=key) as daemon:
        assert url(daemon).startswith("wss://")
        trusting = ssl.create_default_context(cafile=cert)
        port = url(daemon).rpartition(":")[2]
        async with await Client.open(f"wss://localhost:{port}/", ssl=trusting) as client:
            assert (await client.execute("async () => 'x'.repeat(1000000)")).value == "x" * 1_000_000
    with pytest.raises(BadRequest, match="TLS files"):
        small(tls_cert=key, tls_key=cert)
    with pytest.raises(BadRequest, match="No such file"):
        small(tls_cert=cert + ".none", tls_key=key)
