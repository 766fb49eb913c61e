"""Message digests by the names that programs use."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from cryptography.hazmat.primitives import hashes

from .params import refusal


class Digest(Protocol):
    """A digest, or a code, that is being computed."""

    def update(self, data: bytes) -> None: ...
    def finalize(self) -> bytes: ...
    def copy(self) -> Digest: ...


class _Md5Sha1:
    """The pair that old TLS signs: both digests, one after the other."""

    def __init__(self, pair: tuple[hashes.Hash, hashes.Hash] | None = None) -> None:
        self._pair = pair or (hashes.Hash(hashes.MD5()), hashes.Hash(hashes.SHA1()))

    def update(self, data: bytes) -> None:
        for part in self._pair:
            part.update(data)

    def finalize(self) -> bytes:
        return b"".join(part.finalize() for part in self._pair)

    def copy(self) -> _Md5Sha1:
        return _Md5Sha1((self._pair[0].copy(), self._pair[1].copy()))


_ALGORITHMS: Mapping[str, Callable[[], hashes.HashAlgorithm]] = {
    "md5": hashes.MD5,
    "sha1": hashes.SHA1,
    "sha224": hashes.SHA224,
    "sha256": hashes.SHA256,
    "sha384": hashes.SHA384,
    "sha512": hashes.SHA512,
    "sha512-256": hashes.SHA512_256,
}

MD5_SHA1 = "md5-sha1"
#: Everything that ``new`` takes.
NAMES = (*_ALGORITHMS, MD5_SHA1)


def algorithm(name: str) -> hashes.HashAlgorithm:
    """The algorithm of this name, for what works with a single one."""
    made = _ALGORITHMS.get(name)
    if made is None:
        raise refusal("Digest method not supported", "Error")
    return made()


def new(name: str) -> Digest:
    """A digest to be computed."""
    return _Md5Sha1() if name == MD5_SHA1 else hashes.Hash(algorithm(name))
