"""A short soak: nothing grows. The long one is bench/soak.py."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from dataclasses import asdict, fields, replace
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parent.parent / "bench" / "soak.py"


@pytest.fixture(scope="module")
def soak() -> ModuleType:
    spec = importlib.util.spec_from_file_location("bench_soak", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look themselves up there
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(("isolation", "runs"), [("worker", 450), ("process", 150)])
def test_six_hundred_mixed_runs_leave_nothing(isolation: str, runs: int) -> None:
    options = ["--runs", str(runs), "--every", str(runs // 3), "--isolation", isolation]
    done = subprocess.run(
        [sys.executable, "-X", "dev", "-W", "error", str(SCRIPT), *options],
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    # asyncio's debug mode remarks on slow callbacks, which on a busy machine says nothing.
    complaints = [line for line in done.stderr.splitlines() if not line.startswith("Executing <")]
    assert (done.returncode, complaints) == (0, []), done.stdout
    assert done.stdout.count(" runs, ") == 3


def test_growth_is_noticed(soak: ModuleType) -> None:
    """The control: each figure, once at its slack and once beyond it."""
    first = soak.look()
    assert soak.grown(first, first) == []
    for field in fields(first):
        slack = asdict(soak.SLACK)[field.name]
        value = asdict(first)[field.name]
        assert soak.grown(first, replace(first, **{field.name: value + slack})) == []
        (text,) = soak.grown(first, replace(first, **{field.name: value + slack + 1}))
        assert text.startswith(field.name)


def test_a_leak_is_seen(soak: ModuleType) -> None:
    before = soak.look()
    files = [open("/dev/null") for _ in range(9)]  # noqa: SIM115 - left open is what is tested
    child = subprocess.Popen(["sleep", "60"])
    try:
        now = soak.look()
        assert now.host_descriptors == before.host_descriptors + 9
        assert now.processes == before.processes + 1
        assert [text.split(" ")[0] for text in soak.grown(before, now)] == ["host_descriptors"]
    finally:
        child.kill()
        child.wait()
        for file in files:
            file.close()
