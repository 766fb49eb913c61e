"""Results within the budget of a model's context."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import msgspec

from codemode_executor import BadRequest, ValueRefused, encode_value

from . import javascript as js

_CHARS_PER_TOKEN = 4
_DEFAULT_MAX_TOKENS = 6000
_MARKER = "--- TRUNCATED ---"
# A part that would get fewer characters is dropped in favour of its neighbours.
_MIN_SLOT = 128
_MAX_SAFE_INTEGER = 2**53 - 1


def truncate_response(text: str, *, max_chars: int | None = None, max_tokens: int | None = None) -> str:
    """Cut a text, with a note at its end that says how long it was.

    Args:
        text: what a model is to read.
        max_chars: how much of it is kept, in UTF-16 units; the note comes on top.
        max_tokens: the same in tokens of four characters; 6000 if neither is given.

    Returns:
        ``text`` itself if it is within the budget.

    Raises:
        BadRequest: an argument is unusable.

    Mirrors upstream's ``truncateResponse``. A character outside the basic plane is never cut in half.
    """
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise BadRequest(f"text must be a string, not {type(text).__name__}")
    budget, tokens = _budget(max_chars, max_tokens)
    length = js.length(text)
    if length <= budget:
        return text
    return (
        f"{js.head(text, budget)}\n\n{_MARKER}\n"
        f"Response was ~{math.ceil(length / _CHARS_PER_TOKEN):,} tokens (limit: {tokens:,})."
        " Narrow the request to reduce response size."
    )


def truncate_result(value: Any, *, max_chars: int | None = None, max_tokens: int | None = None) -> Any:
    """Shrink a value until its JSON is within the budget, with markers where something was cut.

    The largest parts are cut first, and the shape stays: a cut string ends with a marker, a cut list with an element
    that counts what is missing, and an object that lost keys has an entry that names them.

    Args:
        value: a program's result. Values that JSON has no word for count as tools return them (``encode_value``).
        max_chars: length of the JSON, in UTF-16 units.
        max_tokens: the same in tokens of four characters; 6000 if neither is given.

    Returns:
        ``value`` itself if it is within the budget, or if it cannot be written as JSON (a cycle, an integer beyond
        2^53 - 1). Its time grows with the size of the value, about a second for a million parts: large ones are better
        looked at beside the event loop.

    Raises:
        BadRequest: an argument is unusable.

    Mirrors upstream's ``truncateResult``. A key ``__proto__`` is kept, which upstream loses.
    """
    if isinstance(value, str):
        return truncate_response(value, max_chars=max_chars, max_tokens=max_tokens)
    budget, _ = _budget(max_chars, max_tokens)
    try:
        node = _node(value, set())
    except (js.NotJSON, ValueRefused, RecursionError):
        return value
    if node.size <= budget:
        return value
    shrunk = _shrink(node, budget)
    if _size(shrunk) <= budget:
        return shrunk
    return truncate_response(js.stringify(node.value), max_chars=max_chars, max_tokens=max_tokens)


def _budget(max_chars: int | None, max_tokens: int | None) -> tuple[int, int]:
    for name, value in (("max_chars", max_chars), ("max_tokens", max_tokens)):
        if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 0):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise BadRequest(f"{name} must be a whole number, 0 or more, not {value!r}")
    tokens = _DEFAULT_MAX_TOKENS if max_tokens is None else max_tokens
    return tokens * _CHARS_PER_TOKEN if max_chars is None else max_chars, tokens


@dataclass(slots=True)
class _Node:
    """A part of the value, and the length of its JSON, which is asked for many times.

    Attributes:
        value: as JSON would bring it back.
        size: UTF-16 units.
        items: of a list.
        members: of an object, in JavaScript's order.
    """

    value: object
    size: int
    items: list[_Node] = field(default_factory=list[Any])
    members: list[tuple[str, _Node]] = field(default_factory=list[Any])


def _node(value: object, above: set[int]) -> _Node:
    if value is None or isinstance(value, bool):
        return _Node(value, 5 if value is False else 4)
    if isinstance(value, str):
        return _Node(value, js.quoted_length(value))
    if isinstance(value, int):
        if abs(value) > _MAX_SAFE_INTEGER:
            raise js.NotJSON("an integer that JavaScript would hold as a bigint")
        return _Node(value, len(str(value)))
    if isinstance(value, float):
        return _Node(value, len(js.number_text(value))) if math.isfinite(value) else _Node(None, 4)
    identity = id(value)
    if identity in above:
        raise js.NotJSON("a cycle")
    above.add(identity)
    try:
        if isinstance(value, (list, tuple)):
            return _list([_node(item, above) for item in cast("list[object]", value)])
        if isinstance(value, Mapping):
            return _object(
                {str(key): _node(item, above) for key, item in cast("Mapping[object, object]", value).items()}
            )
        return _node(msgspec.json.decode(encode_value(value)), above)
    finally:
        above.discard(identity)


def _list(items: list[_Node]) -> _Node:
    size = 2 + max(0, len(items) - 1) + sum(item.size for item in items)
    return _Node([item.value for item in items], size, items=items)


def _object(members: dict[str, _Node]) -> _Node:
    ordered = [(key, cast(_Node, node)) for key, node in js.entries(members)]
    size = 2 + max(0, len(ordered) - 1) + sum(_key_cost(key) + node.size for key, node in ordered)
    return _Node({key: node.value for key, node in ordered}, size, members=ordered)


def _size(value: object) -> int:
    return _node(value, set()).size


def _key_cost(key: str) -> int:
    return js.quoted_length(key) + 1


def _floor_of(chars: int, max_chars: int) -> int:
    """The least that is worth keeping of something that can be cut; never more than half of what contains it."""
    return min(chars, _MIN_SLOT, max(2, max_chars // 2))


def _floor(node: _Node, max_chars: int) -> int:
    cuttable = isinstance(node.value, (str, list, dict))
    return _floor_of(node.size, max_chars) if cuttable else node.size


def _shrink(node: _Node, max_chars: int) -> object:
    if node.size <= max_chars:
        return node.value
    if isinstance(node.value, str):
        return _shrink_text(node.value, max_chars)
    if isinstance(node.value, list):
        return _shrink_list(node.items, max_chars)
    if isinstance(node.value, dict):
        return _shrink_object(node.members, max_chars)
    return node.value


def _shrink_text(text: str, max_chars: int) -> str:
    suffix = f" {_MARKER} {js.length(text):,} chars"
    keep = max(0, max_chars - len(suffix) - 2)
    cut = js.head(text, keep) + suffix
    while keep > 0 and (size := js.quoted_length(cut)) > max_chars:
        keep = max(0, keep - (size - max_chars))
        cut = js.head(text, keep) + suffix
    return cut if js.quoted_length(cut) <= max_chars else _MARKER[: max(0, max_chars - 2)]


def _allocate(nodes: Sequence[_Node], available: int) -> list[int]:
    """Shares of ``available``: the smallest are served first, each with at most an equal share of what is left."""
    shares = [0] * len(nodes)
    remaining = available
    order = sorted(range(len(nodes)), key=lambda index: nodes[index].size)
    for served, index in enumerate(order):
        shares[index] = min(nodes[index].size, remaining // (len(nodes) - served))
        remaining -= shares[index]
    return shares


def _shrink_list(items: list[_Node], max_chars: int) -> list[object]:
    def marker(dropped: int) -> str:
        return f"{_MARKER} {dropped:,} more items"

    def brackets(count: int) -> int:
        return 2 + max(0, count - 1)

    floors = [_floor(item, max_chars) for item in items]
    keep = len(items)
    if sum(floors) + brackets(keep) > max_chars:
        used = brackets(0) + len(marker(len(items))) + 2 + 1
        keep = 0
        while keep < len(items) and used + floors[keep] + 1 <= max_chars:
            used += floors[keep] + 1
            keep += 1
    kept = items[:keep]
    dropped = len(items) - keep
    tail = len(marker(dropped)) + 2 + (keep > 0) if dropped else 0
    shares = _allocate(kept, max_chars - brackets(keep) - tail)
    out = [_shrink(item, share) for item, share in zip(kept, shares, strict=True)]
    if dropped and _size([*out, marker(dropped)]) <= max_chars:
        out.append(marker(dropped))
    return out


class _Dropped:
    """The keys that an object cannot keep, and what it costs with the others."""

    def __init__(self, members: list[tuple[str, _Node]], marker: str, max_chars: int) -> None:
        self._members = members
        self._marker = marker
        self._max = max_chars
        self._floors = [_key_cost(key) + _floor(node, max_chars) for key, node in members]
        self._floors_sum = sum(self._floors)
        self._names = 0
        self.indices: set[int] = set()
        for index in sorted(range(len(members)), key=lambda index: -members[index][1].size):
            if self.cost() <= max_chars:
                break
            self.indices.add(index)
            self._floors_sum -= self._floors[index]
            self._names += js.quoted_length(members[index][0]) - 2

    def cost(self) -> int:
        count = len(self.indices)
        marker = 0
        if count:
            note = len(f"{count:,} keys omitted: ") + self._names + 2 * (count - 1)
            marker = _key_cost(self._marker) + _floor_of(note + 2, self._max)
        present = len(self._members) - count + bool(count)
        return 2 + max(0, present - 1) + self._floors_sum + marker


def _shrink_object(members: list[tuple[str, _Node]], max_chars: int) -> dict[str, object]:
    names = {key for key, _ in members}
    marker = _MARKER
    while marker in names:
        marker += " "
    dropped = _Dropped(members, marker, max_chars)
    omitted = [key for index, (key, _) in enumerate(members) if index in dropped.indices]
    note = f"{len(omitted):,} keys omitted: {', '.join(omitted)}"
    if dropped.cost() > max_chars:
        room = max_chars - 2 - _key_cost(marker)
        return {marker: _shrink(_node(note, set()), room)} if room >= 2 else {}
    kept = [member for index, member in enumerate(members) if index not in dropped.indices]
    if omitted:
        kept.append((marker, _node(note, set())))
    fixed = 2 + max(0, len(kept) - 1) + sum(_key_cost(key) for key, _ in kept)
    shares = _allocate([node for _, node in kept], max_chars - fixed)
    return {key: _shrink(node, share) for (key, node), share in zip(kept, shares, strict=True)}
