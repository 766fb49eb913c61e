"""Every bound of a run: attacked, and what it says."""

from __future__ import annotations

import asyncio

import pytest

from codemode_executor import BadRequest, IsolateExecutor, Limits, Provider
from codemode_executor.jail import Hardening
from witness import peak_memory

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]

MIB = 1024 * 1024


async def echo(*args: object) -> list[object]:
    return list(args)


ECHO = [Provider("t", {"echo": echo})]


# --- Limits ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", Limits.__struct_fields__)
@pytest.mark.parametrize("value", [0, -1, float("nan"), float("inf"), True, "1", None, 10**30])
async def test_limits_are_validated(name: str, value: object) -> None:
    if name == "cpu_s" and value is None:
        return
    with pytest.raises(BadRequest, match=rf"^Limits\.{name} ") as caught:
        Limits(**{name: value})  # pyright: ignore[reportArgumentType]
    assert repr(value) in str(caught.value)


async def test_limits_say_what_they_carry() -> None:
    with pytest.raises(BadRequest, match=r"Limits\.memory_mb is 8; the smallest value .* is 16"):
        Limits(memory_mb=8)
    with pytest.raises(BadRequest, match=r"Limits\.memory_mb is 5000; the largest .* is 4096"):
        Limits(memory_mb=5000)
    with pytest.raises(BadRequest, match=r"Limits\.tool_calls must be a whole number, not 1\.5"):
        Limits(tool_calls=1.5)  # pyright: ignore[reportArgumentType]


async def test_tightened_takes_the_tighter_of_each() -> None:
    mine = Limits(timeout_s=5, tool_calls=10)
    both = mine.tightened(Limits(timeout_s=9, tool_calls=3, cpu_s=1))
    assert (both.timeout_s, both.tool_calls, both.cpu_s) == (5, 3, 1)


# --- sizes ----------------------------------------------------------------------------------------


async def test_program_too_large(executor: IsolateExecutor) -> None:
    limits = Limits(program_bytes=100)
    fits = "'" + "ü" * 49 + "'"
    assert (await executor.execute(fits, limits=limits)).result == "ü" * 49
    with pytest.raises(BadRequest, match=r"102 bytes long; the limit is 100 bytes \(Limits\.progr"):
        await executor.execute("'" + "ü" * 50 + "'", limits=limits)


@pytest.mark.parametrize("letter", ["x", "\\u00fc"])
async def test_arguments_too_large_are_the_programs_error(executor: IsolateExecutor, letter: str) -> None:
    code = f"""async () => {{
        const refused = await t.echo('{letter}'.repeat(1000)).catch((error) => error.message)
        return [refused, await t.echo(1)]
    }}"""
    outcome = await executor.execute(code, providers=ECHO, limits=Limits(argument_bytes=1000))
    assert outcome.error is None
    message, after = outcome.result
    assert "The arguments of t.echo are" in message
    assert "the limit is 1000 bytes (Limits.argument_bytes)" in message
    assert after == [1]


async def test_arguments_at_the_limit_pass(executor: IsolateExecutor) -> None:
    code = "async () => (await t.echo('x'.repeat(996)))[0].length"
    outcome = await executor.execute(code, providers=ECHO, limits=Limits(argument_bytes=1000))
    assert (outcome.result, outcome.error) == (996, None)


async def test_tool_result_too_large_is_the_programs_error(executor: IsolateExecutor) -> None:
    tools = {"big": lambda n: "x" * n}
    code = """async () => [
        (await t.big(998)).length, await t.big(999).catch((error) => error.message),
    ]"""
    limits = Limits(tool_result_bytes=1000)
    outcome = await executor.execute(code, providers=[Provider("t", tools)], limits=limits)
    assert outcome.error is None
    assert outcome.result == [
        998,
        "the result of t.big is 1001 bytes long; the limit is 1000 bytes (Limits.tool_result_bytes)",
    ]


@pytest.mark.parametrize("letter", ["x", "\\u00fc"])
async def test_result_too_large(executor: IsolateExecutor, letter: str) -> None:
    limits = Limits(result_bytes=1000)
    code = f"async () => {{ console.log('kept'); return '{letter}'.repeat(999) }}"
    outcome = await executor.execute(code, limits=limits)
    assert outcome.result is None
    assert outcome.error
    assert outcome.error.startswith("the result is ")
    assert "the limit is 1000 bytes (Limits.result_bytes)" in outcome.error
    assert outcome.detail.bound == "result"
    assert outcome.logs == ["kept"]
    fits = await executor.execute("async () => 'x'.repeat(998)", limits=limits)
    assert fits.result == "x" * 998


# --- tool calls -----------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["await t.note(n)", "t.note(n)"])
async def test_too_many_tool_calls(executor: IsolateExecutor, how: str) -> None:
    seen: list[int] = []

    async def note(n: int) -> None:
        seen.append(n)

    outcome = await executor.execute(
        f"async () => {{ for (let n = 0; n < 50; n++) {how} }}",
        providers=[Provider("t", {"note": note})],
        limits=Limits(tool_calls=20),
    )
    assert outcome.result is None
    assert outcome.error == ("the program made more than 20 tool calls; the limit is 20 (Limits.tool_calls)")
    assert outcome.detail.bound == "tool_calls"
    assert len(seen) <= 20
    exactly = await executor.execute(
        "async () => { for (let n = 0; n < 20; n++) await t.note(n); return 'ok' }",
        providers=[Provider("t", {"note": note})],
        limits=Limits(tool_calls=20),
    )
    assert exactly.result == "ok"


async def test_calls_in_flight_wait(executor: IsolateExecutor) -> None:
    together = 0
    most = 0

    async def slow(n: int) -> int:
        nonlocal together, most
        together += 1
        most = max(most, together)
        await asyncio.sleep(0.002)
        together -= 1
        if n % 3 == 0:
            raise ValueError("every third")
        return n

    code = """async () => (await Promise.allSettled(Array.from({length: 200}, (_, n) => t.slow(n))))
        .map((one) => one.status === 'fulfilled' ? one.value : -1)"""
    outcome = await executor.execute(
        code, providers=[Provider("t", {"slow": slow})], limits=Limits(tool_calls_in_flight=7)
    )
    assert outcome.error is None
    assert outcome.result == [n if n % 3 else -1 for n in range(200)]
    assert most == 7


# --- logs -----------------------------------------------------------------------------------------


async def test_log_lines_are_bounded(executor: IsolateExecutor) -> None:
    code = "async () => { for (let n = 0; n < 50; n++) console.log(n); return 'done' }"
    outcome = await executor.execute(code, limits=Limits(log_lines=10))
    assert outcome.result == "done"
    assert outcome.logs[:-1] == [str(n) for n in range(10)]
    assert "dropped" in outcome.logs[-1]
    assert "10 lines" in outcome.logs[-1]
    assert "Limits.log_lines" in outcome.logs[-1]
    exactly = await executor.execute(code, limits=Limits(log_lines=50))
    assert len(exactly.logs) == 50


@pytest.mark.parametrize("letter", ["x", "\\u20ac"])
async def test_log_bytes_are_bounded(executor: IsolateExecutor, letter: str) -> None:
    """Nothing follows the marker, and there is one: otherwise a reader cannot trust the order."""
    code = f"""async () => {{
        for (let n = 0; n < 50; n++) {{ console.log('{letter}'.repeat(90)); console.log('.') }}
        return 'done'
    }}"""
    outcome = await executor.execute(code, limits=Limits(log_bytes=1000))
    assert outcome.result == "done"
    marked = [at for at, line in enumerate(outcome.logs) if "dropped" in line]
    assert marked == [len(outcome.logs) - 1], outcome.logs
    assert "1000 bytes" in outcome.logs[-1]
    kept = sum(len(line.encode()) for line in outcome.logs[:-1])
    assert 700 <= kept <= 1000


async def test_a_flood_of_logs_is_bounded_in_the_host(executor: IsolateExecutor) -> None:
    code = "async () => { for (;;) console.log('x'.repeat(1000)) }"
    outcome = await executor.execute(code, limits=Limits(timeout_s=0.5, log_bytes=MIB))
    assert outcome.detail.bound in ("timeout", "memory")
    assert sum(len(line) for line in outcome.logs) <= MIB + 1000


# --- memory ---------------------------------------------------------------------------------------

GROWING = {
    "arrays": "const a = []; for (;;) a.push(new Array(1000).fill(1))",
    "objects": "const a = []; for (let n = 0;; n++) a.push({n, text: 'x' + n})",
    "one array": "const a = []; for (;;) a.push(1.5)",
    "strings": "const a = []; for (let n = 0;; n++) a.push(('x' + n).repeat(1000).toUpperCase())",
    "flat string": "let s = 'x'; for (;;) { s += s.toUpperCase(); s.indexOf('y') }",
    "buffers": "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))",
    "big buffers": "const a = []; for (;;) a.push(new Uint8Array(1 << 26).fill(1))",
    "shared buffers": "const a = []; for (;;) a.push(new Uint8Array(new SharedArrayBuffer(1 << 22)).fill(1))",
    "growing buffer": "const b = new ArrayBuffer(1, {maxByteLength: 2 ** 31}); let n = 1 << 20;"
    " for (;;) { b.resize(n); new Uint8Array(b).fill(1); n += 1 << 20 }",
    "map": "const m = new Map(); for (let n = 0;; n++) m.set(n, n)",
    "closures": "let f = () => 0; for (;;) { const g = f; f = () => g }",
    "huge allocation": "new Array(1e9).fill('x')",
    "split": "'x'.repeat(1 << 28).split('')",
    "from length": "Array.from({length: 1e9})",
    "promises": "const a = []; for (;;) { a.push(new Promise(() => {})); await 0 }",
    "waiting calls": "for (;;) t.echo('x'.repeat(1000))",
    "queued calls": "for (let n = 0;; n++) { t.never('x'.repeat(10_000)); if (n % 10 === 0) await 0 }",
    "json": "let s = '[]'; for (;;) { s = JSON.stringify([s, s]) }",
    "regexp captures": "const a = []; for (;;) a.push([...'x'.repeat(10000).matchAll(/x/g)])",
}  # fmt: skip


@pytest.mark.parametrize("when", ["at once", "after an await"])
@pytest.mark.parametrize("what", GROWING)
async def test_memory_is_bounded(executor: IsolateExecutor, what: str, when: str) -> None:
    """Limit 64 MiB: ended as one outcome, and the host never saw the worker near a gigabyte."""

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    first = "await t.echo(); " if when == "after an await" else ""
    with peak_memory() as peak:
        outcome = await executor.execute(
            f"async () => {{ console.log('begun'); {first}{GROWING[what]} }}",
            providers=[Provider("t", {"echo": echo, "never": never})],
            limits=Limits(timeout_s=8),
        )
    assert outcome.result is None
    assert outcome.logs == ["begun"]
    assert peak() < 1024 * MIB
    if what == "waiting calls" and outcome.detail.bound == "tool_calls":
        return  # the calls leave before the heap is full
    if outcome.detail.name == "RangeError":
        return  # V8 refuses one allocation that cannot be had, and the program could catch it
    assert outcome.error
    assert outcome.error.startswith("memory limit exceeded")
    assert "the limit is 64 MiB (Limits.memory_mb)" in outcome.error
    assert outcome.detail.bound == "memory"


async def test_a_tighter_memory_bound_of_a_run_holds(executor: IsolateExecutor) -> None:
    code = "async () => { const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1)) }"
    outcome = await executor.execute(code, limits=Limits(memory_mb=20, timeout_s=5))
    assert outcome.detail.bound == "memory"
    assert "the limit is 20 MiB" in (outcome.error or "")


async def test_memory_of_one_run_is_not_charged_to_the_next(executor: IsolateExecutor) -> None:
    """Runs near the bound follow each other on the same worker; each has the whole bound."""
    for fill in (
        "const a = []; for (let n = 0; n < 44; n++) a.push(new Uint8Array(1 << 20).fill(1))",
        "const a = []; for (let n = 0; n < 1.5e5; n++) a.push({n, text: 'abc' + n, m: [n]})",
        "const a = []; for (let n = 0; n < 4e4; n++) a.push(('x' + n).repeat(80).toUpperCase())",
    ):
        for attempt in range(8):
            code = f"async () => {{ {fill}; await t.echo(); return a.length }}"
            outcome = await executor.execute(code, providers=ECHO)
            assert outcome.error is None, (attempt, fill, outcome.usage)


async def test_closing_right_after_the_memory_bound(hardening: Hardening) -> None:
    limits = Limits(memory_mb=32, timeout_s=5)
    async with IsolateExecutor(limits=limits, hardening=hardening) as own:
        outcome = await own.execute("async () => { const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1)) }")
    assert outcome.detail.bound == "memory"


# --- processor time -------------------------------------------------------------------------------


async def test_processor_time_is_bounded(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        "async () => { console.log('begun'); for (;;); }", limits=Limits(cpu_s=0.2, timeout_s=10)
    )
    assert outcome.logs == ["begun"]
    assert outcome.detail.bound == "cpu"
    assert "processor time limit exceeded: the limit is 0.2 s (Limits.cpu_s)" in (outcome.error or "")


async def test_waiting_costs_no_processor_time(executor: IsolateExecutor) -> None:
    outcome = await executor.execute(
        "async () => { await new Promise((done) => setTimeout(done, 400)); return 1 }",
        limits=Limits(cpu_s=0.3),
    )
    assert outcome.result == 1
