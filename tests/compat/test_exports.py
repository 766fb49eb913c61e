"""The table of upstream's exports is complete, true, and in the documentation."""

from __future__ import annotations

import json
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import codemode_compat
from compat.functions import PACKAGE

SCRIPTS = Path(__file__).parents[2] / "scripts"
_EXPORTS = re.compile(r"^export \{(.*?)\};", re.DOTALL | re.MULTILINE)


@pytest.fixture(scope="module")
def exports() -> dict[str, dict[str, object]]:
    """By entry point and name, what the script says."""
    script = runpy.run_path(str(SCRIPTS / "compat_exports.py"))
    return {entry: dict(names) for entry, names in script["EXPORTS"].items()}


def test_every_export_of_every_entry_point_is_there(installed: None, exports: dict[str, dict[str, object]]) -> None:
    package = json.loads((PACKAGE / "package.json").read_text())
    assert package["version"] == "0.5.6"
    actual: dict[str, list[str]] = {}
    for entry, files in package["exports"].items():
        declarations = (PACKAGE / files["types"]).read_text()
        names = [name for block in _EXPORTS.findall(declarations) for name in block.split(",")]
        actual[entry] = sorted(re.sub(r"^type |.* as ", "", name.strip()) for name in names if name.strip())
    assert {entry: sorted(names) for entry, names in exports.items()} == actual


def test_what_is_mirrored_exists(exports: dict[str, dict[str, object]]) -> None:
    mirrored = [name for names in exports.values() for place in names.values() if (name := getattr(place, "name", ""))]
    assert len(mirrored) > 30
    assert set(mirrored) <= set(codemode_compat.__all__)


def test_everything_public_has_a_counterpart_or_a_reason(exports: dict[str, dict[str, object]]) -> None:
    mirrored = {getattr(place, "name", "") for names in exports.values() for place in names.values()}
    # The type of a binding has no name upstream, and what `runCode` throws is a plain Error.
    assert set(codemode_compat.__all__) - mirrored == {"CallsTools", "CodeExecutionFailed", "RetainedExecuteResult"}


def test_the_page_has_the_table() -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPTS / "compat_exports.py"), "--check"], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
