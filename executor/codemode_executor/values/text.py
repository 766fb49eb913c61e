"""Text that came from a guest, whose strings are sequences of UTF-16 units and may hold half a pair."""

from __future__ import annotations

import re

_LONE = re.compile("[\ud800-\udfff]")


def well_formed(text: str) -> str:
    """``text`` with each lone surrogate, for which UTF-8 has no form, replaced by U+FFFD."""
    return _LONE.sub("\ufffd", text)
