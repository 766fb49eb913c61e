"""What the project holds itself to, and whether this report meets it. Ratios are of medians, to upstream where no
other peer is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .peers import UPSTREAM
from .results import Report

_SATURATED = ("saturated-4", "saturated-16")

#: Of the growth, how many thousands of runs at either end are compared; the first warms up.
_END = 2


@dataclass(frozen=True)
class Target:
    """One promise.

    Attributes:
        id: heading of its profile in profiles.md, if it is not met.
        text: for the page.
        measure: the measured value, ``None`` if something for it was not measured.
        bound: the value must be at most this, or at least if ``at_least``.
        unit: of the value; empty for a ratio.
    """

    id: str
    text: str
    measure: Callable[[Report], float | None]
    bound: float
    at_least: bool = False
    unit: str = ""

    def met(self, value: float) -> bool:
        """Whether ``value`` is good enough."""
        return value >= self.bound if self.at_least else value <= self.bound


def ratio(workload: str, peer: str, other: str = UPSTREAM) -> Callable[[Report], float | None]:
    """The median of ``peer`` over that of ``other``."""

    def measure(report: Report) -> float | None:
        return _over(report.median(workload, peer), report.median(workload, other))

    return measure


def throughput(peer: str, other: str) -> Callable[[Report], float | None]:
    """The better throughput of ``peer`` over that of ``other``."""

    def measure(report: Report) -> float | None:
        return _over(best_rate(report, peer), best_rate(report, other))

    return measure


def best_rate(report: Report, peer: str) -> float | None:
    """Runs a second at the better concurrency."""
    rates = [rate for name in _SATURATED if (rate := report.median(name, peer)) is not None]
    return max(rates, default=None)


def flat(report: Report) -> float | None:
    """Processor time of the last runs over that of the first, without the very first thousand."""
    found = report.of("growth", "engine")
    if found is None or len(found.processor_ms) < 2 * _END + 1:
        return None
    return _over(sum(found.processor_ms[-_END:]), sum(found.processor_ms[1 : 1 + _END]))


def grown(report: Report) -> float | None:
    """MiB that the host and its processes have gained from the first thousand runs to the last."""
    found = report.of("growth", "engine")
    if found is None or len(found.memory_mb) < 2:
        return None
    return found.memory_mb[-1] - found.memory_mb[0]


def _over(value: float | None, other: float | None) -> float | None:
    return value / other if value is not None and other else None


TARGETS: tuple[Target, ...] = (
    Target("no-tool-engine", "a run without tools: at most 1/5 of upstream's time", ratio("no-tool", "engine"), 0.2),
    Target(
        "no-tool-bridge",
        "a run without tools through the bridge: at most 1/4 of upstream's time",
        ratio("no-tool", "bridge"),
        0.25,
    ),
    Target(
        "no-tool-isolated-vm",
        "a run without tools: faster than isolated-vm with an isolate a run",
        ratio("no-tool", "engine", "isolated-vm"),
        1.0,
    ),
    Target(
        "no-tool-tanstack",
        "a run without tools: faster than TanStack's driver with an isolate a run",
        ratio("no-tool", "engine", "tanstack"),
        1.0,
    ),
    Target(
        "throughput-engine",
        "throughput: at least 1.5 times upstream's (the goal is 2)",
        throughput("engine", UPSTREAM),
        1.5,
        at_least=True,
    ),
    Target(
        "throughput-tanstack",
        "throughput: that of TanStack's driver, which runs in the host's process (a dream, not a promise)",
        throughput("engine", "tanstack"),
        1.0,
        at_least=True,
    ),
    Target(
        "call-engine",
        "1 000 sequential calls: at most 3 times upstream's time",
        ratio("sequential-calls", "engine"),
        3.0,
    ),
    Target(
        "call-bridge",
        "1 000 sequential calls through the bridge: at most 6 times upstream's time",
        ratio("sequential-calls", "bridge"),
        6.0,
    ),
    Target(
        "parallel-engine",
        "1 000 parallel calls: at most 1/4 of upstream's time",
        ratio("parallel-calls", "engine"),
        0.25,
    ),
    Target(
        "tool-result-engine",
        "10 MB as a tool's result: at most 1.5 times upstream's time",
        ratio("tool-result-10mb", "engine"),
        1.5,
    ),
    Target(
        "result-engine",
        "10 MB as the program's result: at most twice upstream's time",
        ratio("result-10mb", "engine"),
        2.0,
    ),
    Target(
        "memory-engine",
        "a waiting run: at most 15 MiB of private memory",
        lambda report: report.median("memory", "engine"),
        15.0,
        unit="MiB",
    ),
    Target(
        "flat-time",
        "10 000 runs: the last 2 000 cost at most 1.1 times the processor time of the second and third thousand",
        flat,
        1.1,
    ),
    Target(
        "flat-memory",
        "10 000 runs: the host and its processes gain at most 16 MiB between the first thousand and the last",
        grown,
        16.0,
        unit="MiB",
    ),
)
