"""The differences between the two sides of each host, as the guide shows them."""

from __future__ import annotations

import difflib
from pathlib import Path

MIGRATION = Path(__file__).parents[2] / "migration"


def difference(name: str) -> str:
    """The changed lines of a file of ``before/`` and ``after/``, as a diff without positions."""
    before, after = ((MIGRATION / side / name).read_text().splitlines() for side in ("before", "after"))
    lines = list(difflib.unified_diff(before, after, n=1, lineterm=""))[2:]
    shown = [line for line in lines if not line.startswith("@@")]
    return "\n".join([f"--- before/{name}", f"+++ after/{name}", *shown]) + "\n"
