"""The page of the platform is what the data of the comparison says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_page_is_what_the_data_says() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "tests" / "side_by_side" / "platform" / "page.py"), "--check"],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
