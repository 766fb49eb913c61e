"""What a program finds here beside what it finds upstream: every global, member and export, and how they answer misuse.

The exceptions are in ``platform/surface.jsonl`` and ``platform/misuse.jsonl``, each with its reason; one that is not
needed any more fails. docs/platform.md is written from the same data.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence

import pytest

from side_by_side.ours import Ours
from side_by_side.platform import surface
from side_by_side.platform.surface import Difference, Exemption, Subject
from side_by_side.upstream import Upstream

pytestmark = pytest.mark.asyncio(loop_scope="module")

_SHOWN = 40


async def test_upstreams_names_are_pinned(upstream: Upstream) -> None:
    # The page lists them, and is written without upstream at hand.
    found = surface.answer(await upstream.run(surface.survey()))
    assert surface.names(found) == surface.pinned_names(), "run tests/side_by_side/platform/pin.py"


async def test_every_global_has_its_place_on_the_page() -> None:
    placed = [name for names in surface.areas().values() for name in names]
    assert sorted(placed) == sorted(surface.pinned_names().globals)


async def test_surface(upstream: Upstream, ours: Ours) -> None:
    case = surface.survey()
    theirs, mine = await asyncio.gather(upstream.run(case), ours.run(case))
    _compare(surface.apart(surface.answer(theirs), surface.answer(mine)), surface.exemptions("surface.jsonl"))


@pytest.mark.parametrize("subject", [pytest.param(subject, id=subject.name) for subject in surface.subjects()])
async def test_misuse(subject: Subject, upstream: Upstream, ours: Ours) -> None:
    case = surface.probe(subject)
    theirs, mine = await asyncio.gather(upstream.run(case), ours.run(case))
    found = surface.differing(surface.answer(theirs), surface.answer(mine))
    _compare(found, [it for it in surface.exemptions("misuse.jsonl") if it.subject == subject.name])


async def test_clones(upstream: Upstream, ours: Ours) -> None:
    case = surface.cloning()
    theirs, mine = await asyncio.gather(upstream.run(case), ours.run(case))
    _compare(surface.apart(surface.answer(theirs), surface.answer(mine)), surface.exemptions("clones_apart.jsonl"))


async def test_exceptions_of_misuse_are_of_subjects() -> None:
    known = {subject.name for subject in surface.subjects()}
    assert {it.subject for it in surface.exemptions("misuse.jsonl")} <= known


def _compare(found: Mapping[str, Difference], exempt: Sequence[Exemption]) -> None:
    rest, idle = surface.unexplained(found, exempt)
    lines = [f"{name}: {it.apart}\n    upstream {it.upstream}\n    ours     {it.ours}" for name, it in rest.items()]
    assert not lines, "\n".join([f"{len(lines)} differ:", *lines[:_SHOWN]])
    assert not idle, f"exceptions that are not needed any more: {idle}"


# --- the comparison itself ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("upstream", "ours", "found"),
    [
        ({"a": "x"}, {"a": "x"}, {}),
        ({"a": "x"}, {"a": "y"}, {"a": "differs"}),
        ({"a": "x", "a.b": "y"}, {}, {"a": "absent"}),
        ({"a": "x", "a.b": "y"}, {"a": "z"}, {"a": "differs", "a.b": "absent"}),
        ({}, {"a": "x", "a.b": "y"}, {"a": "extra"}),
        ({"m": "module", "m.a": "x"}, {"m": "not importable: no"}, {"m": "absent"}),
        ({"m": "not importable: no"}, {"m": "module", "m.a": "x"}, {"m": "extra"}),
        ({"m": "not importable: no"}, {"m": "not importable: never"}, {"m": "differs"}),
        ({"a": "threw TypeError: Illegal invocation: more"}, {"a": "threw TypeError: Illegal invocation"}, {}),
        ({"a": "threw TypeError: Illegal invocations"}, {"a": "threw TypeError: Illegal invocation"}, {"a": "words"}),
        ({"a": "function(1) enumerable"}, {"a": "function(2) enumerable"}, {"a": "length"}),
        ({"a": "function(1) enumerable"}, {"a": "function(1)"}, {"a": "differs"}),
        ({"a": "promise threw TypeError: a"}, {"a": "threw RangeError: b"}, {"a": "words"}),
        ({"a": "threw TypeError: a"}, {"a": "promise of 1"}, {"a": "differs"}),
    ],
)
async def test_apart(upstream: dict[str, str], ours: dict[str, str], found: dict[str, str]) -> None:
    assert {name: it.apart for name, it in surface.apart(upstream, ours).items()} == found


async def test_exceptions_explain_what_they_name_and_no_more() -> None:
    found = surface.apart({"a": "x", "b.c": "x", "d": "x"}, {"a": "y", "b.c": "y", "e": "z"})
    exempt = [
        Exemption(names=["a", "b.*"], apart="differs", because="r"),
        Exemption(names=["d", "f"], apart="absent", because="r"),
        Exemption(names=["e"], apart="differs", because="r"),
    ]
    rest, idle = surface.unexplained(found, exempt)
    assert list(rest) == ["e"]
    assert idle == ["f (absent)", "e (differs)"]
