"""Every example runs, and every table is what the code says."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("**/*.md"))]
_EXAMPLE = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)

EXAMPLES = [
    pytest.param(match[1], id=f"{page.relative_to(ROOT)}:{page.read_text()[: match.start()].count(chr(10)) + 1}")
    for page in PAGES
    for match in _EXAMPLE.finditer(page.read_text())
]


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 4


@pytest.mark.parametrize("source", EXAMPLES)
def test_example_runs_and_prints_what_it_says(source: str) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", source], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for expected in re.findall(r"print\(.*\)  # (.+)$", source, re.MULTILINE):
        assert expected in done.stdout


def test_tables_are_what_the_code_says() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "scripts" / "tables.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
