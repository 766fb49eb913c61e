"""What ``crypto`` and ``node:crypto`` ask of the worker: PyPI ``cryptography``, inside the jail.

Keys travel with each operation. What is kept in between, digests and ciphers that are fed piece by piece, belongs to
one run and is dropped by ``reset``.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..host_calls import Operation
from . import asymmetric, ciphers, derivation, hashing, jwk, keys
from .warmup import preload

__all__ = ["HANDLERS", "preload", "reset"]

#: Every operation, by the name that the guest's platform uses.
HANDLERS: Mapping[str, Operation] = {
    **hashing.OPERATIONS,
    **ciphers.OPERATIONS,
    **derivation.OPERATIONS,
    **keys.OPERATIONS,
    **jwk.OPERATIONS,
    **asymmetric.OPERATIONS,
}


def reset() -> None:
    """The run is over: forget everything of it."""
    hashing.reset()
    ciphers.reset()
    keys.reset()
