"""A page of the documentation that is written from data."""

from __future__ import annotations

import sys
from pathlib import Path


def settle(page: Path, fresh: str, command: str) -> int:
    """Make ``page`` what it must be; with ``--check`` among the arguments, only say whether it is.

    Args:
        page: the file; it need not be there.
        fresh: its whole text, as the data has it.
        command: what writes it, for whoever has to.

    Returns:
        The exit status of that command.
    """
    if page.exists() and page.read_text() == fresh:
        return 0
    if "--check" in sys.argv[1:]:
        print(f"{page.name} is not up to date: run {command}")
        return 1
    page.write_text(fresh)
    return 0
