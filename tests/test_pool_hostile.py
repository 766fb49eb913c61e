"""The pool against workers that lie: the supervisor believes nothing, and the next run succeeds."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import os
import time
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from codemode_executor import (
    ExecuteResult,
    ExecutorError,
    IsolateExecutor,
    Limits,
    LogLine,
    Provider,
    WorkerCrashed,
    WorkerStartFailed,
    pool,
)
from codemode_executor.jail import JailPolicy
from codemode_executor.process import WorkerProcess
from codemode_executor.request import Request
from codemode_executor.run import HostRun, NotAccepted
from codemode_executor.tool_threads import ToolThreads
from codemode_executor.tools import ToolTable
from codemode_executor.usage import resident_bytes
from codemode_executor.wire import messages as wire
from codemode_executor.wire.framing import encode_frame
from codemode_executor.zygote import Zygote
from hostile_worker import GREETING, Peer, Script, ScriptedZygotes, frame, outcome, polite
from pools import fresh
from witness import eventually

MIB = 1024 * 1024
SHORT = Limits(timeout_s=0.3, memory_mb=64)


@pytest.fixture(autouse=True)
def short_patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clocks of the supervisor, so that silence is noticed within the test's time."""
    monkeypatch.setattr("codemode_executor.run._ACCEPT_TIMEOUT_S", 0.2)
    monkeypatch.setattr("codemode_executor.process._READY_TIMEOUT_S", 0.4)
    monkeypatch.setattr("codemode_executor.process._IDLE_TIMEOUT_S", 0.2)
    monkeypatch.setattr("codemode_executor.process._EXIT_REPORT_TIMEOUT_S", 0.2)


@contextlib.asynccontextmanager
async def scripted(
    monkeypatch: pytest.MonkeyPatch, *scripts: Script, **options: Any
) -> AsyncIterator[tuple[IsolateExecutor, ScriptedZygotes]]:
    """An executor with one worker at a time; the first ones follow ``scripts``, the others are polite."""
    zygotes = ScriptedZygotes(scripts)
    monkeypatch.setattr("codemode_executor.pool.Zygotes", zygotes)
    options = {"max_workers": 1, "hardening": "off", "limits": SHORT, **options}
    async with fresh(**options) as executor:
        yield executor, zygotes


async def next_run_works(executor: IsolateExecutor) -> None:
    result = await asyncio.wait_for(executor.execute("1"), 5)
    assert (result.result, result.error) == (1, None)


async def attempt(executor: IsolateExecutor, tool: Any = None, **options: Any) -> ExecuteResult | ExecutorError:
    """One run, in bounded time."""
    providers = [Provider("t", {"f": tool})] if tool else []
    try:
        return await asyncio.wait_for(executor.execute("1", providers=providers, **options), 5)
    except ExecutorError as error:
        return error


def call(number: int, args: bytes = b"[]", tool: str = "f") -> wire.Call:
    return wire.Call(number, "t", tool, args)


def silent(*messages: wire.ToSupervisor) -> Script:
    """Takes the run, sends ``messages`` as they are (run 1), and then nothing more."""

    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.send(*messages)

    return script


def raw(*data: bytes) -> Script:
    async def script(peer: Peer) -> None:
        await peer.accept()
        await peer.raw(*data)

    return script


# --- breaches of the protocol, after the run was taken ---------------------------------------------

BREACHES: dict[str, Script] = {
    "garbage": raw(b"\xff" * 64),
    "a frame of garbage": raw(encode_frame(b"\xc1not msgpack")),
    "an empty frame": raw(encode_frame(b"")),
    "an unknown message": raw(encode_frame(b"\x92\xa4evil\x01")),
    "a message with fields of the wrong type": raw(encode_frame(b"\x92\xa8accepted\xa1x")),
    "text that is not UTF-8": raw(encode_frame(b"\x93\xa4logs\x01\x91\x92\x00\xa2\xed\xa0")),
    "a giant frame is announced": raw((0xFFFFFFFF).to_bytes(4, "little")),
    "a frame just beyond the bound is announced": raw((36 * MIB + 1).to_bytes(4, "little")),
    "logs of another run": silent(wire.Logs(7, [(0, "x")])),
    "an outcome of another run": silent(outcome(7)),
    "calls of another run": silent(wire.Calls(7, [call(1)])),
    "a call with the same number twice in a message": silent(wire.Calls(1, [call(1), call(1)])),
    "a call with the same number twice": silent(wire.Calls(1, [call(1)]), wire.Calls(1, [call(1)])),
    "idle without an outcome": silent(wire.Idle(1, False)),
    "a second greeting": silent(GREETING),
    "a result beyond its bound": silent(outcome(1, b'"' + b"x" * 2000 + b'"')),
    "more calls than the bound": silent(*(wire.Calls(1, [call(n)]) for n in range(12))),
    "more calls in flight than the bound": silent(wire.Calls(1, [call(n) for n in range(6)])),
    "arguments beyond their bound": silent(wire.Calls(1, [call(1, b'["' + b"x" * 2000 + b'"]')])),
    "a breach and a good outcome in one breath": silent(wire.Calls(1, [call(1), call(1)]), outcome(1)),
    "garbage and a good outcome in one breath": raw(encode_frame(b"\xc1"), frame(outcome(1))),
}
TIGHT = Limits(timeout_s=2, memory_mb=64, tool_calls=10, tool_calls_in_flight=5, argument_bytes=1000, result_bytes=1000)


@pytest.mark.parametrize("breach", BREACHES)
async def test_a_breach_costs_the_run_and_the_worker(monkeypatch: pytest.MonkeyPatch, breach: str) -> None:
    async def tool() -> None:
        if breach != "more calls than the bound":
            await asyncio.Event().wait()

    options = {} if "frame" in breach else {"limits": TIGHT}
    async with scripted(monkeypatch, BREACHES[breach], **options) as (executor, zygotes):
        ended = await attempt(executor, tool)
        assert isinstance(ended, WorkerCrashed), ended
        assert "broke the protocol" in str(ended)
        await eventually(lambda: zygotes.peers[0].killed, "the end of the worker")
        await next_run_works(executor)
        assert len(zygotes.peers) == 2


async def test_a_second_outcome_changes_nothing_and_costs_the_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted(monkeypatch, silent(outcome(1, b"1"), outcome(1, b"2"))) as (executor, zygotes):
        ended = await attempt(executor)
        assert isinstance(ended, ExecuteResult)
        assert (ended.result, ended.error) == (1, None)
        await eventually(lambda: zygotes.peers[0].killed, "the end of the worker")
        await next_run_works(executor)


async def test_an_outcome_for_a_run_that_was_never_given(monkeypatch: pytest.MonkeyPatch) -> None:
    async def script(peer: Peer) -> None:
        await peer.send(GREETING, outcome(1, b"666"))

    async with scripted(monkeypatch, script) as (executor, zygotes):
        ended = await attempt(executor)
        assert isinstance(ended, ExecuteResult)
        assert ended.result == 1
        await eventually(lambda: zygotes.peers[0].killed, "the end of the worker")


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (outcome(1, b"{"), "cannot be decoded"),
        (outcome(1, b"\xff"), "cannot be decoded"),
        (outcome(1, None, kind=99), "without a message"),
        (outcome(1, None, wire.OUTCOME_THROWN), "without a message"),
    ],
    ids=["half a value", "no UTF-8", "an unknown kind", "no message"],
)
async def test_an_outcome_that_makes_no_sense(monkeypatch: pytest.MonkeyPatch, said: wire.Outcome, error: str) -> None:
    async with scripted(monkeypatch, silent(said, wire.Idle(1, False))) as (executor, _):
        ended = await attempt(executor)
        assert isinstance(ended, ExecuteResult)
        assert ended.error is not None
        assert error in ended.error


# --- silence ---------------------------------------------------------------------------------------


async def test_a_worker_that_never_greets(monkeypatch: pytest.MonkeyPatch) -> None:
    async def mute(peer: Peer) -> None:
        del peer

    async with scripted(monkeypatch, mute) as (executor, zygotes):
        await next_run_works(executor)
        assert zygotes.peers[0].killed
        stats = executor.stats()
        assert stats is not None
        assert (stats.workers_started, stats.workers_failed) == (1, 1)


async def test_no_worker_ever_greets(monkeypatch: pytest.MonkeyPatch) -> None:
    async def mute(peer: Peer) -> None:
        del peer

    async with scripted(monkeypatch, *[mute] * pool._START_ATTEMPTS) as (executor, zygotes):
        ended = await attempt(executor)
        assert isinstance(ended, WorkerStartFailed)
        assert "was not ready within 0.4 s" in str(ended)
        assert all(peer.killed for peer in zygotes.peers[: pool._START_ATTEMPTS])
        await next_run_works(executor)


async def test_a_worker_that_never_takes_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async def deaf(peer: Peer) -> None:
        await peer.greet()

    async with scripted(monkeypatch, deaf) as (executor, zygotes):
        await next_run_works(executor)
        assert zygotes.peers[0].killed


async def test_three_workers_in_turn_that_never_take_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    async def deaf(peer: Peer) -> None:
        await peer.greet()

    async with scripted(monkeypatch, deaf, deaf, deaf) as (executor, _):
        ended = await attempt(executor)
        assert isinstance(ended, WorkerCrashed)
        await next_run_works(executor)


@pytest.mark.parametrize(
    "script",
    [silent(), raw(b"\x07\x00"), raw((1000).to_bytes(4, "little") + b"\x93"), raw((36 * MIB).to_bytes(4, "little"))],
    ids=["nothing", "half a length", "half a frame", "the announcement of the largest frame"],
)
async def test_a_worker_that_takes_the_run_and_falls_silent(monkeypatch: pytest.MonkeyPatch, script: Script) -> None:
    async with scripted(monkeypatch, script) as (executor, zygotes):
        ended = await attempt(executor)
        assert isinstance(ended, ExecuteResult)
        assert (ended.error, ended.detail.bound) == ("Execution timed out", "timeout")
        assert zygotes.peers[0].killed
        await next_run_works(executor)


async def test_a_worker_that_never_frees_its_isolate(monkeypatch: pytest.MonkeyPatch) -> None:
    async with scripted(monkeypatch, silent(outcome(1, b"5"))) as (executor, zygotes):
        ended = await attempt(executor)
        assert isinstance(ended, ExecuteResult)
        assert ended.result == 5
        await next_run_works(executor)
        assert zygotes.peers[0].killed


async def test_a_worker_that_closes_its_socket_and_lives_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async def leaving(peer: Peer) -> None:
        await peer.accept()
        peer.sock.shutdown(2)

    async with scripted(monkeypatch, leaving) as (executor, zygotes):
        ended = await attempt(executor)
        assert isinstance(ended, WorkerCrashed)
        assert zygotes.peers[0].killed
        await next_run_works(executor)


async def test_a_dripped_answer_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    async def drip(peer: Peer) -> None:
        await peer.greet()
        run = (await peer.run()).run
        for message in (wire.Accepted(run), wire.Logs(run, [(0, "a")]), outcome(run, b"[1]"), wire.Idle(run, False)):
            for byte in frame(message):
                await peer.raw(bytes([byte]))
                await asyncio.sleep(0)

    async with scripted(monkeypatch, drip) as (executor, zygotes):
        ended = await attempt(executor)
        assert isinstance(ended, ExecuteResult)
        assert (ended.result, ended.logs) == ([1], ["a"])
        assert not zygotes.peers[0].killed


# --- a run is never run twice ----------------------------------------------------------------------


@pytest.mark.parametrize("sign", ["calls", "logs"])
async def test_a_program_that_has_shown_itself_is_not_run_again(monkeypatch: pytest.MonkeyPatch, sign: str) -> None:
    """A worker that says it never took a run, and acts as if it had: the program may have had effects."""
    served = 0
    lines: list[LogLine] = []

    async def tool() -> int:
        nonlocal served
        served += 1
        return served

    async def liar(peer: Peer) -> None:
        await peer.greet()
        run = (await peer.run()).run
        if sign == "calls":
            await peer.send(wire.Calls(run, [call(1)]))
            await peer.answer()
        else:
            await peer.send(wire.Logs(run, [(0, "I run")]))
            await asyncio.sleep(0.05)
        peer.process.kill()

    async with scripted(monkeypatch, liar) as (executor, zygotes):
        ended = await attempt(executor, tool, on_log=lines.append)
        assert isinstance(ended, WorkerCrashed), f"served {served}, logged {lines}, then run again: {ended}"
        given = [m for peer in zygotes.peers for m in peer.received if isinstance(m, wire.Run)]
        assert len(given) == 1


async def test_a_run_that_nobody_took_is_given_to_another(monkeypatch: pytest.MonkeyPatch) -> None:
    async def dying(peer: Peer) -> None:
        await peer.greet()
        await peer.run()
        peer.process.kill()

    async with scripted(monkeypatch, dying, dying) as (executor, zygotes):
        await next_run_works(executor)
        assert len(zygotes.peers) == 3
        stats = executor.stats()
        assert stats is not None
        assert stats.workers_lost == 2


# --- floods ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [0, 8, 77], ids=["lines", "notices", "an unknown level"])
async def test_a_flood_of_logs_ends_with_the_run(monkeypatch: pytest.MonkeyPatch, level: int) -> None:
    async def flood(peer: Peer) -> None:
        run = await peer.accept()
        while True:
            await peer.send(wire.Logs(run, [(level, "x" * 1000)] * 50))

    bounds = Limits(timeout_s=0.5, memory_mb=64, log_bytes=100_000, log_lines=200)
    async with scripted(monkeypatch, flood, limits=bounds) as (executor, zygotes):
        before = resident_bytes(os.getpid()) or 0
        ended = await attempt(executor)
        after = resident_bytes(os.getpid()) or 0
        if level == 77:
            assert isinstance(ended, WorkerCrashed)
            assert "unknown level" in str(ended)
            return
        assert isinstance(ended, ExecuteResult)
        assert ended.error == "Execution timed out"
        assert 0 < len(ended.logs) <= 200
        assert sum(map(len, ended.logs)) <= 100_000 + 1000
        assert after - before < 48 * MIB
        assert zygotes.peers[0].killed
        await next_run_works(executor)


async def test_calls_that_nobody_answers_to_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A worker that does not read the answers: they wait within bounds, and the run ends at its deadline."""
    entered = 0

    async def big() -> str:
        nonlocal entered
        entered += 1
        return "x" * MIB

    async def deaf(peer: Peer) -> None:
        run = await peer.accept()
        peer.stop_reading()
        await peer.send(wire.Calls(run, [call(n) for n in range(20)]))

    async with scripted(monkeypatch, deaf) as (executor, zygotes):
        started = time.monotonic()
        ended = await attempt(executor, big)
        assert isinstance(ended, ExecuteResult)
        assert ended.error == "Execution timed out"
        assert time.monotonic() - started < 3
        assert entered == 20
        assert zygotes.peers[0].killed
        await next_run_works(executor)


# --- dead before its run -------------------------------------------------------------------------


async def test_a_worker_that_dies_as_it_is_handed_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that waited for it must go elsewhere at once, whichever of the two comes first."""

    async def brief(peer: Peer) -> None:
        await peer.greet()
        run = (await peer.run()).run
        await peer.send(wire.Accepted(run), outcome(run), wire.Idle(run, False))
        peer.process.kill()

    scripts = [brief] * 12
    async with scripted(monkeypatch, *scripts, max_queue=50) as (executor, _):
        runs = [executor.execute("1") for _ in range(24)]
        ended = await asyncio.wait_for(asyncio.gather(*runs, return_exceptions=True), 10)
        wrong = [e for e in ended if not (isinstance(e, ExecuteResult) and e.result == 1)]
        assert all(isinstance(e, WorkerCrashed) for e in wrong), wrong
        await next_run_works(executor)


async def test_a_run_handed_to_a_worker_that_is_gone_already(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may die between being chosen and being used, which are two turns of the event loop."""
    del monkeypatch
    zygotes = ScriptedZygotes([])
    worker = WorkerProcess(MIB, JailPolicy(hardening="off"), lambda _: None)
    try:
        await worker.start(cast(Zygote, zygotes))
        worker.kill()
        await worker.gone()
        table = ToolTable([], None, ToolThreads())
        request = Request(code="1", table=table, env=b"{}", limits=SHORT, on_log=None, tenant=None)
        run = HostRun(1, worker, request, contextvars.copy_context(), 60.0)
        run.start()
        with pytest.raises(NotAccepted):
            await asyncio.wait_for(run.wait(), 2)
    finally:
        await zygotes.close(1)


async def test_a_polite_worker_serves_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """The control: with nothing wrong, nothing is replaced."""
    async with scripted(monkeypatch, polite) as (executor, zygotes):
        for _ in range(20):
            await next_run_works(executor)
        assert len(zygotes.peers) == 1
        assert not zygotes.peers[0].killed
