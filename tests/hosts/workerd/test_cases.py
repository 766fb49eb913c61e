"""The data: what every case must be for the comparison to mean something."""

from __future__ import annotations

from collections import Counter

from hosts.workerd.cases import CASES, DIFFERENCES, KNOWN_DIFFERENCES


def test_every_case_has_a_name_of_its_own() -> None:
    assert [name for name, count in Counter(case.id for case in CASES).items() if count > 1] == []


def test_every_case_says_what_must_be_so() -> None:
    """Two sides that fail in the same way agree too."""
    silent = [case.id for case in CASES if not case.ours and not any("want" in step for step in case.steps)]
    assert silent == []


def test_every_difference_is_explained_and_shown() -> None:
    named = {reason for case in CASES for reason in case.differs.values()}
    assert named - KNOWN_DIFFERENCES == set()
    assert set(DIFFERENCES) - named == set()
    for name, text in DIFFERENCES.items():
        assert set(text) == {"upstream", "ours", "why"}, name


def test_a_case_that_differs_says_what_ours_is() -> None:
    assert [case.id for case in CASES if case.differs and not case.ours] == []
