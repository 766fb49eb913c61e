"""What reaches the operator's terminal, where ``codemode-executor run`` shows a program's text."""

from __future__ import annotations

import json
import subprocess
import sys

EVIL = "\x1b]0;title\x07\x1b[2J\x9b2J\x7f\u202e\u2066 tab\t"
COMMANDS = ("\x1b", "\x07", "\x9b", "\x7f", "\u202e", "\u2066")


def test_no_command_reaches_the_terminal_and_the_result_means_what_it_meant() -> None:
    code = f"async () => {{ console.log({json.dumps(EVIL)}); return {json.dumps(EVIL)} }}"
    ran = subprocess.run(
        [sys.executable, "-m", "codemode_executor", "run", "-"], input=code.encode(), capture_output=True, check=True
    )
    out, err = ran.stdout.decode(), ran.stderr.decode()
    assert not [text for text in COMMANDS if text in out or text in err]
    assert "\\u{1b}]0;title\\u{7}" in err
    assert "tab\t" in err
    assert json.loads(out)["result"] == EVIL
    assert json.loads(out)["logs"] == [EVIL]
