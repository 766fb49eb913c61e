"""Upstream's functions, started once."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator

import pytest

from compat.functions import PACKAGE, Functions


@pytest.fixture(scope="session")
def installed() -> None:
    """Skips where npm cannot reach a registry; fails where only the set-up is missing."""
    if (PACKAGE / "dist" / "index.js").exists():
        return
    npm = shutil.which("npm")
    command = [str(npm), "ping", "--fetch-retries=0", "--fetch-timeout=10000"]
    if npm is not None and subprocess.run(command, capture_output=True, check=False).returncode == 0:
        pytest.fail("not set up: run `make setup`, or npm ci in tests/side_by_side")
    pytest.skip("UPSTREAM'S FUNCTIONS WERE NOT COMPARED: npm reaches no registry, so upstream is not here")


@pytest.fixture(scope="module")
def upstream(installed: None) -> Iterator[Functions]:
    functions = Functions()
    yield functions
    functions.close()
