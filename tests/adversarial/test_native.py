"""Attacks by Python inside a jailed worker, as after an escape from V8; and what each layer of the jail is worth."""

from __future__ import annotations

import os

import pytest
from adversarial.cases import load
from adversarial.native import run_native, what_each_layer_stops
from adversarial.ordinary import OrdinaryRun

from codemode_executor.jail.layers import LAYERS

NATIVE = [case for case in load() if case.kind == "native"]


async def test_an_escape_from_v8_ends_in_the_jail() -> None:
    verdicts = await run_native(NATIVE)
    assert len(verdicts) == len(NATIVE)
    across = {verdict.case.id: verdict.against for verdict in verdicts if not verdict.held and not verdict.case.open}
    assert not across
    mended = [verdict.case.id for verdict in verdicts if verdict.held and verdict.case.open]
    assert not mended, "these findings are fixed: take `open` out of their cases"


async def test_no_layer_is_there_for_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """Without it, a named attack gets through: the table that the run prints."""
    table = await what_each_layer_stops(NATIVE, [layer.name for layer in LAYERS])
    with capsys.disabled():
        print("\n\nWithout this layer, these attacks get through:")
        for layer, stopped in table.items():
            print(f"  {layer:18} {', '.join(stopped) or '-'}")
    # An ordinary user has no ids to give up.
    layers = [layer for layer in table if layer != "identity" or os.getuid() == 0]
    wanted = {layer: {case.id for case in NATIVE if layer in case.layers} for layer in layers}
    assert {layer: set(table[layer]) for layer in layers} == wanted
    assert all(wanted.values()), "a layer that no case attacks"


@pytest.mark.timeout(300)
@pytest.mark.skipif(os.getuid() != 0, reason="this run is an ordinary user's: all the other tests here are that test")
def test_an_ordinary_users_host_withstands_all_of_it(ordinary_run: OrdinaryRun | None) -> None:
    """Every case, with a host that has no privilege. It was begun when the first test asked for it."""
    assert ordinary_run is not None
    ended = ordinary_run.wait(280)
    assert ended.status == 0, ended.said[-4000:]
    counts = [line.split() for line in ended.said.splitlines() if line.endswith(" held")]
    assert sum(int(words[1]) for words in counts) == len(load())
