"""How large a result is when it is written out.

Values that are reached twice are one value in a result, as structured clone has it. A format without references writes
them as often as they are reached, which may be exponentially often.
"""

from __future__ import annotations

from typing import cast

_VALUE = 8  # a rough size of a number, a key's quotes and separators


def written_size(value: object) -> int | None:
    """About how many bytes ``value`` takes as JSON; ``None`` if it holds itself and cannot be written at all."""
    known: dict[int, int] = {}
    open_values: set[int] = set()
    # Each value is visited twice: to open what it holds, and to add it up.
    stack: list[tuple[object, bool]] = [(value, False)]
    while stack:
        item, is_open = stack.pop()
        held = _held(item)
        if held is None or (not is_open and id(item) in known):
            continue
        if is_open:
            open_values.discard(id(item))
            known[id(item)] = _VALUE + sum(known.get(id(part), _size(part)) for part in held)
            continue
        if id(item) in open_values:
            return None
        open_values.add(id(item))
        stack.append((item, True))
        stack += [(part, False) for part in held]
    return known.get(id(value), _size(value))


def _held(value: object) -> list[object] | None:
    if isinstance(value, dict):
        members = cast("dict[object, object]", value)
        return [*members, *members.values()]
    return list(cast("list[object]", value)) if isinstance(value, (list, tuple)) else None


def _size(value: object) -> int:
    return _VALUE + (len(value) if isinstance(value, (str, bytes)) else 0)
