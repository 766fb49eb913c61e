"""The bridge's decoders under a seeded generator: what a Node host reads, it reads or refuses, and stays as it was."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

DIST = Path(__file__).parents[2] / "node_bridge/dist"
SCRIPT = Path(__file__).with_name("node_codecs.mjs")


@pytest.mark.parametrize("seed", [1, 20_260_101])
def test_any_text_is_read_or_refused(seed: int) -> None:
    run = subprocess.run(
        ["node", str(SCRIPT), str(DIST), str(seed)], capture_output=True, text=True, check=False, timeout=60
    )
    assert run.returncode == 0, run.stderr[-2000:]
    outcome = json.loads(run.stdout)
    assert outcome.pop("wrong") == []
    # Both ways were taken: the generator is neither all noise nor all sense.
    assert all(min(counts) > 50 for counts in outcome.values()), outcome
