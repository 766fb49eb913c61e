"""What a daemon holds while one side does not read, seen from outside: no more with what the other side does."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from daemon.client import Client
from daemon.processes import Served, serving
from witness import eventually

MIB = 1024 * 1024
#: Of a daemon that holds its bounds: itself (30), 64 for each direction, and a message on its way in a few copies.
MOST_MIB = 300
LARGE = 8 * 1000 * 1000


def resident_mib(served: Served) -> int:
    pages = Path(f"/proc/{served.process.pid}/statm").read_text().split()[1]
    return int(pages) * 4096 // MIB


class Peak:
    """The largest size of a daemon."""

    def __init__(self, served: Served) -> None:
        self._served = served
        self.mib = 0

    async def watch(self) -> None:
        while True:
            self.mib = max(self.mib, resident_mib(self._served))
            await asyncio.sleep(0.01)


@asynccontextmanager
async def watched(*options: str) -> AsyncIterator[tuple[Served, Peak]]:
    async with serving("--port", "0", "--min-workers", "1", "--max-workers", "1", *options) as served:
        peak = Peak(served)
        watching = asyncio.create_task(peak.watch())
        try:
            yield served, peak
        finally:
            watching.cancel()


@asynccontextmanager
async def unread(served: Served) -> AsyncIterator[Client]:
    """A client that takes no more than a message from its socket while the test reads nothing."""
    client = await Client.open(served.url, max_queue=1)
    try:
        yield client
    finally:
        client.socket.transport.abort()


async def settled(peak: Peak, served: Served) -> None:
    """Wait until the daemon's size does not change any more."""
    seen: list[int] = []

    def is_still() -> bool:
        seen.append(resident_mib(served))
        return len(seen) > 50 and len(set(seen[-50:])) == 1

    await eventually(is_still, f"the end of growth at {peak.mib} MiB")


async def test_calls_that_a_program_takes_back_are_not_kept_for_a_client_that_does_not_read() -> None:
    code = """async () => {
        const body = new Uint8Array(2_000_000);
        for (let n = 0; n < 220; n++) {
            const controller = new AbortController();
            fetch("http://a.test/", { method: "POST", body, signal: controller.signal }).catch(() => {});
            await new Promise((go) => setTimeout(go, 1));
            controller.abort();
        }
        return "done";
    }"""
    async with watched() as (served, peak), unread(served) as client:
        await client.start(code, outbound="client")
        await settled(peak, served)
        assert peak.mib < MOST_MIB
        assert peak.mib > 64, "the program was held by what waits, and not before"
        outcome = await client.finish()
        assert outcome.value == "done", "it goes on as soon as the client reads"
        assert len(outcome.of("cancel_call")) == 220
        assert peak.mib < MOST_MIB


async def test_answers_of_functions_are_not_kept_for_a_client_that_does_not_read() -> None:
    async with watched("--limit", "memory_mb=1024") as (served, peak), unread(served) as client:
        code = f"async () => {{ const text = 'x'.repeat({LARGE}); return {{ f: () => text }}; }}"
        assert (await client.execute(code, retain=True)).end.t == "result"
        for number in range(1, 61):
            await client.send({"t": "invoke", "run": 1, "invocation": number, "handle": 0}, "1[]")
        await eventually(lambda: peak.mib > 90, "answers that wait")
        await settled(peak, served)
        assert peak.mib < MOST_MIB
        answers = [await client.until("invoked", "invoke_failed") for _ in range(60)]
        assert {(answer.t, len(answer.payload)) for answer in answers} == {("invoked", LARGE + 3)}
        assert peak.mib < MOST_MIB


@asynccontextmanager
async def stopped(served: Served) -> AsyncIterator[None]:
    """Its workers read nothing."""
    workers = [pid for pid in served.family() if pid != served.process.pid]
    for pid in workers:
        os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        for pid in workers:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)


async def test_arguments_of_functions_are_not_kept_for_a_worker_that_does_not_read() -> None:
    """The client is held, as for answers of its tools."""
    async with watched("--limit", "memory_mb=1024") as (served, peak), unread(served) as client:
        assert (await client.execute("async () => ({ f: (x) => x.length })", retain=True)).end.t == "result"
        large = '1["' + "x" * LARGE + '"]'

        async def push() -> None:
            for number in range(1, 61):
                await client.send({"t": "invoke", "run": 1, "invocation": number, "handle": 0}, large)

        async with stopped(served):
            pushing = asyncio.create_task(push())
            await settled(peak, served)
            assert peak.mib < MOST_MIB
            assert not pushing.done()
        answers = [await client.until("invoked", "invoke_failed", "over") for _ in range(60)]
        await pushing
        assert {answer.payload for answer in answers} == {f"1{LARGE}"}
        assert peak.mib < MOST_MIB


async def test_released_functions_are_not_kept_for_a_worker_that_does_not_read() -> None:
    async with watched() as (served, peak), unread(served) as client:
        assert (await client.execute("async () => ({ f: () => 1 })", retain=True)).end.t == "result"
        before = resident_mib(served)
        many = json.dumps({"t": "release", "run": 1, "handles": list(range(2**31, 2**31 + 80_000))})

        async def push() -> None:
            for _ in range(400):
                await client.socket.send(many)

        async with stopped(served):
            pushing = asyncio.create_task(push())
            await settled(peak, served)
            assert peak.mib - before < 100
            assert not pushing.done()
            pushing.cancel()


async def test_runs_that_wait_for_a_worker_hold_no_more_than_their_token_may() -> None:
    env = '{"text":"' + "x" * 20_000_000 + '"}'
    async with watched("--max-buffered-bytes", str(64 * MIB)) as (served, peak):
        busy = await Client.open(served.url)
        others = [await Client.open(served.url) for _ in range(12)]
        try:
            provider = {"name": "t", "tools": ["wait"]}
            await busy.start("async () => t.wait()", providers=[provider])
            call = await busy.until("call")
            for client in others:
                await client.start("async () => this.env.text.length", env=env)
            refused = [await client.next() for client in others[3:]]
            assert {message["code"] for message in refused} == {"BUSY"}
            assert all("(max_buffered_bytes)" in message["message"] for message in refused)
            assert all(message["retry_after_s"] for message in refused)
            await busy.send({"t": "answer", "run": 1, "call": call["call"]}, "1")
            for client in others[:3]:
                assert (await client.finish()).value == 20_000_000
            assert (await others[5].execute("async () => 1", env=env)).value == 1, "there is room again"
            assert peak.mib < MOST_MIB
        finally:
            for client in (busy, *others):
                client.socket.transport.abort()


async def test_connections_keep_nothing_of_runs_that_are_over() -> None:
    modules = [{"name": "large.txt", "source": "x" * 24_000_000}]
    env = '{"text":"' + "x" * 6_000_000 + '"}'
    async with watched("--limit", f"module_bytes={32 * MIB}") as (served, _):
        clients = [await Client.open(served.url) for _ in range(12)]
        try:
            for client in clients:
                assert (await client.execute("async () => 1", env=env, modules=modules)).value == 1
            await eventually(lambda: resident_mib(served) < 250, "what is left of the runs")
        finally:
            for client in clients:
                client.socket.transport.abort()


async def test_a_client_that_is_not_read_is_not_taken_for_dead_and_does_not_take_the_daemon_for_it() -> None:
    """What it says cannot be heard while its answers wait for a worker that computes."""
    code = """async () => {
        const answers = Array.from({ length: 30 }, () => codemode.large());
        await answers[0];
        for (const end = Date.now() + 4000; Date.now() < end; );
        return (await Promise.all(answers)).length;
    }"""
    async with (
        watched("--heartbeat-s", "0.5", "--limit", "memory_mb=1500") as (served, _),
        await Client.open(served.url) as client,
    ):
        outcome = await client.execute(code, _large, providers=[{"name": "codemode", "tools": ["large"]}])
        assert outcome.value == 30
        assert len(outcome.of("pong")) >= 2
        assert {message["n"] for message in outcome.of("pong")} == {0}


async def _large(header: dict[str, object], payload: str) -> str:
    return json.dumps("x" * 5_000_000)
