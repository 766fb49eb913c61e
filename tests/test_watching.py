"""The watch over a worker's memory must see something: blind, it would be no bound."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from codemode_executor import HardeningUnavailable, WorkerCrashed, process, run, usage
from pools import fresh


@pytest.mark.parametrize("hardening", ["required", "used", "off"])
async def test_a_worker_whose_memory_cannot_be_read_is_refused(monkeypatch: pytest.MonkeyPatch, hardening: Any) -> None:
    monkeypatch.setattr(process, "resident_bytes", lambda pid: None)  # as of a /proc that does not say
    async with fresh(hardening=hardening) as executor:
        with pytest.raises(HardeningUnavailable, match=r"cannot be watched: /proc/\d+/statm cannot be read"):
            await executor.execute("async () => 1")


async def test_a_run_whose_memory_cannot_be_read_any_more_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    async with fresh() as executor:
        assert (await executor.execute("async () => 1")).result == 1
        monkeypatch.setattr(run, "resident_bytes", lambda pid: None)
        async with asyncio.timeout(20):
            with pytest.raises(WorkerCrashed, match="its memory cannot be watched"):
                await executor.execute("async () => { await new Promise(() => {}) }")
        monkeypatch.setattr(run, "resident_bytes", usage.resident_bytes)
        assert (await executor.execute("async () => 2")).result == 2


async def test_a_look_that_fails_now_and_then_harms_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int | None] = []

    def flickering(pid: int) -> int | None:
        looks.append(None if len(looks) % 20 else usage.resident_bytes(pid))
        return looks[-1]

    async with fresh() as executor:
        monkeypatch.setattr(run, "resident_bytes", flickering)
        code = "async () => { await new Promise((done) => setTimeout(done, 2500)); return 3 }"
        assert (await executor.execute(code)).result == 3
    assert looks.count(None) > 50
