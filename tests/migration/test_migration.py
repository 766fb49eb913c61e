"""The hosts of ``migration/``: that before and after differ in the binding alone, that both sides do the same, that the
guide's commands work; and the bridge's shadow mode on real executors."""

from __future__ import annotations

import contextlib
import difflib
import filecmp
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from migration import checks
from migration.guide import difference
from node_suites import passes

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
MIGRATION = ROOT / "migration"
_INSTALLED = MIGRATION / "node_modules" / "codemode-executor-bridge" / "dist"
_BUILT = ROOT / "node_bridge" / "dist"
_SUITES = sorted(path.name for path in HERE.glob("*.test.mjs"))
_LIMIT_S = 270

#: The lines in which each side of a host may differ, without the space around them.
_BINDING = {
    "before": {
        'import { DynamicWorkerExecutor } from "@cloudflare/codemode";',
        'import { VmExecutor } from "../shared/vm_executor.mjs";',
        "const executor = new VmExecutor({ timeout: 30_000 });",
        "loader: env.LOADER,",
        '"worker_loaders": [{ "binding": "LOADER" }]',
    },
    "after": {
        'import { DynamicWorkerExecutor } from "codemode-executor-bridge";',
        "const executor = new DynamicWorkerExecutor({ timeout: 30_000 });",
        "url: env.CODEMODE_URL,",
        "token: env.CODEMODE_TOKEN,",
        '"vars": { "CODEMODE_URL": "ws://127.0.0.1:8787" }',
    },
}
_HOSTS = sorted(path.name for path in (MIGRATION / "before").iterdir())


@pytest.fixture(scope="module")
def installed() -> None:
    """Fails where the packages of ``migration/`` are missing, or hold another bridge than the built one."""
    compared = filecmp.dircmp(_BUILT, _INSTALLED) if _INSTALLED.exists() and _BUILT.exists() else None
    if compared is None or _differ(compared):
        pytest.fail("migration/ does not have the bridge as it is built here: run `make setup`")


def _differ(compared: filecmp.dircmp[str]) -> bool:
    _, differing, failed = filecmp.cmpfiles(compared.left, compared.right, compared.common_files, shallow=False)
    return bool(
        differing
        or failed
        or compared.left_only
        or compared.right_only
        or any(_differ(inner) for inner in compared.subdirs.values())
    )


def test_both_sides_have_the_same_hosts() -> None:
    assert sorted(path.name for path in (MIGRATION / "after").iterdir()) == _HOSTS
    assert {"mcp.mjs", "node.mjs", "worker.mjs"} <= set(_HOSTS)


@pytest.mark.parametrize("name", _HOSTS)
def test_the_difference_is_the_binding(name: str) -> None:
    before, after = ((MIGRATION / side / name).read_text().splitlines() for side in ("before", "after"))
    changed = [line for line in difflib.ndiff(before, after) if line[0] in "+-"]
    assert changed, "nothing differs"
    for line in changed:
        allowed = _BINDING["before" if line[0] == "-" else "after"]
        assert line[2:].strip() in allowed, f"{name} differs in more than the binding: {line}"


def test_the_hosts_load_nothing_of_a_side_but_themselves() -> None:
    """Else a difference could hide in another file."""
    for path in [*MIGRATION.glob("before/*.mjs"), *MIGRATION.glob("after/*.mjs"), *MIGRATION.glob("shared/*.mjs")]:
        for target in re.findall(r'from "(\.[^"]+)"', path.read_text()):
            assert (path.parent / target).resolve().parent == MIGRATION / "shared", f"{path}: {target}"


def test_the_guide_shows_every_difference() -> None:
    shown = re.findall(r"^```diff\n(.*?)^```$", checks.PAGE.read_text(), re.MULTILINE | re.DOTALL)
    # The configurations of the two Workers change in the same line.
    assert sorted(shown) == sorted(difference(name) for name in _HOSTS if name != "mcp.wrangler.json")


def test_the_checklist_is_what_the_data_says(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "argv", ["checks.py", "--check"])
    assert checks.main() == 0, capsys.readouterr().out


def test_every_suite_is_known() -> None:
    assert _SUITES == ["hosts.test.mjs", "shadow.test.mjs"]


@pytest.mark.timeout(_LIMIT_S + 30)
@pytest.mark.parametrize("suite", _SUITES)
def test_suite(suite: str, installed: None) -> None:
    passes(HERE / suite, _LIMIT_S, "--test", "--test-timeout=240000")


_README = (MIGRATION / "README.md").read_text()
_COMMANDS = re.findall(r"^```sh\n(.*?)^```$", _README, re.MULTILINE | re.DOTALL)


@pytest.mark.timeout(_LIMIT_S + 30)
def test_the_commands_of_the_readme_work(installed: None) -> None:
    """All of them, one after another in one shell, as somebody follows them; the daemon on a port that is free here."""
    port = _free_port()
    shell = subprocess.Popen(
        ["bash", "-euo", "pipefail", "-c", "\n".join(_COMMANDS)],
        cwd=MIGRATION,
        env={**os.environ, "CODEMODE_SERVE_PORT": str(port), "CODEMODE_URL": f"ws://127.0.0.1:{port}"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = shell.communicate(timeout=_LIMIT_S)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
    assert shell.returncode == 0, output + errors
    # Before and after; the daemon has its say between.
    assert output.count('\\"result\\":950') == 2, output + errors
    assert output.count('"reminders":["A-1","G-1"]') == 2, output + errors
    assert len(re.findall(r'^\[\n  "acme",\n  "globex"\n\]$', output, re.MULTILINE)) == 2, output + errors


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
