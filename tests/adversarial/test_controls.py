"""The runner notices: of each class, one attack on an executor with a hole in just that place."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import cast

import pytest
import pytest_asyncio
from adversarial.adapter import Adapter
from adversarial.cases import Case, by_id, load
from adversarial.judge import Verdict
from adversarial.native import run_native
from adversarial.runner import Runner, opened
from adversarial.surroundings import Surroundings
from adversarial.weak import (
    GreedyAdapter,
    LooseAdapter,
    RecursiveAdapter,
    TalkativeAdapter,
    TrustingAdapter,
    VmAdapter,
    engine,
)

from codemode_executor import IsolateExecutor

CASES = by_id(load())
GUARD_S = 3.0
#: Of what does not end, that is seen soon.
SHORT_GUARD_S = 1.0

Weak = Callable[[IsolateExecutor], Adapter]


#: By class: the attack, the executor that does not withstand it, and what the host must have seen.
CONTROLS: dict[str, tuple[str, Weak | type[VmAdapter], str]] = {
    "time": ("time-backtracking-by-a-back-reference", LooseAdapter, "no end"),
    "cpu": ("cpu-loop", LooseAdapter, "no end"),
    "memory": ("memory-shared-buffers", LooseAdapter, "a process had"),
    "stack": ("stack-text-of-brackets", RecursiveAdapter, "raised:RecursionError"),
    "logs": ("logs-flood-of-lines", LooseAdapter, "lines of logs"),
    "messages": ("messages-result-beyond-its-bound", LooseAdapter, "ended as value"),
    "tools": ("tools-flood", LooseAdapter, "tool calls reached the host"),
    "harness": ("harness-closing-its-brackets", VmAdapter, "the next run ended"),
    "primordials": ("primordials-of-the-language", VmAdapter, "the next run"),
    "deadline": ("deadline-loop-begins-with-it", LooseAdapter, "no end"),
    "forgery": ("forgery-writing-in-the-name-of-the-harness", VmAdapter, "another run was harmed"),
    "pollution": ("pollution-realm-of-this-run", VmAdapter, "the next run ended"),
    "realm": ("realm-constructor-of-this", VmAdapter, "files were made"),
    "stacktraces": ("stacktraces-sources-of-the-harness", VmAdapter, "the result is"),
    "modules": ("modules-files-of-the-host", VmAdapter, "the secret came out"),
    "text": ("text-control-of-the-terminal", TalkativeAdapter, "cannot be encoded"),
    "json": ("json-holes-in-a-result", GreedyAdapter, "the host gained"),
    "afterlife": ("afterlife-timers", VmAdapter, "reported success"),
    "leakage": ("leakage-of-globals", VmAdapter, "the result is"),
    "exhaustion": ("exhaustion-of-disk", GreedyAdapter, "the host gained"),
    "platform": ("platform-leaving-the-process", VmAdapter, "raised:WORKER_CRASHED"),
    "network": ("network-loopback", TrustingAdapter, "the host saw a TCP connection"),
}


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def wide() -> AsyncIterator[tuple[IsolateExecutor, Surroundings]]:
    """An engine that each of the weak ones is made around in turn."""
    async with Surroundings() as surroundings, engine() as executor:
        yield executor, surroundings


async def verdict_on(case: Case, wide: tuple[IsolateExecutor, Surroundings], weak: Weak, guard_s: float) -> Verdict:
    executor, surroundings = wide
    adapter = weak(executor)
    await adapter.open()
    return await Runner(adapter, surroundings, guard_s=guard_s).run(case)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("kind", CONTROLS)
async def test_a_breach_is_noticed(wide: tuple[IsolateExecutor, Surroundings], kind: str) -> None:
    case_id, weak, expected = CONTROLS[kind]
    case = CASES[case_id]
    assert case.kind == kind
    if weak is VmAdapter:
        async with opened(VmAdapter(), guard_s=GUARD_S) as runner:
            verdict = await runner.run(case)
    else:
        guard_s = SHORT_GUARD_S if expected == "no end" else GUARD_S
        verdict = await verdict_on(case, wide, cast(Weak, weak), guard_s)
    assert not verdict.held
    assert expected in "; ".join(verdict.against)


async def test_a_breach_of_the_jail_is_noticed() -> None:
    """Every way out at once, of a worker that has no jail but its hygiene."""
    attacks = ["reads-files", "writes-files", "connects", "sends-datagrams", "ends-another-process", "forks"]
    everything = ["seccomp", "landlock", "root_directory", "network_namespace", "user_namespace", "limits"]
    verdicts = await run_native([CASES[f"native-{name}"] for name in attacks], everything)
    assert [verdict.case.id for verdict in verdicts if verdict.held] == []
    against = "; ".join(text for verdict in verdicts for text in verdict.against)
    for seen in ("the secret came out", "files were made", "a TCP connection", "a datagram", "process was ended"):
        assert seen in against


def test_every_class_has_its_control() -> None:
    assert {case.kind for case in CASES.values()} == {*CONTROLS, "native"}
