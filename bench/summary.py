"""Medians and spread."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec


class Summary(msgspec.Struct, frozen=True, kw_only=True):
    """Of one peer's samples of one workload.

    Attributes:
        samples: how many there are.
        median, low, high: the second, first and third quartile.
        p95, p99: only where every run is a sample.
    """

    samples: int
    median: float
    low: float
    high: float
    p95: float | None = None
    p99: float | None = None


def summarize(samples: Sequence[float], *, tail: bool = False) -> Summary:
    """Quartiles of ``samples``, with ``tail`` also the upper percentiles. Raises ValueError if there are none."""
    if not samples:
        raise ValueError("there are no samples to summarize")
    ordered = sorted(samples)
    return Summary(
        samples=len(ordered),
        median=statistics.median(ordered),
        low=quantile(ordered, 0.25),
        high=quantile(ordered, 0.75),
        p95=quantile(ordered, 0.95) if tail else None,
        p99=quantile(ordered, 0.99) if tail else None,
    )


def quantile(ordered: Sequence[float], share: float) -> float:
    """Of samples in ascending order, with linear interpolation between neighbours."""
    at = share * (len(ordered) - 1)
    low = int(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)
