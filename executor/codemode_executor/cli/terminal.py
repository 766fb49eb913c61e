"""Text of a program on the operator's terminal, which must not take it for commands of its own."""

from __future__ import annotations

import re

# Controls but tab and line feed, and what changes the direction of a line.
_COMMANDS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")
_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def shown(text: str) -> str:
    """``text`` with controls written out, for example ``\\u{1b}``."""
    return _COMMANDS.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", text)


def shown_json(text: str) -> str:
    """JSON with the controls escaped that JSON itself allows: it means what it meant."""
    return _IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
