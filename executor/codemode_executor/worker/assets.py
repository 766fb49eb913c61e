"""The JavaScript that runs inside isolates, as built by the set-up from ``executor/guest``."""

from __future__ import annotations

from importlib import resources


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
