"""What a program can do to whoever runs it from a terminal; and the command that attacks."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

MEMORY_BYTES = 2 << 30


def run(tmp_path: Path, program: str) -> subprocess.CompletedProcess[bytes]:
    path = tmp_path / "program.js"
    path.write_text(program)
    return subprocess.run(
        [sys.executable, "-m", "codemode_executor", "run", str(path)],
        capture_output=True,
        check=False,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (MEMORY_BYTES, MEMORY_BYTES)),
    )


def test_no_text_of_a_program_commands_the_terminal(tmp_path: Path) -> None:
    """Neither by control characters of 7 and 8 bits, nor by those that turn the direction of what is shown."""
    bad = "\\u001b]0;title\\u0007\\u009b31m\\u007f\\u0090\\u202e\\u2066\\u200f\\u061c\\r"
    ended = run(
        tmp_path, f"async () => {{ console.log('a{bad}'); console.error('b{bad}'); throw new Error('c{bad}') }}"
    )
    shown = (ended.stdout + ended.stderr).decode()
    forbidden = {chr(code) for code in [*range(32), *range(0x7F, 0xA0), *range(0x202A, 0x202F), *range(0x2066, 0x206A)]}
    forbidden |= {"\u200e", "\u200f", "\u061c"}
    assert set(shown) & forbidden == {"\n"}
    assert "a" in shown


def test_a_result_that_is_shared_in_itself_does_not_fill_the_memory(tmp_path: Path) -> None:
    """26 lists, each twice in the next: 2^26 elements for whoever writes them out."""
    ended = run(tmp_path, "async () => { let a = ['x']; for (let i = 0; i < 26; i++) a = [a, a]; return a }")
    assert len(ended.stdout) < 1 << 20
    assert b"MemoryError" not in ended.stderr
    assert b"Traceback" not in ended.stderr
    assert ended.returncode in (0, 1)


def attack(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "adversarial", *arguments],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )


def test_a_part_of_the_corpus_is_carried_out_by_its_ids() -> None:
    ended = attack("realm-constructor-of-this", "native-is-seen-from-outside-nice")
    assert ended.returncode == 0, ended.stderr[-2000:]
    assert [line.split() for line in ended.stdout.splitlines()] == [
        ["realm", "1", "of", "1", "held"],
        ["native", "1", "of", "1", "held"],
    ]


def test_the_table_of_layers_is_shown() -> None:
    ended = attack("--layers", "native-is-seen-from-outside-nice")
    assert ended.returncode == 0, ended.stderr[-2000:]
    table = {line.split()[0]: line.split()[1:] for line in ended.stdout.splitlines()}
    assert table["priority"] == ["native-is-seen-from-outside-nice"]
    assert table["seccomp"] == ["-"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["no-such-case"], "no case has an id with no-such-case in it"), (["--url", "ws://x"], "belong together")],
)
def test_what_cannot_be_attacked_is_an_error_of_its_own(arguments: list[str], says: str) -> None:
    ended = attack(*arguments)
    assert ended.returncode == 2
    assert says in ended.stderr
