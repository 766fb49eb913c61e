"""Upstream's functions, started once."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from compat.functions import PACKAGE, Functions
from npm_packages import out_of_reach


@pytest.fixture(scope="session")
def installed() -> None:
    """Skips where npm cannot reach a registry; fails where only the set-up is missing."""
    if out_of_reach({PACKAGE / "dist" / "index.js": "npm ci in tests/side_by_side"}):
        pytest.skip("UPSTREAM'S FUNCTIONS WERE NOT COMPARED: npm reaches no registry, so upstream is not here")


@pytest.fixture(scope="module")
def upstream(installed: None) -> Iterator[Functions]:
    functions = Functions()
    yield functions
    functions.close()
