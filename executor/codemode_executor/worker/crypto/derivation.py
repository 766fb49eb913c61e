"""Keys from passwords and from other keys.

The isolate's thread waits for each operation and nothing can interrupt it, so what a program asks for is limited to
about a second of work.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.kdf.pbkdf2 import PBKDF2HMAC
from cryptography.hazmat.primitives.kdf.scrypt import Scrypt

from ..host_calls import Operation
from . import digests
from .params import integer, parts, refusal, text

#: PBKDF2: iterations, times the blocks of the hash that the key consists of.
MAX_PBKDF2_ROUNDS = 5_000_000
#: scrypt: N times r times p, about a second; and the memory that it takes.
MAX_SCRYPT_WORK = 1 << 21
MAX_SCRYPT_BYTES = 64 * 1024 * 1024
_MAX_LENGTH = 1024 * 1024
_INT32 = 2**31 - 1


def pbkdf2(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """``{hash, iterations, length}`` of a password and a salt."""
    password, salt = parts(buffers, 2)
    algorithm = digests.algorithm(text(params, "hash"))
    iterations = integer(params, "iterations", 1, _INT32)
    length = integer(params, "length", 0, _MAX_LENGTH)
    if length == 0:
        return None, b""
    blocks = -(-length // algorithm.digest_size)
    if iterations * blocks > MAX_PBKDF2_ROUNDS:
        most = MAX_PBKDF2_ROUNDS // blocks
        raise refusal(
            f"Pbkdf2 failed: iteration counts above {most} are not supported (requested {iterations}).",
            "NotSupportedError",
        )
    return None, PBKDF2HMAC(algorithm, length, salt, iterations).derive(password)


def hkdf(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """``{hash, length}`` of a key, a salt and an info."""
    key, salt, info = parts(buffers, 3)
    algorithm = digests.algorithm(text(params, "hash"))
    length = integer(params, "length", 0, _MAX_LENGTH)
    if length > 255 * algorithm.digest_size:
        raise refusal("HKDF deriveBits failed.")
    if length == 0:
        return None, b""
    return None, HKDF(algorithm, length, salt, info).derive(key)


def scrypt(params: dict[str, Any], buffers: list[bytes]) -> tuple[object, bytes]:
    """``{n, r, p, length, memory}`` of a password and a salt; ``memory`` is the most that the program allows."""
    password, salt = parts(buffers, 2)
    n = integer(params, "n", 0, 2**32 - 1)
    r = integer(params, "r", 0, 2**32 - 1)
    p = integer(params, "p", 0, 2**32 - 1)
    length = integer(params, "length", 0, _MAX_LENGTH)
    memory = integer(params, "memory", 0, 2**53)
    if n < 2 or n & (n - 1) or r < 1 or p < 1 or r * p >= 1 << 30 or n.bit_length() - 1 >= 16 * r:
        raise refusal("Scrypt failed", "Error")
    needed = 128 * r * (n + p + 2)
    if needed > memory:
        raise refusal("Scrypt failed", "Error")
    if needed > MAX_SCRYPT_BYTES or n * r * p > MAX_SCRYPT_WORK:
        raise refusal(
            f"scrypt with N={n}, r={r}, p={p} takes {needed} bytes of memory and N*r*p={n * r * p} steps;"
            f" the limits are {MAX_SCRYPT_BYTES} and {MAX_SCRYPT_WORK}",
            "RangeError",
        )
    if length == 0:
        return None, b""
    return None, Scrypt(salt, length, n, r, p).derive(password)


OPERATIONS: Mapping[str, Operation] = {"crypto.pbkdf2": pbkdf2, "crypto.hkdf": hkdf, "crypto.scrypt": scrypt}
