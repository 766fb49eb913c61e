"""The programs of examples/ run, and say what the pages say that they say."""

from __future__ import annotations

import json

import pytest

from docs import runners

SAYS = {
    "examples/overdue.py": ["3 invoices are overdue", "1290"],
    "examples/agent_loop.py": ['Tool "invoice" not found', "the model says: Acme is overdue with 120."],
    "examples/node/host.mjs": ["2 invoices, the first due 2026-01-31", "total: 950", "failed: too many invoices"],
    "examples/node/agent.mjs": ['Tool "invoice" not found', "the model says: Acme is overdue with 120."],
}


def test_every_example_is_known() -> None:
    assert set(SAYS) <= set(runners.EXAMPLES)


@pytest.mark.timeout(200)
@pytest.mark.parametrize("path", runners.EXAMPLES)
def test_example(path: str) -> None:
    if path.endswith(".mjs") and not (runners.NODE_EXAMPLES / "node_modules").exists():
        pytest.fail(f"{runners.NODE_EXAMPLES} is not installed: run `make setup`")
    done = runners.EXAMPLES[path]()
    assert done.code == 0, done.stdout + done.stderr
    for text in SAYS.get(path, []):
        assert text in done.stdout


def test_the_examples_in_node_are_pinned() -> None:
    described = json.loads((runners.NODE_EXAMPLES / "package.json").read_text())
    for name, version in described["dependencies"].items():
        assert version[0].isdigit() or version == "file:../../node_bridge", f"{name} is not pinned"
