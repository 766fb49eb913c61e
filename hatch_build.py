"""Build hook: refuses to package the engine without current guest bundles.

The bundles are JavaScript built by ``executor/guest/build.mjs``. They are not committed, and a
wheel without them installs well and fails at the first run, so their absence must end the build.
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

BUNDLES = ("harness.js", "reader.js", "rehearsal.js", "typescript.js")
BINARIES = ("typescript.wasm",)
ASSETS = Path("executor/codemode_executor/worker/assets")
GUEST = Path("executor/guest")
HOW_TO_BUILD = "run `make bundles` (or `npm ci && npm run build` in executor/guest) and build again"
HEADER = re.compile(rb"// \S+ guest-sources sha256:([0-9a-f]{64})\n")


class BundlesError(Exception):
    """A bundle is absent, not one of ours, or older than its sources."""


def source_digest(guest: Path) -> str:
    """The digest that ``build.mjs`` writes into each bundle's first line."""
    names = ["build.mjs", "package.json", "package-lock.json"]
    names += [path.relative_to(guest).as_posix() for path in (guest / "src").rglob("*") if path.is_file()]
    digest = hashlib.sha256()
    for name in sorted(names):
        content = (guest / name).read_bytes()
        digest.update(f"{name}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def check_bundles(root: Path) -> None:
    """Raise ``BundlesError`` unless every bundle is there and built from the sources beside it.

    A source distribution carries the bundles with the sources they were built from, so the
    comparison holds there as well.
    """
    guest = root / GUEST
    expected = source_digest(guest) if (guest / "src").is_dir() else None
    for binary in BINARIES:
        if not (root / ASSETS / binary).is_file():
            raise BundlesError(f"guest bundle {ASSETS / binary} is missing: {HOW_TO_BUILD}")
    chunks = [path.parent.name for path in sorted((guest / "src" / "chunks").glob("*/chunk.json"))]
    for bundle in (*BUNDLES, *(f"chunks/{name}.js" for name in chunks)):
        path = root / ASSETS / bundle
        if not path.is_file():
            raise BundlesError(f"guest bundle {ASSETS / bundle} is missing: {HOW_TO_BUILD}")
        with path.open("rb") as file:
            header = HEADER.match(file.readline())
        if header is None:
            raise BundlesError(f"{ASSETS / bundle} was not built by build.mjs: {HOW_TO_BUILD}")
        if expected is not None and header[1].decode() != expected:
            raise BundlesError(f"guest bundle {ASSETS / bundle} is stale, {GUEST} has changed: {HOW_TO_BUILD}")


class GuestBundlesHook(BuildHookInterface[Any]):
    """Runs the check before anything is written, for wheels, sdists and editable installs."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        check_bundles(Path(self.root))
