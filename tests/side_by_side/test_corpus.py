"""The corpus as data: it is whole, and what it leaves open may only become less."""

from __future__ import annotations

from collections import Counter

import pytest

from side_by_side import differences as page
from side_by_side.compare import Verdict, judge
from side_by_side.corpus import CLASSES, NEVER_REJECTS, Case, allowed_pending, cases, differences, pending


def test_ids_are_unique() -> None:
    assert [name for name, n in Counter(case.id for case in cases()).items() if n > 1] == []


def test_every_class_is_covered() -> None:
    numbers = Counter(case.kind for case in cases())
    assert sorted(numbers) == sorted(CLASSES)
    assert min(numbers.values()) >= 10


def test_a_case_has_one_mark_at_most_and_says_what_ours_answers() -> None:
    for case in cases():
        assert case.difference is None or case.pending is None, case.id
        if case.difference is not None:
            assert case.ours, case.id
        if case.upstream is not None:
            assert case.difference is not None, f"{case.id}: upstream does not survive it, so nothing is compared"
        if case.ours is not None:
            assert case.difference or case.pending, case.id


def test_differences_are_named_and_shown() -> None:
    used = {case.difference for case in cases() if case.difference is not None}
    assert used | {NEVER_REJECTS} == set(differences())


def test_pending_cases_are_as_many_as_committed() -> None:
    # Fewer is good news that has to be written down, or the number could rise again unseen.
    assert dict(sorted(pending().items())) == dict(sorted(allowed_pending().items())), "change pending.json"


def test_the_page_is_what_the_data_says() -> None:
    assert page.PAGE.read_text() == page.render(), "run python tests/side_by_side/differences.py"


OK = {"result": 1, "logs": []}
OTHER = {"result": 2, "logs": []}
THREW = {"error": "no", "logs": []}
REJECTED = {"rejected": "Error: no"}


@pytest.mark.parametrize(
    ("marks", "upstream", "ours", "verdict"),
    [
        ({}, OK, OK, Verdict.AGREED),
        ({}, OK, OTHER, Verdict.DISAGREED),
        ({}, OK, {"result": 1, "logs": ["x"]}, Verdict.DISAGREED),
        ({}, {"result": {"a": 1, "b": 2}, "logs": []}, {"result": {"b": 2, "a": 1}, "logs": []}, Verdict.DISAGREED),
        ({}, {"result": True, "logs": []}, OK, Verdict.DISAGREED),
        ({}, {"result": {"$": "undefined"}, "logs": []}, {"result": None, "logs": []}, Verdict.DISAGREED),
        ({"compare": ["result"]}, OK, {"result": 1, "logs": ["x"]}, Verdict.AGREED),
        ({}, REJECTED, THREW, Verdict.DOCUMENTED),
        ({}, REJECTED, OK, Verdict.DISAGREED),
        ({}, REJECTED, {"error": "", "logs": []}, Verdict.DISAGREED),
        ({}, OK, {"refused": "no"}, Verdict.DISAGREED),
        ({}, REJECTED, {"undecodable": "no"}, Verdict.DISAGREED),
        ({"difference": "x", "ours": {"result": 2}}, OK, OTHER, Verdict.DOCUMENTED),
        ({"difference": "x", "ours": {"result": 2}}, REJECTED, OTHER, Verdict.DOCUMENTED),
        ({"difference": "x", "ours": {"result": 3}}, OK, OTHER, Verdict.DISAGREED),
        ({"difference": "x"}, OK, OTHER, Verdict.DISAGREED),
        ({"difference": "x", "ours": {"result": 1}}, OK, OK, Verdict.STALE),
        ({"difference": "x", "ours": {"error": {"$matches": "n."}}}, OK, THREW, Verdict.DOCUMENTED),
        ({"difference": "x", "ours": {"error": {"$matches": "n"}}}, OK, THREW, Verdict.DISAGREED),
        ({"difference": "x", "ours": {"error": "no"}, "upstream": "hangs"}, None, THREW, Verdict.DOCUMENTED),
        ({"upstream": "hangs"}, None, THREW, Verdict.DISAGREED),
        ({"pending": 5}, OK, OTHER, Verdict.PENDING),
        ({"pending": 5}, OK, OK, Verdict.STALE),
        ({"pending": 5, "ours": {"result": 1}}, REJECTED, THREW, Verdict.PENDING),
        ({"pending": 5, "ours": {"result": 1}}, REJECTED, OK, Verdict.STALE),
    ],
)
def test_verdicts(
    marks: dict[str, object], upstream: dict[str, object] | None, ours: dict[str, object], verdict: Verdict
) -> None:
    case = Case(id="x", kind="programs", code="1", **marks)  # pyright: ignore[reportArgumentType]
    assert judge(case, upstream, ours).verdict is verdict
