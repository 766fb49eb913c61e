"""When runs arrive under load: exponential gaps from a fixed seed, so that every peer has the same schedule."""

from __future__ import annotations

import random


def arrivals_ms(rate: float, seconds: float, seed: int) -> tuple[float, ...]:
    """Times within ``seconds`` at ``rate`` runs a second, in milliseconds from the start, in order; at least one.

    Two rates with one seed have the same gaps, stretched. Raises ValueError for a rate that is not positive.
    """
    if not rate > 0:
        raise ValueError(f"runs must arrive at more than 0 a second, not {rate}")
    dice = random.Random(seed)
    due: list[float] = []
    at = dice.expovariate(1.0)
    while at / rate < seconds or not due:
        due.append(at / rate * 1000)
        at += dice.expovariate(1.0)
    return tuple(due)
