"""What a run of the benchmark found: the shape of results.json."""

from __future__ import annotations

from pathlib import Path

import msgspec

from .summary import Summary

#: Raised when the shape changes.
SCHEMA = 1


class Result(msgspec.Struct, frozen=True, kw_only=True):
    """One workload on one peer.

    Attributes:
        samples: in the order in which they were taken, in the workload's unit. Runs that arrive by schedule give too
            many: theirs are only summarized.
        summary: ``None`` if there is a ``failure``.
        rate: runs a second at which they arrived.
        memory_mb: after each sample of the growth, proportional set size of the host and its descendants.
        processor_ms: during each sample of the growth, processor time of all of them, of a run.
        again: what went wrong in one sample, which was taken again on a new host.
        failure: what went wrong for good, if anything did.
    """

    workload: str
    peer: str
    samples: list[float] = []
    summary: Summary | None = None
    rate: float | None = None
    memory_mb: list[float] = []
    processor_ms: list[float] = []
    again: str | None = None
    failure: str | None = None


class PeerInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Of a peer: see ``peers.Peer``. ``versions`` of what its host runs on, by name."""

    title: str
    what: str
    process: str
    memory: str
    system_calls: str
    deadline: str
    versions: dict[str, str]


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """Where and when it was measured. ``load`` is the load average of the minute before."""

    processor: str
    cores: int
    memory_gb: float
    kernel: str
    date: str
    load: float


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """A whole run of the benchmark. ``peers`` by id, in the page's order; ``seconds`` is what it took."""

    schema: int = SCHEMA
    machine: Machine
    quick: bool
    rounds: int
    seconds: float
    peers: dict[str, PeerInfo]
    results: list[Result]

    def of(self, workload: str, peer: str) -> Result | None:
        """The result of ``workload`` on ``peer``, if it was measured."""
        return next((r for r in self.results if (r.workload, r.peer) == (workload, peer)), None)

    def median(self, workload: str, peer: str) -> float | None:
        """The median, if it was measured and did not fail."""
        found = self.of(workload, peer)
        return found.summary.median if found is not None and found.summary is not None else None

    @property
    def failures(self) -> list[Result]:
        """Everything that went wrong."""
        return [result for result in self.results if result.failure is not None]


def read(file: Path) -> Report:
    """Raises ``msgspec.ValidationError`` for a file of another shape."""
    return msgspec.json.decode(file.read_bytes(), type=Report)


def write(report: Report, file: Path) -> None:
    """As indented JSON with at most six digits a number, so that a diff of two reports can be read."""
    plain = _rounded(msgspec.to_builtins(report))
    file.write_bytes(msgspec.json.format(msgspec.json.encode(plain), indent=1) + b"\n")


def _rounded(value: object) -> object:
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {key: _rounded(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_rounded(member) for member in value]
    return value
