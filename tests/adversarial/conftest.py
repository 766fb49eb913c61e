"""The folder ``adversarial`` is no part of a distribution, so nothing has installed it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

_ROOT = str(Path(__file__).parents[2])
if _ROOT not in sys.path:
    sys.path.append(_ROOT)

if TYPE_CHECKING:
    from adversarial.ordinary import OrdinaryRun


@pytest.fixture(scope="session")
def ordinary_run() -> Iterator[OrdinaryRun | None]:
    """The corpus by an ordinary user, begun by whoever asks first; ``None`` if all of this is one's already."""
    if os.getuid() != 0:
        yield None
        return
    from adversarial.ordinary import OrdinaryRun

    run = OrdinaryRun()
    yield run
    run.close()
