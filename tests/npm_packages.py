"""npm packages that tests need: set up, or out of reach."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest


def out_of_reach(needed: Mapping[Path, str]) -> bool:
    """Whether packages are missing that npm cannot get here. Fails the test where only the set-up is missing.

    Args:
        needed: what must be there, and what puts it there.
    """
    missing = {path: how for path, how in needed.items() if not path.exists()}
    if not missing:
        return False
    if _registry_answers(next(iter(missing)).parent):
        pytest.fail(f"not set up: run `make setup`, or {'; '.join(dict.fromkeys(missing.values()))}")
    return True


def _registry_answers(folder: Path) -> bool:
    """Asked where the package's own configuration of npm is in force."""
    npm = shutil.which("npm")
    if npm is None:
        return False
    while not (folder / "package.json").exists():
        folder = folder.parent
    command = [npm, "ping", "--fetch-retries=0", "--fetch-timeout=10000"]
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
