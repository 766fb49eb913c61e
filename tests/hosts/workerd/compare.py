"""What two executors made of the same steps of a host."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, cast

from hosts.workerd.cases import Case

_RUN = re.compile(r"exec_\d+_[0-9a-f-]{36}")
_TIMES = {"createdAt", "updatedAt", "savedAt"}
_ABSENT = object()


def normalised(outcomes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Without what differs from run to run: executions are numbered by their first appearance, times are named."""
    numbers: dict[str, str] = {}

    def text(value: str) -> str:
        return _RUN.sub(lambda match: numbers.setdefault(match[0], f"#{len(numbers) + 1}"), value)

    def walk(value: object) -> object:
        if isinstance(value, str):
            return text(value)
        if isinstance(value, list):
            return [walk(item) for item in cast("list[object]", value)]
        if isinstance(value, dict):
            members = cast("dict[str, object]", value)
            return {key: "time" if key in _TIMES and _is_time(item) else walk(item) for key, item in members.items()}
        return value

    return cast("list[dict[str, Any]]", walk(outcomes))


def _is_time(value: object) -> bool:
    return isinstance(value, int) and value > 1_500_000_000_000


def at(value: object, path: str) -> object:
    """What stands at a path: keys and indexes, separated by dots. ``_ABSENT`` if there is nothing."""
    for key in path.split("."):
        if isinstance(value, list) and key.isdigit():
            items = cast("list[object]", value)
            value = items[int(key)] if int(key) < len(items) else _ABSENT
        elif isinstance(value, dict):
            value = cast("dict[str, object]", value).get(key, _ABSENT)
        else:
            return _ABSENT
    return value


def differing(one: object, other: object, path: str = "") -> Iterator[str]:
    """The paths at which two outcomes differ; of those inside each other, the inner ones."""
    if isinstance(one, dict) and isinstance(other, dict):
        left, right = cast("dict[str, object]", one), cast("dict[str, object]", other)
        for key in dict.fromkeys([*left, *right]):
            yield from differing(left.get(key, _ABSENT), right.get(key, _ABSENT), f"{path}.{key}" if path else key)
    elif isinstance(one, list) and isinstance(other, list):
        first, second = cast("list[object]", one), cast("list[object]", other)
        for index in range(max(len(first), len(second))):
            items = [x[index] if index < len(x) else _ABSENT for x in (first, second)]
            yield from differing(items[0], items[1], f"{path}.{index}" if path else str(index))
    elif type(one) is not type(other) or one != other:
        yield path


def problems(case: Case, upstream: list[dict[str, Any]], ours: list[dict[str, Any]]) -> list[str]:
    """What is wrong: a wish that is not met, a difference that is not documented, one that is and is none."""
    upstream, ours = normalised(upstream), normalised(ours)
    documented = case.differs
    found = [
        problem
        for side, outcomes in (("upstream", upstream), ("ours", ours))
        for index, (step, outcome) in enumerate(zip(case.steps, outcomes, strict=True))
        for problem in _unmet(f"{side}, step {index}", index, step, outcome, documented)
    ]
    found += [
        f"{path}: ours is {_shown(at(ours, path))}, not {_shown(wanted)}"
        for path, wanted in case.ours.items()
        if not _is(wanted, at(ours, path))
    ]
    for side in (upstream, ours):
        for step, outcome in zip(case.steps, side, strict=True):
            _leave_to_chance(step, outcome)
    met: set[str] = set()
    for path in differing(upstream, ours):
        covering = next((known for known in documented if path == known or path.startswith(f"{known}.")), None)
        if covering is None:
            found.append(f"{path}: upstream {_shown(at(upstream, path))}, ours {_shown(at(ours, path))}")
        else:
            met.add(covering)
    found += [f"{path}: documented as {documented[path]}, and yet the same" for path in documented if path not in met]
    found += [
        f"{path}: both sides ended as {_ended(at(ours, path))}: name what differs inside the step"
        for path in documented
        if path.isdigit() and _ended(at(upstream, path)) == _ended(at(ours, path))
    ]
    return found


def _ended(outcome: object) -> str:
    """How a step ended, which alone makes everything in it differ."""
    if at(outcome, "threw") is not _ABSENT:
        return "thrown"
    return "an error" if isinstance(at(outcome, "value.error"), str) else "a value"


def _leave_to_chance(step: dict[str, Any], outcome: dict[str, Any]) -> None:
    """Takes out of an outcome what its step says nobody can know."""
    for path in step.get("ignore", []):
        above, _, last = path.rpartition(".")
        holder = at(outcome, above) if above else outcome
        if isinstance(holder, dict):
            cast("dict[str, object]", holder).pop(last, None)
    if step.get("any_order", False):
        outcome["events"].sort(key=repr)


def _unmet(
    where: str, index: int, step: dict[str, Any], outcome: dict[str, Any], documented: Mapping[str, str]
) -> Iterator[str]:
    for path, wanted in cast("dict[str, object]", step.get("want", {})).items():
        full = f"{index}.{path}"
        # Where the sides differ, `ours` says what ours is.
        if any(full == known or full.startswith(f"{known}.") for known in documented):
            continue
        actual = at(outcome, path)
        if not _is(wanted, actual):
            yield f"{where}: {path} is {_shown(actual)}, not {_shown(wanted)}"
    wanted_events = step.get("events")
    if wanted_events is not None and f"{index}.events" not in documented:
        names = [event[0] for event in outcome.get("events", [])]
        if names != wanted_events:
            yield f"{where}: the host saw {names}, not {wanted_events}"


def _is(wanted: object, actual: object) -> bool:
    """``{matches = …}`` is a regular expression for the whole text."""
    pattern = cast("dict[str, object]", wanted).get("matches") if isinstance(wanted, dict) else None
    if isinstance(pattern, str):
        return isinstance(actual, str) and re.fullmatch(pattern, actual, re.DOTALL) is not None
    return type(wanted) is type(actual) and wanted == actual


def _shown(value: object) -> str:
    text = "nothing" if value is _ABSENT else repr(value)
    return text if len(text) <= 400 else f"{text[:400]}…"
