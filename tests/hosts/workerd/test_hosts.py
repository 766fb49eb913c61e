"""Upstream's own hosts in workerd: each case on upstream's executor and on ours, and the outcomes compared.

In one module, so that they have one host.
"""

from __future__ import annotations

from typing import Any

import pytest

from hosts.workerd.cases import CASES, Case
from hosts.workerd.compare import at, normalised, problems
from hosts.workerd.host import Host

_GONE = {"url": "ws://127.0.0.1:1", "connectTimeout": 300, "queueTimeout": 1000}


@pytest.mark.timeout(400)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.group}-{case.id}")
async def test_case(case: Case, host: Host) -> None:
    outcomes = await host.run(case)
    found = problems(case, outcomes["upstream"], outcomes["ours"])
    assert not found, "\n".join(found)


@pytest.mark.asyncio(loop_scope="module")
async def test_an_approval_without_a_daemon_ends_the_run_and_executes_nothing(host: Host) -> None:
    code = (
        "async () => { const a = await desk.scribble({ title: 'a' }); return [a, await desk.create({ title: 'b' })] }"
    )
    steps: list[dict[str, Any]] = [
        {"do": "execute", "as": "run", "code": code},
        {"do": "approve", "run": "run", "executor": _GONE},
        {"do": "executions"},
        {"do": "rollback", "run": "run"},
        {"do": "execute", "code": "async () => await desk.list_notes()"},
    ]
    outcomes = normalised((await host.run(Case("daemon-gone", "", steps, {}, {}), ["ours"]))["ours"])
    paused, approved, listed, rolled_back, after = outcomes
    assert at(paused, "value.status") == "paused"
    assert at(approved, "value.status") == "error"
    assert str(at(approved, "value.error")).startswith("no connection to the daemon at ws://127.0.0.1:1")
    assert [event[0] for event in approved["events"]] == ["pass ends error", "dispose error"]
    assert at(listed, "value.0.status") == "error"
    # What had been done before can be undone, and nothing else has been done.
    assert [event[0] for event in rolled_back["events"]] == ["revert desk.scribble", "dispose rolled_back"]
    assert at(after, "value.result") == []
