"""Upstream's own hosts in workerd: each case on upstream's executor and on ours, and the outcomes compared."""

from __future__ import annotations

import pytest

from hosts.workerd.cases import CASES, Case
from hosts.workerd.compare import problems
from hosts.workerd.host import Host


@pytest.mark.timeout(400)
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.group}-{case.id}")
async def test_case(case: Case, host: Host) -> None:
    outcomes = await host.run(case)
    found = problems(case, outcomes["upstream"], outcomes["ours"])
    assert not found, "\n".join(found)
