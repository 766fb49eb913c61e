"""The JavaScript that runs inside isolates, as built by the set-up from ``executor/guest``."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import resources
from typing import Self


class AssetMissing(RuntimeError):
    """A bundle was not built."""


def load(name: str) -> bytes:
    """Bytes of a built bundle, for example ``harness.js``.

    Raises:
        AssetMissing: the bundle is not there; the message says how to build it.
    """
    asset = resources.files(__name__.rpartition(".")[0]).joinpath("assets", name)
    try:
        return asset.read_bytes()
    except FileNotFoundError:
        raise AssetMissing(
            f"the guest bundle {name} is not built; run `make setup` in the source tree, or install a wheel"
        ) from None


@dataclass(frozen=True)
class Bundles:
    """What every worker needs."""

    harness: bytes
    rehearsal: bytes
    reader: bytes
    typescript: bytes
    typescript_wasm: bytes

    @classmethod
    def load(cls) -> Self:
        """Raises:
        AssetMissing: one of them is not there.
        """
        return cls(
            harness=load("harness.js"),
            rehearsal=load("rehearsal.js"),
            reader=load("reader.js"),
            typescript=load("typescript.js"),
            typescript_wasm=load("typescript.wasm"),
        )


def load_all(directory: str) -> dict[str, bytes]:
    """Bytes of every bundle in ``directory`` of the assets, by name without ``.js``.

    Raises:
        AssetMissing: the directory is not there.
    """
    folder = resources.files(__name__.rpartition(".")[0]).joinpath("assets", directory)
    if not folder.is_dir():
        raise AssetMissing(
            f"the guest bundles in {directory} are not built; run `make setup` in the source tree, or install a wheel"
        )
    return {entry.name[:-3]: entry.read_bytes() for entry in folder.iterdir() if entry.name.endswith(".js")}
