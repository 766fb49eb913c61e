"""How old the V8 of the pinned isolate library is: what was fixed since is not in it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date

#: When a line of V8 reached Chrome's stable channel. An upgrade of the library adds its line.
STABLE_SINCE: Mapping[str, date] = {"14.4": date(2026, 1, 13)}


def stable_since(version: str) -> date | None:
    """The day on which the line of ``version`` (for example ``14.4.258.16``) became stable; ``None`` if unknown."""
    return STABLE_SINCE.get(".".join(version.split(".")[:2]))


def age_days(version: str, today: date) -> int | None:
    """Days since then; ``None`` if the line is unknown."""
    since = stable_since(version)
    return None if since is None else (today - since).days
