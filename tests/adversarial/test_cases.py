"""The corpus as data: complete, readable, and indexed by the pages that point into it."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import get_args

import pytest
from adversarial.cases import Case, CorpusError, load

from adversarial import cases
from codemode_executor.jail.layers import LAYERS

ROOT = Path(__file__).parents[2]
EXISTING = ROOT / "adversarial/existing.jsonl"
CORPUS = load()


def written(tmp_path: Path, *lines: object) -> list[Path]:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines))
    return [path]


GOOD = {"id": "time-x", "class": "time", "boundary": "bounds", "attack": "async () => 1", "outcome": ["value"]}


def test_a_line_is_a_case(tmp_path: Path) -> None:
    (case,) = load(written(tmp_path, GOOD))
    assert (case.id, case.kind, case.programs, case.outcome) == ("time-x", "time", ["async () => 1"], ["value"])


@pytest.mark.parametrize(
    ("line", "text"),
    [
        pytest.param("{\n", "a.jsonl:1", id="no JSON"),
        pytest.param(GOOD | {"class": "fun"}, "Invalid enum value 'fun'", id="unknown class"),
        pytest.param(GOOD | {"outcome": ["won"]}, "Invalid enum value 'won'", id="unknown outcome"),
        pytest.param(GOOD | {"surprise": 1}, "unknown field `surprise`", id="unknown field"),
        pytest.param(GOOD | {"id": "cpu-x"}, "does not begin with its class", id="another class in its id"),
        pytest.param(GOOD | {"error": "("}, "unterminated subpattern", id="no regular expression"),
        pytest.param(GOOD | {"without": ["seccomp"]}, "only a native case", id="changes the worker"),
    ],
)
def test_anything_else_is_refused_with_its_place(tmp_path: Path, line: object, text: str) -> None:
    with pytest.raises(CorpusError, match=re.escape(text)):
        load(written(tmp_path, line))


def test_an_id_is_there_once(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.jsonl:2: the id 'time-x' is there twice"):
        load(written(tmp_path, GOOD, GOOD))


def test_the_exploit_stands_where_it_is_asked_for() -> None:
    (program,) = next(case.programs for case in CORPUS if case.id == "realm-constructor-of-this")
    assert cases.EXPLOIT not in program
    assert "left-by-the-attack" in program


def classes() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {}
    for case in CORPUS:
        found.setdefault(case.kind, []).append(case)
    return found


def test_every_class_has_its_attacks() -> None:
    assert {kind for kind, members in classes().items() if len(members) >= 5} == set(get_args(cases.Class))


def test_every_layer_is_attacked() -> None:
    assert {layer for case in CORPUS for layer in case.layers} == {layer.name for layer in LAYERS}


def functions(path: Path) -> set[str]:
    tree = ast.parse(path.read_text("utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}


@pytest.mark.parametrize("line", EXISTING.read_text("utf-8").splitlines())
def test_the_index_of_attacks_that_are_tests_of_their_own_is_true(line: str) -> None:
    entry = json.loads(line)
    assert set(entry) == {"id", "class", "boundary", "test"}
    assert entry["class"] in get_args(cases.Class)
    path, _, name = entry["test"].partition("::")
    assert name in functions(ROOT / path)


def test_the_threat_model_names_only_what_there_is() -> None:
    """An id in its tables is a case, or begins several, or is in the index."""
    page = (ROOT / "docs/threat-model.md").read_text("utf-8")
    known = {case.id for case in CORPUS} | {json.loads(line)["id"] for line in EXISTING.read_text("utf-8").splitlines()}
    kinds = "|".join(classes())
    named = set(re.findall(rf"`((?:{kinds})-[a-z0-9-]+\*?)`", page))
    assert len(named) > 40
    for name in named:
        assert name in known or (name.endswith("*") and any(case.startswith(name[:-1]) for case in known)), name


def test_the_threat_model_speaks_of_every_class_and_layer() -> None:
    page = (ROOT / "docs/threat-model.md").read_text("utf-8")
    assert [kind for kind in classes() if f"`{kind}-" not in page] == []
    assert [layer.name for layer in LAYERS if f"`{layer.name}`" not in page] == []
