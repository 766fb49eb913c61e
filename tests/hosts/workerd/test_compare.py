"""The comparison notices what it is there for."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from hosts.workerd.cases import Case
from hosts.workerd.compare import at, differing, normalised, problems

_ONE = "exec_0001795992208824_420522df-a457-4aa8-abc6-6c1847bddb29"
_TWO = "exec_0001795992209098_0233bf22-3eca-448a-a688-17067f82a4f1"


def _outcomes(run: str, **more: Any) -> list[dict[str, Any]]:
    value = {"status": "completed", "executionId": run, "createdAt": 1_795_992_208_824, **more}
    return [{"value": value, "events": [["called", {"n": 1}, run], ["ended"]]}]


def _case(*, differs: dict[str, str] | None = None, ours: dict[str, Any] | None = None, **step: Any) -> Case:
    return Case("c", "g", [{"do": "execute", **step}], differs or {}, ours or {})


def test_runs_that_differ_by_chance_alone_agree() -> None:
    assert problems(_case(), _outcomes(_ONE), _outcomes(_TWO)) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("value.status", "error"),
        ("value.createdAt", None),
        ("value.added", 1),
        ("events.0.1.n", True),
        ("events.1", ["ended", 1]),
        ("events", []),
    ],
)
def test_what_differs_otherwise_is_a_problem(path: str, value: object) -> None:
    theirs, ours = _outcomes(_ONE), _outcomes(_TWO)
    above, _, last = path.rpartition(".")
    holder: Any = at(ours[0], above) if above else ours[0]
    holder[int(last) if isinstance(holder, list) else last] = value
    found = problems(_case(), theirs, ours)
    assert found
    assert found[0].startswith(f"0.{path}")


def test_which_execution_is_meant_counts() -> None:
    assert problems(_case(), _outcomes(_ONE, other=_TWO), _outcomes(_TWO, other=_ONE)) == []
    found = problems(_case(), _outcomes(_ONE, other=_TWO), _outcomes(_TWO, other=_TWO))
    assert found == ["0.value.other: upstream '#2', ours '#1'"]


def test_a_wish_counts_on_both_sides() -> None:
    case = _case(want={"value.status": {"matches": "comp.*"}, "value.n": 1}, events=["called", "ended"])
    assert problems(case, _outcomes(_ONE, n=1), _outcomes(_TWO, n=1)) == []
    found = problems(case, _outcomes(_ONE, n=1), _outcomes(_TWO, n=1, status="error"))
    assert [problem for problem in found if problem.startswith("ours, step 0: value.status")]
    # Both have failed in the same way.
    found = problems(case, _outcomes(_ONE, n=True), _outcomes(_TWO, n=True))
    assert [problem.split(":")[0] for problem in found] == ["upstream, step 0", "ours, step 0"]
    silent = [{**outcome, "events": []} for outcome in _outcomes(_ONE, n=1)]
    assert len(problems(case, silent, copy.deepcopy(silent))) == 2


def test_a_difference_is_excused_where_it_is_and_nowhere_else() -> None:
    case = _case(differs={"0.value.error": "why"}, ours={"0.value.error": "b"})
    assert problems(case, _outcomes(_ONE, error="a"), _outcomes(_TWO, error="b")) == []
    assert problems(case, _outcomes(_ONE, error="a"), _outcomes(_TWO, error="b", more=1)) != []
    assert problems(case, _outcomes(_ONE, error="a"), _outcomes(_TWO, error="c")) != []
    # It is none any more.
    found = problems(case, _outcomes(_ONE, error="b"), _outcomes(_TWO, error="b"))
    assert found == ["0.value.error: documented as why, and yet the same"]


def test_a_whole_step_is_excused_only_where_the_sides_end_differently() -> None:
    case = _case(differs={"0": "why"}, ours={"0.value.error": "b"})
    assert problems(case, _outcomes(_ONE), _outcomes(_TWO, error="b")) == []
    found = problems(case, _outcomes(_ONE, error="a"), _outcomes(_TWO, error="b"))
    assert found == ["0: both sides ended as an error: name what differs inside the step"]


def test_what_is_left_to_chance() -> None:
    case = _case(ignore=["value.n"], any_order=True, want={"value.n": {"matches": ".*"}})
    theirs, ours = _outcomes(_ONE, n="1"), _outcomes(_TWO, n="2")
    ours[0]["events"].reverse()
    assert problems(case, theirs, ours) == []
    ours[0]["value"]["n"] = 3
    assert problems(case, theirs, ours) != []


def test_executions_are_numbered_in_their_order() -> None:
    made = normalised([{"a": f"run {_TWO}", "b": [_ONE, _TWO], "savedAt": 5}])
    assert made == [{"a": "run #1", "b": ["#2", "#1"], "savedAt": 5}]


def test_paths() -> None:
    assert list(differing({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}, 4]})) == ["a.1.b", "a.2"]
    assert list(differing(1, True)) == [""]
    assert at({"a": [{"b": 5}]}, "a.0.b") == 5
