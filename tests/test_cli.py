"""The command, as a shell sees it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from codemode_executor import __version__


def command(*arguments: str, cwd: Path, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "codemode_executor", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        cwd=cwd,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )


def test_version(tmp_path: Path) -> None:
    assert command("--version", cwd=tmp_path).stdout.strip() == f"codemode-executor {__version__}"


def test_run_from_standard_input(tmp_path: Path) -> None:
    done = command("run", "-", cwd=tmp_path, stdin="console.log('on its way'); return { total: 40 + 2 }")
    assert done.returncode == 0
    envelope = json.loads(done.stdout)
    assert envelope["result"] == {"total": 42}
    assert envelope["error"] is None
    assert envelope["logs"] == ["on its way"]
    assert done.stderr == "on its way\n"


def test_run_a_file_with_tools(tmp_path: Path) -> None:
    (tmp_path / "program.js").write_text("async () => (await codemode.add(1, 2)) + (await other.one())")
    (tmp_path / "mytools.py").write_text(
        "from codemode_executor import Provider\n"
        "class Tools:\n"
        "    ALL = [Provider('codemode', {'add': lambda a, b: a + b}), Provider('other', {'one': lambda: 1})]\n"
        "MAPPING = {'add': lambda a, b: a + b}\n"
        "NOTHING = 7\n"
    )
    done = command("run", "program.js", "--tools", "mytools:Tools.ALL", cwd=tmp_path)
    assert json.loads(done.stdout)["result"] == 4
    mapped = command("run", "-", "--tools", "mytools:MAPPING", cwd=tmp_path, stdin="await codemode.add(20, 22)")
    assert json.loads(mapped.stdout)["result"] == 42


def test_a_failing_program_is_exit_code_1(tmp_path: Path) -> None:
    done = command("run", "-", cwd=tmp_path, stdin="const a = 1;\nnull.x")
    assert done.returncode == 1
    envelope = json.loads(done.stdout)
    assert "null" in envelope["error"]
    assert "line 2" in envelope["detail"]["stack"]


def test_the_timeout_is_the_option(tmp_path: Path) -> None:
    done = command("run", "-", "--timeout", "0.2", cwd=tmp_path, stdin="console.log('last words'); for (;;);")
    assert done.returncode == 1
    envelope = json.loads(done.stdout)
    assert envelope["error"] == "Execution timed out"
    assert envelope["detail"]["bound"] == "timeout"
    assert done.stderr == "last words\n"


def test_the_memory_is_the_option(tmp_path: Path) -> None:
    program = "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(1))"
    done = command("run", "-", "--memory", "32", cwd=tmp_path, stdin=program)
    assert done.returncode == 1
    assert "32 MiB" in json.loads(done.stdout)["error"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["run", "missing.js"], "cannot be read"),
        (["run", "-", "--timeout", "0"], "Limits.timeout_s"),
        (["run", "-", "--memory", "1"], "Limits.memory_mb"),
        (["run", "-", "--tools", "json"], "MODULE:OBJECT"),
        (["run", "-", "--tools", "json:nothing"], "nothing"),
        (["run", "-", "--tools", "no.such.module:x"], "no"),
        (["run", "-", "--tools", "json:decoder"], "neither"),
        (["walk"], "invalid choice"),
        ([], "COMMAND"),
    ],
)
def test_unusable_arguments_are_exit_code_2(tmp_path: Path, arguments: list[str], said: str) -> None:
    done = command(*arguments, cwd=tmp_path, stdin="1")
    assert done.returncode == 2
    assert said in done.stderr
    assert done.stdout == ""


def test_doctor_proves_the_jail(tmp_path: Path) -> None:
    done = command("doctor", cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "The jail holds." in done.stdout
    report = json.loads(command("doctor", "--json", cwd=tmp_path).stdout)
    assert {layer["name"] for layer in report["jail"]["layers"]} >= {"seccomp", "no_new_privs", "environment"}
    assert len(report["probes"]) >= 10
    assert all(probe["blocked"] for probe in report["probes"])
    assert len(report["threads"]) >= 3
    assert all(thread["seccomp"] == 2 for thread in report["threads"])
