"""``execute_sync``: for scripts, notebooks, and inside a running loop."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable

import pytest

from codemode_executor import BadRequest, Limits, LogLine, Provider, execute_sync
from codemode_executor.jail import Hardening

pytestmark = pytest.mark.usefixtures("leaves_nothing_sync")

tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant", default="nobody")


def test_outside_a_loop(hardening: Hardening) -> None:
    seen: list[LogLine] = []
    tenant.set("acme")

    async def who() -> str:
        return tenant.get()

    outcome = execute_sync(
        "async () => { console.log('a'); return [await t.who(), await t.plain(2), this.env.n] }",
        providers=[Provider("t", {"who": who, "plain": lambda n: 2 * n})],
        env={"n": 3},
        on_log=seen.append,
        hardening=hardening,
    )
    assert (outcome.result, outcome.error, outcome.logs) == (["acme", 4, 3], None, ["a"])
    assert [line.text for line in seen] == ["a"]


def test_inside_a_loop(hardening: Hardening) -> None:
    async def main() -> object:
        return execute_sync("async () => 6 * 7", hardening=hardening).result

    assert asyncio.run(main()) == 42


def test_from_several_threads(hardening: Hardening) -> None:
    results: dict[int, object] = {}

    def work(n: int) -> None:
        results[n] = execute_sync(f"{n} * 2", hardening=hardening).result

    threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == {0: 0, 1: 2, 2: 4}


def test_dispatch(hardening: Hardening) -> None:
    async def dispatch(provider: str, tool: str, args: str) -> str:
        return f'{{"result": ["{provider}", "{tool}", {args}]}}'

    outcome = execute_sync(
        "async () => await db.get(1)",
        providers=[Provider("db", ["get"])],
        dispatch=dispatch,
        hardening=hardening,
    )
    assert outcome.result == ["db", "get", [1]]


def test_failures_and_bounds_are_outcomes(hardening: Hardening) -> None:
    outcome = execute_sync(
        "async () => { console.log('here'); for (;;); }",
        limits=Limits(timeout_s=0.3),
        hardening=hardening,
    )
    assert (outcome.error, outcome.logs) == ("Execution timed out", ["here"])


def test_bad_requests_are_raised(hardening: Hardening) -> None:
    with pytest.raises(BadRequest, match="code must be a string"):
        execute_sync(1, hardening=hardening)  # pyright: ignore[reportArgumentType]
    with pytest.raises(BadRequest, match="hardening"):
        execute_sync("1", hardening="no")  # pyright: ignore[reportArgumentType]


def test_calls_that_nobody_awaits_end_with_it(hardening: Hardening) -> None:
    ended: list[str] = []

    async def hang() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append("hang")

    outcome = execute_sync(
        "async () => { t.hang(); await t.there(); return 1 }",
        providers=[Provider("t", {"hang": hang, "there": lambda: None})],
        hardening=hardening,
    )
    assert outcome.result == 1
    assert ended == ["hang"]


def _exits() -> None:
    sys.exit("the tool's own")


async def _exits_async() -> None:
    sys.exit("the tool's own")


@pytest.mark.parametrize("tool", [_exits, _exits_async])
def test_a_tool_that_exits_ends_its_call(hardening: Hardening, tool: Callable[[], object]) -> None:
    """argparse does that. It is an error of the call, not the end of the host's loop."""
    outcome = execute_sync(
        "async () => await t.tool().catch((error) => 'told: ' + error.message)",
        providers=[Provider("t", {"tool": tool})],
        limits=Limits(timeout_s=2),
        hardening=hardening,
    )
    assert outcome.error is None
    assert outcome.result == "told: the tool's own"
