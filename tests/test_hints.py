"""What the envelope says to the author of a program whose outcome alone does not help."""

from __future__ import annotations

import asyncio

import pytest

from codemode_executor import IsolateExecutor, Provider

pytestmark = [pytest.mark.asyncio(loop_scope="module"), pytest.mark.usefixtures("leaves_nothing")]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("const a = 1;", "return a"),
        ("async () => {}", "returned nothing"),
        ("const main = async () => 1;", "main"),
        ("ls -la", "shell"),
        ("return 1", ""),
        ("async () => { throw new Error('x') }", ""),
    ],
)
async def test_hint_of_a_program(executor: IsolateExecutor, code: str, said: str) -> None:
    hint = (await executor.execute(code)).detail.hint
    assert said in hint
    assert bool(hint) is bool(said)


async def test_a_call_that_was_not_awaited(executor: IsolateExecutor) -> None:
    entered = asyncio.Event()

    async def slow() -> None:
        entered.set()
        await asyncio.sleep(0.05)

    outcome = await executor.execute("async () => { t.slow(); return 1 }", providers=[Provider("t", {"slow": slow})])
    assert outcome.result == 1
    assert "await every call" in outcome.detail.hint
    await asyncio.wait_for(entered.wait(), 5)
    await asyncio.sleep(0.1)
